// What a shell carries from one command of a script to the next, as far as it is known before the run.
#pragma once

#include <string>
#include <vector>

#include "facts/shell_words.hpp"

namespace imgforge {

struct PossibleCommand {
  CommandLine command;
  bool builtin = false;
  bool operator==(const PossibleCommand&) const = default;
};

struct ShellState {
  ShellContext context;
  CommandLine positional;             // "$@"
  std::vector<PossibleCommand> last;  // commands that may have been the last one
  std::vector<CommandLine> background;
};

/// Both are possible: what they do not agree upon is unknown.
ShellState merged(const ShellState& a, const ShellState& b);

/// Sets variables; where they grow beyond 64 KiB together, all are lost.
void assign_variables(const std::vector<shell::Assignment>& assignments, const std::string& self, ShellState& state);

// The builtins shift, set and cd (pushd, popd).
void shift_arguments(const CommandLine& line, ShellState& state);
void set_arguments(const CommandLine& line, ShellState& state);
void change_folder(const CommandLine& line, ShellState& state);

}  // namespace imgforge
