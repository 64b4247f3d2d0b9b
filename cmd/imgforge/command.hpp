// What a subcommand is to main: a function that registers it, and what the program has to return when it was run.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace imgforge {

/// Set by the subcommand that was chosen; main runs it inside the one try block of the program and returns its exit code.
using Action = std::function<int()>;

void add_render(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_compat(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);

}  // namespace imgforge
