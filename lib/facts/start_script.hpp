// A start script read instead of run: which command does it end in, and do its arguments reach that command?
//
// Only what is certain without running anything is told. Conditions that depend on the run leave both ways open; a
// value that comes from a command or from outside is unknown; whatever is not understood makes the answer unknown.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/shell_words.hpp"

namespace imgforge {

/// One way in which the script can end.
struct ScriptEnd {
  enum class Kind { runs, exits, unknown };
  Kind kind = Kind::exits;
  CommandLine command;   // of runs
  bool builtin = false;  // of runs: it is one of the shell's own commands
  ShellContext context;  // at that point
  std::string why;       // of unknown
};

/// Tells of a command in the middle of a script whether it is what the caller looks for: then the script ends there.
using EndsThere = std::function<bool(const CommandLine&, const ShellContext&)>;

/// Every way in which the script can end, exits left out where there is another; at most 16. `self` is $0, `arguments`
/// are $1 and on.
std::vector<ScriptEnd> read_start_script(std::string_view text, const std::string& self, const CommandLine& arguments,
                                         const ShellContext& context, const EndsThere& ends_there);

}  // namespace imgforge
