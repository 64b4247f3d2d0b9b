#include "check/checker.hpp"

#include <algorithm>

#include "base/text.hpp"

#include "facts/build.hpp"

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

namespace {

/// Which rules concern a subject at all, by their group. RULES: "Target and role", "GPU target", "TPU target", "One fault,
/// one finding".
bool concerns(const Rule& rule, const Case& subject) {
  if ((rule.inputs & static_cast<unsigned>(subject.kind)) == 0) return false;
  const Build* build = subject.facts.build.get();
  if (build != nullptr && has_errors(build->syntax)) {
    return rule.id == "dockerfile/syntax" || rule.id == "dockerfile/env-inline-comment";
  }
  const JudgedAs& judged = subject.judged_as;
  if (judged.without_sign) return rule.id.starts_with("dockerfile/") || rule.id.starts_with("python/");
  // A row of the known broken combinations names its own condition.
  if (rule.id.starts_with("cuda/") && rule.id != "cuda/known-broken") return judged.accelerator == Accelerator::gpu;
  if (rule.id.starts_with("tpu/")) return judged.accelerator == Accelerator::tpu;
  return true;
}

}  // namespace

Outcome check(const Case& subject, const CheckOptions& options) {
  Outcome outcome;
  for (const Rule& rule : all_rules()) {
    if (!concerns(rule, subject)) continue;
    if (!options.select.empty() && std::find(options.select.begin(), options.select.end(), rule.id) == options.select.end()) continue;
    if (options.depth == Depth::contract && rule.reach == Reach::tree) {
      outcome.not_asked.emplace_back(rule.id);
      continue;
    }
    const Answer answer = rule.judge(subject);
    const std::string id(rule.id);
    if (answer.is_finding()) {
      for (const Answer::Found& found : answer.found()) {
        outcome.findings.push_back({id, found.level.value_or(rule.level), found.message, std::string(trim(found.fix)), found.evidence});
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
