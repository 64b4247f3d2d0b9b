#include "check/checker.hpp"

#include <algorithm>

namespace imgforge {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::undecided: return "undecided";
  }
  return "undecided";
}

bool nothing_applied(const Outcome& outcome) noexcept {
  return outcome.findings.empty() && outcome.undecided.empty() && outcome.passed.empty();
}

Outcome check(const Case& subject, const CheckOptions& options) {
  Outcome outcome;
  for (const Rule& rule : all_rules()) {
    if ((rule.inputs & static_cast<unsigned>(subject.kind)) == 0) continue;
    const Answer answer = rule.judge(subject);
    const std::string id(rule.id);
    if (answer.is_finding()) {
      for (const Answer::Found& found : answer.found()) {
        outcome.findings.push_back({id, found.level.value_or(rule.level), found.message, found.fix, found.evidence});
      }
    } else if (answer.is_undecided()) {
      outcome.undecided.push_back({id, rule.level, answer.needs()});
    } else if (answer.is_pass()) {
      outcome.passed.push_back(id);
    }
  }
  // Stable: rules are asked in the order of their ids.
  std::stable_sort(outcome.findings.begin(), outcome.findings.end(),
                   [](const Finding& one, const Finding& other) { return one.level > other.level; });
  outcome.verdict = verdict_of(outcome, options);
  return outcome;
}

Verdict verdict_of(const Outcome& outcome, const CheckOptions& options) {
  const bool failed = std::any_of(outcome.findings.begin(), outcome.findings.end(),
                                  [&](const Finding& finding) { return finding.level >= options.fail_on; });
  const bool open = std::any_of(outcome.undecided.begin(), outcome.undecided.end(),
                                [](const Undecided& undecided) { return undecided.level == Level::error; });
  return failed ? Verdict::fail : open ? Verdict::undecided : Verdict::pass;
}

}  // namespace imgforge
