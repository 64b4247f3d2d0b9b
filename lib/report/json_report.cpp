#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "report/facts_json.hpp"
#include "report/report.hpp"

namespace imgforge {

using nlohmann::json;

namespace {

/// The same fault of the same image after a rebuild has the same fingerprint: layers and wording do not enter.
std::string fingerprint(const Finding& finding) {
  std::string key = finding.rule;
  for (const Evidence& evidence : finding.evidence) key += "\n" + evidence.path + "|" + evidence.config + "|" + evidence.label + "|" + evidence.place.file;
  return Digest::of(key).hex().substr(0, 16);
}

json findings_of(const Outcome& outcome) {
  json list = json::array();
  for (const Finding& finding : outcome.findings) {
    const Rule* rule = find_rule(finding.rule);
    json item = {{"rule", finding.rule}, {"level", to_string(finding.level)}, {"message", to_utf8(finding.message)}, {"fix", to_utf8(finding.fix)},
                 {"url", rule != nullptr ? rule->source : std::string_view{}}, {"fingerprint", fingerprint(finding)}, {"evidence", json::array()}};
    for (const Evidence& evidence : finding.evidence) item["evidence"].push_back(to_json(evidence));
    list.push_back(std::move(item));
  }
  return list;
}

json subject_to_json(const Subject& subject) {
  json item = {{"kind", "image"}, {"name", to_utf8(subject.name)}, {"depth", "full"}, {"findings", findings_of(subject.outcome)},
               {"undecided", json::array()}, {"ignored", json::array()}, {"not_asked", json::array()}, {"passed", subject.outcome.passed}};
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
    // Every byte that was read was proven by its digest, or by its diff id where it has none.
    item["assurance"] = "digest";
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
                  {"layers_read", subject.cost.layers_read}, {"layers_total", subject.cost.layers_total}};
  return item;
}

}  // namespace

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
  return document.dump(2, ' ', true) + "\n";
}

}  // namespace imgforge
