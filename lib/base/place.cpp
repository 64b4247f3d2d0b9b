#include "base/place.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

std::string to_string(const Place& place) {
  std::string text = escape_for_display(place.file);
  if (place.line != 0) text += ":" + std::to_string(place.line);
  if (place.line != 0 && place.column != 0) text += ":" + std::to_string(place.column);
  return text;
}

// A caret below the column. The line is shown escaped, so the caret counts what the escaping made of the bytes before.
std::string shown_line(const Diagnostic& diagnostic) {
  constexpr std::size_t longest = 160;
  const std::string_view line = diagnostic.line_text;
  const std::size_t column = diagnostic.place.column == 0 ? 0 : diagnostic.place.column - 1;
  // A long line is shown from a little before the fault.
  const std::size_t start = column > longest / 2 ? std::min(column - longest / 2, line.size()) : 0;
  const std::string_view shown = line.substr(start, longest);
  const std::string prefix = start != 0 ? "..." : "";
  const std::string suffix = start + shown.size() < line.size() ? "..." : "";
  std::string text = "  " + prefix + display_safe(shown) + suffix + "\n";
  if (diagnostic.place.column != 0 && column >= start && column - start <= shown.size()) {
    const std::string before = display_safe(shown.substr(0, column - start));
    // A column of a character is as wide as its bytes that start one.
    const auto width = std::count_if(before.begin(), before.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    text += "  " + std::string(prefix.size() + static_cast<std::size_t>(width), ' ') + "^\n";
  }
  return text;
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = to_string(diagnostic.place);
  text += diagnostic.level == Diagnostic::Level::error ? ": error: " : ": warning: ";
  text += diagnostic.message + "\n";
  if (!diagnostic.line_text.empty()) text += shown_line(diagnostic);
  if (!diagnostic.hint.empty()) text += "  = " + diagnostic.hint + "\n";
  return text;
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) noexcept {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.level == Diagnostic::Level::error; });
}

}  // namespace imgforge
