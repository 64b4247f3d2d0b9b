// What the compatibility tables cost a single check: to decode them when they are first asked for, and to look things
// up.
//
//   bench_tables DOCKERFILE...
//
// Every round is a process's first check: fresh tables, one text. The same text judged again, with the tables decoded,
// takes less by what decoding costs. What the look-ups of base images cost (patterns) is timed beside it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "check/check_text.hpp"
#include "knowledge/knowledge.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void check(const std::string& text, const std::string& name, const imgforge::Knowledge& knowledge) {
  imgforge::TextCheck options;
  options.today = *imgforge::Date::parse("2026-11-30");
  imgforge::check_text(
      text, name, [](const std::string&) { return std::nullopt; }, options, knowledge);
}

void measure(const std::string& path) {
  constexpr int rounds = 30;
  const std::string text = imgforge::read_file(path, 1 << 20);
  {
    // What is made once in a process (patterns of the readers) is none of the tables' cost.
    const imgforge::Knowledge warm = imgforge::Knowledge::embedded();
    check(text, path, warm);
  }
  std::vector<double> decode, first, again, look_ups;
  for (int round = 0; round < rounds; ++round) {
    const auto began = Clock::now();
    const imgforge::Knowledge knowledge = imgforge::Knowledge::embedded();
    check(text, path, knowledge);
    const auto cold = Clock::now();
    check(text, path, knowledge);
    const auto warm = Clock::now();
    for (const auto& [repository, tag] : {std::pair("docker.io/nvidia/cuda", "12.2.2-cudnn8-runtime-ubuntu22.04"),
                                          std::pair("docker.io/apache/beam_python3.11_sdk", "2.66.0"),
                                          std::pair("docker.io/library/python", "3.11-slim-bookworm")}) {
      knowledge.base_image(repository, tag);
      knowledge.base_contents(repository, tag);
    }
    const auto looked = Clock::now();
    first.push_back(milliseconds(began, cold));
    again.push_back(milliseconds(cold, warm));
    decode.push_back(milliseconds(began, cold) - milliseconds(cold, warm));
    look_ups.push_back(milliseconds(warm, looked) / 3);
  }
  fmt::print("{}: check {:.2f} ms, again {:.2f} ms; tables: decoding {:.2f} ms + a base image {:.2f} ms = {:.2f} ms\n",
             path, median(first), median(again), median(decode), median(look_ups), median(decode) + median(look_ups));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    for (int i = 1; i < count; ++i) measure(arguments[i]);
  } catch (const imgforge::Error& error) {
    fmt::print(stderr, "bench_tables: {}\n", error.message());
    return 2;
  }
  return count > 1 ? 0 : 2;
}
