// A start script read instead of run: which command does it end in, and do its arguments reach that command?
//
// Only what is certain without running anything is told. Conditions that depend on the run leave both ways open; a
// value that comes from a command or from outside is unknown; whatever is not understood makes the answer unknown.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

/// A word of a command line, as far as it is known before the run.
struct CommandWord {
  enum class Kind {
    text,       // exactly this text
    arguments,  // all the arguments that the runtime gives to the container: several words
    unknown,    // one or more words that only the run tells; `text` is how the script writes them
  };
  Kind kind = Kind::text;
  std::string text;
  std::string prefix;        // of an unknown word: text that it certainly starts with ("--" of a runtime's argument)
  std::size_t at_least = 0;  // of an unknown "$#": never less than this

  static CommandWord of(std::string text) { return {Kind::text, std::move(text), {}, 0}; }
  static CommandWord all_arguments() { return {Kind::arguments, "\"$@\"", {}, 0}; }
  static CommandWord not_known(std::string written) { return {Kind::unknown, std::move(written), {}, 0}; }
  bool operator==(const CommandWord&) const = default;
};
using CommandLine = std::vector<CommandWord>;

/// Variables as they are when a command runs; a value is nothing where it is not known. What is not in the map is not
/// set by the image.
using ShellVariables = std::map<std::string, std::optional<CommandLine>, std::less<>>;

/// What surrounds a command.
struct ShellContext {
  ShellVariables variables;
  bool variables_lost = false;        // something was sourced: any variable may have any value
  std::optional<std::string> folder;  // the current one, absolute; nothing where it is not known

  /// A variable's value where it is one known text; an empty one where the variable is not set.
  std::optional<std::string> variable(std::string_view name) const;
};

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

/// The interpreter line of a script: "#!/usr/bin/env -S bash -e" → {"/usr/bin/env", "-S", "bash", "-e"}, split as far
/// as env does it; the kernel itself knows one argument. Nothing where the text has no such line.
std::optional<std::vector<std::string>> parse_shebang(std::string_view text);

}  // namespace imgforge
