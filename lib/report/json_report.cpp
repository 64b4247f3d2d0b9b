#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "report/facts_json.hpp"
#include "report/log_commands.hpp"
#include "report/report.hpp"

namespace imgforge {

using nlohmann::json;

namespace {

json finding_to_json(const Finding& finding) {
  json item = {{"rule", finding.rule},
               {"level", to_string(finding.level)},
               {"message", to_utf8(finding.message)},
               {"fix", to_utf8(finding.fix)},
               {"url", rule_url(finding.rule)},
               {"fingerprint", fingerprint(finding)},
               {"evidence", json::array()}};
  for (const Evidence& evidence : finding.evidence) item["evidence"].push_back(to_json(evidence));
  return item;
}

json ignored_of(const Outcome& outcome) {
  json list = json::array();
  for (const Ignored& ignored : outcome.ignored) {
    json item = finding_to_json(ignored.finding);
    item["reason"] = ignored.reason.empty() ? json(nullptr) : json(to_utf8(ignored.reason));
    item["until"] = ignored.until ? json(ignored.until->to_string()) : json(nullptr);
    item["by"] = ignored.by == Evidence{} ? json(nullptr) : to_json(ignored.by);
    list.push_back(std::move(item));
  }
  return list;
}

json warnings_of(const Outcome& outcome) {
  json list = json::array();
  for (const Diagnostic& warning : outcome.warnings) {
    json item = to_json(Evidence::at(warning.place));
    item["message"] = to_utf8(warning.message);
    if (!warning.hint.empty()) item["hint"] = to_utf8(warning.hint);
    list.push_back(std::move(item));
  }
  return list;
}

json findings_of(const Outcome& outcome) {
  json list = json::array();
  for (const Finding& finding : outcome.findings) list.push_back(finding_to_json(finding));
  return list;
}

json subject_to_json(const Subject& subject) {
  json item = {{"kind", to_string(subject.kind)}, {"name", to_utf8(subject.name)}, {"depth", to_string(subject.depth)}, {"findings", findings_of(subject.outcome)},
               {"undecided", json::array()}, {"ignored", ignored_of(subject.outcome)}, {"warnings", warnings_of(subject.outcome)}, {"not_asked", subject.outcome.not_asked}, {"passed", subject.outcome.passed}};
  if (!subject.digest.empty()) item["digest"] = subject.digest;
  if (!subject.platform.empty()) item["platform"] = to_utf8(subject.platform);
  if (subject.judged_as) {
    item["target"] = to_string(subject.judged_as->runner);
    item["role"] = to_string(subject.judged_as->role);
    item["judged_because"] = subject.judged_as->because;
  }
  if (subject.error) {
    item["verdict"] = "error";
    item["error"] = {{"kind", to_string(subject.error->kind)}, {"message", to_utf8(subject.error->message)}};
    if (!subject.error->hint.empty()) item["error"]["hint"] = to_utf8(subject.error->hint);
  } else {
    item["verdict"] = to_string(subject.outcome.verdict);
    // Where no layer was needed, the config is what was proven.
    if (subject.kind == SubjectKind::image) item["assurance"] = to_string(subject.proof.value_or(Proof::digest));
  }
  for (const Undecided& undecided : subject.outcome.undecided) {
    item["undecided"].push_back({{"rule", undecided.rule}, {"level", to_string(undecided.level)}, {"needs", to_utf8(undecided.needs)}});
  }
  if (subject.recipe) {
    json& recipe = item["recipe"] = {{"source", to_utf8(subject.recipe->source)}};
    if (!subject.recipe->digest.empty()) recipe["digest"] = subject.recipe->digest;
    if (!subject.recipe->problem.empty()) recipe["problem"] = to_utf8(subject.recipe->problem);
    if (!subject.recipe->not_understood.empty()) {
      recipe["not_understood"] = json::array();
      for (const std::string& key : subject.recipe->not_understood) recipe["not_understood"].push_back(to_utf8(key));
    }
  }
  if (subject.facts) item["facts"] = *subject.facts;
  if (subject.facts_evidence) item["facts_evidence"] = *subject.facts_evidence;
  item["cost"] = {{"bytes_read", subject.cost.bytes_read}, {"bytes_total", subject.cost.bytes_total},
                  {"layers_read", subject.cost.layers_read}, {"layers_total", subject.cost.layers_total},
                  {"layers_cached", subject.cost.layers_cached}};
  return item;
}

}  // namespace

std::string_view to_string(Proof proof) noexcept {
  switch (proof) {
    case Proof::toc: return "toc";
    case Proof::digest: return "digest";
    case Proof::full: return "full";
  }
  return "digest";
}

std::string fingerprint(const Finding& finding) {
  std::string key = finding.rule;
  for (const Evidence& evidence : finding.evidence)
    key += "\n" + evidence.path + "|" + evidence.config + "|" + evidence.label + "|" + evidence.place.file;
  return Digest::of(key).hex().substr(0, 16);
}

int exit_code(const Report& report, bool strict) {
  int code = 0;
  for (const Subject& subject : report.subjects) {
    int one = 0;
    if (subject.error) one = exit_code(subject.error->kind);
    else if (subject.outcome.verdict == Verdict::fail || (strict && subject.outcome.verdict == Verdict::undecided)) one = 1;
    code = std::max(code, one);
  }
  return code;
}

std::string to_json(const Report& report) {
  json document = {{"schema", "imgforge.report/v1"}, {"tool", {{"name", "imgforge"}, {"version", IMGFORGE_VERSION}}},
                   {"knowledge", {{"version", report.knowledge_version}}}, {"today", report.today.to_string()}, {"subjects", json::array()}};
  for (const Subject& subject : report.subjects) document["subjects"].push_back(subject_to_json(subject));
  return without_log_commands(document.dump(2, ' ', true)) + "\n";
}

}  // namespace imgforge
