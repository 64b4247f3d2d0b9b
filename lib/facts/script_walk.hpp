// A start script followed statement by statement, without running any: script_walk.cpp has the control flow,
// script_commands.cpp the simple commands, start_script.cpp the ways in which it can end.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "facts/shell_state.hpp"
#include "facts/shell_syntax.hpp"
#include "facts/start_script.hpp"

namespace imgforge {

class ScriptWalk {
 public:
  using State = ShellState;
  using Statements = shell::Statements;

  /// `ends_there` must outlive it.
  ScriptWalk(std::string self, const EndsThere& ends_there) : self_(std::move(self)), ends_there_(ends_there) {}

  std::vector<ScriptEnd> run(const Statements& statements, State state);

 private:
  using Command = shell::Command;
  using Statement = shell::Statement;
  using Pipeline = shell::Pipeline;
  enum class Flow { goes_on, returned, ended };

  ShellScope scope_of(const State& state) const { return {state.context, state.positional, self_}; }

  void add(ScriptEnd end);
  void add_run(const CommandLine& command, bool builtin, const State& state);
  void add_exit(const State& state);
  void add_unknown(std::string why);
  void add_last(const State& state);

  Flow statements_of(const Statements& statements, State& state);
  Flow statement_of(const Statement& statement, State& state);
  Flow pipeline_of(const Pipeline& pipeline, State& state, Truth& status);
  Flow command_of(const Command& command, State& state, Truth& status);
  Flow dispatch(const Command& command, State& state, Truth& status);
  /// The body may run, or not: both stay possible afterwards.
  Flow maybe(const Statements& body, State& state, State once);
  Flow condition(const Command& command, State& state);
  /// A way in which a function may have returned while another goes on.
  void keep_returned(const State& state);
  Flow joined(Flow first, Flow second, State& state, const State& other);
  /// Runs the commands of an if or while and tells whether the last of them succeeds.
  Flow tested(const Statements& statements, State& state, Truth& truth);
  Flow loop(const Command& command, State& state);
  Flow choice(const Command& command, State& state);

  Flow simple(const Command& command, State& state, Truth& status);
  Flow external(const CommandLine& line, State& state);
  Flow exec(const CommandLine& line, const State& scope, State& state);
  /// exit: what ran before it is what the script ended in, if its status is handed on.
  Flow leave(const CommandLine& line, State& state);
  Flow eval(const CommandLine& line, State& state);
  Flow call(const Statements& body, const CommandLine& line, State& state);
  Flow wait(const CommandLine& line, State& state);

  std::string self_;
  const EndsThere& ends_there_;
  std::map<std::string, const Statements*> functions_;
  std::vector<ScriptEnd> ends_;
  std::vector<State> returned_;
  bool overflow_ = false;
  bool found_ = false;  // what ends_there looks for was met
  int subshell_ = 0;
  int calls_ = 0;
  int depth_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace imgforge
