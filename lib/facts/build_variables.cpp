// ARG, ENV and LABEL, and the variables that words of a Dockerfile hold.
#include <fmt/format.h>

#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

using dockerfile::Expansion;
using dockerfile::Variable;
using Kind = dockerfile::Instruction::Kind;

namespace {

// Linux starts no program with a longer one (MAX_ARG_STRLEN), and `ENV A=$A$A` again and again doubles it.
constexpr std::size_t longest_value = 128 << 10;

constexpr std::uint64_t most_expanded_bytes = 16 << 20;  // of all variables in one file
constexpr std::size_t max_undeclared = 2'000;            // uses that are noted

/// What BuildKit knows without an ARG, or lets --build-arg set without one (frontend/dockerfile/dockerfile2llb).
bool is_proxy(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {"http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
                                                           "all_proxy"};
  return names.contains(lower(name));
}

/// What an empty variable leaves broken: nothing at all, or a word that ends or starts where a value is missing.
bool is_broken(const std::string& result, const std::string& instruction) {
  if (result.empty()) return true;
  static constexpr std::string_view wants_before = ":@";
  static constexpr std::string_view wants_behind = ":@=-_/";
  if (wants_behind.find(result.back()) != std::string_view::npos && result.size() > 1) return true;
  if (wants_before.find(result.front()) != std::string_view::npos) return true;
  if (result.find("==,") != std::string::npos || result.find("//") != std::string::npos)
    return result.find("://") == std::string::npos;
  return instruction != "RUN" && result.find("::") != std::string::npos;
}

}  // namespace

std::optional<std::string> BuildReader::predefined(std::string_view name) const {
  const std::string& architecture = options_.architecture;
  if (name == "TARGETPLATFORM" || name == "BUILDPLATFORM") return "linux/" + architecture;
  if (name == "TARGETARCH" || name == "BUILDARCH") return architecture;
  if (name == "TARGETOS" || name == "BUILDOS") return "linux";
  if (name == "TARGETVARIANT" || name == "BUILDVARIANT") return "";
  if (name == "TARGETSTAGE") return options_.stage.empty() ? "default" : options_.stage;
  return std::nullopt;
}

void BuildReader::global_arguments() {
  const std::size_t end = dockerfile_.stages.front().from;
  for (std::size_t i = 0; i < end && i < dockerfile_.instructions.size(); ++i) {
    const Instruction& instruction = dockerfile_.instructions[i];
    if (instruction.kind != Kind::arg) continue;
    for (const dockerfile::Assignment& assignment : instruction.assignments) {
      BuildVariable variable;
      variable.evidence = Evidence::at(assignment.name.place);
      const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
      if (const auto given = options_.arguments.find(name); given != options_.arguments.end()) {
        variable.value = given->second;
      } else if (assignment.value) {
        const Expansion value = expand(*assignment.value, instruction, nullptr);
        variable.value = value.text;
        if (!value.text)
          variable.not_known =
              value.error.empty() ? fmt::format("the value of {}", escape_for_display(name)) : value.error;
      } else if (const auto known = predefined(name)) {
        variable.value = *known;
      } else {
        variable.not_known = fmt::format("ARG {} has no value", escape_for_display(name));
      }
      note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ARG");
      globals_[name] = std::move(variable);
    }
  }
}

Variable BuildReader::look_up(const BuildState* state, std::string_view name) const {
  const auto of = [&](const BuildVariable& variable) -> Variable {
    if (!variable.value || variable.value->size() > longest_value || expanded_bytes_ > most_expanded_bytes)
      return {Variable::State::unknown, {}};
    expanded_bytes_ += variable.value->size();
    return {Variable::State::set, *variable.value};
  };
  if (state == nullptr) {
    if (const auto found = globals_.find(name); found != globals_.end()) return of(found->second);
    if (const auto known = predefined(name)) return {Variable::State::set, *known};
    return {};
  }
  if (const BuildVariable* variable = state->variable(name)) return of(*variable);
  if (const auto found = state->arguments.find(name); found != state->arguments.end()) return of(found->second);
  if (!state->env_open.empty()) return {Variable::State::unknown, {}};
  // PATH is never empty: BuildKit sets it where the base has none.
  if (name == "PATH") return {Variable::State::set, std::string(default_path)};
  if (is_proxy(name)) return {Variable::State::unknown, {}};
  return {};
}

Expansion BuildReader::expand(const Word& word, const Instruction& instruction, const BuildState* state) {
  Expansion expansion =
      dockerfile::expand(word.text, dockerfile_.escape, [&](std::string_view name) { return look_up(state, name); });
  for (const std::string& name : expansion.undeclared) {
    if (build_->undeclared.size() >= max_undeclared) break;
    VariableUse use;
    use.at = step_at(word.place, instruction);
    use.name = name;
    use.instruction = dockerfile::to_string(instruction.kind);
    use.global_arg = state != nullptr && globals_.contains(name);
    use.result = expansion.text.value_or("");
    use.breaks = expansion.text.has_value() && is_broken(use.result, use.instruction);
    build_->undeclared.push_back(std::move(use));
  }
  return expansion;
}

void BuildReader::arg(const Instruction& instruction, BuildState& state) {
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    // The default is expanded even where --build-arg replaces it.
    std::optional<Expansion> own;
    if (assignment.value) own = expand(*assignment.value, instruction, &state);
    if (const auto given = options_.arguments.find(name); given != options_.arguments.end()) {
      variable.value = given->second;
    } else if (own) {
      variable.value = own->text;
      if (!own->text) variable.not_known = fmt::format("the value of {}", escape_for_display(name));
    } else if (const auto global = globals_.find(name); global != globals_.end()) {
      variable.value = global->second.value;
      variable.not_known = global->second.not_known;
    } else if (const auto known = predefined(name)) {
      variable.value = *known;
    } else {
      variable.not_known = fmt::format("ARG {} has no value", escape_for_display(name));
    }
    if (assignment.value) note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ARG");
    state.arguments[name] = std::move(variable);
  }
}

void BuildReader::env(const Instruction& instruction, BuildState& state) {
  // All values of one ENV see the variables as they were before it.
  std::vector<std::pair<std::string, BuildVariable>> set;
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    const Word word = assignment.value ? *assignment.value : Word{"", assignment.name.place};
    if (!word.text.empty()) {
      const Expansion value = expand(word, instruction, &state);
      variable.value = value.text;
      if (!value.text) {
        variable.not_known = !value.unknown.empty()
                                 ? fmt::format("{} is not known", escape_for_display(join_words(value.unknown)))
                                 : "its value: " + value.error;
      }
    } else {
      variable.value = "";
    }
    note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ENV");
    set.emplace_back(name, std::move(variable));
  }
  for (auto& [name, variable] : set) state.set_variable(name, std::move(variable));
}

void BuildReader::label(const Instruction& instruction, BuildState& state) {
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    const Expansion name = expand(assignment.name, instruction, &state);
    if (assignment.value) {
      variable.value = expand(*assignment.value, instruction, &state).text;
      note_secret(name.text.value_or(""), variable.value.value_or(""), assignment.name.place, instruction, "LABEL");
    }
    if (name.text) state.labels[*name.text] = std::move(variable);
  }
}

}  // namespace imgforge
