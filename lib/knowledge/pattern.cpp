#include "knowledge/pattern.hpp"

#include <optional>
#include <string>
#include <vector>

namespace imgforge::knowledge {

namespace {

constexpr std::string_view special = R"(\.[](){}*+?|^$)";

bool is_quantifier(char c) { return c == '*' || c == '+' || c == '?' || c == '{'; }

/// The literal character at `at`, and how long it is written; nothing where something else stands there, or where it
/// need not be there, or more than once.
struct Literal {
  char value = 0;
  std::size_t length = 0;
};

std::optional<Literal> literal_at(std::string_view pattern, std::size_t at) {
  Literal literal;
  if (at >= pattern.size()) return std::nullopt;
  if (pattern[at] == '\\') {
    // Of escapes only those of punctuation: \d and \x41 are something else.
    if (at + 1 >= pattern.size() || (special.find(pattern[at + 1]) == std::string_view::npos && pattern[at + 1] != '-'))
      return std::nullopt;
    literal = {pattern[at + 1], 2};
  } else if (special.find(pattern[at]) == std::string_view::npos) {
    literal = {pattern[at], 1};
  } else {
    return std::nullopt;
  }
  if (at + literal.length < pattern.size() && is_quantifier(pattern[at + literal.length])) return std::nullopt;
  return literal;
}

std::string literals_from(std::string_view pattern, std::size_t& at) {
  std::string text;
  while (const auto literal = literal_at(pattern, at)) {
    text += literal->value;
    at += literal->length;
  }
  return text;
}

/// Behind the group or class that opens at `at`; the end where it does not close.
std::size_t behind(std::string_view pattern, std::size_t at) {
  std::size_t depth = 0;
  for (bool in_class = false; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      if (c == ']') {
        in_class = false;
        if (depth == 0) return at + 1;
      }
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return at + 1;
    }
  }
  return pattern.size();
}

/// "(docker\.io|nvcr\.io)" at the start, as words; empty where it is anything else.
std::vector<std::string> first_alternatives(std::string_view pattern, std::size_t& at) {
  std::vector<std::string> words;
  if (!pattern.starts_with('(') || pattern.starts_with("(?")) return {};
  std::size_t here = 1;
  for (;;) {
    words.push_back(literals_from(pattern, here));
    if (here >= pattern.size()) return {};
    const char c = pattern[here++];
    if (c == ')') break;
    if (c != '|') return {};
  }
  if (here < pattern.size() && is_quantifier(pattern[here])) return {};
  at = here;
  return words;
}

/// The characters that it ends with. Nothing where it has alternatives at the top, or flags that change what they mean.
std::optional<std::string> ending(std::string_view pattern) {
  std::string run;
  for (std::size_t at = 0; at < pattern.size();) {
    if (const auto literal = literal_at(pattern, at)) {
      run += literal->value;
      at += literal->length;
      continue;
    }
    const char c = pattern[at];
    if (c == '|' || c == '^' || c == '$') return std::nullopt;
    if (c == '(' && pattern.substr(at).starts_with("(?") && !pattern.substr(at).starts_with("(?P<") &&
        !pattern.substr(at).starts_with("(?:"))
      return std::nullopt;
    run.clear();
    at = c == '(' || c == '[' ? behind(pattern, at) : at + (c == '\\' ? 2 : 1);
    // "\x{41}" and "a{2}": what stands in the braces is no text.
    while (at < pattern.size() && is_quantifier(pattern[at])) {
      if (pattern[at] == '{') {
        const std::size_t close = pattern.find('}', at);
        if (close == std::string_view::npos) return std::nullopt;
        at = close;
      }
      ++at;
    }
    // \p{Greek}, \x41, \Q...\E: not written in the tables, and not worth reading.
    if (c == '\\' && at >= 2 && std::string_view("pPxQC01234567").find(pattern[at - 1]) != std::string_view::npos &&
        pattern[at - 2] == '\\')
      return std::nullopt;
  }
  return run;
}

}  // namespace

bool may_match(std::string_view pattern, std::string_view text) {
  // A class that holds "]" is not worth reading either.
  if (pattern.find("[]") != std::string_view::npos || pattern.find("[^]") != std::string_view::npos) return true;
  const auto end = ending(pattern);
  if (!end) return true;
  if (!text.ends_with(*end)) return false;
  std::size_t at = 0;
  const std::vector<std::string> words = first_alternatives(pattern, at);
  const std::string then = literals_from(pattern, at);
  if (words.empty()) return text.starts_with(then);
  for (const std::string& word : words) {
    if (text.starts_with(word) && text.substr(word.size()).starts_with(then)) return true;
  }
  return false;
}

}  // namespace imgforge::knowledge
