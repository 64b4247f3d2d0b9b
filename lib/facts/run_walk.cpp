#include "facts/run_walk.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "facts/command_arguments.hpp"
#include "facts/shell_state.hpp"

namespace imgforge {
namespace {

using shell::Command;
using shell::Piece;
using shell::Pipeline;
using shell::Statement;
using shell::Statements;
using shell::Word;

constexpr std::size_t max_steps = 10'000;  // commands looked at, a loop's and a function's each time
constexpr int max_tree = 96;               // commands in commands
constexpr int max_calls = 16;              // functions in functions
constexpr int max_scripts = 8;             // scripts in scripts

/// The text of a word that is one literal; empty where it is not.
std::string literal_text(const Word& word) {
  return word.pieces.size() == 1 && word.pieces[0].kind == Piece::Kind::literal ? word.pieces[0].text : std::string();
}

bool certainly_fails(const Statements& list, int depth);

/// Whether a pipeline always ends in a failure: exit 1, false, { echo ...; exit 1; }.
bool certainly_fails(const Pipeline& one, int depth) {
  if (depth > 16 || one.negated || one.commands.size() != 1) return false;
  const Command& command = one.commands.front();
  if (command.kind == Command::Kind::group || command.kind == Command::Kind::subshell)
    return certainly_fails(command.body, depth + 1);
  if (command.kind != Command::Kind::simple || command.words.empty()) return false;
  const std::string name = literal_text(command.words.front());
  if (name == "false") return true;
  if (name != "exit" && name != "return") return false;
  return command.words.size() == 1 || (command.words[1].written != "0" && !literal_text(command.words[1]).empty());
}

bool certainly_fails(const Statements& list, int depth) {
  if (list.empty() || list.back().background) return false;
  const Statement& last = list.back();
  return last.steps.size() == 1 && certainly_fails(last.steps.front().pipeline, depth);
}

/// Whether a command is there to ask something: its failing is an answer.
bool asks(const Pipeline& one) {
  static constexpr std::string_view names[] = {"test", "[",      "[[",   "command", "which", "type", "grep", "egrep",
                                               "id",   "getent", "hash", "dpkg",    "cmp",   "diff", "pgrep"};
  if (one.negated) return true;
  const Command& last = one.commands.back();
  if (last.kind != Command::Kind::simple || last.words.empty()) return last.kind == Command::Kind::arithmetic;
  return std::find(std::begin(names), std::end(names), literal_text(last.words.front())) != std::end(names);
}

RunState merged_states(const RunState& a, const RunState& b) {
  ShellState left, right;
  left.context = a.context;
  right.context = b.context;
  left.positional = a.positional;
  right.positional = b.positional;
  // A variable that only one of them has may be unset, or not: not known.
  for (const auto& [name, value] : a.context.variables) right.context.variables.try_emplace(name, std::nullopt);
  ShellState both = merged(left, right);
  RunState result = a;
  result.context = std::move(both.context);
  result.positional = std::move(both.positional);
  for (const auto& [name, function] : b.functions) result.functions.try_emplace(name, function);
  result.errexit = a.errexit && b.errexit;
  result.pipefail = a.pipefail && b.pipefail;
  result.may_have_ended = a.may_have_ended || b.may_have_ended;
  result.may_have_returned = a.may_have_returned || b.may_have_returned;
  result.may_have_broken = a.may_have_broken || b.may_have_broken;
  return result;
}

/// Whether a pattern of case fits.
Truth fits(const Word& pattern, const CommandWord& subject, const RunScope& scope) {
  std::string text;
  bool glob = false;
  for (const Piece& piece : pattern.pieces) {
    if (piece.kind != Piece::Kind::literal) {
      Word part;
      part.pieces = {piece};
      part.pieces[0].quoted = true;
      part.written = piece.text;
      const auto fields = expand_run_words({part}, scope, true);
      if (fields.size() != 1 || fields[0].word.kind != CommandWord::Kind::text) return Truth::maybe;
      text += fields[0].word.text;
      continue;
    }
    for (const char c : piece.text) {
      const bool special = std::string_view("*?[]\\").find(c) != std::string_view::npos;
      if (special && piece.quoted) text += '\\';
      if (special && !piece.quoted) glob = true;
      text += c;
    }
  }
  if (text == "*" && glob) return Truth::yes;
  if (subject.kind != CommandWord::Kind::text) return Truth::maybe;
  if (!glob) return text == subject.text ? Truth::yes : Truth::no;
  // fnmatch tries every way of placing stars.
  if (text.size() > 200 || subject.text.size() > 1000 || std::count(text.begin(), text.end(), '*') > 3)
    return Truth::maybe;
  return fnmatch(text.c_str(), subject.text.c_str(), 0) == 0 ? Truth::yes : Truth::no;
}

}  // namespace

void RunWalker::not_understood(std::string why) {
  if (step_.not_understood.empty()) step_.not_understood = std::move(why);
}

void RunWalker::join(RunState& state, const RunState& branch, Flow flow) {
  switch (flow) {
    case Flow::goes_on: state = merged_states(state, branch); return;
    case Flow::returned: state.may_have_returned = true; return;
    case Flow::broke:
    case Flow::continued: state.may_have_broken = true; return;
    case Flow::exited: state.may_have_ended = true; return;
    case Flow::failed: return;
  }
}

void RunWalker::read(std::string text, RunOrigin origin, RunState& state, Setting setting, bool quiet) {
  if (scripts_ >= max_scripts) {
    not_understood("shells are nested too deeply");
    return;
  }
  auto script = std::make_shared<RunScript>();
  script->text = std::move(text);
  script->origin = origin;
  std::string why;
  auto parsed = shell::parse_script(script->text, why);
  if (!parsed) {
    if (!quiet) not_understood(std::move(why));
    return;
  }
  script->script = std::move(*parsed);
  std::shared_ptr<const RunScript> outer = std::exchange(script_, script);
  for (const shell::BashConstruct& one : script->script.bash) note_bash(one.what, origin(one.offset), state);
  ++scripts_;
  statements(script->script.statements, state, setting);
  --scripts_;
  script_ = std::move(outer);
}

// ---- lists

RunWalker::Flow RunWalker::statements(const Statements& list, RunState& state, Setting setting, Truth* status) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    Setting own = setting;
    if (i + 1 < list.size() && setting.failure != RunFailure::handled) {
      own.failure = state.errexit ? RunFailure::noticed : RunFailure::passed_over;
      own.by_errexit = state.errexit;
    }
    Truth truth = Truth::maybe;
    const Flow flow = statement(list[i], state, own, truth);
    if (status) *status = truth;
    if (flow != Flow::goes_on) return flow;
  }
  return Flow::goes_on;
}

