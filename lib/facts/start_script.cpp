#include "facts/start_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "facts/shell_state.hpp"
#include "facts/shell_syntax.hpp"

namespace imgforge {
namespace {

using namespace shell;

constexpr std::size_t max_steps = 5'000;  // commands looked at, functions counted each time
constexpr int max_calls = 24;             // functions in functions
constexpr int max_tree = 192;             // commands in commands, functions' bodies included
constexpr std::size_t max_ends = 16;

enum class Flow { goes_on, returned, ended };

using State = ShellState;

bool is_declaration(std::string_view name) {
  return name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset";
}

bool is_builtin(std::string_view name) {
  static const std::set<std::string_view> names = {
      ":",    "true", "false", "echo",   "printf",  "test",  "[",     "[[",   "cd",   "pushd",   "popd",
      "pwd",  "trap", "unset", "ulimit", "umask",   "alias", "shopt", "wait", "read", "mapfile", "hash",
      "type", "kill", "let",   "set",    "getopts", "shift", "times", "jobs", "dirs", "unalias", "enable"};
  return names.contains(name) || is_declaration(name);
}

std::string written(const CommandLine& line) {
  std::string text;
  for (const CommandWord& word : line) text += (text.empty() ? "" : " ") + word.text;
  return text.substr(0, 200);
}

class Evaluator {
 public:
  Evaluator(std::string self, const EndsThere& ends_there) : self_(std::move(self)), ends_there_(ends_there) {}

  std::vector<ScriptEnd> run(const Statements& statements, State state) {
    if (statements_of(statements, state) != Flow::ended) add_last(state);
    std::vector<ScriptEnd> others;
    for (const ScriptEnd& end : ends_) {
      if (end.kind != ScriptEnd::Kind::exits) others.push_back(end);
    }
    if (others.empty() && !ends_.empty()) others.push_back(ends_.front());
    if (overflow_) {
      ScriptEnd end;
      end.kind = ScriptEnd::Kind::unknown;
      end.why = "it has too many ways to end";
      others.assign(1, std::move(end));
    }
    return others;
  }

 private:
  ShellScope scope_of(const State& state) const { return {state.context, state.positional, self_}; }

  // ---- ends

  void add(ScriptEnd end) {
    const bool there = std::any_of(ends_.begin(), ends_.end(), [&](const ScriptEnd& one) {
      return one.kind == end.kind && one.command == end.command && one.why == end.why &&
             one.context.variable("PATH") == end.context.variable("PATH") && one.context.folder == end.context.folder;
    });
    if (there) return;
    if (ends_.size() == max_ends) {
      overflow_ = true;
      return;
    }
    ends_.push_back(std::move(end));
  }

  void add_run(const CommandLine& command, bool builtin, const State& state) {
    ScriptEnd end;
    end.kind = ScriptEnd::Kind::runs;
    end.command = command;
    end.builtin = builtin;
    end.context = state.context;
    add(std::move(end));
  }

  void add_exit(const State& state) {
    ScriptEnd end;
    end.context = state.context;
    add(std::move(end));
  }

  void add_unknown(std::string why) {
    ScriptEnd end;
    end.kind = ScriptEnd::Kind::unknown;
    end.why = std::move(why);
    add(std::move(end));
  }

  void add_last(const State& state) {
    for (const CommandLine& one : state.background) {
      if (one.front().kind != CommandWord::Kind::text || !ends_there_ || !ends_there_(one, state.context)) continue;
      add_unknown(fmt::format("it runs {} in the background", escape_for_display(one.front().text)));
      return;
    }
    if (state.last.empty()) add_exit(state);
    for (const PossibleCommand& one : state.last) add_run(one.command, one.builtin, state);
  }

  // ---- statements

  Flow statements_of(const Statements& statements, State& state) {
    for (const Statement& statement : statements) {
      const Flow flow = statement_of(statement, state);
      if (flow != Flow::goes_on) return flow;
    }
    return Flow::goes_on;
  }

