#include "base/version.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace imgforge;

namespace {

std::string canonical(std::string_view text) {
  const std::optional<Version> version = Version::parse(text);
  return version ? version->to_string() : "-";
}

bool fits(std::string_view specifiers, std::string_view version, bool prereleases = true) {
  const std::optional<SpecifierSet> set = SpecifierSet::parse(specifiers);
  REQUIRE(set);
  return set->contains(*Version::parse(version), prereleases);
}

}  // namespace

TEST_CASE("every spelling of a version has one canonical form", "[version]") {
  const std::vector<std::pair<std::string, std::string>> spellings = {
      {"1.0", "1.0"},
      {"v1.0", "1.0"},
      {" 1.0\n", "1.0"},
      {"01.02.003", "1.2.3"},
      {"1!2.0", "1!2.0"},
      {"0!2.0", "2.0"},
      {"1.0-RC.1", "1.0rc1"},
      {"1.0c1", "1.0rc1"},
      {"1.0preview", "1.0rc0"},
      {"1.0_alpha_", "1.0a0"},
      {"1.0.beta-02", "1.0b2"},
      {"1.0-1", "1.0.post1"},
      {"1.0a-1", "1.0a1"},
      {"1.0a--1", "1.0a0.post1"},
      {"1.0rev2", "1.0.post2"},
      {"1.0r", "1.0.post0"},
      {"1.0.POST", "1.0.post0"},
      {"1.0dev", "1.0.dev0"},
      {"1.0a1.post2.dev3+Ubuntu_1-02", "1.0a1.post2.dev3+ubuntu.1.2"},
      {"2.0.1+cu118", "2.0.1+cu118"},
      {"3.14.0rc2", "3.14.0rc2"},
      {"2.48.0", "2.48.0"},
      {"1.0+00", "1.0+0"},
  };
  for (const auto& [text, expected] : spellings) {
    INFO(text);
    CHECK(canonical(text) == expected);
    CHECK(canonical(expected) == expected);
  }
}

