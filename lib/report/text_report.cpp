#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/report.hpp"
#include "report/source_lines.hpp"
#include "report/style.hpp"

namespace imgforge {

namespace {

std::string shown(const Evidence& evidence) {
  std::string text;
  if (!evidence.place.file.empty()) text = to_string(evidence.place);
  if (!evidence.config.empty()) text = "config " + escape_for_display(evidence.config);
  if (!evidence.label.empty()) text = "label " + escape_for_display(evidence.label);
  if (!evidence.path.empty()) {
    text = escape_for_display(evidence.path);
    if (!evidence.layer.empty()) text += fmt::format("  (layer {})", escape_for_display(evidence.layer).substr(0, 19));
  }
  return text;
}

std::string level_word(const Palette& palette, Level level) {
  switch (level) {
    case Level::error: return palette.red("error");
    case Level::warning: return palette.yellow("warning");
    case Level::note: return palette.blue("note");
  }
  return {};
}

std::string verdict_word(const Palette& palette, const Subject& subject) {
  if (subject.error) return palette.red("ERROR");
  switch (subject.outcome.verdict) {
    case Verdict::pass: return palette.green("PASS");
    case Verdict::fail: return palette.red("FAIL");
    case Verdict::undecided: return palette.yellow("UNDECIDED");
  }
  return {};
}

std::string judged(const Subject& subject) {
  if (!subject.judged_as) return {};
  std::string role = to_string(subject.judged_as->role);
  if (subject.judged_as->role == Role::both) role = "worker and launcher";
  const std::string what =
      subject.kind == SubjectKind::image ? escape_for_display(subject.platform) : std::string(to_string(subject.kind));
  return fmt::format("{}, judged as {} {} ({}{})", what, to_string(subject.judged_as->runner), role,
                     display_safe(subject.judged_as->because),
                     subject.judged_as->by_package ? "; --target says otherwise" : "");
}

void add_finding(std::string& text, const Palette& palette, const Finding& finding, SourceLines& lines) {
  // Of what has a place in a text: "file:line:column: level rule", which editors and people can follow.
  const Place place = finding.evidence.empty() ? Place{} : finding.evidence.front().place;
  const bool placed = !place.file.empty();
  text += fmt::format("\n{}{} {}\n  {}\n", placed ? palette.bold(to_string(place)) + ": " : "",
                      level_word(palette, finding.level), palette.bold(finding.rule), display_safe(finding.message));
  // The line of a secret is what must not be shown.
  if (placed && finding.rule != "dockerfile/secret") {
    const std::string excerpt = lines.shown(place);
    for (const std::string_view line : imgforge::lines(excerpt)) text += fmt::format("  {}\n", line);
  }
  constexpr std::size_t most = 4;
  const std::size_t first = placed ? 1 : 0;
  for (std::size_t i = first; i < std::min(most, finding.evidence.size()); ++i)
    text += fmt::format("  {} {}\n", palette.faint("at  "), shown(finding.evidence[i]));
  if (finding.evidence.size() > most)
    text += fmt::format("  {} and {} more places\n", palette.faint("at  "), finding.evidence.size() - most);
  if (!finding.fix.empty()) text += fmt::format("  {} {}\n", palette.faint("fix "), display_safe(finding.fix));
}

void add_waivers(std::string& text, const Palette& palette, const Subject& subject, SourceLines& lines) {
  if (!subject.outcome.ignored.empty()) text += fmt::format("\n{}\n", palette.faint("ignored"));
  for (const Ignored& ignored : subject.outcome.ignored) {
    const std::string where =
        ignored.finding.evidence.empty() ? std::string() : "  " + shown(ignored.finding.evidence.front());
    const std::string until = ignored.until ? fmt::format(", until {}", ignored.until->to_string()) : std::string();
    text += fmt::format("  {}{}  ({}{})\n", ignored.finding.rule, where,
                        ignored.reason.empty() ? std::string("no reason") : display_safe(ignored.reason), until);
  }
  for (const Diagnostic& warning : subject.outcome.warnings) {
    text += fmt::format("\n{}: {} {}\n", palette.bold(to_string(warning.place)), palette.yellow("warning"),
                        display_safe(warning.message));
    const std::string excerpt = lines.shown(warning.place);
    for (const std::string_view line : imgforge::lines(excerpt)) text += fmt::format("  {}\n", line);
    if (!warning.hint.empty()) text += fmt::format("  = {}\n", display_safe(warning.hint));
  }
}

void add_subject(std::string& text, const Palette& palette, const TextStyle& style, const Subject& subject) {
  text += fmt::format("{} {}\n", verdict_word(palette, subject), palette.bold(escape_for_display(subject.name)));
  if (subject.error) {
    text += fmt::format("  {}\n", display_safe(subject.error->message));
    if (!subject.error->hint.empty()) text += fmt::format("  = {}\n", display_safe(subject.error->hint));
    return;
  }
  text += fmt::format("  {}\n", judged(subject));
  if (!subject.digest.empty()) text += fmt::format("  {}\n", subject.digest);
  if (subject.recipe) {
    text += fmt::format("  recipe: {}", escape_for_display(subject.recipe->source));
    if (!subject.recipe->problem.empty()) text += ", not readable: " + display_safe(subject.recipe->problem);
    text += "\n";
    if (!subject.recipe->not_understood.empty()) {
      std::vector<std::string> keys;
      for (const std::string& key : subject.recipe->not_understood) keys.push_back(escape_for_display(key));
      text += fmt::format("  of a later imgforge, not held against the image: {}\n", join_words(keys));
    }
  }
  SourceLines lines(subject.texts);
  for (const Finding& finding : subject.outcome.findings) add_finding(text, palette, finding, lines);
  add_waivers(text, palette, subject, lines);
  if (!subject.outcome.undecided.empty()) {
    text += fmt::format("\n{}\n", palette.yellow("undecided"));
    for (const Undecided& undecided : subject.outcome.undecided)
      text += fmt::format("  {}  needs {}\n", undecided.rule, display_safe(undecided.needs));
  }
  if (style.verbose && !subject.outcome.passed.empty()) {
    text += fmt::format("\n{}\n", palette.green("passed"));
    for (const std::string& rule : subject.outcome.passed) text += fmt::format("  {}\n", rule);
  }
  const auto count = [&](Level level) {
    return std::count_if(subject.outcome.findings.begin(), subject.outcome.findings.end(),
                         [&](const Finding& finding) { return finding.level == level; });
  };
  const auto plural = [](auto number, std::string_view word) {
    return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
  };
  text += fmt::format("\n{}, {}, {}, {} undecided, {} passed", plural(count(Level::error), "error"),
                      plural(count(Level::warning), "warning"), plural(count(Level::note), "note"),
                      subject.outcome.undecided.size(), subject.outcome.passed.size());
  if (!subject.outcome.ignored.empty()) text += fmt::format(", {} ignored", subject.outcome.ignored.size());
  if (!subject.outcome.not_asked.empty()) text += fmt::format(", {} not asked", subject.outcome.not_asked.size());
  if (subject.kind == SubjectKind::image) {
    text += fmt::format("; read {} of {}, {} of {} layers", human_size(subject.cost.bytes_read),
                        human_size(subject.cost.bytes_total), subject.cost.layers_read, subject.cost.layers_total);
    if (subject.cost.layers_cached != 0) text += fmt::format(", {} known from before", subject.cost.layers_cached);
    if (subject.proof && *subject.proof != Proof::digest) text += fmt::format("; assurance {}", to_string(*subject.proof));
  }
  text += "\n";
}

}  // namespace

std::string to_text(const Report& report, const TextStyle& style) {
  const Palette palette{style.color};
  std::string text;
  for (const Subject& subject : report.subjects) {
    if (!text.empty()) text += "\n";
    add_subject(text, palette, style, subject);
  }
  return text;
}

}  // namespace imgforge
