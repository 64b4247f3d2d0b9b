#include "dockerfile/pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace imgforge::dockerfile {
namespace {

// Steps of matching that a pattern may take: far more than any Dockerfile needs.
constexpr std::size_t step_budget = 4'000'000;

struct Token {
  enum class Kind { character, any, star } kind = Kind::character;
  std::string_view character;
};

std::size_t character_length(std::string_view text, std::size_t position) {
  std::size_t length = 1;
  while (position + length < text.size() && (static_cast<unsigned char>(text[position + length]) & 0xC0) == 0x80)
    ++length;
  return length;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t length = character_length(text, position);
    result.push_back(text.substr(position, length));
    position += length;
  }
  return result;
}

std::optional<std::vector<Token>> tokens(std::string_view pattern, std::string& error) {
  const std::vector<std::string_view> parts = characters(pattern);
  std::vector<Token> result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "*") {
      // Two stars match what one does.
      if (result.empty() || result.back().kind != Token::Kind::star) result.push_back({Token::Kind::star, {}});
    } else if (parts[i] == "?") {
      result.push_back({Token::Kind::any, {}});
    } else if (parts[i] == "\\") {
      const std::string_view next = i + 1 < parts.size() ? parts[i + 1] : std::string_view{};
      if (next == "}" || next == "/") continue;  // the escape belongs to ${}, not to the pattern
      if (next != "*" && next != "?" && next != "\\") {
        error = "invalid pattern (" + std::string(pattern) + ") in substitution: invalid escape '\\" +
                std::string(next) + "'";
        return std::nullopt;
      }
      result.push_back({Token::Kind::character, next});
      ++i;
    } else {
      result.push_back({Token::Kind::character, parts[i]});
    }
  }
  return result;
}

struct Match {
  std::optional<std::size_t> end;  // in characters
  bool exhausted = false;
};

// Where a match that starts at `start` ends: the nearest place, or the farthest. All states at once, so that the time
// is the pattern's length times the value's.
Match match_at(const std::vector<std::string_view>& value, std::size_t start, const std::vector<Token>& pattern,
               bool longest, std::size_t& steps) {
  Match match;
  std::vector<char> states(pattern.size() + 1, 0);
  const auto enter = [&](std::vector<char>& into, std::size_t state) {
    into[state] = 1;
    while (state < pattern.size() && pattern[state].kind == Token::Kind::star) into[++state] = 1;
  };
  enter(states, 0);
  for (std::size_t position = start;; ++position) {
    if (states[pattern.size()] != 0) {
      match.end = position;
      if (!longest) return match;
    }
    if (position == value.size()) return match;
    std::vector<char> next(pattern.size() + 1, 0);
    bool alive = false;
    for (std::size_t state = 0; state < pattern.size(); ++state) {
      if (states[state] == 0) continue;
      const Token& token = pattern[state];
      const bool line_break = value[position] == "\n";
      if (token.kind == Token::Kind::star && !line_break) {
        enter(next, state);
        alive = true;
      } else if (token.kind == Token::Kind::any
                     ? !line_break
                     : token.kind == Token::Kind::character && token.character == value[position]) {
        enter(next, state + 1);
        alive = true;
      }
    }
    steps += pattern.size() + 1;
    if (steps > step_budget) {
      match.exhausted = true;
      return match;
    }
    if (!alive) return match;
    states = std::move(next);
  }
}

std::string join(const std::vector<std::string_view>& parts, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += parts[i];
  return text;
}

}  // namespace

PatternResult cut_pattern(std::string_view value, std::string_view pattern, PatternEnd end, bool longest) {
  PatternResult result;
  auto parsed = tokens(pattern, result.error);
  if (!parsed) return result;
  std::vector<std::string_view> parts = characters(value);
  // A suffix is the prefix of the reversed text.
  if (end == PatternEnd::suffix) {
    std::reverse(parts.begin(), parts.end());
    std::reverse(parsed->begin(), parsed->end());
  }
  std::size_t steps = 0;
  const Match match = match_at(parts, 0, *parsed, longest, steps);
  if (match.exhausted) return result;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(match.end.value_or(0)));
  if (end == PatternEnd::suffix) std::reverse(parts.begin(), parts.end());
  result.text = join(parts, 0, parts.size());
  return result;
}

PatternResult replace_pattern(std::string_view value, std::string_view pattern, std::string_view replacement,
                              bool all) {
  PatternResult result;
  const auto parsed = tokens(pattern, result.error);
  if (!parsed) return result;
  // Go's ReplaceAllString takes $1 and $name in the replacement for groups; there are none, and nobody means it.
  if (all && replacement.find('$') != std::string_view::npos) return result;
  const std::vector<std::string_view> parts = characters(value);
  std::string text;
  std::size_t steps = 0;
  std::optional<std::size_t> last_end;
  std::size_t position = 0;
  while (position <= parts.size()) {
    const Match match = match_at(parts, position, *parsed, true, steps);
    if (match.exhausted) return result;
    // An empty match right behind another match is none.
    if (match.end && !(*match.end == position && last_end == position)) {
      text += replacement;
      last_end = *match.end;
      if (!all) {
        result.text = text + join(parts, *match.end, parts.size());
        return result;
      }
      if (*match.end > position) {
        position = *match.end;
        continue;
      }
    }
    if (position < parts.size()) text += parts[position];
    ++position;
  }
  result.text = std::move(text);
  return result;
}

}  // namespace imgforge::dockerfile
