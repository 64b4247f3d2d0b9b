// Walks the tree of a build step's shell text and lists its commands in the order in which they run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "facts/run_step.hpp"
#include "facts/run_words.hpp"
#include "facts/shell_syntax.hpp"

namespace imgforge {

/// From places in a text that is read as a script to places in the step's text: behind `base`, or all at `base` where
/// the text is not there byte by byte.
struct RunOrigin {
  std::size_t base = 0;
  bool verbatim = true;
  std::size_t operator()(std::size_t offset) const { return verbatim ? base + offset : base; }
};

/// How much of the failing of a command is noticed.
enum class RunFailure {
  noticed,      // the step fails
  passed_over,  // the next command runs: "a; b" without set -e
  handled,      // it is expected: "a || b", a condition, "! a"
};

/// A text that was read as a script; functions that it defines keep it alive.
struct RunScript {
  std::string text;
  shell::Script script;
  RunOrigin origin;
};

struct RunFunction {
  std::shared_ptr<const RunScript> script;  // that holds it
  const shell::Statements* body = nullptr;
};

/// What a shell carries from one command to the next.
struct RunState {
  ShellContext context;
  CommandLine positional;
  std::map<std::string, RunFunction, std::less<>> functions;
  bool bash = false;
  bool errexit = false;
  bool pipefail = false;
  // Ways in which what follows may not run:
  bool may_have_ended = false;     // an exit that succeeds, in a branch
  bool may_have_returned = false;  // a return
  bool may_have_broken = false;    // break or continue
};

class RunWalker {
 public:
  /// `text`: the step's, for as long as the walker lives.
  explicit RunWalker(std::string_view text) : step_text_(text) {}

  struct Setting {
    bool certain = true;
    RunFailure failure = RunFailure::noticed;
    bool by_errexit = false;  // noticed by set -e alone: not where it stands in an && list
  };

  /// Reads `text` as a script. `quiet`: it does not matter where it is not understood.
  void read(std::string text, RunOrigin origin, RunState& state, Setting setting, bool quiet = false);
  /// A command whose words are known: of an exec form.
  void run(RunCommand command, RunState& state);
  RunStep finish(const RunState& state);

 private:
  enum class Flow { goes_on, returned, broke, continued, exited, failed };  // failed: an exit that does not succeed
  using Statements = shell::Statements;

  Flow statements(const Statements& list, RunState& state, Setting setting, Truth* status = nullptr);
  Flow statement(const shell::Statement& one, RunState& state, Setting setting, Truth& status);
  void background(const shell::Statement& one, const RunState& state, Setting setting);
  Flow pipeline(const shell::Pipeline& one, RunState& state, Setting setting, Truth& status);
  void piped(const shell::Pipeline& one, const RunState& state, Setting setting);
  Flow command(const shell::Command& one, RunState& state, Setting setting, Truth& status);
  Flow compound(const shell::Command& one, RunState& state, Setting setting);
  Flow condition(const shell::Command& one, RunState& state, Setting setting);
  Flow loop(const shell::Command& one, RunState& state, Setting setting);
  Flow each(const shell::Command& one, RunState& state, Setting setting);
  Flow choice(const shell::Command& one, RunState& state, Setting setting);
  /// Any number of turns of a body, none included.
  void turns(const Statements& body, RunState& state, Setting setting);
  /// A branch that may be taken: what `branch` has become after it ended in `flow` is joined to `state`.
  static void join(RunState& state, const RunState& branch, Flow flow);

  Flow simple(const shell::Command& one, RunState& state, Setting setting, Truth& status);
  Flow plain(RunCommand line, RunState& state, Setting setting, Truth& status);
  Flow call(const RunFunction& function, const RunCommand& line, RunState& state, Setting setting);
  Flow ends(const RunCommand& line, std::string_view name) const;
  void builtin(const RunCommand& line, std::string_view name, RunState& state);
  bool run_shell(const RunCommand& line, std::string_view name, const RunState& state, Setting setting);
  void source_file(const RunCommand& line, RunState& state);
  void assign(const std::vector<shell::Assignment>& assignments, RunState& state);
  void set_options(const RunCommand& line, RunState& state);
  void substitutions(const std::vector<shell::Word>& words, const RunState& state, Setting setting);
  void redirections(const shell::Command& one, RunCommand& line, const RunState& state);
  void emit(RunCommand line, const RunState& state, Setting setting);

  std::vector<RunField> expand(const std::vector<shell::Word>& words, const RunState& state, bool whole = false,
                               bool in_test = false);
  void note_bash(std::string_view what, std::size_t offset, const RunState& state);
  void note_bash_builtin(const RunCommand& line, std::string_view name, const RunState& state);
  void not_understood(std::string why);
  RunOrigin origin_of(const std::string& text, std::size_t offset) const;

  std::string_view step_text_;
  RunStep step_;
  std::shared_ptr<const RunScript> script_;      // that is being read
  std::vector<std::vector<Redirection>> outer_;  // output redirections of the compound commands around
  std::shared_ptr<const ShellContext> snapshot_;
  std::size_t snapshot_bytes_ = 0;
  std::size_t steps_ = 0;
  int depth_ = 0;
  int calls_ = 0;
  int scripts_ = 0;
  int substitution_ = 0;
  int muted_ = 0;  // commands are not kept: a loop's body is looked at for what it changes
};

}  // namespace imgforge
