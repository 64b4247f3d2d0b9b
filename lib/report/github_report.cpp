#include <fmt/format.h>

#include "base/text.hpp"
#include "report/report.hpp"
#include "report/source_lines.hpp"

namespace imgforge {

namespace {

/// As @actions/core writes the message of a command: what would end the line, and the sign that escapes it. Control
/// characters become visible before, so that a line of a log is a line.
std::string command_data(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '%': result += "%25"; break;
      case '\r': result += "%0D"; break;
      case '\n': result += "%0A"; break;
      default: result += c;
    }
  }
  return result;
}

/// And its properties: also what would end one of them.
std::string command_property(std::string_view text) {
  std::string result;
  for (const char c : command_data(display_safe(text))) {
    if (c == ':')
      result += "%3A";
    else if (c == ',')
      result += "%2C";
    else
      result += c;
  }
  return result;
}

std::string_view command_of(Level level) noexcept {
  switch (level) {
    case Level::error: return "error";
    case Level::warning: return "warning";
    case Level::note: return "notice";
  }
  return "error";
}

std::string command(std::string_view name, const Place& place, SourceLines& lines, std::string_view title,
                    const std::vector<std::string>& parts) {
  std::string properties;
  if (!place.file.empty()) {
    std::string_view file = place.file;
    while (file.starts_with("./")) file.remove_prefix(2);
    properties += fmt::format("file={},", command_property(file));
    if (place.line != 0) properties += fmt::format("line={},", place.line);
    if (const std::size_t column = lines.column(place); column != 0) properties += fmt::format("col={},", column);
  }
  std::string message;
  for (const std::string& part : parts) {
    if (!part.empty()) message += (message.empty() ? "" : "\n") + display_safe(part);
  }
  return fmt::format("::{} {}title={}::{}\n", name, properties, command_property(title), command_data(message));
}

/// Where the annotation goes: the first place in a file.
Place place_of(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence) {
    if (!evidence.place.file.empty()) return evidence.place;
  }
  return {};
}

std::string seen_at(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence) {
    if (!evidence.path.empty()) return "at " + escape_for_display(evidence.path);
    if (!evidence.config.empty()) return "at config " + escape_for_display(evidence.config);
    if (!evidence.label.empty()) return "at label " + escape_for_display(evidence.label);
  }
  return {};
}

}  // namespace

std::string to_github(const Report& report) {
  std::string text;
  for (const Subject& subject : report.subjects) {
    SourceLines lines(subject.texts);
    const bool image = subject.kind == SubjectKind::image;
    const Place whole = image ? Place{} : Place{subject.name, 0, 0};
    const std::string of = image ? subject.name + ": " : std::string();
    if (subject.error) {
      text += command("error", whole, lines, "imgforge", {of + subject.error->message, subject.error->hint});
      continue;
    }
    for (const Finding& finding : subject.outcome.findings) {
      Place place = place_of(finding);
      if (place.file.empty()) place = whole;
      text += command(command_of(finding.level), place, lines, finding.rule,
                      {of + finding.message, place.line == 0 ? seen_at(finding) : std::string(),
                       finding.fix.empty() ? std::string() : "Fix: " + finding.fix});
    }
    for (const Diagnostic& warning : subject.outcome.warnings)
      text += command("warning", warning.place, lines, "imgforge", {warning.message, warning.hint});
    for (const Undecided& undecided : subject.outcome.undecided) {
      if (undecided.level != Level::error) continue;
      text += command("notice", whole, lines, undecided.rule + " is undecided", {of + "needs " + undecided.needs});
    }
  }
  return text;
}

}  // namespace imgforge
