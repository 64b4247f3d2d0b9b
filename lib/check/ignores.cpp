#include "check/ignores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_ignores = 10'000;
constexpr std::size_t longest_shown = 80;

std::string shown(std::string_view text) { return escape_for_display(text.substr(0, longest_shown)); }

std::string meant(std::string_view rule) {
  if (rule.size() > longest_shown) return {};
  std::vector<std::string> known;
  for (const Rule& other : all_rules()) known.emplace_back(other.id);
  const std::optional<std::string> near = nearest(rule, known);
  return near ? fmt::format("did you mean {}?", *near) : std::string();
}

Diagnostic warning(Place place, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.level = Diagnostic::Level::warning;
  diagnostic.place = std::move(place);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

/// The lines that an instruction takes, by the pragma before it or within it; nothing where none follows.
const dockerfile::Instruction* instruction_of(const dockerfile::Dockerfile& file,
                                              const dockerfile::Dockerfile::Pragma& pragma) {
  const auto within = [&](const dockerfile::Instruction& instruction) {
    return instruction.place.line < pragma.place.line && pragma.place.line <= instruction.last_line;
  };
  // In order, so that the last one that begins before the pragma is the only one that may hold it.
  const auto after = std::upper_bound(
      file.instructions.begin(), file.instructions.end(), pragma.place.line,
      [](std::size_t line, const dockerfile::Instruction& instruction) { return line < instruction.place.line; });
  if (after != file.instructions.begin() && within(*std::prev(after))) return &*std::prev(after);
  return after == file.instructions.end() ? nullptr : &*after;
}

}  // namespace

void Ignores::add(const dockerfile::Dockerfile& file) {
  constexpr std::string_view of_line = "ignore=";
  constexpr std::string_view of_file = "ignore-file=";
  for (const dockerfile::Dockerfile::Pragma& pragma : file.pragmas) {
    if (ignores_.size() + faults_.size() >= most_ignores) return;
    const std::string_view text = pragma.text;
    const bool everywhere = text.starts_with(of_file);
    if (!everywhere && !text.starts_with(of_line)) {
      faults_.push_back(warning(pragma.place,
                                fmt::format("\"imgforge: {}\" says nothing that imgforge reads", shown(text)),
                                "write # imgforge: ignore=RULE REASON, or ignore-file=RULE REASON"));
      continue;
    }
    const std::string_view rest = text.substr(everywhere ? of_file.size() : of_line.size());
    // "a/b, c/d reason": a space behind a comma does not end the list.
    std::size_t end = 0;
    while (end < rest.size() && (rest[end] != ' ' && rest[end] != '\t')) {
      ++end;
      while (end < rest.size() && rest[end - 1] == ',' && (rest[end] == ' ' || rest[end] == '\t')) {
        const std::size_t next = rest.find_first_not_of(" \t", end);
        // Only where another rule follows, and no reason.
        const std::string_view word = next == std::string_view::npos
                                          ? std::string_view()
                                          : rest.substr(next, rest.find_first_of(" \t,", next) - next);
        if (word.find('/') == std::string_view::npos) break;
        end = next;
      }
    }
    Ignore ignore;
    ignore.reason = std::string(trim(rest.substr(end)));
    ignore.place = pragma.place;
    ignore.everywhere = everywhere;
    ignore.file = file.file;
    if (!everywhere) {
      if (const dockerfile::Instruction* instruction = instruction_of(file, pragma)) {
        ignore.first_line = instruction->place.line;
        ignore.last_line = std::max(instruction->last_line, instruction->place.line);
      }
    }
    bool any = false;
    for (const std::string_view part : split(rest.substr(0, end), ',')) {
      if (trim(part).empty()) continue;
      any = true;
      ignore.rule = std::string(trim(part));
      ignores_.push_back(ignore);
    }
    if (!any)
      faults_.push_back(warning(pragma.place, "this ignore names no rule", "write # imgforge: ignore=RULE REASON"));
  }
}

void Ignores::add(const Recipe& recipe) {
  for (std::size_t i = 0; i < recipe.checks.ignore.size(); ++i) {
    const RecipeIgnore& written = recipe.checks.ignore[i];
    Ignore ignore;
    ignore.rule = written.rule;
    ignore.reason = std::string(trim(written.reason));
    ignore.until = written.until;
    ignore.place = recipe.place_of(fmt::format("checks.ignore[{}].rule", i));
    ignore.everywhere = true;
    ignores_.push_back(std::move(ignore));
  }
}

