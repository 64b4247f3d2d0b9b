// What the readers of single commands (commands_*.hpp) share: arguments with their places, options by table, paths.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/run_step.hpp"

namespace imgforge {

/// A word that a command was given, known before the run.
struct Argument {
  std::string text;
  std::size_t offset = 0;  // in the step's text
  bool operator==(const Argument&) const = default;
};

/// How a program's options take values.
struct OptionTable {
  std::string_view short_with_value;              // letters: "-t DIR", "-tDIR"
  std::vector<std::string_view> long_with_value;  // without dashes: "--target DIR", "--target=DIR"
  bool single_dash_words = false;                 // "-name value" is an option of one dash (find, java)
  bool operands_end_options = false;              // options end at the first operand (python, bash, sudo)
};

/// An option as it was given.
struct GivenOption {
  std::string name;               // "-t", "--target"
  std::optional<Argument> value;  // nothing where it takes none, or where its value is not known
  bool value_unknown = false;     // it takes a value that only the run tells
  std::size_t offset = 0;
};

/// The words of a command from position `from` on, sorted.
struct GivenArguments {
  std::vector<GivenOption> options;
  std::vector<Argument> operands;
  std::vector<std::size_t> operand_positions;  // in RunCommand::words, of each operand
  std::string not_known;                       // why operands or options may be missing: the first unknown word, quoted

  bool has(std::string_view name) const;
  /// Of the last option of any of these names that has a known value.
  std::optional<Argument> value(std::string_view name, std::string_view other = {}) const;
  std::vector<Argument> values(std::string_view name, std::string_view other = {}) const;
};

GivenArguments sort_arguments(const RunCommand& command, std::size_t from, const OptionTable& table);

/// "cannot tell what \"$PACKAGES\" is": how all readers word an unknown word.
std::string unknown_word(const CommandWord& word);

/// The last part of a path: "pip3" of "/usr/bin/pip3".
std::string_view base_name(std::string_view path);

/// The program's base name; empty where the command has none or it is not known.
std::string program_name(const RunCommand& command);

/// `path` as seen from `folder`: absolute, without "." and ".." and double slashes. As it is where it is relative and
/// the folder is not known. A trailing '/' goes.
std::string path_from(const std::optional<std::string>& folder, std::string_view path);

}  // namespace imgforge