void RunWalker::background(const Statement& one, const RunState& state, Setting setting) {
  RunState own = state;
  Statement same = one;
  same.background = false;
  Truth status = Truth::maybe;
  setting.failure = RunFailure::handled;
  statement(same, own, setting, status);
}

RunWalker::Flow RunWalker::statement(const Statement& one, RunState& state, Setting setting, Truth& status) {
  if (one.background) {
    background(one, state, setting);
    return Flow::goes_on;
  }
  bool asked = false;  // a command before was a question
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    const auto& step = one.steps[i];
    const bool last = i + 1 == one.steps.size();
    Truth wanted = Truth::yes;
    if (step.join == Statement::Join::if_success) wanted = status;
    if (step.join == Statement::Join::if_failure) wanted = !status;
    if (i > 0 && wanted == Truth::no) continue;

    Setting own = setting;
    if (!last) {
      if (setting.by_errexit) own.failure = RunFailure::passed_over;
      own.by_errexit = false;
      // Who answers for this one's failing: the next ||.
      for (std::size_t next = i + 1; next < one.steps.size(); ++next) {
        if (one.steps[next].join != Statement::Join::if_failure) continue;
        own.failure = certainly_fails(one.steps[next].pipeline, 0) ? setting.failure : RunFailure::handled;
        break;
      }
    }
    bool runs = i == 0 || wanted == Truth::yes;
    if (!runs && step.join == Statement::Join::if_success) {
      // Whether the ones before succeeded: certain where their failing would have failed the step.
      // Where it goes by, they are taken to have succeeded, unless one of them was a question.
      const RunFailure before = own.failure == RunFailure::handled ? own.failure : setting.failure;
      const bool goes_by = before == RunFailure::passed_over || (before == RunFailure::noticed && setting.by_errexit);
      runs = before != RunFailure::handled && !(goes_by && asked);
    }
    asked = asked || asks(step.pipeline);
    if (runs) {
      const Flow flow = pipeline(step.pipeline, state, own, status);
      if (flow != Flow::goes_on) return flow;
      continue;
    }
    own.certain = false;
    RunState branch = state;
    Truth other = Truth::maybe;
    const Flow flow = pipeline(step.pipeline, branch, own, other);
    if (step.join == Statement::Join::if_failure && certainly_fails(step.pipeline, 0)) {
      if (flow == Flow::exited) state.may_have_ended = true;
    } else {
      join(state, branch, flow);
    }
    status = Truth::maybe;
  }
  return Flow::goes_on;
}

RunWalker::Flow RunWalker::pipeline(const Pipeline& one, RunState& state, Setting setting, Truth& status) {
  if (one.negated) setting.failure = RunFailure::handled;
  if (one.commands.size() == 1) {
    const Flow flow = command(one.commands.front(), state, setting, status);
    if (one.negated) status = !status;
    return flow;
  }
  status = Truth::maybe;
  piped(one, state, setting);
  return Flow::goes_on;
}

