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

TEST_CASE("tags of a wheel", "[metadata]") {
  CHECK(parse_wheel_tags("Wheel-Version: 1.0\nTag: py2.py3-none-any\r\ntag: cp310-abi3-linux_x86_64\nTags: no\n") ==
        std::vector<std::string>{"py2.py3-none-any", "cp310-abi3-linux_x86_64"});
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "Tag: py3-none-any\n";
  CHECK(parse_wheel_tags(many).size() == 256);
}

TEST_CASE("direct URLs", "[metadata]") {
  const auto editable = parse_direct_url(R"({"url": "file:///work", "dir_info": {"editable": true}})");
  REQUIRE(editable);
  CHECK(editable->url == "file:///work");
  CHECK(editable->editable);
  CHECK_FALSE(parse_direct_url(R"({"url": "https://example.com/a.whl", "archive_info": {}})")->editable);
  CHECK_FALSE(parse_direct_url(R"({"url": "x", "dir_info": {"editable": "yes"}})")->editable);
  for (const char* none : {"", "[]", "{}", R"({"url": 1})", "{"}) CHECK_FALSE(parse_direct_url(none));
}

TEST_CASE("paths of a RECORD", "[metadata]") {
  std::vector<std::string> paths;
  for_each_recorded("a/b.py,sha256=x,1\n\"c,d\"\"e.py\",,\r\n\n,,\nlast.py",
                    [&](std::string_view path) { paths.emplace_back(path); });
  CHECK(paths == std::vector<std::string>{"a/b.py", "c,d\"e.py", "last.py"});
}

TEST_CASE("requires.txt of an egg-info", "[metadata]") {
  CHECK(parse_requires_txt("reel>=1\n# a comment\n\n[fast]\nline\n[slow:python_version < \"3\"]\nhook\n[:os_name == \"nt\"]\nbait\n") ==
        std::vector<std::string>{"reel>=1", "line ; extra == \"fast\"", "hook ; (python_version < \"3\") and extra == \"slow\"",
                                 "bait ; os_name == \"nt\""});
}
