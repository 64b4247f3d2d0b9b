#include "run_commands.hpp"

#include <catch2/catch.hpp>

namespace imgforge {

RunStep step_of(const std::string& text, bool bash) {
  ShellContext context;
  context.folder = "/";
  context.variables["PATH"] = CommandLine{CommandWord::of("/usr/local/bin:/usr/bin:/bin")};
  context.variables["HOME"] = CommandLine{CommandWord::of("/root")};
  context.variables["BEAM"] = CommandLine{CommandWord::of("2.66.0")};
  context.variables["TWO"] = CommandLine{CommandWord::of("curl git")};
  context.variables["UNKNOWN"] = std::nullopt;
  RunShell shell;
  if (bash) shell.kind = RunShell::Kind::bash;
  RunStep step = read_run_step(text, shell, context);
  for (const RunCommand& command : step.commands) {
    REQUIRE(!command.words.empty());
    REQUIRE(command.words.size() == command.offsets.size());
    REQUIRE(command.context != nullptr);
  }
  return step;
}

RunCommand command_of(const std::string& text) {
  RunStep step = step_of(text);
  INFO(text << ": " << step.not_understood);
  REQUIRE(!step.commands.empty());
  return step.commands.back();
}

std::string shown(const RunStep& step) {
  std::string text;
  for (const RunCommand& command : step.commands) {
    if (!text.empty()) text += '\n';
    if (command.in_substitution) text += "$ ";
    if (!command.certain) text += "? ";
    if (command.failure_ignored) text += "! ";
    for (const auto& [name, value] : command.environment) text += name + "=" + value.value_or("<>") + " ";
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      const CommandWord& word = command.words[i];
      text += i > 0 ? " " : "";
      text += word.kind == CommandWord::Kind::text ? word.text : "<" + word.text + ">";
    }
    for (const Redirection& one : command.redirections) text += " " + one.operation + one.target.text;
    if (command.piped_into) text += " |" + std::to_string(*command.piped_into);
  }
  if (!step.not_understood.empty()) text += "\nnot understood: " + step.not_understood;
  return text;
}

}  // namespace imgforge
