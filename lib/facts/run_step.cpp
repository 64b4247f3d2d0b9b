#include "facts/run_step.hpp"

#include <algorithm>
#include <iterator>

#include "facts/run_walk.hpp"

namespace imgforge {

std::optional<std::string> RunCommand::variable(std::string_view name) const {
  for (auto one = environment.rbegin(); one != environment.rend(); ++one) {
    if (one->first == name) return one->second;
  }
  return context ? context->variable(name) : std::nullopt;
}

bool is_shell_builtin(std::string_view name) {
  static constexpr std::string_view names[] = {
      ".",       ":",        "[",       "[[",     "alias",   "bg",    "break",  "builtin",   "cd",
      "command", "continue", "declare", "dirs",   "disown",  "echo",  "enable", "eval",      "exec",
      "exit",    "export",   "false",   "fg",     "getopts", "hash",  "jobs",   "kill",      "let",
      "local",   "mapfile",  "popd",    "printf", "pushd",   "pwd",   "read",   "readarray", "readonly",
      "return",  "set",      "shift",   "shopt",  "source",  "test",  "times",  "trap",      "true",
      "type",    "typeset",  "ulimit",  "umask",  "unalias", "unset", "wait"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

RunStep read_run_step(std::string_view text, const RunShell& shell, const ShellContext& context) {
  RunWalker walker(text);
  RunState state;
  state.context = context;
  if (shell.kind == RunShell::Kind::other) {
    RunStep step = walker.finish(state);
    step.not_understood = "its shell is no POSIX shell";
    return step;
  }
  state.bash = shell.kind == RunShell::Kind::bash;
  state.errexit = shell.errexit;
  walker.read(std::string(text), {0, true}, state, {});
  return walker.finish(state);
}

RunStep read_run_step(const std::vector<std::string>& arguments, const ShellContext& context) {
  RunWalker walker({});
  RunState state;
  state.context = context;
  RunCommand command;
  for (std::size_t i = 0; i < arguments.size() && i < 2'000; ++i) {
    command.words.push_back(CommandWord::of(arguments[i]));
    command.offsets.push_back(i);
    if (command.written.size() < 200) command.written += (i > 0 ? " " : "") + arguments[i];
  }
  command.written.resize(std::min<std::size_t>(command.written.size(), 200));
  if (!command.words.empty()) walker.run(std::move(command), state);
  return walker.finish(state);
}

}  // namespace imgforge