void RunWalker::piped(const Pipeline& one, const RunState& state, Setting setting) {
  struct Part {
    std::size_t from, to;
    bool simple;
  };
  std::vector<Part> parts;
  std::vector<RunCommand>& commands = step_.commands;
  for (std::size_t i = 0; i < one.commands.size(); ++i) {
    // Each part runs in a shell of its own; what it changes is lost.
    RunState own_state = state;
    Setting own = setting;
    if (i + 1 < one.commands.size() && !state.pipefail && own.failure == RunFailure::noticed)
      own.failure = RunFailure::passed_over;
    const std::size_t from = commands.size();
    Truth ignored = Truth::maybe;
    command(one.commands[i], own_state, own, ignored);
    parts.push_back({from, commands.size(), one.commands[i].kind == Command::Kind::simple});
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::optional<std::size_t> reader;
    for (std::size_t k = parts[i + 1].from; k < parts[i + 1].to; ++k) {
      if (commands[k].in_substitution && substitution_ == 0) continue;
      reader = k;
      if (!parts[i + 1].simple) break;
    }
    if (!reader) continue;
    for (std::size_t k = parts[i].from; k < parts[i].to; ++k) {
      if ((!commands[k].in_substitution || substitution_ > 0) && !commands[k].piped_into)
        commands[k].piped_into = reader;
    }
  }
}

// ---- compound commands

RunWalker::Flow RunWalker::command(const Command& one, RunState& state, Setting setting, Truth& status) {
  status = Truth::maybe;
  if (++steps_ > max_steps || depth_ >= max_tree) {
    not_understood("it is too long to be followed");
    return Flow::exited;
  }
  ++depth_;
  Flow flow = Flow::goes_on;
  if (one.kind == Command::Kind::simple) {
    flow = simple(one, state, setting, status);
  } else if (one.kind == Command::Kind::function) {
    state.functions[one.name] = {script_, &one.body};
    status = Truth::yes;
  } else {
    RunCommand around;
    if (!one.redirections.empty()) redirections(one, around, state);
    std::erase_if(around.redirections, [](const Redirection& r) { return r.operation.find('>') == std::string::npos; });
    outer_.push_back(std::move(around.redirections));
    flow = compound(one, state, setting);
    outer_.pop_back();
  }
  --depth_;
  return flow;
}

RunWalker::Flow RunWalker::compound(const Command& one, RunState& state, Setting setting) {
  switch (one.kind) {
    case Command::Kind::group: return statements(one.body, state, setting);
    case Command::Kind::subshell: {
      RunState own = state;
      statements(one.body, own, setting);
      return Flow::goes_on;
    }
    case Command::Kind::condition: return condition(one, state, setting);
    case Command::Kind::loop: return loop(one, state, setting);
    case Command::Kind::each: return each(one, state, setting);
    case Command::Kind::choice: return choice(one, state, setting);
    default: return Flow::goes_on;
  }
}

RunWalker::Flow RunWalker::condition(const Command& one, RunState& state, Setting setting) {
  Setting asked = setting;
  asked.failure = RunFailure::handled;
  asked.by_errexit = false;
  Truth truth = Truth::maybe;
  if (const Flow flow = statements(one.condition, state, asked, &truth); flow != Flow::goes_on) return flow;
  if (truth == Truth::yes) return statements(one.body, state, setting);
  if (truth == Truth::no) return statements(one.otherwise, state, setting);
  // Where one branch always fails the step, the other one runs in every step that succeeds.
  const bool ends_it = setting.failure == RunFailure::noticed;
  Setting first = setting, second = setting;
  first.certain = setting.certain && ends_it && certainly_fails(one.otherwise, 0);
  second.certain = setting.certain && ends_it && certainly_fails(one.body, 0);
  RunState other = state;
  const Flow a = statements(one.body, state, first);
  const Flow b = statements(one.otherwise, other, second);
  if (a == b && a != Flow::goes_on) return a;
  if (a == Flow::goes_on) {
    join(state, other, b);
    return Flow::goes_on;
  }
  const RunState left = std::move(state);
  state = std::move(other);
  join(state, left, a);
  return b == Flow::goes_on ? Flow::goes_on : b;
}

void RunWalker::turns(const Statements& body, RunState& state, Setting setting) {
  setting.certain = false;
  const RunState before = state;
  // First for what a turn changes, then with what any turn may find.
  RunState once = before;
  ++muted_;
  const Flow flow = statements(body, once, setting);
  --muted_;
  RunState any = before;
  join(any, once, flow);
  any.may_have_broken = before.may_have_broken;
  RunState after = any;
  const Flow ended = statements(body, after, setting);
  join(any, after, ended);
  any.may_have_broken = before.may_have_broken;
  state = std::move(any);
}

