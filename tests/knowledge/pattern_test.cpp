#include "knowledge/pattern.hpp"

#include <re2/re2.h>
#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>

using namespace imgforge;
using knowledge::may_match;

TEST_CASE("a pattern whose plain characters are not those of the text cannot match") {
  CHECK(may_match(R"(docker\.io/library/python)", "docker.io/library/python"));
  CHECK_FALSE(may_match(R"(docker\.io/library/python)", "docker.io/library/pythonic"));
  CHECK_FALSE(may_match(R"(docker\.io/library/python)", "docker-io/library/python"));
  CHECK(may_match(R"((docker\.io|nvcr\.io)/nvidia/cuda)", "nvcr.io/nvidia/cuda"));
  CHECK_FALSE(may_match(R"((docker\.io|nvcr\.io)/nvidia/cuda)", "quay.io/nvidia/cuda"));
  CHECK_FALSE(may_match(R"((docker\.io|nvcr\.io)/nvidia/cuda)", "nvcr.io/nvidia/pytorch"));
  CHECK(may_match(R"(\d+\.\d+(-cudnn\d?)?-ubuntu22\.04)", "12.2-cudnn8-ubuntu22.04"));
  CHECK_FALSE(may_match(R"(\d+\.\d+(-cudnn\d?)?-ubuntu22\.04)", "12.2-cudnn8-ubuntu24.04"));
}

TEST_CASE("what may be missing, or is something else than it looks, shuts nothing out") {
  CHECK(may_match("abc?", "ab"));
  CHECK(may_match("abc*", "abccc"));
  CHECK(may_match("abc{0}", "ab"));
  CHECK(may_match("one|two", "two"));
  CHECK(may_match("(one|two)?three", "three"));
  CHECK(may_match("(?i)one", "ONE"));
  CHECK(may_match(R"(\x41)", "A"));
  CHECK(may_match(R"(a[]b]c)", "abc"));
  CHECK(may_match("", ""));
  CHECK(may_match(".*", "anything"));
  CHECK(may_match("a.c", "axc"));
  CHECK(may_match("[ab]c", "bc"));
}

TEST_CASE("no pattern of the tables loses a text that it matches") {
  std::mt19937 random(1);
  const std::string some = "0123456789.-abcdefghijklmnopqrstuvwxyz/_";
  std::size_t matched = 0;
  const char* const repositories[] = {"docker.io/library/python",
                                      "docker.io/library/debian",
                                      "docker.io/nvidia/cuda",
                                      "nvcr.io/nvidia/cuda",
                                      "nvcr.io/nvidia/tensorflow",
                                      "docker.io/tensorflow/tensorflow",
                                      "docker.io/pytorch/pytorch",
                                      "docker.io/apache/beam_python3.11_sdk",
                                      "docker.io/continuumio/miniconda3",
                                      "ghcr.io/astral-sh/uv"};
  const char* const tags[] = {"3.11-slim-bookworm",
                              "3.12",
                              "12",
                              "bookworm-slim",
                              "12.2.2-cudnn8-runtime-ubuntu22.04",
                              "13.0.0-base-ubuntu24.04",
                              "24.03-tf2-py3",
                              "2.15.0-gpu",
                              "2.3.0-cuda12.1-cudnn8-runtime",
                              "2.66.0",
                              "2.70.0rc1",
                              "latest",
                              "python3.12-bookworm-slim"};
  std::set<std::string> patterns;
  for (const char* table : {"base_images", "base_contents"}) {
    const YAML::Node rows = YAML::LoadFile(std::string(IMGFORGE_SOURCE_DIR "/knowledge/") + table + ".yaml")["rows"];
    for (const YAML::Node& row : rows) {
      patterns.insert(row["repository"].as<std::string>());
      patterns.insert(row["tag"].as<std::string>());
    }
  }
  REQUIRE(patterns.size() > 50);
  for (const std::string& text : patterns) {
    const RE2 pattern(text);
    const auto hold = [&](const std::string& word) {
      if (!RE2::FullMatch(word, pattern)) return;
      ++matched;
      INFO(text << " and " << word);
      CHECK(may_match(text, word));
    };
    for (const char* word : repositories) hold(word);
    for (const char* word : tags) {
      hold(word);
      for (int mutant = 0; mutant < 30; ++mutant) {
        std::string changed = word;
        changed[random() % changed.size()] = some[random() % some.size()];
        hold(changed);
      }
    }
  }
  CHECK(matched > 500);
}
