#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "report/log_commands.hpp"
#include "report/report.hpp"
#include "report/source_lines.hpp"

namespace imgforge {

using nlohmann::json;

namespace {

/// Text for people in a message: control characters visible, and no "[text](target)", which viewers make links of
/// (SARIF 2.1.0, 3.11.6).
std::string message_text(std::string_view text) {
  std::string safe = display_safe(text);
  for (std::size_t at = safe.find("]("); at != std::string::npos; at = safe.find("](", at + 2))
    safe.insert(at + 1, " ");
  return safe;
}

json message(std::string_view text) { return {{"text", message_text(text)}}; }

/// A path as a URI reference (RFC 3986): relative where the path is, its bytes percent-encoded, whatever they are.
std::string uri_of(std::string_view path) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  while (path.starts_with("./")) path.remove_prefix(2);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += hex[byte >> 4];
      uri += hex[byte & 15];
    }
  }
  return uri;
}

json artifact(std::string_view path) {
  json location = {{"uri", uri_of(path)}};
  if (!path.starts_with('/')) location["uriBaseId"] = "%SRCROOT%";
  return location;
}

/// What is in an image is no file of the repository: the layer and the path stand for it, and a logical location says
/// it in words.
json image_location(const Subject& subject, const Evidence& evidence) {
  std::string what, uri = subject.name, kind = "member";
  if (!evidence.path.empty()) {
    what = evidence.path;
    kind = "resource";
    uri = evidence.layer.empty() ? subject.name + evidence.path : evidence.layer + evidence.path;
  } else if (!evidence.config.empty()) {
    what = "config " + evidence.config;
  } else if (!evidence.label.empty()) {
    what = "label " + evidence.label;
  }
  json logical = {{"fullyQualifiedName", display_safe(subject.name + (what.empty() ? "" : ": " + what))}};
  if (!what.empty()) {
    logical["name"] = display_safe(what);
    logical["kind"] = kind;
  }
  return {{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(uri)}}}}},
          {"logicalLocations", json::array({logical})}};
}

json location(const Subject& subject, const Evidence& evidence, SourceLines& lines) {
  if (evidence.place.file.empty()) {
    if (subject.kind == SubjectKind::image) return image_location(subject, evidence);
    return {{"physicalLocation", {{"artifactLocation", artifact(subject.name)}}}};
  }
  json physical = {{"artifactLocation", artifact(evidence.place.file)}};
  if (evidence.place.line != 0) {
    physical["region"] = {{"startLine", evidence.place.line}};
    if (const std::size_t column = lines.column(evidence.place); column != 0)
      physical["region"]["startColumn"] = column;
  }
  return {{"physicalLocation", std::move(physical)}};
}

json result(const Subject& subject, const Finding& finding, const std::map<std::string_view, std::size_t>& positions,
            SourceLines& lines) {
  std::string text = message_text(finding.message);
  if (!finding.fix.empty()) text += "\nFix: " + message_text(finding.fix);
  if (subject.kind == SubjectKind::image) text = message_text(subject.name) + ": " + text;
  json item = {{"ruleId", finding.rule},
               {"level", to_string(finding.level)},
               {"message", {{"text", text}}},
               {"partialFingerprints", {{"imgforge/v1", fingerprint(finding)}}},
               {"locations", json::array()}};
  if (const auto position = positions.find(finding.rule); position != positions.end())
    item["ruleIndex"] = position->second;
  item["locations"].push_back(
      location(subject, finding.evidence.empty() ? Evidence{} : finding.evidence.front(), lines));
  for (std::size_t i = 1; i < finding.evidence.size(); ++i) {
    json related = location(subject, finding.evidence[i], lines);
    related["id"] = i;
    item["relatedLocations"].push_back(std::move(related));
  }
  return item;
}

json rule_metadata(const Rule& rule) {
  return {{"id", rule.id},
          {"shortDescription", {{"text", "A finding when " + std::string(rule.title)}}},
          {"fullDescription", message(rule.why)},
          {"help", message(std::string(rule.mend) + " Source: " + std::string(rule.source))},
          {"helpUri", rule_url(rule.id)},
          {"defaultConfiguration", {{"level", to_string(rule.level)}}},
          {"properties", {{"tags", json::array({rule.id.substr(0, rule.id.find('/'))})}}}};
}

json notification(std::string_view level, const Place& place, SourceLines& lines, const Subject& subject,
                  const std::string& text) {
  json item = {{"level", level}, {"message", message(text)}};
  Evidence evidence;
  evidence.place = place;
  item["locations"] = json::array({location(subject, evidence, lines)});
  return item;
}

}  // namespace

std::string to_sarif(const Report& report) {
  // The rules with results alone: the catalogue is many times as large as what a file comes to, and ruleIndex counts
  // within what is listed.
  std::set<std::string_view> tripped;
  for (const Subject& subject : report.subjects) {
    for (const Finding& finding : subject.outcome.findings) tripped.insert(finding.rule);
  }
  json rules = json::array();
  std::map<std::string_view, std::size_t> positions;
  for (const Rule& rule : all_rules()) {
    if (!tripped.contains(rule.id)) continue;
    positions[rule.id] = rules.size();
    rules.push_back(rule_metadata(rule));
  }
  json results = json::array();
  json notifications = json::array();
  bool successful = true;
  for (const Subject& subject : report.subjects) {
    SourceLines lines(subject.texts);
    if (subject.error) {
      successful = false;
      const std::string hint = subject.error->hint.empty() ? "" : " (" + subject.error->hint + ")";
      notifications.push_back(
          notification("error", {}, lines, subject, subject.name + ": " + subject.error->message + hint));
    }
    for (const Finding& finding : subject.outcome.findings)
      results.push_back(result(subject, finding, positions, lines));
    for (const Diagnostic& warning : subject.outcome.warnings)
      notifications.push_back(notification("warning", warning.place, lines, subject, warning.message));
    for (const Undecided& undecided : subject.outcome.undecided)
      notifications.push_back(
          notification("note", {}, lines, subject, undecided.rule + " is undecided: needs " + undecided.needs));
  }
  json invocation = {{"executionSuccessful", successful}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  const json document = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", json::array({{{"tool",
                              {{"driver",
                                {{"name", "imgforge"},
                                 {"version", IMGFORGE_VERSION},
                                 {"semanticVersion", IMGFORGE_VERSION},
                                 {"informationUri", "https://imgforge.dev"},
                                 {"rules", std::move(rules)}}}}},
                             {"columnKind", "unicodeCodePoints"},
                             {"invocations", json::array({std::move(invocation)})},
                             {"results", std::move(results)}}})}};
  return without_log_commands(document.dump(2, ' ', true)) + "\n";
}

}  // namespace imgforge
