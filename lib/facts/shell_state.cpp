#include "facts/shell_state.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_possible = 16;         // last commands; more of them make the answer unknown anyway
constexpr std::size_t max_variables = 64 << 10;  // bytes of all variables together

}  // namespace

ShellState merged(const ShellState& a, const ShellState& b) {
  ShellState result = a;
  result.context.variables_lost = a.context.variables_lost || b.context.variables_lost;
  for (auto& [name, value] : result.context.variables) {
    const auto other = b.context.variables.find(name);
    if (other == b.context.variables.end() || other->second != value) value.reset();
  }
  for (const auto& [name, value] : b.context.variables) result.context.variables.try_emplace(name, std::nullopt);
  if (a.context.folder != b.context.folder) result.context.folder.reset();
  if (a.positional != b.positional) result.positional = {CommandWord::not_known("\"$@\"")};
  for (const PossibleCommand& one : b.last) {
    // More than max_possible make the answer unknown anyway.
    if (result.last.size() > max_possible) break;
    if (std::find(result.last.begin(), result.last.end(), one) == result.last.end()) result.last.push_back(one);
  }
  for (const CommandLine& one : b.background) {
    if (result.background.size() > max_possible) break;
    if (std::find(result.background.begin(), result.background.end(), one) == result.background.end())
      result.background.push_back(one);
  }
  return result;
}

void assign_variables(const std::vector<shell::Assignment>& assignments, const std::string& self, ShellState& state) {
  for (const shell::Assignment& one : assignments) {
    CommandLine value = expand_words(one.values, {state.context, state.positional, self}, !one.array);
    const bool lost = one.append || (!one.array && value.size() > 1) ||
                      std::any_of(value.begin(), value.end(),
                                  [](const CommandWord& word) { return word.kind == CommandWord::Kind::unknown; });
    if (!one.array && value.empty()) value.push_back(CommandWord::of(""));
    state.context.variables[one.name] = lost ? std::optional<CommandLine>() : value;
  }
  std::size_t size = 0;
  for (const auto& [name, value] : state.context.variables) {
    size += name.size() + 64;
    if (!value) continue;
    for (const CommandWord& word : *value) size += word.text.size() + 64;
  }
  if (size > max_variables) {
    state.context.variables.clear();
    state.context.variables_lost = true;
  }
}

void shift_arguments(const CommandLine& line, ShellState& state) {
  std::size_t count = 1;
  if (line.size() > 1) {
    const auto number = line[1].kind == CommandWord::Kind::text ? to_number(line[1].text) : std::nullopt;
    count = number && *number < 1000 ? static_cast<std::size_t>(*number) : 1000;
  }
  for (; count > 0 && !state.positional.empty(); --count) {
    if (state.positional.front().kind != CommandWord::Kind::text) {
      // Some of the runtime's arguments are gone, which ones only the run tells.
      state.positional = {CommandWord::not_known("\"$@\" after shift")};
      break;
    }
    state.positional.erase(state.positional.begin());
  }
}

void set_arguments(const CommandLine& line, ShellState& state) {
  std::size_t at = 1;
  while (at < line.size() && line[at].kind == CommandWord::Kind::text &&
         (line[at].text.starts_with("-") || line[at].text.starts_with("+"))) {
    const std::string& option = line[at++].text;
    if (option == "--") {
      state.positional.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
      return;
    }
    if (option.ends_with('o') && at < line.size()) ++at;  // -o pipefail, -eo pipefail
  }
  if (at < line.size()) state.positional.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
}

void change_folder(const CommandLine& line, ShellState& state) {
  const bool known = line.size() == 2 && line[1].kind == CommandWord::Kind::text && !line[1].text.starts_with("-") &&
                     line[0].text != "popd";
  if (!known) {
    state.context.folder.reset();
  } else if (line[1].text.starts_with("/")) {
    state.context.folder = line[1].text;
  } else if (state.context.folder) {
    state.context.folder = *state.context.folder + "/" + line[1].text;
    if (state.context.folder->size() > 4096) state.context.folder.reset();
  }
}

}  // namespace imgforge
