#include "dockerfile/text_file.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.hpp"

namespace imgforge::dockerfile {
namespace {

constexpr std::size_t most_diagnostics = 100;
constexpr std::size_t most_edits = 2;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

}  // namespace

TextFile::TextFile(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  for (std::size_t start = 0; start < text_.size();) {
    starts_.push_back(static_cast<std::uint32_t>(start));
    const std::size_t end = text_.find('\n', start);
    start = end == std::string_view::npos ? text_.size() : end + 1;
  }
}

std::string_view TextFile::raw_line(std::size_t number) const {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t start = starts_[number - 1];
  const std::size_t end = number < starts_.size() ? starts_[number] : text_.size();
  return text_.substr(start, end - start);
}

std::string_view TextFile::line(std::size_t number) const {
  std::string_view text = raw_line(number);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

void TextFile::report(const Place& place, std::string message, std::string hint, Diagnostic::Level level) {
  if (diagnostics.size() == most_diagnostics) return;
  diagnostics.push_back({place, std::move(message), std::move(hint), std::string(line(place.line)), level});
}

std::size_t space_length(std::string_view text, std::size_t position) noexcept {
  if (position >= text.size()) return 0;
  const char c = text[position];
  if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
  // NEL, no-break space, ogham space, U+2000..U+200A, line and paragraph separator, narrow and wide spaces.
  static constexpr std::array<std::string_view, 18> wide = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
                                                            "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
                                                            "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f"};
  if (static_cast<unsigned char>(c) < 0x80) return 0;
  const std::string_view rest = text.substr(position, 3);
  for (const std::string_view space : wide) {
    if (rest.starts_with(space)) return space.size();
  }
  return rest == "\u3000" ? 3 : 0;
}

std::string_view trim_left_space(std::string_view text) noexcept {
  while (const std::size_t length = space_length(text, 0)) text.remove_prefix(length);
  return text;
}

std::string_view trim_space(std::string_view text) noexcept {
  text = trim_left_space(text);
  for (;;) {
    std::size_t cut = 0;
    for (std::size_t length = 1; length <= 3 && length <= text.size(); ++length) {
      if (space_length(text, text.size() - length) == length) cut = length;
    }
    if (cut == 0) return text;
    text.remove_suffix(cut);
  }
}

bool is_word_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

bool is_byte_space(char c) noexcept { return is_word_space(c) || c == '\n' || c == '\x85' || c == '\xA0'; }

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\v') {
      result += "\\v";
    } else if (c == '\f') {
      result += "\\f";
    } else {
      result += c;
    }
  }
  return to_utf8(result + "\"");
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > 64) return {};
  const std::string wanted = lower(word);
  std::string best;
  std::size_t best_distance = most_edits + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance == 0) return {};
    // Of two that are as near, the one with the same first letter.
    const bool nearer = distance < best_distance;
    const bool as_near = distance == best_distance && !best.empty() && lower(best)[0] != wanted[0];
    if (nearer || (as_near && lower(candidate)[0] == wanted[0])) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best.empty()) return {};
  best = word == upper(word) && word != wanted ? upper(best) : lower(best);
  return " (did you mean " + best + "?)";
}

}  // namespace imgforge::dockerfile
