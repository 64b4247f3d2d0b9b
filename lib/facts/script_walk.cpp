#include "facts/script_walk.hpp"

#include <optional>

namespace imgforge {

namespace {

using namespace shell;

constexpr std::size_t max_steps = 5'000;       // commands looked at, functions counted each time
constexpr int max_tree = 192;                  // commands in commands, functions' bodies included
constexpr std::size_t max_in_background = 16;  // commands

Truth matches(const Word& pattern, const std::string& subject, bool known) {
  std::string text;
  bool glob = false;
  for (const Piece& piece : pattern.pieces) {
    if (piece.kind != Piece::Kind::literal) return Truth::maybe;
    if (!piece.quoted && piece.text.find_first_of("*?[") != std::string::npos) glob = true;
    text += piece.text;
  }
  if (glob && text == "*") return Truth::yes;
  if (!known || glob) return Truth::maybe;
  return text == subject ? Truth::yes : Truth::no;
}

}  // namespace

ScriptWalk::Flow ScriptWalk::statements_of(const Statements& statements, State& state) {
  for (const Statement& statement : statements) {
    const Flow flow = statement_of(statement, state);
    if (flow != Flow::goes_on) return flow;
  }
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::statement_of(const Statement& statement, State& state) {
  if (statement.background) {
    // It runs beside the script; only a later wait makes it what the script ends in.
    for (const auto& step : statement.steps) {
      for (const Command& command : step.pipeline.commands) {
        if (command.kind == Command::Kind::simple && !command.words.empty()) {
          CommandLine line = expand_words(command.words, scope_of(state));
          if (!line.empty() && line.front().kind == CommandWord::Kind::text && line.front().text == "exec")
            line.erase(line.begin());
          if (!line.empty() && state.background.size() < max_in_background) state.background.push_back(std::move(line));
        } else if (state.background.size() < max_in_background) {
          state.background.push_back({CommandWord::not_known("a command in the background")});
        }
      }
    }
    return Flow::goes_on;
  }
  Truth status = Truth::maybe;
  for (const auto& step : statement.steps) {
    Truth wanted = Truth::yes;
    if (step.join == Statement::Join::if_success) wanted = status;
    if (step.join == Statement::Join::if_failure) wanted = !status;
    if (wanted == Truth::no) continue;
    if (wanted == Truth::yes) {
      const Flow flow = pipeline_of(step.pipeline, state, status);
      if (flow != Flow::goes_on) return flow;
      continue;
    }
    State other = state;
    Truth ignored = Truth::maybe;
    const Flow flow = pipeline_of(step.pipeline, other, ignored);
    if (flow == Flow::goes_on) state = merged(state, other);
    if (flow == Flow::returned) keep_returned(other);
    status = Truth::maybe;
  }
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::pipeline_of(const Pipeline& pipeline, State& state, Truth& status) {
  if (pipeline.commands.size() == 1) {
    const Flow flow = command_of(pipeline.commands.front(), state, status);
    if (pipeline.negated) status = !status;
    return flow;
  }
  // Each part runs in a shell of its own; what it changes is lost.
  status = Truth::maybe;
  std::vector<PossibleCommand> last;
  for (const Command& command : pipeline.commands) {
    State own = state;
    own.last.clear();
    Truth ignored = Truth::maybe;
    const int before = subshell_;
    ++subshell_;
    const Flow flow = command_of(command, own, ignored);
    subshell_ = before;
    if (flow == Flow::ended && found_) return Flow::ended;
    for (PossibleCommand& one : own.last) last.push_back(std::move(one));
  }
  if (!last.empty()) state.last = std::move(last);
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::command_of(const Command& command, State& state, Truth& status) {
  status = Truth::maybe;
  if (++steps_ > max_steps || depth_ > max_tree) {
    add_unknown("it is too long to be followed");
    overflow_ = true;
    return Flow::ended;
  }
  ++depth_;
  const Flow flow = dispatch(command, state, status);
  --depth_;
  return flow;
}

ScriptWalk::Flow ScriptWalk::dispatch(const Command& command, State& state, Truth& status) {
  switch (command.kind) {
    case Command::Kind::simple: return simple(command, state, status);
    case Command::Kind::group: return statements_of(command.body, state);
    case Command::Kind::subshell: {
      State own = state;
      ++subshell_;
      const Flow flow = statements_of(command.body, own);
      --subshell_;
      if (flow == Flow::ended && found_) return Flow::ended;
      state.last = own.last;
      return Flow::goes_on;
    }
    case Command::Kind::condition: return condition(command, state);
    case Command::Kind::loop: return loop(command, state);
    case Command::Kind::each: {
      State once = state;
      if (!command.name.empty()) once.context.variables[command.name] = std::nullopt;
      return maybe(command.body, state, once);
    }
    case Command::Kind::choice: return choice(command, state);
    case Command::Kind::function: functions_[command.name] = &command.body; return Flow::goes_on;
    case Command::Kind::arithmetic: return Flow::goes_on;
  }
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::maybe(const Statements& body, State& state, State once) {
  const Flow flow = statements_of(body, once);
  if (flow == Flow::goes_on) state = merged(state, once);
  if (flow == Flow::returned) keep_returned(once);
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::condition(const Command& command, State& state) {
  Truth truth = Truth::maybe;
  const Flow asked = tested(command.condition, state, truth);
  if (asked != Flow::goes_on) return asked;
  if (truth == Truth::yes) return statements_of(command.body, state);
  if (truth == Truth::no) return statements_of(command.otherwise, state);
  State other = state;
  const Flow first = statements_of(command.body, state);
  const Flow second = statements_of(command.otherwise, other);
  return joined(first, second, state, other);
}

void ScriptWalk::keep_returned(const State& state) {
  if (calls_ > 0 && subshell_ == 0) returned_.push_back(state);
}

ScriptWalk::Flow ScriptWalk::joined(Flow first, Flow second, State& state, const State& other) {
  if (first == second) {
    if (first != Flow::ended) state = merged(state, other);
    return first;
  }
  if (first == Flow::ended) {
    state = other;
    return second;
  }
  if (second == Flow::ended) return first;
  // One returned from a function, the other goes on.
  if (first == Flow::returned) {
    keep_returned(state);
    state = other;
  } else {
    keep_returned(other);
  }
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::tested(const Statements& statements, State& state, Truth& truth) {
  truth = Truth::maybe;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    if (i + 1 == statements.size() && statement.steps.size() == 1 && !statement.background) {
      return pipeline_of(statement.steps.front().pipeline, state, truth);
    }
    const Flow flow = statement_of(statement, state);
    if (flow != Flow::goes_on) return flow;
  }
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::loop(const Command& command, State& state) {
  Truth truth = Truth::maybe;
  const Flow asked = tested(command.condition, state, truth);
  if (asked != Flow::goes_on) return asked;
  if (!command.words.empty() && command.words.front().written == "until") truth = !truth;
  if (truth == Truth::no) return Flow::goes_on;
  // A loop that shifts its arguments away can run any number of times.
  State once = state;
  if (truth == Truth::yes) {
    const Flow flow = statements_of(command.body, state);
    if (flow == Flow::goes_on && state.positional != once.positional)
      state.positional = {CommandWord::not_known("\"$@\"")};
    return flow;
  }
  const Flow flow = maybe(command.body, state, once);
  return flow;
}

ScriptWalk::Flow ScriptWalk::choice(const Command& command, State& state) {
  const CommandLine subject = expand_words(command.words, scope_of(state));
  const bool known = subject.size() == 1 && subject.front().kind == CommandWord::Kind::text;
  const State before = state;
  std::optional<State> after;
  bool returned = false, certain = false;
  for (const Arm& arm : command.arms) {
    Truth fits = Truth::no;
    for (const Word& pattern : arm.patterns) {
      const Truth one = matches(pattern, known ? subject.front().text : std::string(), known);
      if (one == Truth::yes || fits == Truth::no) fits = one;
      if (fits == Truth::yes) break;
    }
    if (fits == Truth::no) continue;
    State own = before;
    const Flow flow = statements_of(arm.body, own);
    if (flow == Flow::goes_on) after = after ? merged(*after, own) : own;
    if (flow == Flow::returned) {
      keep_returned(own);
      returned = true;
    }
    if (fits == Truth::yes) {
      certain = true;
      break;
    }
  }
  if (!certain) after = after ? merged(*after, before) : before;
  if (!after) return returned ? Flow::returned : Flow::ended;
  state = *after;
  return Flow::goes_on;
}

}  // namespace imgforge
