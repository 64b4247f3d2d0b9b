#include <fmt/format.h>

#include <map>

#include "base/text.hpp"
#include "report/report.hpp"

namespace imgforge {

namespace {

/// Text for an attribute or an element, in which nothing is markup: "]]>" neither. XML 1.0 has no way to write most
/// control characters, U+FFFE and U+FFFF: they become visible, as on a terminal.
std::string xml(std::string_view text) {
  const std::string safe = display_safe(text);
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const std::string_view rest = std::string_view(safe).substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
      result += rest[2] == '\xBE' ? "\\u{fffe}" : "\\u{ffff}";
      i += 2;
      continue;
    }
    switch (safe[i]) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&apos;"; break;
      default: result += safe[i];
    }
  }
  return result;
}

std::string shown(const Evidence& evidence) {
  if (!evidence.place.file.empty()) return to_string(evidence.place);
  if (!evidence.path.empty()) return escape_for_display(evidence.path);
  if (!evidence.config.empty()) return "config " + escape_for_display(evidence.config);
  return "label " + escape_for_display(evidence.label);
}

/// Lines of an element's text.
std::string described(const Finding& finding) {
  std::string text = fmt::format("{}: {}\n", to_string(finding.level), xml(finding.message));
  for (const Evidence& evidence : finding.evidence) text += fmt::format("at  {}\n", xml(shown(evidence)));
  if (!finding.fix.empty()) text += fmt::format("fix {}\n", xml(finding.fix));
  return text;
}

struct TestCase {
  std::vector<const Finding*> failures;
  std::vector<const Finding*> others;  // below fail_on
  std::string skipped;                 // why; empty where it was not
};

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string attributes() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"0\"", tests, failures, errors,
                       skipped);
  }
};

std::map<std::string, TestCase> cases_of(const Subject& subject, Level fail_on) {
  std::map<std::string, TestCase> cases;  // by rule
  for (const std::string& rule : subject.outcome.passed) cases[rule];
  for (const Undecided& undecided : subject.outcome.undecided)
    cases[undecided.rule].skipped = "undecided: needs " + undecided.needs;
  for (const Ignored& ignored : subject.outcome.ignored) {
    cases[ignored.finding.rule].skipped =
        ignored.reason.empty() ? std::string("ignored, without a reason") : "ignored: " + ignored.reason;
  }
  for (const Finding& finding : subject.outcome.findings) {
    TestCase& one = cases[finding.rule];
    (finding.level >= fail_on ? one.failures : one.others).push_back(&finding);
  }
  return cases;
}

std::string to_xml(const std::string& rule, const TestCase& one, const std::string& class_name, Counts& counts) {
  ++counts.tests;
  std::string body;
  if (!one.failures.empty()) {
    ++counts.failures;
    // One failure a case is what every reader takes.
    const Finding& first = *one.failures.front();
    body += fmt::format("      <failure message=\"{}\" type=\"{}\">", xml(first.message), to_string(first.level));
    for (const Finding* finding : one.failures) body += described(*finding);
    body += "</failure>\n";
  } else if (!one.skipped.empty()) {
    ++counts.skipped;
    body += fmt::format("      <skipped message=\"{}\"/>\n", xml(one.skipped));
  }
  if (!one.others.empty()) {
    body += "      <system-out>";
    for (const Finding* finding : one.others) body += described(*finding);
    body += "</system-out>\n";
  }
  const std::string head =
      fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"0\"", xml(rule), xml(class_name));
  return body.empty() ? head + "/>\n" : head + ">\n" + body + "    </testcase>\n";
}

}  // namespace

std::string to_junit(const Report& report) {
  Counts all;
  std::string suites;
  for (const Subject& subject : report.subjects) {
    Counts counts;
    std::string cases;
    if (subject.error) {
      ++counts.tests;
      ++counts.errors;
      cases += fmt::format(
          "    <testcase name=\"verdict\" classname=\"{}\" time=\"0\">\n      <error message=\"{}\" "
          "type=\"{}\">{}</error>\n    </testcase>\n",
          xml(subject.name), xml(subject.error->message), to_string(subject.error->kind), xml(subject.error->hint));
    } else {
      for (const auto& [rule, one] : cases_of(subject, report.fail_on))
        cases += to_xml(rule, one, subject.name, counts);
    }
    std::string warnings;
    for (const Diagnostic& warning : subject.outcome.warnings)
      warnings += fmt::format("{}: warning: {}\n", xml(to_string(warning.place)), xml(warning.message));
    if (!warnings.empty()) cases += fmt::format("    <system-out>{}</system-out>\n", warnings);
    suites +=
        fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml(subject.name), counts.attributes(), cases);
    all.tests += counts.tests;
    all.failures += counts.failures;
    all.errors += counts.errors;
    all.skipped += counts.skipped;
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"imgforge\" {}>\n{}</testsuites>\n",
                     all.attributes(), suites);
}

}  // namespace imgforge