  Flow statement_of(const Statement& statement, State& state) {
    if (statement.background) {
      // It runs beside the script; only a later wait makes it what the script ends in.
      for (const auto& step : statement.steps) {
        for (const Command& command : step.pipeline.commands) {
          if (command.kind == Command::Kind::simple && !command.words.empty()) {
            CommandLine line = expand_words(command.words, scope_of(state));
            if (!line.empty() && line.front().kind == CommandWord::Kind::text && line.front().text == "exec")
              line.erase(line.begin());
            if (!line.empty() && state.background.size() < max_ends) state.background.push_back(std::move(line));
          } else if (state.background.size() < max_ends) {
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

  Flow pipeline_of(const Pipeline& pipeline, State& state, Truth& status) {
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

  Flow command_of(const Command& command, State& state, Truth& status) {
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

  Flow dispatch(const Command& command, State& state, Truth& status) {
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

  /// The body may run, or not: both stay possible afterwards.
  Flow maybe(const Statements& body, State& state, State once) {
    const Flow flow = statements_of(body, once);
    if (flow == Flow::goes_on) state = merged(state, once);
    if (flow == Flow::returned) keep_returned(once);
    return Flow::goes_on;
  }

  Flow condition(const Command& command, State& state) {
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

  /// A way in which a function may have returned while another goes on.
  void keep_returned(const State& state) {
    if (calls_ > 0 && subshell_ == 0) returned_.push_back(state);
  }

  Flow joined(Flow first, Flow second, State& state, const State& other) {
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

  /// Runs the commands of an if or while and tells whether the last of them succeeds.
  Flow tested(const Statements& statements, State& state, Truth& truth) {
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

  Flow loop(const Command& command, State& state) {
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

  Flow choice(const Command& command, State& state) {
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

  static Truth matches(const Word& pattern, const std::string& subject, bool known) {
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

  // ---- simple commands

  Flow simple(const Command& command, State& state, Truth& status) {
    const CommandLine line = expand_words(command.words, scope_of(state));
    const bool declares = !line.empty() && is_declaration(line.front().text);
    if (command.words.empty() || declares) assign_variables(command.assignments, self_, state);
    if (line.empty()) return Flow::goes_on;
    if (line.front().kind == CommandWord::Kind::arguments) return external(line, state);
    if (line.front().kind == CommandWord::Kind::unknown) return external(line, state);

    State scope = state;  // FOO=bar command: for that command only
    if (!declares && !command.assignments.empty()) assign_variables(command.assignments, self_, scope);
    const std::string& name = line.front().text;
    if (name == "exec") return exec(line, command.assignments.empty() || declares ? state : scope, state);
    if (name == "exit") return leave(line, state);
    if (name == "return") {
      if (calls_ == 0) return leave(line, state);
      return Flow::returned;
    }
    if (name == "." || name == "source") {
      state.context.variables_lost = true;
      state.context.variables.clear();
      state.last = {{line, true}};
      return Flow::goes_on;
    }
    if (name == "eval") return eval(line, state);
    if (name == "command" || name == "builtin") {
      CommandLine rest(line.begin() + 1, line.end());
      if (!rest.empty() && rest.front().text.starts_with("-")) {
        state.last = {{line, true}};  // command -v NAME
        return Flow::goes_on;
      }
      return rest.empty() ? Flow::goes_on : external(rest, state);
    }
    if (name == "shift") {
      shift_arguments(line, state);
      return Flow::goes_on;
    }
    if (name == "set") {
      set_arguments(line, state);
      return Flow::goes_on;
    }
    if (name == "wait") return wait(line, state);
    if (name == "true" || name == ":") status = Truth::yes;
    if (name == "false") status = Truth::no;
    if (name == "test" || name == "[" || name == "[[") status = decide_test(command.words, scope_of(state));
    if (name == "cd" || name == "pushd" || name == "popd") change_folder(line, state);
    if (name == "read" || name == "mapfile" || name == "unset" || name == "getopts" || name == "printf") {
      const bool unset = name == "unset";
      for (std::size_t i = 1; i < line.size(); ++i) {
        if (name == "printf" && !(i >= 2 && line[i - 1].text == "-v")) continue;
        if (unset) {
          state.context.variables.erase(line[i].text);
        } else {
          state.context.variables[line[i].text] = std::nullopt;
        }
      }
    }
    if (const auto function = functions_.find(name); function != functions_.end())
      return call(*function->second, line, state);
    if (is_builtin(name)) {
      state.last = {{line, true}};
      return Flow::goes_on;
    }
    if (scope.context.variables != state.context.variables) {
      State own = scope;
      const Flow flow = external(line, own);
      state.last = own.last;
      return flow;
    }
    return external(line, state);
  }

  Flow external(const CommandLine& line, State& state) {
    if (line.front().kind == CommandWord::Kind::text && ends_there_ && ends_there_(line, state.context)) {
      add_run(line, false, state);
      found_ = true;
      return Flow::ended;
    }
    state.last = {{line, false}};
    return Flow::goes_on;
  }

  Flow exec(const CommandLine& line, const State& scope, State& state) {
    std::size_t at = 1;
    State own = scope;
    while (at < line.size() && line[at].kind == CommandWord::Kind::text && line[at].text.starts_with("-") &&
           line[at].text != "-") {
      if (line[at].text == "--") {
        ++at;
        break;
      }
      at += line[at].text == "-a" ? 2 : 1;
    }
    CommandLine rest(line.begin() + static_cast<std::ptrdiff_t>(std::min(at, line.size())), line.end());
    if (rest.empty()) return Flow::goes_on;  // redirections only
    if (subshell_ > 0) {
      const Flow flow = external(rest, own);
      state.last = own.last;
      return flow == Flow::ended ? flow : Flow::returned;
    }
    add_run(rest, false, own);
    return Flow::ended;
  }

  /// exit: what ran before it is what the script ended in, if its status is handed on.
  Flow leave(const CommandLine& line, State& state) {
    if (subshell_ > 0) return Flow::returned;
    const bool hands_on = line.size() == 1 || line[1].kind == CommandWord::Kind::unknown;
    if (hands_on && !state.last.empty() && !state.last.front().builtin) {
      add_last(state);
    } else {
      add_exit(state);
    }
    return Flow::ended;
  }

  Flow eval(const CommandLine& line, State& state) {
    for (const CommandWord& word : line) {
      if (word.kind == CommandWord::Kind::arguments || word.text.find("exec ") != std::string::npos ||
          word.text.find("boot") != std::string::npos) {
        add_unknown(fmt::format("it runs text by eval: {}", escape_for_display(written(line))));
        return Flow::ended;
      }
    }
    state.context.variables_lost = true;
    state.context.variables.clear();
    state.last = {{line, true}};
    return Flow::goes_on;
  }

  Flow call(const Statements& body, const CommandLine& line, State& state) {
    if (calls_ == max_calls) {
      add_unknown("its functions call each other too deeply");
      overflow_ = true;
      return Flow::ended;
    }
    const CommandLine outer = std::exchange(state.positional, CommandLine(line.begin() + 1, line.end()));
    std::vector<State> returned;
    std::swap(returned, returned_);
    ++calls_;
    Flow flow = statements_of(body, state);
    --calls_;
    std::swap(returned, returned_);
    for (const State& one : returned) {
      state = flow == Flow::ended ? one : merged(state, one);
      flow = Flow::goes_on;
    }
    state.positional = outer;
    return flow == Flow::ended ? flow : Flow::goes_on;
  }

  Flow wait(const CommandLine& line, State& state) {
    for (const CommandLine& one : state.background) {
      if (one.front().kind != CommandWord::Kind::text) {
        add_unknown("it waits for what it runs in the background");
        return Flow::ended;
      }
      if (ends_there_ && ends_there_(one, state.context)) {
        add_run(one, false, state);
        found_ = true;
        return Flow::ended;
      }
    }
    state.last = {{line, true}};
    return Flow::goes_on;
  }

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

}  // namespace

std::vector<ScriptEnd> read_start_script(std::string_view text, const std::string& self, const CommandLine& arguments,
                                         const ShellContext& context, const EndsThere& ends_there) {
  std::string why;
  const auto statements = shell::parse(text, why);
  if (!statements) {
    ScriptEnd end;
    end.kind = ScriptEnd::Kind::unknown;
    end.why = why;
    return {end};
  }
  State state;
  state.context = context;
  state.positional = arguments;
  return Evaluator(self, ends_there).run(*statements, std::move(state));
}

std::optional<std::vector<std::string>> parse_shebang(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, std::min(text.find('\n'), std::size_t{257}) - 2);
  line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  std::vector<std::string> words;
  const std::size_t space = line.find_first_of(" \t");
  words.emplace_back(line.substr(0, space));
  if (space == std::string_view::npos) return words;
  const std::string_view rest = trim(line.substr(space));
  const bool splits = words.front().ends_with("/env") && (rest.starts_with("-S") || rest.starts_with("--split-string"));
  if (!splits) {
    words.emplace_back(rest);
    return words;
  }
  std::string word;
  for (const char c : std::string(rest) + ' ') {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

}  // namespace imgforge