void Ignores::add_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  Ignore ignore;
  ignore.rule = std::string(trim(std::string_view(text).substr(0, equals)));
  if (equals != std::string::npos) ignore.reason = std::string(trim(std::string_view(text).substr(equals + 1)));
  ignore.option = true;
  ignore.everywhere = true;
  if (find_rule(ignore.rule) == nullptr) {
    std::string hint = meant(ignore.rule);
    throw Error(ErrorKind::usage, fmt::format("--ignore {}: there is no such rule", shown(ignore.rule)),
                hint.empty() ? "imgforge explain lists the rules" : std::move(hint));
  }
  ignores_.push_back(std::move(ignore));
}

bool Ignores::takes(const Ignore& ignore, const Finding& finding) const {
  if (ignore.rule != finding.rule) return false;
  if (ignore.everywhere) return true;
  return std::any_of(finding.evidence.begin(), finding.evidence.end(), [&](const Evidence& evidence) {
    return evidence.place.file == ignore.file && evidence.place.line >= ignore.first_line &&
           evidence.place.line <= ignore.last_line && evidence.place.line != 0;
  });
}

void Ignores::apply(Outcome& outcome, const Date& today, const CheckOptions& options, SubjectKind kind) {
  judged_ |= static_cast<unsigned>(kind);
  // Of each rule the ignores that count, so that a long file with many of them is not read once for each.
  std::map<std::string_view, std::vector<Ignore*>> by_rule;
  for (Ignore& ignore : ignores_) {
    if (!ignore.until || today <= *ignore.until) by_rule[ignore.rule].push_back(&ignore);
  }
  std::vector<Finding> left;
  for (Finding& finding : outcome.findings) {
    const auto candidates = by_rule.find(finding.rule);
    Ignore* taken = nullptr;
    if (candidates != by_rule.end()) {
      for (Ignore* ignore : candidates->second) {
        if (takes(*ignore, finding)) {
          ignore->used = true;
          if (taken == nullptr) taken = ignore;
        } else if (!ignore->elsewhere) {
          const auto there = std::find_if(finding.evidence.begin(), finding.evidence.end(),
                                          [](const Evidence& evidence) { return !evidence.place.file.empty(); });
          ignore->elsewhere = there == finding.evidence.end() ? Place{} : there->place;
        }
      }
    }
    if (taken == nullptr) {
      left.push_back(std::move(finding));
      continue;
    }
    Ignored ignored;
    ignored.finding = std::move(finding);
    ignored.reason = taken->reason;
    ignored.until = taken->until;
    ignored.by = Evidence::at(taken->place);
    outcome.ignored.push_back(std::move(ignored));
  }
  outcome.findings = std::move(left);
  std::erase_if(outcome.undecided, [&](const Undecided& undecided) {
    const auto candidates = by_rule.find(undecided.rule);
    if (candidates == by_rule.end()) return false;
    bool waived = false;
    for (Ignore* ignore : candidates->second) {
      // One for a line may have been needed, too, were the fact known.
      ignore->used = true;
      waived = waived || ignore->everywhere;
    }
    return waived;
  });
  outcome.verdict = verdict_of(outcome, options);
}

std::vector<Diagnostic> Ignores::warnings(const Date& today) const {
  std::vector<Diagnostic> result = faults_;
  for (const Ignore& ignore : ignores_) {
    if (ignore.option) continue;
    const std::string rule = shown(ignore.rule);
    const auto add = [&](std::string message, std::string hint) {
      result.push_back(warning(ignore.place, std::move(message), std::move(hint)));
    };
    const Rule* known = find_rule(ignore.rule);
    if (known == nullptr) {
      std::string hint = meant(ignore.rule);
      add(fmt::format("an ignore of {}: there is no such rule", rule),
          hint.empty() ? "imgforge explain lists the rules" : std::move(hint));
      continue;
    }
    if (ignore.reason.empty())
      add(fmt::format("the ignore of {} has no reason", rule), "say why, for whoever reads it next");
    if (ignore.until && *ignore.until < today) {
      add(fmt::format("the ignore of {} has expired: it counted until {}", rule, ignore.until->to_string()),
          "mend what it waived, or give it a new date");
    } else if (!ignore.used && ignore.elsewhere) {
      const std::string where =
          ignore.elsewhere->line == 0 ? "elsewhere" : fmt::format("in line {}", ignore.elsewhere->line);
      add(fmt::format("the ignore of {} ignores nothing: its finding stands {}", rule, where),
          fmt::format("put it on the line before that instruction, or write ignore-file={}", rule));
    } else if (!ignore.used && (known->inputs & judged_) != 0) {
      add(fmt::format("the ignore of {} ignores nothing", rule), "take it away");
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const Diagnostic& one, const Diagnostic& other) {
    const auto line = [](const Place& place) { return place.line == 0 ? SIZE_MAX : place.line; };
    return line(one.place) < line(other.place);
  });
  return result;
}

}  // namespace imgforge
