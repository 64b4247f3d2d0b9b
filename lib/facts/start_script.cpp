#include "facts/start_script.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/script_walk.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_ends = 16;

}  // namespace

std::vector<ScriptEnd> ScriptWalk::run(const Statements& statements, State state) {
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

void ScriptWalk::add(ScriptEnd end) {
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

void ScriptWalk::add_run(const CommandLine& command, bool builtin, const State& state) {
  ScriptEnd end;
  end.kind = ScriptEnd::Kind::runs;
  end.command = command;
  end.builtin = builtin;
  end.context = state.context;
  add(std::move(end));
}

void ScriptWalk::add_exit(const State& state) {
  ScriptEnd end;
  end.context = state.context;
  add(std::move(end));
}

void ScriptWalk::add_unknown(std::string why) {
  ScriptEnd end;
  end.kind = ScriptEnd::Kind::unknown;
  end.why = std::move(why);
  add(std::move(end));
}

void ScriptWalk::add_last(const State& state) {
  for (const CommandLine& one : state.background) {
    if (one.front().kind != CommandWord::Kind::text || !ends_there_ || !ends_there_(one, state.context)) continue;
    add_unknown(fmt::format("it runs {} in the background", escape_for_display(one.front().text)));
    return;
  }
  if (state.last.empty()) add_exit(state);
  for (const PossibleCommand& one : state.last) add_run(one.command, one.builtin, state);
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
  ShellState state;
  state.context = context;
  state.positional = arguments;
  return ScriptWalk(self, ends_there).run(*statements, std::move(state));
}

}  // namespace imgforge
