#include "facts/os_release.hpp"

#include "base/text.hpp"

namespace imgforge {
namespace {

/// The value of an assignment as a shell reads it: quotes of either kind, backslash escapes outside of single quotes.
std::string unquote(std::string_view text) {
  std::string value;
  char quote = 0;
  for (std::size_t i = 0; i < text.size() && value.size() < 256; ++i) {
    const char letter = text[i];
    if (quote == 0 && (letter == '"' || letter == '\'')) {
      quote = letter;
    } else if (letter == quote) {
      quote = 0;
    } else if (letter == '\\' && quote != '\'' && i + 1 < text.size()) {
      value += text[++i];
    } else {
      value += letter;
    }
  }
  return value;
}

}  // namespace

OsRelease parse_os_release(std::string_view text) {
  OsRelease release;
  for (const std::string_view raw : lines(text)) {
    const std::string_view line = trim(raw);
    const std::size_t equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "ID") release.id = unquote(value);
    if (key == "ID_LIKE") release.id_like = unquote(value);
    if (key == "VERSION_ID") release.version_id = unquote(value);
    if (key == "VERSION_CODENAME") release.code_name = unquote(value);
    if (key == "PRETTY_NAME") release.pretty_name = unquote(value);
  }
  return release;
}

}  // namespace imgforge
