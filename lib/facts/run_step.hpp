// The shell text of a RUN step → its simple commands, in the order in which they run, each with what is known of its
// words before the run. What cannot be followed is said, never guessed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/shell_words.hpp"

namespace imgforge {

/// A redirection: "> FILE", "2>/dev/null", "<<< WORD".
struct Redirection {
  std::string operation;  // ">", ">>", "<", "<<<", "2>"
  CommandWord target;
  std::string written;     // with the word that it hangs on, where no blank is between: "pkg>=1.2"
  std::size_t offset = 0;  // in the step's text
};

struct RunCommand {
  CommandLine words;  // expanded: words[0] is the program, wrappers (sudo, env, time, exec) taken off
  std::vector<std::size_t>
      offsets;  // of each word of `words` in the step's text; of an exec form: the argument's position
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;  // NAME=value before it
  std::vector<Redirection> redirections;
  std::string written;  // as it stands, shortened to 200 bytes
  std::size_t offset = 0;
  bool certain = true;  // it runs whenever the step succeeds: not in a branch or a loop whose turns are not known
  bool failure_ignored = false;  // its failing does not fail the step: "|| true", a condition, not the last of a pipe
  std::optional<std::size_t> piped_into;        // position of the command that reads its output
  std::optional<std::string> heredoc;           // text that it reads on standard input, where it is known
  std::size_t heredoc_offset = 0;               // where that stands in the step's text
  std::optional<std::string> folder;            // the current folder, absolute, where it is known
  std::shared_ptr<const ShellContext> context;  // variables as they are when it runs, without `environment`; never null
  bool in_substitution = false;                 // of $(...): its output goes into a word

  /// A variable as the program gets it: of `environment`, else of `context`; nothing where it is not known.
  std::optional<std::string> variable(std::string_view name) const;
};

/// A variable that is not set where the step uses it, without a default (${V:-x}, ${V-x}, ${V:+x}, ${V+x}).
struct UnsetVariable {
  std::string name;
  std::string result;    // the word as the program gets it: "apache-beam[gcp]==", or empty
  std::string written;   // the word as it stands
  bool in_test = false;  // of test, [ and [[: being empty is what is asked
  std::size_t offset = 0;
};

/// In text that a shell other than bash reads: what bash has and POSIX shells do not, as it is written: "[[", "source",
/// "pipefail", "<<<", "function", "array",
/// "{1..3}".
struct BashUse {
  std::string what;
  std::size_t offset = 0;
};

struct RunStep {
  std::vector<RunCommand> commands;  // loops over known words unrolled; at most 2,000
  std::vector<BashUse> bash_uses;
  std::vector<UnsetVariable> unset;  // words of assignments, tests and commands, in order
  ShellContext after;                // variables and folder at its end (they do not outlive the step)
  std::string not_understood;  // why the whole was not: then `commands` holds what could be told, and more may run
};

struct RunShell {
  enum class Kind { posix, bash, other };  // other: PowerShell, python: not read
  Kind kind = Kind::posix;
  bool errexit = false;  // "-e" in SHELL
};

/// Every simple command is in it, builtins (cd, export, test) too; is_shell_builtin() tells them. Of "conda run -n NAME
/// COMMAND" there is COMMAND, with CONDA_DEFAULT_ENV (CONDA_PREFIX for -p) in its environment and PATH not known;
/// "xargs COMMAND" is COMMAND with a word that is not known. "conda activate NAME" and a sourced DIR/bin/activate
/// change PATH, CONDA_DEFAULT_ENV, CONDA_PREFIX and VIRTUAL_ENV for what follows.
///
/// `context` holds the variables that the build gives to the step (ENV, ARG) and its folder (WORKDIR). A name that is
/// in no variable of `context` is unset, except what a container always has (HOME, PATH where ENV has none, PWD, ...).
RunStep read_run_step(std::string_view text, const RunShell& shell, const ShellContext& context);

bool is_shell_builtin(std::string_view name);

/// The same of an exec form.
RunStep read_run_step(const std::vector<std::string>& arguments, const ShellContext& context);

}  // namespace imgforge
