#include "check/rule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

std::string_view to_string(Level level) noexcept {
  switch (level) {
    case Level::note: return "note";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "error";
}

std::optional<Level> parse_level(std::string_view text) noexcept {
  for (const Level level : {Level::note, Level::warning, Level::error}) {
    if (text == to_string(level)) return level;
  }
  return std::nullopt;
}

Answer Answer::undecided(std::string needs) {
  Answer answer(Kind::undecided);
  answer.needs_ = std::move(needs);
  return answer;
}

Answer Answer::finding(std::string message, std::string fix, std::vector<Evidence> evidence) {
  return findings({{std::nullopt, std::move(message), std::move(fix), std::move(evidence)}});
}

Answer Answer::finding(Level level, std::string message, std::string fix, std::vector<Evidence> evidence) {
  return findings({{level, std::move(message), std::move(fix), std::move(evidence)}});
}

Answer Answer::findings(std::vector<Found> found) {
  Answer answer(found.empty() ? Kind::pass : Kind::finding);
  answer.found_ = std::move(found);
  return answer;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const auto& group : {boot_rules(), entrypoint_rules(), beam_version_rules(), worker_python_rules(), worker_environment_rules(),
                              python_rules(), tpu_rules(), image_rules(), image_content_rules(), beam_build_rules(), python_build_rules(), python_requirements_rules(), dockerfile_rules(), cuda_framework_rules(),
                              cuda_environment_rules(), flex_rules(), spark_rules()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    std::sort(all.begin(), all.end(), [](const Rule& one, const Rule& other) { return one.id < other.id; });
    return all;
  }();
  return rules;
}

const Rule* find_rule(std::string_view id) {
  const auto& rules = all_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

const Rule& rule_named(std::string_view id) {
  if (const Rule* rule = find_rule(id)) return *rule;
  std::vector<std::string> known;
  for (const Rule& rule : all_rules()) known.emplace_back(rule.id);
  const auto meant = nearest(id, known);
  throw Error(ErrorKind::usage, fmt::format("there is no rule {}", escape_for_display(id)),
              meant ? fmt::format("did you mean {}?", *meant) : std::string("imgforge explain lists them all"));
}

}  // namespace imgforge