RunWalker::Flow RunWalker::loop(const Command& one, RunState& state, Setting setting) {
  Setting asked = setting;
  asked.failure = RunFailure::handled;
  asked.by_errexit = false;
  Truth truth = Truth::maybe;
  if (const Flow flow = statements(one.condition, state, asked, &truth); flow != Flow::goes_on) return flow;
  if (!one.words.empty() && one.words.front().written == "until") truth = !truth;
  if (truth != Truth::no) turns(one.body, state, setting);
  return Flow::goes_on;
}

RunWalker::Flow RunWalker::each(const Command& one, RunState& state, Setting setting) {
  substitutions(one.words, state, setting);
  std::vector<RunField> values = expand(one.words, state);
  if (one.words.empty()) {
    for (const CommandWord& word : state.positional) values.push_back({word, one.offset, false});
  }
  const bool known = std::all_of(values.begin(), values.end(), [](const RunField& field) {
    return field.word.kind == CommandWord::Kind::text && !field.glob;
  });
  if (one.name.empty()) return Flow::goes_on;
  if (!known) {
    state.context.variables[one.name] = std::nullopt;
    turns(one.body, state, setting);
    return Flow::goes_on;
  }
  const bool broken = state.may_have_broken;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state.context.variables[one.name] = CommandLine{values[i].word};
    Setting own = setting;
    if (i + 1 < values.size() && setting.failure != RunFailure::handled)
      own.failure = state.errexit ? RunFailure::noticed : RunFailure::passed_over;
    const Flow flow = statements(one.body, state, own);
    if (flow == Flow::broke) break;
    if (flow != Flow::goes_on && flow != Flow::continued) return flow;
  }
  state.may_have_broken = broken;
  return Flow::goes_on;
}

RunWalker::Flow RunWalker::choice(const Command& one, RunState& state, Setting setting) {
  substitutions(one.words, state, setting);
  const auto subject = expand(one.words, state, true);
  if (subject.size() != 1) return Flow::goes_on;
  std::optional<RunState> after;
  RunState ended = state;  // collects the ways in which arms end the script
  bool some_go_on = false, certain = false;
  Flow last = Flow::goes_on;
  for (const shell::Arm& arm : one.arms) {
    Truth truth = Truth::no;
    for (const Word& pattern : arm.patterns) {
      const RunScope scope{state.context, state.positional, state.bash, nullptr, nullptr};
      const Truth one_fits = fits(pattern, subject.front().word, scope);
      if (one_fits == Truth::yes || truth == Truth::no) truth = one_fits;
      if (truth == Truth::yes) break;
    }
    if (truth == Truth::no) continue;
    const bool only = truth == Truth::yes && !after && !some_go_on && last == Flow::goes_on;
    if (only) return statements(arm.body, state, setting);
    Setting own = setting;
    own.certain = false;
    RunState branch = state;
    last = statements(arm.body, branch, own);
    if (last == Flow::goes_on) {
      after = after ? merged_states(*after, branch) : branch;
      some_go_on = true;
    } else {
      join(ended, branch, last);
    }
    if (truth == Truth::yes) {
      certain = true;
      break;
    }
  }
  if (!certain) after = after ? merged_states(*after, state) : state;
  if (!after) return last;
  state = std::move(*after);
  state.may_have_ended = state.may_have_ended || ended.may_have_ended;
  state.may_have_returned = state.may_have_returned || ended.may_have_returned;
  state.may_have_broken = state.may_have_broken || ended.may_have_broken;
  return Flow::goes_on;
}

RunWalker::Flow RunWalker::call(const RunFunction& function, const RunCommand& line, RunState& state, Setting setting) {
  if (calls_ >= max_calls) {
    not_understood("functions call each other too deeply");
    return Flow::goes_on;
  }
  const CommandLine outer = std::exchange(state.positional, CommandLine(line.words.begin() + 1, line.words.end()));
  std::shared_ptr<const RunScript> script = std::exchange(script_, function.script);
  const bool returned = state.may_have_returned;
  ++calls_;
  const Flow flow = statements(*function.body, state, setting);
  --calls_;
  script_ = std::move(script);
  state.positional = outer;
  state.may_have_returned = returned;
  return flow == Flow::exited || flow == Flow::failed ? flow : Flow::goes_on;
}

RunStep RunWalker::finish(const RunState& state) {
  step_.after = state.context;
  const auto before = [](const BashUse& a, const BashUse& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.what < b.what;
  };
  std::sort(step_.bash_uses.begin(), step_.bash_uses.end(), before);
  const auto same = [](const BashUse& a, const BashUse& b) { return a.offset == b.offset && a.what == b.what; };
  step_.bash_uses.erase(std::unique(step_.bash_uses.begin(), step_.bash_uses.end(), same), step_.bash_uses.end());
  return std::move(step_);
}

}  // namespace imgforge