TEST_CASE("what is no version", "[version]") {
  for (const std::string_view text : {"",        " ",      "v",      "1.",       ".1",
                                      "1..2",    "1.x",    "latest", "1.0+",     "1.0+a..b",
                                      "1.0+a+b", "1.0 .1", "1!",     "1.0a1b1",  "1.0.dev1.post1",
                                      "==1.0",   "1.0*",   "1.*",    "\xc2\xb2", "18446744073709551616",
                                      "1.0\xff"}) {
    INFO(text);
    CHECK_FALSE(Version::parse(text));
  }
  CHECK(Version::parse("18446744073709551615"));
  CHECK(Version::parse(std::string(256, '1').replace(1, 1, ".").replace(3, 253, std::string(17, '2'))));
  CHECK_FALSE(Version::parse("1." + std::string(100'000, '1')));
  CHECK_FALSE(Version::parse(std::string(1, '1') + std::string("\0", 1)));
}

TEST_CASE("versions are in PEP 440's order", "[version]") {
  // Each is less than the next.
  const std::vector<std::string> ordered = {"0",
                                            "0.0.1",
                                            "0.9",
                                            "1.0.dev0",
                                            "1.0.dev1",
                                            "1.0a0.dev1",
                                            "1.0a0",
                                            "1.0a1",
                                            "1.0a1.post0",
                                            "1.0a2.dev1",
                                            "1.0a2",
                                            "1.0b1.dev456",
                                            "1.0b1",
                                            "1.0b2.post345.dev456",
                                            "1.0b2.post345",
                                            "1.0rc1.dev456",
                                            "1.0rc1",
                                            "1.0",
                                            "1.0+cu118",
                                            "1.0.post0.dev1",
                                            "1.0.post0",
                                            "1.0.post456.dev34",
                                            "1.0.post456",
                                            "1.0.1",
                                            "1.1.dev1",
                                            "1.2",
                                            "1.10",
                                            "2023.12.1",
                                            "1!0.1"};
  std::vector<Version> versions;
  for (const std::string& text : ordered) versions.push_back(*Version::parse(text));
  for (std::size_t i = 0; i < versions.size(); ++i) {
    for (std::size_t j = 0; j < versions.size(); ++j) {
      INFO(ordered[i] << " and " << ordered[j]);
      CHECK((versions[i] <=> versions[j]) == (i <=> j));
    }
  }
}

TEST_CASE("local versions: numbers by value and after words", "[version]") {
  const std::vector<std::string> ordered = {"1.0",
                                            "1.0+abc",
                                            "1.0+abc.def",
                                            "1.0+abc.5",
                                            "1.0+abc.7",
                                            "1.0+cu118",
                                            "1.0+cu121",
                                            "1.0+5",
                                            "1.0+5.0",
                                            "1.0+10",
                                            "1.0+99999999999999999999",
                                            "1.0+100000000000000000000"};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    INFO(ordered[i] << " < " << ordered[i + 1]);
    CHECK(*Version::parse(ordered[i]) < *Version::parse(ordered[i + 1]));
  }
  CHECK(*Version::parse("1.0+ABC-1") == *Version::parse("1.0+abc.001"));
}

TEST_CASE("trailing zeros do not count", "[version]") {
  CHECK(*Version::parse("2.0") == *Version::parse("2.0.0"));
  CHECK(*Version::parse("0!2") == *Version::parse("v2.0.0.0"));
  CHECK(*Version::parse("2.0.0a1") == *Version::parse("2a1"));
  CHECK(*Version::parse("2.0.1") != *Version::parse("2.0"));
}

TEST_CASE("the parts of a version", "[version]") {
  const Version version = *Version::parse("1!3.14rc2.post1.dev4+cpu");
  CHECK(version.epoch() == 1);
  CHECK(version.major() == 3);
  CHECK(version.minor() == 14);
  CHECK(version.micro() == 0);
  CHECK(version.pre()->phase == Version::Phase::candidate);
  CHECK(version.is_prerelease());
  CHECK(version.base().to_string() == "1!3.14");
  CHECK(version.public_part().to_string() == "1!3.14rc2.post1.dev4");
  CHECK_FALSE(Version::parse("1.0.post1")->is_prerelease());
}

TEST_CASE("specifiers hold as Python's packaging says", "[version]") {
  struct Case {
    std::string_view specifiers, version;
    bool expected;
  };
  // Checked against packaging 26.4.
  const Case cases[] = {
      {"", "1.0", true},
      {">=3.8,<3.13", "3.12.1", true},
      {">=3.8,<3.13", "3.13.0", false},
      {"==2.0", "2.0.0", true},
      {"==2.0", "2.0.0+cu118", true},
      {"==2.0+cu118", "2.0", false},
      {"==2.0+cu118", "2.0+cu121", false},
      {"==2.*", "2.0rc1", true},
      {"==2.0.*", "2", true},
      {"==2.1.*", "2", false},
      {"==1!2.*", "2.5", false},
      {"!=3.9.*", "3.9.7", false},
      {"!=3.9.*", "3.10", true},
      {"!=1.0", "1.0+local", false},
      {"~=2.2", "2.9", true},
      {"~=2.2", "3.0", false},
      {"~=2.2.0", "2.3", false},
      {"~=2.2.post3", "2.2", false},
      {"~=2.2.post3", "2.7", true},
      {"~=1.4.5a4", "1.4.9", true},
      {"<=1.0", "1.0+local", true},
      {">=1.0", "1.0+local", true},
      {">1.0", "1.0.post1", false},
      {">1.0", "1.0+local", false},
      {">1.0", "1.0.1", true},
      {">1.0.post1", "1.0.post2", true},
      {">1.0rc1", "1.0", true},
      {">1.0rc1", "1.0rc1.post1", false},
      {">0.2rc0", "0.2.post1.dev0", true},
      {"<1.0", "1.0rc1", false},
      {"<1.0", "1.0.dev1", false},
      {"<1.0rc2", "1.0rc1", true},
      {"<1.0.post1", "1.0", true},
      {"<1.0.post2", "1.0rc1", true},
      {"<1.0", "0.9.9", true},
      {"===1.0", "1.0", true},
      {"===1.0", "1.0.0", false},
      {"=== 1.0RC1", "1.0rc1", true},
      {">=1.0,", "1.0", true},
  };
  for (const Case& item : cases) {
    INFO(item.specifiers << " and " << item.version);
    CHECK(fits(item.specifiers, item.version) == item.expected);
  }
}

TEST_CASE("pre-releases count where a clause names one or the caller asks", "[version]") {
  CHECK_FALSE(fits(">=1.0", "2.0rc1", false));
  CHECK(fits(">=1.0", "2.0rc1", true));
  CHECK(fits(">=1.0rc1", "2.0rc1", false));
  CHECK(fits("===2.0rc1", "2.0rc1", false));
  CHECK_FALSE(fits("!=1.0rc1", "2.0rc1", false));
}

TEST_CASE("what is no specifier", "[version]") {
  for (const std::string_view text :
       {"1.0", "=1.0", ">", "==", "~=2", ">=1.*", "~=1.0.*", "==1.0rc1.*", "==1.0+l.*", ">=1.0+local", "~=1.0+l",
        "==1 .*", "==.*", "== 1.0 2.0", "=== ", "===a b", ">=1.0;", "=>1.0", "==1.0.**"}) {
    INFO(text);
    CHECK_FALSE(SpecifierSet::parse(text));
  }
}

TEST_CASE("specifiers have one spelling, and tell a pin", "[version]") {
  CHECK(SpecifierSet::parse(" >= 3.8 , != 3.9.* ,>=3.8")->to_string() == "!=3.9.*,>=3.8");
  CHECK(SpecifierSet::parse("===v1")->to_string() == "===v1");
  CHECK(SpecifierSet::parse("==v2.48.0")->pinned()->to_string() == "2.48.0");
  CHECK(SpecifierSet::parse("===2.48.0")->pinned()->to_string() == "2.48.0");
  CHECK_FALSE(SpecifierSet::parse("==2.48.*")->pinned());
  CHECK_FALSE(SpecifierSet::parse(">=2.48.0")->pinned());
  CHECK_FALSE(SpecifierSet::parse("==2.48.0,<3")->pinned());
  CHECK(SpecifierSet::parse("")->empty());
}

TEST_CASE("a Python minor is exactly two numbers", "[version]") {
  CHECK(PythonMinor::parse("3.10") == PythonMinor{3, 10});
  CHECK(PythonMinor::parse("3.10")->to_string() == "3.10");
  CHECK(PythonMinor{3, 9} < PythonMinor{3, 10});
  CHECK(PythonMinor::of(*Version::parse("3.14.0rc2")) == PythonMinor{3, 14});
  for (const std::string_view text : {"3", "3.", "3.1.2", "3.x", "03.1", "3.01", " 3.1", "3.1 ", "3.1000", "-3.1"}) {
    INFO(text);
    CHECK_FALSE(PythonMinor::parse(text));
  }
}
