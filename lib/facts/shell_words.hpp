// Words of shell commands before the run: expanded as far as that is certain, and tests on them decided.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/shell_syntax.hpp"

namespace imgforge {

/// A word of a command line, as far as it is known before the run.
struct CommandWord {
  enum class Kind {
    text,       // exactly this text
    arguments,  // all the arguments that the runtime gives to the container: several words
    unknown,    // one or more words that only the run tells; `text` is how the script writes them
  };
  Kind kind = Kind::text;
  std::string text;
  std::string prefix;        // of an unknown word: text that it certainly starts with ("--" of a runtime's argument)
  std::size_t at_least = 0;  // of an unknown "$#": never less than this

  static CommandWord of(std::string text) { return {Kind::text, std::move(text), {}, 0}; }
  static CommandWord all_arguments() { return {Kind::arguments, "\"$@\"", {}, 0}; }
  static CommandWord not_known(std::string written) { return {Kind::unknown, std::move(written), {}, 0}; }
  bool operator==(const CommandWord&) const = default;
};
using CommandLine = std::vector<CommandWord>;

/// Variables as they are when a command runs; a value is nothing where it is not known. What is not in the map is not
/// set by the image.
using ShellVariables = std::map<std::string, std::optional<CommandLine>, std::less<>>;

/// What surrounds a command.
struct ShellContext {
  ShellVariables variables;
  bool variables_lost = false;        // something was sourced: any variable may have any value
  std::optional<std::string> folder;  // the current one, absolute; nothing where it is not known

  /// A variable's value where it is one known text; an empty one where the variable is not set.
  std::optional<std::string> variable(std::string_view name) const;
};

/// What words are expanded with.
struct ShellScope {
  const ShellContext& context;
  const CommandLine& positional;  // "$@"
  const std::string& self;        // "$0"
};

/// Fields of these words; of an assignment, nothing is split. At most 256 words, then the rest is one unknown word.
CommandLine expand_words(const std::vector<shell::Word>& words, const ShellScope& scope, bool assignment = false);

enum class Truth { no, yes, maybe };
Truth operator!(Truth truth);

/// What test, [ and [[ come to; `words` with the command's name and the closing bracket.
Truth decide_test(const std::vector<shell::Word>& words, const ShellScope& scope);
/// The same of words that are expanded already.
Truth decide_test(const CommandLine& line);

}  // namespace imgforge
