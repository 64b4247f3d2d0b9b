// docs/examples: each trips its rule, and mended it does not, nor anything else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "check/check_text.hpp"
#include "check/rule.hpp"

using namespace imgforge;

namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(IMGFORGE_SOURCE_DIR) / "docs" / "examples";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The options of a first line "# imgforge check --target portable".
TextCheck options_of(const std::string& text) {
  TextCheck options;
  options.today = *Date::parse("2026-11-30");
  std::istringstream words(text.substr(0, text.find('\n')));
  std::string word;
  words >> word >> word;
  if (word != "imgforge") return options;
  words >> word;
  for (std::string name, value; words >> name >> value;) {
    if (name == "--target") options.target = parse_runner(value);
    else if (name == "--accelerator") options.accelerator = value;
    else if (name == "--launch-python") options.launch.python = PythonMinor::parse(value);
    else FAIL("an option that the test does not know: " << name);
  }
  return options;
}

const Knowledge& tables() {
  static const Knowledge knowledge = Knowledge::embedded();
  return knowledge;
}

Outcome outcome_of(const fs::path& file) {
  const std::string text = read(file);
  const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
  const std::vector<CheckedText> checked = check_text(text, file.filename().string(), nothing, options_of(text), tables());
  REQUIRE(checked.size() == 1);
  CAPTURE(checked.front().fault);
  REQUIRE(checked.front().judged_as);
  return checked.front().outcome;
}

std::string shown(const Outcome& outcome) {
  std::string text;
  for (const Finding& finding : outcome.findings) text += finding.rule + ": " + finding.message + "\n";
  for (const Undecided& undecided : outcome.undecided) text += "undecided " + undecided.rule + ": " + undecided.needs + "\n";
  return text;
}

std::vector<fs::path> files(std::string_view stem) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().stem() == stem) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string rule_of(const fs::path& file) { return fs::relative(file.parent_path(), folder).generic_string(); }

}  // namespace

TEST_CASE("examples stand in pairs, of rules that there are") {
  const std::vector<fs::path> trips = files("trips");
  REQUIRE(trips.size() > 40);
  CHECK(files("mended").size() == trips.size());
  for (const fs::path& file : trips) {
    CAPTURE(file);
    CHECK(find_rule(rule_of(file)) != nullptr);
    CHECK(fs::exists(file.parent_path() / ("mended" + file.extension().string())));
  }
}

TEST_CASE("every rule that a Dockerfile or a recipe decides has an example") {
  for (const Rule& rule : all_rules()) {
    if ((rule.inputs & (R | D)) == 0) continue;
    const fs::path at = folder / std::string(rule.id);
    INFO(rule.id);
    CHECK((fs::exists(at / "trips.Dockerfile") || fs::exists(at / "trips.yaml")));
  }
}

TEST_CASE("what trips a rule trips it") {
  for (const fs::path& file : files("trips")) {
    const Outcome outcome = outcome_of(file);
    INFO(rule_of(file) << "\n" << shown(outcome));
    CHECK(std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const Finding& finding) { return finding.rule == rule_of(file); }));
  }
}

TEST_CASE("what is mended has no error, and not that finding") {
  for (const fs::path& file : files("mended")) {
    const Outcome outcome = outcome_of(file);
    INFO(rule_of(file) << "\n" << shown(outcome));
    CHECK(std::none_of(outcome.findings.begin(), outcome.findings.end(),
                       [&](const Finding& finding) { return finding.rule == rule_of(file) || finding.level == Level::error; }));
  }
}
