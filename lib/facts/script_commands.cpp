// The simple commands of a start script: its shell's own ones, functions, and programs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/script_walk.hpp"

namespace imgforge {

namespace {

constexpr int max_calls = 24;  // functions in functions

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

}  // namespace

ScriptWalk::Flow ScriptWalk::simple(const Command& command, State& state, Truth& status) {
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

ScriptWalk::Flow ScriptWalk::external(const CommandLine& line, State& state) {
  if (line.front().kind == CommandWord::Kind::text && ends_there_ && ends_there_(line, state.context)) {
    add_run(line, false, state);
    found_ = true;
    return Flow::ended;
  }
  state.last = {{line, false}};
  return Flow::goes_on;
}

ScriptWalk::Flow ScriptWalk::exec(const CommandLine& line, const State& scope, State& state) {
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

ScriptWalk::Flow ScriptWalk::leave(const CommandLine& line, State& state) {
  if (subshell_ > 0) return Flow::returned;
  const bool hands_on = line.size() == 1 || line[1].kind == CommandWord::Kind::unknown;
  if (hands_on && !state.last.empty() && !state.last.front().builtin) {
    add_last(state);
  } else {
    add_exit(state);
  }
  return Flow::ended;
}

ScriptWalk::Flow ScriptWalk::eval(const CommandLine& line, State& state) {
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

ScriptWalk::Flow ScriptWalk::call(const Statements& body, const CommandLine& line, State& state) {
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

ScriptWalk::Flow ScriptWalk::wait(const CommandLine& line, State& state) {
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

}  // namespace imgforge
