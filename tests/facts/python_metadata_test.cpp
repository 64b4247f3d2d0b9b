// METADATA and PKG-INFO: the header counts, the description does not.
#include "facts/python_metadata.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

TEST_CASE("the header block of METADATA", "[metadata]") {
  const auto metadata = parse_python_metadata(
      "Metadata-Version: 2.1\r\nName: apache-beam\r\nVersion: 2.66.0\r\nSummary: a\r\n        b\r\nRequires-Python: "
      ">=3.9\r\n"
      "Requires-Dist: numpy<2.3.0,>=1.14.3\r\nRequires-Dist: regex>=2020.6.8 ;\r\n extra == 'dev'\r\nVersion: "
      "9\r\n\r\nName: not-this\r\nVersion: 1\r\n");
  REQUIRE(metadata);
  CHECK(metadata->name == "apache-beam");
  CHECK(metadata->version == "2.66.0");  // the first one, as Python's email parser has it
  CHECK(metadata->requires_python == ">=3.9");
  CHECK(metadata->requires_dist ==
        std::vector<std::string>{"numpy<2.3.0,>=1.14.3", "regex>=2020.6.8 ; extra == 'dev'"});
}

TEST_CASE("metadata without a name or a version is none", "[metadata]") {
  CHECK_FALSE(parse_python_metadata(""));
  CHECK_FALSE(parse_python_metadata("Name: a\n"));
  CHECK_FALSE(parse_python_metadata("\nName: a\nVersion: 1\n"));
  CHECK_FALSE(parse_python_metadata("no header at all\nName: a\nVersion: 1\n"));
}

TEST_CASE("of a cut file the last line is not believed", "[metadata]") {
  const auto version = [](std::string_view text, bool cut) {
    const auto metadata = parse_python_metadata(text, cut);
    return metadata ? metadata->version : "none";
  };
  CHECK(version("Name: a\nVersion: 1.2", true) == "none");
  CHECK(version("Name: a\nVersion: 1.2", false) == "1.2");
  CHECK(version("Name: a\nVersion: 1.2\nSumm", true) == "1.2");
  CHECK(version("Name: a\nVersion: 1.2\n .3", true) == "none");  // a continuation line, cut
  CHECK(parse_python_metadata("Name: a\nVersion: 1\nRequires-Dist: b\nRequires-Dist: c>", true)->requires_dist ==
        std::vector<std::string>{"b"});
}

TEST_CASE("endless metadata is bounded", "[metadata]") {
  std::string text = "Name: a\nVersion: 1\n";
  for (int i = 0; i < 10'000; ++i) text += "Requires-Dist: b\n";
  text += "Summary: " + std::string(1 << 20, 'x') + "\n";
  CHECK(parse_python_metadata(text)->requires_dist.size() == 4096);
}

TEST_CASE("names of dist-info and egg-info", "[metadata]") {
  const auto split = [](std::string_view name) {
    const auto found = parse_metadata_name(name);
    return found ? found->name + "|" + found->version : "none";
  };
  CHECK(split("numpy-2.0.1.dist-info") == "numpy|2.0.1");
  CHECK(split("apache_beam-2.40.0-py3.8.egg-info") == "apache_beam|2.40.0");
  CHECK(split("foo.egg-info") == "foo|");
  CHECK(split("~umpy-2.0.1.dist-info") == "none");  // an interrupted pip
  CHECK(split("numpy") == "none");
}
