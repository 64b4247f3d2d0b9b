// The text of a Dockerfile by its lines, and what is said about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"

namespace imgforge::dockerfile {

/// Lines are numbered from 1. A view: the text has to outlive it.
class TextFile {
 public:
  /// A byte order mark belongs to no line.
  TextFile(std::string_view text, std::string name);

  const std::string& name() const noexcept { return name_; }
  std::size_t line_count() const noexcept { return starts_.size(); }
  std::string_view line(std::size_t number) const;      // without its end ("\n" and any "\r" before it)
  std::string_view raw_line(std::size_t number) const;  // with it
  Place place(std::size_t line, std::size_t column) const { return {name_, line, column}; }

  std::vector<Diagnostic> diagnostics;
  /// Adds a diagnostic with its line's text; a hundred of them are enough.
  void report(const Place& place, std::string message, std::string hint = {},
              Diagnostic::Level level = Diagnostic::Level::error);

 private:
  std::string_view text_;
  std::string name_;
  std::vector<std::uint32_t> starts_;
};

/// Bytes of the white space character that starts at `position`, 0 where none does: Unicode's White_Space, as Go's
/// unicode.IsSpace tells it.
std::size_t space_length(std::string_view text, std::size_t position) noexcept;
std::string_view trim_left_space(std::string_view text) noexcept;
std::string_view trim_space(std::string_view text) noexcept;

/// What separates an instruction from its arguments, and words from each other: ASCII alone.
bool is_word_space(char c) noexcept;

/// White space as BuildKit tells it where it reads bytes and takes them for characters.
bool is_byte_space(char c) noexcept;

/// A text in double quotes as Go's %q writes it.
std::string quoted(std::string_view text);

/// " (did you mean X?)" where one of `known` is less than three edits away (and none is equal), else nothing.
/// Case does not matter; the answer is in upper case where the word is, else in lower case.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace imgforge::dockerfile
