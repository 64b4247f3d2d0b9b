// Programs that run the command they are given: init wrappers, env, conda run, nohup and their kin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/shell_words.hpp"

namespace imgforge {

/// sh, bash, dash, ash, zsh, ksh.
bool is_shell_name(std::string_view name);

/// Whether a program of this name is one that unwrap() follows.
bool is_wrapper(std::string_view name);

/// The command line that `line`, whose program is called `name`, hands over to; changes `context` as the wrapper does
/// (env's variables, conda's PATH). Nothing where the program is no wrapper.
std::optional<CommandLine> unwrap(std::string_view name, const CommandLine& line, ShellContext& context);

// Command lines by position; words that are not there or no text are "".
bool is_text(const CommandLine& line, std::size_t i);
std::string text_of(const CommandLine& line, std::size_t i);
CommandLine from(const CommandLine& line, std::size_t i);

}  // namespace imgforge
