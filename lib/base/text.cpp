#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace imgforge {

namespace {

constexpr std::string_view white_space = " \t\r\n\v\f";

/// One character of UTF-8 at the start of `text`: its length in bytes and its code point; length 0 where it is malformed.
struct Character {
  std::size_t length = 0;
  std::uint32_t code = 0;
};

Character decode(std::string_view text) noexcept {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  std::size_t length = 0;
  std::uint32_t code = 0;
  std::uint32_t smallest = 0;
  if (first < 0x80) return {1, first};
  if (first >= 0xC2 && first <= 0xDF) { length = 2; code = first & 0x1F; smallest = 0x80; }
  else if (first >= 0xE0 && first <= 0xEF) { length = 3; code = first & 0x0F; smallest = 0x800; }
  else if (first >= 0xF0 && first <= 0xF4) { length = 4; code = first & 0x07; smallest = 0x10000; }
  else return {};
  if (text.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  if (code < smallest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {length, code};
}

/// Code points that move the cursor, hide text or turn its direction.
bool is_unsafe(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0xAD || code == 0x61C || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
         (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

}  // namespace

std::string_view trim(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::vector<std::string_view> lines(std::string_view text) {
  if (text.empty()) return {};
  std::vector<std::string_view> result = split(text, '\n');
  if (result.back().empty()) result.pop_back();
  for (std::string_view& line : result) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return result;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) result += separator;
    result += parts[i];
  }
  return result;
}

std::string join_words(const std::vector<std::string>& words, std::string_view last) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) result += i + 1 == words.size() ? fmt::format(" {} ", last) : std::string(", ");
    result += words[i];
  }
  return result;
}

std::optional<std::uint64_t> to_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character character = decode(text);
    if (character.length == 0) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

namespace {

/// Services that run pipelines take commands from what a program prints: "##[name]", "##vso[name]" (Azure) and
/// "##teamcity[name]" anywhere in a line.
bool starts_log_command(std::string_view text) noexcept {
  if (!text.starts_with("##")) return false;
  std::size_t end = 2;
  while (end < text.size() && ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z')) ++end;
  return end < text.size() && text[end] == '[';
}

/// What GitHub's runner skips in front of "::name::", which is a command where a line begins with it.
bool is_blank(char32_t code) noexcept {
  return code == ' ' || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

std::string escape(std::string_view text, bool backslashes) {
  std::string result;
  result.reserve(text.size());
  bool begins = true;  // nothing but blanks so far
  while (!text.empty()) {
    const Character character = decode(text);
    if ((begins && text.starts_with("::")) || starts_log_command(text)) {
      result += fmt::format("\\x{:02x}", character.code);
      text.remove_prefix(1);
      begins = false;
      continue;
    }
    begins = begins && character.length != 0 && is_blank(character.code);
    if (character.length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    switch (character.code) {
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      case '\\': result += backslashes ? "\\\\" : "\\"; break;
      default:
        if (!is_unsafe(character.code)) result += text.substr(0, character.length);
        else if (character.code < 0x80) result += fmt::format("\\x{:02x}", character.code);
        else result += fmt::format("\\u{{{:x}}}", character.code);
    }
    text.remove_prefix(character.length);
  }
  return result;
}

}  // namespace

std::string escape_for_display(std::string_view text) { return escape(text, true); }
std::string display_safe(std::string_view text) { return escape(text, false); }

std::string to_utf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = decode(bytes);
    if (character.length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
      bytes.remove_prefix(1);
    } else {
      result += bytes.substr(0, character.length);
      bytes.remove_prefix(character.length);
    }
  }
  return result;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 128;  // nobody mistypes more; the distance is quadratic
  if (word.empty() || word.size() > longest) return std::nullopt;
  const std::string wanted = lower(word);
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > longest) continue;
    const std::string other = lower(candidate);
    // Restricted Damerau-Levenshtein: two swapped letters are one slip.
    std::vector<std::size_t> before(other.size() + 1), above(other.size() + 1), row(other.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= other.size(); ++j) {
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (wanted[i - 1] == other[j - 1] ? 0u : 1u)});
        if (i > 1 && j > 1 && wanted[i - 1] == other[j - 2] && wanted[i - 2] == other[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      before = above;
      above = row;
    }
    if (above.back() < best_distance) {
      best_distance = above.back();
      best = &candidate;
    }
  }
  // A key that was cut short or has something behind it ("disk_size" for "disk_size_gb").
  if (best == nullptr && wanted.size() >= 4) {
    for (const std::string& candidate : known) {
      if (lower(candidate).starts_with(wanted)) return candidate;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(*best);
}

std::string human_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return value < 9.95 ? fmt::format("{:.1f} {}", value, units[unit]) : fmt::format("{:.0f} {}", value, units[unit]);
}

std::string base64_encode(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) { return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u; };
    const std::uint32_t group = (byte(0) << 16) | (byte(1) << 8) | byte(2);
    result += alphabet[group >> 18];
    result += alphabet[(group >> 12) & 63];
    result += i + 1 < bytes.size() ? alphabet[(group >> 6) & 63] : '=';
    result += i + 2 < bytes.size() ? alphabet[group & 63] : '=';
  }
  return result;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto value = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    return -1;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int digit = static_cast<int>(k) >= 4 - padding ? 0 : value(text[i + k]);
      if (digit < 0) return std::nullopt;
      group = (group << 6) | static_cast<std::uint32_t>(digit);
    }
    result += static_cast<char>(group >> 16);
    if (padding < 2) result += static_cast<char>((group >> 8) & 0xFF);
    if (padding < 1) result += static_cast<char>(group & 0xFF);
    if ((padding == 2 && (group & 0xFFFF) != 0) || (padding == 1 && (group & 0xFF) != 0)) return std::nullopt;
  }
  return result;
}

namespace {

/// One path component against a pattern without '/': the classic two-pointer match, linear but for the last star.
bool component_match(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view first_component(std::string_view path, std::string_view& rest) noexcept {
  const std::size_t slash = path.find('/');
  rest = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  return path.substr(0, slash);
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view path) noexcept {
  // The same two-pointer match, one level up: components are the letters and ** is the star.
  const auto more = [](std::string_view text, bool started) { return started && text.data() != nullptr; };
  std::string_view p = pattern, t = path, star_pattern, star_path;
  bool p_left = true, t_left = true, have_star = false;
  while (t_left) {
    std::string_view p_rest, t_rest;
    const std::string_view p_head = p_left ? first_component(p, p_rest) : std::string_view{};
    const std::string_view t_head = first_component(t, t_rest);
    const bool p_more = p_left && p.find('/') != std::string_view::npos;
    const bool t_more = t.find('/') != std::string_view::npos;
    if (p_left && p_head == "**") {
      have_star = true;
      p = p_rest;
      p_left = more(p_rest, p_more);
      if (!p_left) return true;  // a trailing ** takes everything that is left
      star_pattern = p;
      star_path = t;
    } else if (p_left && component_match(p_head, t_head)) {
      p = p_rest;
      p_left = p_more;
      t = t_rest;
      t_left = t_more;
    } else if (have_star) {
      std::string_view rest;
      if (star_path.find('/') == std::string_view::npos) return false;
      first_component(star_path, rest);
      star_path = rest;
      t = star_path;
      t_left = true;
      p = star_pattern;
      p_left = true;
    } else {
      return false;
    }
  }
  // Only a ** may be left of the pattern.
  return !p_left || p == "**";
}

}  // namespace imgforge
