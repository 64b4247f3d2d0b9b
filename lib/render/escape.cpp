#include "render/escape.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

/// Neither Docker nor a shell sees anything in these, wherever they stand in a word.
bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./:=@%+,-").find(c) != std::string_view::npos;
}

bool needs_quotes(std::string_view text) noexcept {
  return text.empty() || !std::all_of(text.begin(), text.end(), is_plain);
}

void refuse_controls(std::string_view text) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; };
  if (std::none_of(text.begin(), text.end(), is_control)) return;
  throw Error(ErrorKind::templates,
              "a Dockerfile cannot carry this text, it holds a control character: " + escape_for_display(text),
              "put it into a file and copy the file");
}

std::string with_backslashes(std::string_view text, std::string_view before) {
  std::string result;
  for (const char c : text) {
    if (before.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Escaped dockerfile_word(std::string_view text) {
  refuse_controls(text);
  if (!needs_quotes(text)) return Escaped(std::string(text));
  return Escaped('"' + with_backslashes(text, "\"\\$") + '"');
}

Escaped shell_word(std::string_view text) {
  refuse_controls(text);
  if (!needs_quotes(text)) return Escaped(std::string(text));
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return Escaped(result + '\'');
}

Escaped json_string(std::string_view text) {
  refuse_controls(text);
  return Escaped(nlohmann::json(to_utf8(text)).dump());
}

std::string copy_path(std::string_view path) { return with_backslashes(path, "\"'\\$"); }

}  // namespace imgforge
