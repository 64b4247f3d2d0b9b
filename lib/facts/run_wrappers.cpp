#include "facts/run_wrappers.hpp"

#include <algorithm>
#include <string>

#include "facts/command_arguments.hpp"
#include "facts/wrappers.hpp"

namespace imgforge {
namespace {

constexpr int max_wrappers = 12;

/// Words from `count` on alone.
void drop_front(RunCommand& command, std::size_t count) {
  count = std::min(count, command.words.size());
  command.words.erase(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(count));
  command.offsets.erase(command.offsets.begin(),
                        command.offsets.begin() + static_cast<std::ptrdiff_t>(std::min(count, command.offsets.size())));
}

bool take_assignments(RunCommand& command, std::size_t at) {
  const std::string word = text_of(command.words, at);
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || word.front() == '-') return false;
  command.environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  return true;
}

/// Position behind options, those of `with_value` with the word behind them.
std::size_t behind(const CommandLine& line, std::string_view with_value) {
  std::size_t i = 1;
  while (is_text(line, i) && line[i].text.size() > 1 && line[i].text.front() == '-') {
    const std::string& option = line[i++].text;
    if (option == "--") break;
    if (!option.starts_with("--") && with_value.find(option.back()) != std::string_view::npos && option.size() == 2)
      ++i;
  }
  return i;
}

/// What "conda run" tells of the environment.
void conda_environment(const CommandLine& line, RunCommand& command) {
  for (std::size_t i = 1; i + 1 < line.size() && is_text(line, i); ++i) {
    const std::string& option = line[i].text;
    const bool name = option == "-n" || option == "--name", prefix = option == "-p" || option == "--prefix";
    const std::size_t equals = option.find('=');
    std::optional<std::string> value;
    if (is_text(line, i + 1)) value = line[i + 1].text;
    if (option.starts_with("--name=") || option.starts_with("--prefix=")) value = option.substr(equals + 1);
    if (name || option.starts_with("--name=")) command.environment.emplace_back("CONDA_DEFAULT_ENV", value);
    if (prefix || option.starts_with("--prefix=")) command.environment.emplace_back("CONDA_PREFIX", value);
    if (name || prefix) ++i;
    if (!option.starts_with("-") && option != "run") return;
  }
}

/// 0: no wrapper that this file knows; else where the wrapped command begins.
std::size_t own_wrapper(const std::string& name, RunCommand& command) {
  const CommandLine& line = command.words;
  if (name == "sudo" || name == "doas") {
    std::size_t i = behind(line, "ugCcDRThpUr");
    while (take_assignments(command, i)) ++i;
    return i;
  }
  if (name == "exec") return behind(line, "a");
  if (name == "time") return behind(line, "fo");
  if (name == "eatmydata" || name == "builtin" || name == "faketime") return 1;
  if (name == "command") {
    // "command -v NAME" asks for a program and runs none.
    const std::string option = text_of(line, 1);
    return option == "-v" || option == "-V" || option == "-pv" ? 0 : behind(line, "");
  }
  if (name == "xargs") return behind(line, "adEIiLlnPs");
  return 0;
}

}  // namespace

bool take_wrappers_off(RunCommand& command, ShellContext& context) {
  for (int i = 0; i < max_wrappers; ++i) {
    if (!is_text(command.words, 0)) return !command.words.empty();
    const std::string name(base_name(command.words.front().text));
    if (const std::size_t at = own_wrapper(name, command); at > 0) {
      const bool more = name == "xargs";
      // "exec > file" and "sudo -v" run nothing.
      if (at >= command.words.size()) return true;
      drop_front(command, at);
      if (more) {
        command.words.push_back(CommandWord::not_known("what xargs reads"));
        command.offsets.push_back(command.offsets.empty() ? command.offset : command.offsets.back());
      }
      continue;
    }
    if (!is_wrapper(name)) return true;
    ShellContext changed = context;
    const auto inner = unwrap(name, command.words, changed);
    if (!inner || inner->empty()) return true;
    for (const auto& [variable, value] : changed.variables) {
      const auto before = context.variables.find(variable);
      if (variable == "PATH" && !value) continue;
      if (before != context.variables.end() && before->second == value) continue;
      command.environment.emplace_back(variable,
                                       value && value->size() == 1 ? std::optional(value->front().text) : std::nullopt);
    }
    if (name == "conda" || name == "mamba" || name == "micromamba") conda_environment(command.words, command);
    // env -i and -u leave variables that are not known to be gone.
    context = std::move(changed);
    if (inner->size() < command.words.size()) {
      drop_front(command, command.words.size() - inner->size());
    } else {
      command.offsets.assign(inner->size(), command.offset);
    }
    command.words = *inner;
    command.offsets.resize(command.words.size(), command.offset);
  }
  return true;
}

}  // namespace imgforge
