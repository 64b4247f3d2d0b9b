// Where something stands in a text file that a person wrote, and what is to be said about it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace imgforge {

/// 1-based, columns counted in bytes; 0 means "not known".
struct Place {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;

  bool operator==(const Place&) const = default;
};

/// "file:line:column", leaving out what is not known.
std::string to_string(const Place& place);

/// One fault of a text file: a value, so that all of them can be shown at once.
struct Diagnostic {
  enum class Level { error, warning };

  Place place;
  std::string message;
  std::string hint;       // the way out; may be empty
  std::string line_text;  // the line itself, without its end; empty where there is none
  Level level = Level::error;
};

/// The diagnostic as printed: "file:line:column: error: message", the line with a caret below, and the hint.
/// Everything that comes from the file is escaped for a terminal.
std::string to_string(const Diagnostic& diagnostic);

/// Its line, shortened around the column and escaped, with a caret below: two lines, or one where no column is known.
std::string shown_line(const Diagnostic& diagnostic);

bool has_errors(const std::vector<Diagnostic>& diagnostics) noexcept;

}  // namespace imgforge
