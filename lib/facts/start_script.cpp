#include "facts/start_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "facts/shell_syntax.hpp"

namespace imgforge {
namespace {

using namespace shell;

constexpr std::size_t max_steps = 5'000;  // commands looked at, functions counted each time
constexpr int max_calls = 24;             // functions in functions
constexpr int max_tree = 192;             // commands in commands, functions' bodies included
constexpr std::size_t max_ends = 16;
constexpr std::size_t max_line = 256;            // words of a command line
constexpr std::size_t max_value = 4'096;         // bytes of a word
constexpr std::size_t max_variables = 64 << 10;  // bytes of all variables together

enum class Truth { no, yes, maybe };
Truth operator!(Truth truth) {
  return truth == Truth::maybe ? Truth::maybe : truth == Truth::yes ? Truth::no : Truth::yes;
}

enum class Flow { goes_on, returned, ended };

struct Candidate {
  CommandLine command;
  bool builtin = false;
  bool operator==(const Candidate&) const = default;
};

struct State {
  ShellContext context;
  CommandLine positional;
  std::vector<Candidate> last;  // commands that may have been the last one
  std::vector<CommandLine> background;
};

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
    for (const Candidate& one : state.last) add_run(one.command, one.builtin, state);
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
            CommandLine line = expand(command.words, state);
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
    std::vector<Candidate> last;
    for (const Command& command : pipeline.commands) {
      State own = state;
      own.last.clear();
      Truth ignored = Truth::maybe;
      const int before = subshell_;
      ++subshell_;
      const Flow flow = command_of(command, own, ignored);
      subshell_ = before;
      if (flow == Flow::ended && found_) return Flow::ended;
      for (Candidate& one : own.last) last.push_back(std::move(one));
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
    const CommandLine subject = expand({command.words}, state);
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
    const CommandLine line = expand(command.words, state);
    const bool declares = !line.empty() && is_declaration(line.front().text);
    if (command.words.empty() || declares) assign(command.assignments, state);
    if (line.empty()) return Flow::goes_on;
    if (line.front().kind == CommandWord::Kind::arguments) return external(line, state);
    if (line.front().kind == CommandWord::Kind::unknown) return external(line, state);

    State scope = state;  // FOO=bar command: for that command only
    if (!declares && !command.assignments.empty()) assign(command.assignments, scope);
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
    if (name == "shift") return shift(line, state);
    if (name == "set") return set(line, state);
    if (name == "wait") return wait(line, state);
    if (name == "true" || name == ":") status = Truth::yes;
    if (name == "false") status = Truth::no;
    if (name == "test" || name == "[" || name == "[[") status = test(command.words, state);
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

  Flow shift(const CommandLine& line, State& state) {
    std::size_t count = 1;
    if (line.size() > 1) {
      const auto number = line[1].kind == CommandWord::Kind::text ? to_number(line[1].text) : std::nullopt;
      count = number && *number < 1000 ? static_cast<std::size_t>(*number) : 1000;
    }
    for (; count > 0 && !state.positional.empty(); --count) {
      if (state.positional.front().kind != CommandWord::Kind::text) {
        // Some of the runtime's arguments are gone, which ones only the run tells.
        state.positional = {CommandWord::not_known("\"$@\" after shift")};
        break;
      }
      state.positional.erase(state.positional.begin());
    }
    return Flow::goes_on;
  }

  static Flow set(const CommandLine& line, State& state) {
    std::size_t at = 1;
    while (at < line.size() && line[at].kind == CommandWord::Kind::text &&
           (line[at].text.starts_with("-") || line[at].text.starts_with("+"))) {
      const std::string& option = line[at++].text;
      if (option == "--") {
        state.positional.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
        return Flow::goes_on;
      }
      if (option.ends_with('o') && at < line.size()) ++at;  // -o pipefail, -eo pipefail
    }
    if (at < line.size()) state.positional.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
    return Flow::goes_on;
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

  static void change_folder(const CommandLine& line, State& state) {
    const bool known = line.size() == 2 && line[1].kind == CommandWord::Kind::text && !line[1].text.starts_with("-") &&
                       line[0].text != "popd";
    if (!known) {
      state.context.folder.reset();
    } else if (line[1].text.starts_with("/")) {
      state.context.folder = line[1].text;
    } else if (state.context.folder) {
      state.context.folder = *state.context.folder + "/" + line[1].text;
      if (state.context.folder->size() > 4096) state.context.folder.reset();
    }
  }

  void assign(const std::vector<Assignment>& assignments, State& state) {
    for (const Assignment& one : assignments) {
      CommandLine value = expand(one.values, state, !one.array);
      const bool lost = one.append || (!one.array && value.size() > 1) ||
                        std::any_of(value.begin(), value.end(),
                                    [](const CommandWord& word) { return word.kind == CommandWord::Kind::unknown; });
      if (!one.array && value.empty()) value.push_back(CommandWord::of(""));
      state.context.variables[one.name] = lost ? std::optional<CommandLine>() : value;
    }
    std::size_t size = 0;
    for (const auto& [name, value] : state.context.variables) {
      size += name.size() + 64;
      if (!value) continue;
      for (const CommandWord& word : *value) size += word.text.size() + 64;
    }
    if (size > max_variables) {
      state.context.variables.clear();
      state.context.variables_lost = true;
    }
  }

  // ---- words

  CommandLine expand(const std::vector<Word>& words, const State& state, bool assignment = false) const {
    CommandLine line;
    for (const Word& word : words) {
      expand(word, state, assignment, line);
      if (line.size() > max_line) {
        line.resize(1);
        line.push_back(CommandWord::not_known("too many words"));
        return line;
      }
    }
    return line;
  }

  void expand(const Word& word, const State& state, bool assignment, CommandLine& line) const {
    if (word.pieces.size() == 1) {
      expand_piece(word.pieces.front(), word.written, state, assignment, line);
      return;
    }
    std::string text;
    for (const Piece& piece : word.pieces) {
      CommandLine part;
      expand_piece(piece, word.written, state, true, part);
      if (part.size() != 1 || part.front().kind != CommandWord::Kind::text) {
        CommandWord unknown = CommandWord::not_known(word.written);
        unknown.prefix = text;
        line.push_back(std::move(unknown));
        return;
      }
      text += part.front().text;
      if (text.size() > max_value) {
        line.push_back(CommandWord::not_known(word.written.substr(0, 256)));
        return;
      }
    }
    line.push_back(CommandWord::of(std::move(text)));
  }

  /// `whole`: no splitting into fields, as in assignments and between quotes.
  void expand_piece(const Piece& piece, const std::string& word, const State& state, bool whole,
                    CommandLine& line) const {
    if (piece.kind == Piece::Kind::other) {
      line.push_back(CommandWord::not_known(word.substr(0, 256)));
      return;
    }
    if (piece.kind == Piece::Kind::literal) {
      const bool glob = !piece.quoted && !whole && piece.text.find_first_of("*?[") != std::string::npos &&
                        piece.text != "[" && piece.text != "[[";
      const bool home = !piece.quoted && piece.text.starts_with("~");
      line.push_back(glob || home ? CommandWord::not_known(piece.text) : CommandWord::of(piece.text));
      return;
    }
    const std::string& name = piece.text;
    if (name == "@" || name == "*") {
      spread(state.positional, name == "@" ? piece.quoted || !whole : !piece.quoted && !whole, word, line);
      return;
    }
    if (name == "#") {
      line.push_back(count(state.positional));
      return;
    }
    if (name == "0") {
      line.push_back(CommandWord::of(self_));
      return;
    }
    if (const auto number = to_number(name)) {
      line.push_back(nth(state.positional, *number, word));
      if (line.back().kind == CommandWord::Kind::text && line.back().text.empty() && !piece.quoted && !whole)
        line.pop_back();
      return;
    }
    const bool array = name.ends_with("[@]") || name.ends_with("[*]");
    const std::string plain = array ? name.substr(0, name.size() - 3) : name;
    const auto found = state.context.variables.find(plain);
    if (found == state.context.variables.end() || !found->second) {
      line.push_back(CommandWord::not_known(word));
      return;
    }
    const CommandLine& value = *found->second;
    if (array) {
      spread(value, name.ends_with("[@]") ? true : !piece.quoted, word, line);
    } else if (piece.quoted || whole) {
      if (value.size() == 1 && (value.front().kind == CommandWord::Kind::text || (whole && !piece.quoted))) {
        line.push_back(value.front());
      } else {
        line.push_back(CommandWord::not_known(word));  // "$ARGS" with all arguments in one word
      }
    } else {
      for (const CommandWord& one : value) split_fields(one, word, line);
    }
  }

  /// "$@": each word on its own.
  static void spread(const CommandLine& words, bool apart, const std::string& word, CommandLine& line) {
    if (apart) {
      line.insert(line.end(), words.begin(), words.end());
      return;
    }
    // X="$@" and "$*" join the words; a lone "$@" stays what it is, to be split again where it is used without quotes.
    if (words.size() == 1 && word.find('"') == std::string::npos) {
      line.push_back(words.front());
      return;
    }
    if (words.size() == 1 && words.front().kind == CommandWord::Kind::text) {
      line.push_back(words.front());
      return;
    }
    line.push_back(CommandWord::not_known(word));
  }

  static void split_fields(const CommandWord& value, const std::string& word, CommandLine& line) {
    if (value.kind != CommandWord::Kind::text) {
      line.push_back(value);
      return;
    }
    if (value.text.find_first_of("*?[") != std::string::npos) {
      line.push_back(CommandWord::not_known(word));
      return;
    }
    std::string field;
    for (const char c : value.text + ' ') {
      if (c != ' ' && c != '\t' && c != '\n') {
        field += c;
      } else if (!field.empty()) {
        line.push_back(CommandWord::of(std::exchange(field, {})));
      }
    }
  }

  static CommandWord count(const CommandLine& positional) {
    std::size_t known = 0;
    bool exact = true;
    for (const CommandWord& word : positional) {
      if (word.kind == CommandWord::Kind::text) {
        ++known;
      } else {
        // Beam's runners give at least --id and --provision_endpoint.
        if (word.kind == CommandWord::Kind::arguments) known += 2;
        exact = false;
      }
    }
    if (exact) return CommandWord::of(std::to_string(known));
    CommandWord word = CommandWord::not_known("$#");
    word.at_least = known;
    return word;
  }

  static CommandWord nth(const CommandLine& positional, std::uint64_t number, const std::string& written) {
    for (std::size_t i = 0; i < positional.size(); ++i) {
      const CommandWord& word = positional[i];
      if (word.kind == CommandWord::Kind::arguments) {
        CommandWord one = CommandWord::not_known(written);
        if (i + 1 == number || i + 2 == number) one.prefix = "--";
        return one;
      }
      if (word.kind == CommandWord::Kind::unknown) return CommandWord::not_known(written);
      if (i + 1 == number) return word;
    }
    return CommandWord::of("");
  }

  // ---- tests

  Truth test(const std::vector<Word>& words, const State& state) const {
    CommandLine line;
    for (const Word& word : words) {
      CommandLine one;
      expand(word, state, false, one);
      // A word that is gone or became several has no place in a test that is to be understood.
      if (one.size() != 1) return Truth::maybe;
      line.push_back(std::move(one.front()));
    }
    const auto text = [&](std::size_t i) {
      return i < line.size() && line[i].kind == CommandWord::Kind::text ? line[i].text : std::string();
    };
    std::size_t from = 1, to = line.size();
    if (text(0) != "test") {
      if (to < 2 || (text(to - 1) != "]" && text(to - 1) != "]]")) return Truth::maybe;
      --to;
    }
    bool negated = false;
    while (from < to && text(from) == "!" && to - from > 1) {
      negated = !negated;
      ++from;
    }
    const Truth truth = test(
        CommandLine(line.begin() + static_cast<std::ptrdiff_t>(from), line.begin() + static_cast<std::ptrdiff_t>(to)));
    return negated ? !truth : truth;
  }

  static Truth truth_of(bool value) { return value ? Truth::yes : Truth::no; }

  static Truth is_empty(const CommandWord& word) {
    if (word.kind == CommandWord::Kind::text) return truth_of(word.text.empty());
    if (word.kind == CommandWord::Kind::arguments || !word.prefix.empty()) return Truth::no;
    return Truth::maybe;
  }

  static Truth test(const CommandLine& line) {
    if (line.size() == 1) return !is_empty(line[0]);
    if (line.size() == 2 && line[0].text == "-z") return is_empty(line[1]);
    if (line.size() == 2 && line[0].text == "-n") return !is_empty(line[1]);
    if (line.size() != 3 || line[1].kind != CommandWord::Kind::text) return Truth::maybe;
    const std::string& op = line[1].text;
    if (op == "=" || op == "==" || op == "!=") {
      const Truth same = equal(line[0], line[2]);
      return op == "!=" ? !same : same;
    }
    const auto right = line[2].kind == CommandWord::Kind::text ? to_number(line[2].text) : std::nullopt;
    if (!right) return Truth::maybe;
    const auto left = line[0].kind == CommandWord::Kind::text ? to_number(line[0].text) : std::nullopt;
    const std::uint64_t least = left ? *left : line[0].at_least;
    if (!left && line[0].at_least == 0) return Truth::maybe;
    if (op == "-eq") return left ? truth_of(*left == *right) : least > *right ? Truth::no : Truth::maybe;
    if (op == "-ne") return left ? truth_of(*left != *right) : least > *right ? Truth::yes : Truth::maybe;
    if (op == "-gt") return least > *right ? Truth::yes : left ? Truth::no : Truth::maybe;
    if (op == "-ge") return least >= *right ? Truth::yes : left ? Truth::no : Truth::maybe;
    if (op == "-lt") return least >= *right ? Truth::no : left ? Truth::yes : Truth::maybe;
    if (op == "-le") return least > *right ? Truth::no : left ? Truth::yes : Truth::maybe;
    return Truth::maybe;
  }

  static Truth equal(const CommandWord& a, const CommandWord& b) {
    if (a.kind == CommandWord::Kind::text && b.kind == CommandWord::Kind::text) return truth_of(a.text == b.text);
    const CommandWord& open = a.kind == CommandWord::Kind::text ? b : a;
    const CommandWord& fixed = a.kind == CommandWord::Kind::text ? a : b;
    if (fixed.kind != CommandWord::Kind::text) return Truth::maybe;
    if (open.kind == CommandWord::Kind::arguments) return Truth::maybe;
    if (!open.prefix.empty() && !fixed.text.starts_with(open.prefix)) return Truth::no;
    if (open.at_least > 0) {
      const auto number = to_number(fixed.text);
      if (number && *number < open.at_least) return Truth::no;
    }
    return Truth::maybe;
  }

  // ---- states

  static State merged(const State& a, const State& b) {
    State result = a;
    result.context.variables_lost = a.context.variables_lost || b.context.variables_lost;
    for (auto& [name, value] : result.context.variables) {
      const auto other = b.context.variables.find(name);
      if (other == b.context.variables.end() || other->second != value) value.reset();
    }
    for (const auto& [name, value] : b.context.variables) result.context.variables.try_emplace(name, std::nullopt);
    if (a.context.folder != b.context.folder) result.context.folder.reset();
    if (a.positional != b.positional) result.positional = {CommandWord::not_known("\"$@\"")};
    for (const Candidate& one : b.last) {
      // More than max_ends make the answer unknown anyway.
      if (result.last.size() > max_ends) break;
      if (std::find(result.last.begin(), result.last.end(), one) == result.last.end()) result.last.push_back(one);
    }
    for (const CommandLine& one : b.background) {
      if (result.background.size() > max_ends) break;
      if (std::find(result.background.begin(), result.background.end(), one) == result.background.end())
        result.background.push_back(one);
    }
    return result;
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

std::optional<std::string> ShellContext::variable(std::string_view name) const {
  const auto found = variables.find(name);
  if (found == variables.end()) return variables_lost ? std::nullopt : std::optional<std::string>("");
  if (!found->second || found->second->size() != 1 || found->second->front().kind != CommandWord::Kind::text)
    return std::nullopt;
  return found->second->front().text;
}

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
