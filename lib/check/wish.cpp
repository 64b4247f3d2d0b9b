// The words of `imgforge compat solve`: NAME or NAME=VALUE.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/compat_pages.hpp"
#include "check/solve.hpp"

namespace imgforge {

namespace {

const std::vector<std::string> names{"beam", "python", "tensorflow", "torch", "jax", "gpu", "tpu", "cuda", "cudnn"};

Version version_of(std::string_view word, std::string_view value) {
  const auto version = Version::parse(value);
  if (!version)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is no version", word, quoted_input(value)),
                fmt::format("write {}=2.66, say", word));
  return *version;
}

std::string must_have(std::string_view word, std::string_view value, std::string_view example) {
  if (value.empty())
    throw Error(ErrorKind::usage, fmt::format("{} needs a value", word), fmt::format("{}={}", word, example));
  return std::string(value);
}

void read_framework(const Knowledge& knowledge, Wish& wish, std::string_view name, std::string_view value) {
  Wish::Framework asked{std::string(name), std::nullopt};
  if (!value.empty()) {
    asked.version = version_of(name, value);
    std::vector<Version> known;
    bool any = false;
    for (const FrameworkBuild& one : knowledge.framework_builds()) {
      if (one.framework != name) continue;
      known.push_back(one.version);
      any = any || is_version(one.version, *asked.version);
    }
    if (!any) unknown_version(framework_title(name), *asked.version, known);
  }
  wish.frameworks.push_back(std::move(asked));
}

void read_beam(const Knowledge& knowledge, Wish& wish, std::string_view value) {
  wish.beam = true;
  if (value.empty()) return;
  wish.beam_version = version_of("beam", value).base();
  std::vector<Version> known;
  bool any = false;
  for (const BeamRelease& one : knowledge.beam_releases()) {
    known.push_back(one.version);
    any = any || is_version(one.version, *wish.beam_version);
  }
  if (!any) unknown_version("Beam", *wish.beam_version, known);
}

void read_python(const Knowledge& knowledge, Wish& wish, std::string_view value) {
  wish.python = PythonMinor::parse(must_have("python", value, "3.11"));
  if (!wish.python)
    throw Error(ErrorKind::usage, fmt::format("python: \"{}\" is no minor", quoted_input(value)), "python=3.11, say");
  if (knowledge.python_release(*wish.python) == nullptr) python_page(knowledge, wish.python);  // throws
}

void read_cuda(const Knowledge& knowledge, Wish& wish, std::string_view value) {
  const std::string word = must_have("cuda", value, "wheels, cuda=base or cuda=12.2");
  if (word == "wheels") {
    wish.origin = CudaOrigin::wheels;
  } else if (word == "base") {
    wish.origin = CudaOrigin::base;
  } else if (const auto version = Version::parse(word)) {
    cuda_page(knowledge, version);  // throws where it is none
    wish.cuda = version;
  } else {
    unknown_name("cuda", word, {"wheels", "base"});
  }
}

void read(const Knowledge& knowledge, Wish& wish, std::string_view name, std::string_view value) {
  if (name == "beam") {
    read_beam(knowledge, wish, value);
  } else if (name == "python") {
    read_python(knowledge, wish, value);
  } else if (name == "gpu") {
    wish.gpu = must_have(name, value, "nvidia-l4");
    gpu_page(knowledge, wish.gpu);  // throws where it is none
  } else if (name == "tpu") {
    const std::string word = must_have(name, value, "tpu-v6e-slice");
    const std::size_t colon = word.find(':');
    wish.tpu = word.substr(0, colon);
    if (colon != std::string::npos) wish.topology = word.substr(colon + 1);
    tpu_page(knowledge, wish.tpu, wish.topology);
  } else if (name == "cuda") {
    read_cuda(knowledge, wish, value);
  } else if (name == "cudnn") {
    wish.cudnn = version_of(name, must_have(name, value, "8.9"));
    cudnn_page(knowledge, wish.cudnn);
  } else {
    read_framework(knowledge, wish, name, value);
  }
}

}  // namespace

Wish parse_wish(const Knowledge& knowledge, const std::vector<std::string>& words) {
  Wish wish;
  std::set<std::string, std::less<>> seen;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    // "==" is how pip writes it, and no other meaning is near.
    std::string_view value =
        equals == std::string::npos ? std::string_view() : std::string_view(word).substr(equals + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (equals != std::string::npos && value.empty())
      throw Error(ErrorKind::usage, fmt::format("{} has no value", quoted_input(word)),
                  "NAME alone asks for the newest");
    if (std::find(names.begin(), names.end(), name) == names.end()) unknown_name("constraint", name, names);
    // cuda=wheels and cuda=12.4 are two questions.
    const bool is_origin = name == "cuda" && (value == "wheels" || value == "base");
    if (!seen.insert(is_origin ? "cuda from" : name).second)
      throw Error(ErrorKind::usage, fmt::format("{} is given twice", name), "one version of each goes into an image");
    read(knowledge, wish, name, value);
  }
  if (!wish.gpu.empty() && !wish.tpu.empty())
    throw Error(ErrorKind::usage, "gpu and tpu exclude each other", "a worker has one kind of accelerator");
  if (wish.gpu.empty() && (wish.origin || wish.cuda || wish.cudnn))
    throw Error(ErrorKind::usage, "cuda and cudnn are questions about a GPU", "add gpu=nvidia-l4, say");
  if ((!wish.gpu.empty() || !wish.tpu.empty()) && wish.frameworks.empty())
    throw Error(ErrorKind::usage, "an accelerator needs a framework that uses it", "add tensorflow, torch or jax");
  if (!wish.beam && wish.frameworks.empty())
    throw Error(ErrorKind::usage, "nothing to choose", "imgforge compat solve beam=2.66 tensorflow gpu=nvidia-l4");
  return wish;
}

}  // namespace imgforge
