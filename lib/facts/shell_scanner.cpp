#include "facts/shell_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace imgforge::shell {
namespace {

constexpr int max_depth = 48;

bool is_plain_parameter(std::string_view inner) {
  if (inner == "@" || inner == "*" || inner == "#") return true;
  if (!inner.empty() && std::all_of(inner.begin(), inner.end(), is_digit)) return true;
  if (inner.ends_with("[@]") || inner.ends_with("[*]")) inner.remove_suffix(3);
  return !inner.empty() && is_name_start(inner.front()) && std::all_of(inner.begin(), inner.end(), is_name);
}

}  // namespace

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

void Scanner::fail(std::string_view what) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
  throw Error(ErrorKind::image_unsupported, fmt::format("line {}: {}", std::count(text_.begin(), end, '\n') + 1, what));
}

Scanner::Deeper::Deeper(Scanner& scanner) : scanner_(scanner) {
  if (++scanner_.depth_ > max_depth) scanner_.fail("too deeply nested");
}

bool Scanner::looking_at(std::string_view what) const {
  return text_.substr(std::min(at_, text_.size())).starts_with(what);
}

void Scanner::note(std::string_view what, std::size_t offset) {
  if (bash_.size() < 1000) bash_.push_back({std::string(what), offset});
}

/// What only bash has of ${...}: ${V/a/b}, ${V:1:2}, ${!V}, ${V^}, ${V,}, ${V[0]}, ${V@Q}.
void Scanner::note_braces(std::string_view inner, std::size_t offset) {
  std::string_view rest = inner;
  if (rest.starts_with("!")) {
    note("${!...}", offset);
    return;
  }
  while (!rest.empty() && is_name(rest.front())) rest.remove_prefix(1);
  if (rest.empty() || rest.size() == inner.size()) return;
  if (rest.front() == '[') {
    note("array", offset);
  } else if (rest.front() == '/') {
    note("${.../...}", offset);
  } else if (rest.front() == ':' &&
             (rest.size() < 2 || std::string_view("-=?+").find(rest[1]) == std::string_view::npos)) {
    note("${...:...}", offset);
  } else if (rest.front() == '^' || rest.front() == ',' || rest.front() == '@') {
    note(fmt::format("${{...{}}}", rest.front()), offset);
  }
}

Word Scanner::literal(std::string_view text) {
  Word word;
  word.pieces.push_back({Piece::Kind::literal, std::string(text), false});
  word.written = std::string(text);
  return word;
}

Word Scanner::word(bool inside_test) {
  const Deeper deeper(*this);
  Word result;
  const std::size_t start = at_;
  const auto add = [&](Piece::Kind kind, std::string_view text, bool quoted, std::size_t offset) {
    if (kind == Piece::Kind::literal && !result.pieces.empty() && result.pieces.back().kind == kind &&
        result.pieces.back().quoted == quoted) {
      result.pieces.back().text += text;
    } else {
      result.pieces.push_back({kind, std::string(text), quoted, offset});
    }
  };
  int parentheses = 0;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') {
      if (peek(1) == '\n') {
        at_ += 2;
        continue;
      }
      if (at_ + 1 < text_.size()) add(Piece::Kind::literal, text_.substr(at_ + 1, 1), true, at_);
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) fail("a quote is not closed");
      add(Piece::Kind::literal, text_.substr(at_ + 1, end - at_ - 1), true, at_ + 1);
      at_ = end + 1;
    } else if (c == '"' || (c == '$' && peek(1) == '"')) {
      if (c == '$') note("$\"...\"", at_);
      at_ += c == '$' ? 2 : 1;
      double_quoted(add);
    } else if (c == '$' && peek(1) == '\'') {
      const std::size_t from = at_;
      note("$'...'", at_);
      at_ += 2;
      while (!at_end() && peek() != '\'') at_ += peek() == '\\' ? 2 : 1;
      if (at_end()) fail("a quote is not closed");
      ++at_;
      const std::string_view inner = text_.substr(from + 2, at_ - from - 3);
      const bool plain = inner.find('\\') == std::string_view::npos;
      add(plain ? Piece::Kind::literal : Piece::Kind::other, inner, true, from + 2);
    } else if (c == '$') {
      expansion(add, false);
    } else if (c == '`') {
      backticks(add, false);
    } else if ((c == '<' || c == '>') && peek(1) == '(' && at_ == start) {
      note(c == '<' ? "<(...)" : ">(...)", at_);
      const std::size_t from = at_++;
      skip_parentheses();
      add(Piece::Kind::other, text_.substr(from, at_ - from), false, from);
    } else if (std::string_view("?*+@!").find(c) != std::string_view::npos && peek(1) == '(') {
      const std::size_t from = at_++;
      skip_parentheses();  // an extended glob
      add(Piece::Kind::other, text_.substr(from, at_ - from), false, from);
    } else if (inside_test && c == '(' && at_ != start) {
      ++parentheses;
      add(Piece::Kind::other, "(", false, at_);
      ++at_;
    } else if (inside_test && parentheses > 0 && (c == ')' || c == '|')) {
      parentheses -= c == ')' ? 1 : 0;
      add(Piece::Kind::other, ")", false, at_);
      ++at_;
    } else if (std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos) {
      break;
    } else {
      add(Piece::Kind::literal, text_.substr(at_, 1), false, at_);
      ++at_;
    }
  }
  if (at_ == start) fail(at_end() ? "unexpected end" : fmt::format("unexpected '{}'", peek()));
  result.written = std::string(text_.substr(start, at_ - start));
  result.offset = start;
  // An empty "" beside something else adds nothing.
  if (result.pieces.size() > 1) {
    std::erase_if(result.pieces,
                  [](const Piece& piece) { return piece.kind == Piece::Kind::literal && piece.text.empty(); });
  }
  if (result.pieces.empty()) result.pieces.push_back({Piece::Kind::literal, "", true, start});
  return result;
}

void Scanner::double_quoted(const Add& add) {
  add(Piece::Kind::literal, "", true, at_);  // "" is a word, too
  while (!at_end()) {
    const char c = peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '\\' && std::string_view("$`\"\\\n").find(peek(1)) != std::string_view::npos) {
      if (peek(1) != '\n') add(Piece::Kind::literal, text_.substr(at_ + 1, 1), true, at_ + 1);
      at_ += 2;
    } else if (c == '$') {
      expansion(add, true);
    } else if (c == '`') {
      backticks(add, true);
    } else {
      add(Piece::Kind::literal, text_.substr(at_, 1), true, at_);
      ++at_;
    }
  }
  fail("a quote is not closed");
}

void Scanner::backticks(const Add& add, bool quoted) {
  const std::size_t from = at_++;
  while (!at_end() && peek() != '`') at_ += peek() == '\\' ? 2 : 1;
  if (at_end()) fail("a backquote is not closed");
  ++at_;
  add(Piece::Kind::other, text_.substr(from, at_ - from), quoted, from);
}

void Scanner::expansion(const Add& add, bool quoted) {
  const std::size_t from = at_;
  const char next = peek(1);
  if (next == '(') {
    ++at_;
    skip_parentheses();
    add(Piece::Kind::other, text_.substr(from, at_ - from), quoted, from);
  } else if (next == '{') {
    at_ += 2;
    skip_braces();
    const std::string_view inner = text_.substr(from + 2, at_ - from - 3);
    add(is_plain_parameter(inner) ? Piece::Kind::parameter : Piece::Kind::other,
        is_plain_parameter(inner) ? inner : text_.substr(from, at_ - from), quoted, from);
    note_braces(inner, from);
  } else if (is_name_start(next)) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_name(text_[end])) ++end;
    add(Piece::Kind::parameter, text_.substr(at_ + 1, end - at_ - 1), quoted, from);
    at_ = end;
  } else if (next != '\0' && (is_digit(next) || std::string_view("@*#?$!-").find(next) != std::string_view::npos)) {
    add(Piece::Kind::parameter, text_.substr(at_ + 1, 1), quoted, from);
    at_ += 2;
  } else {
    add(Piece::Kind::literal, "$", quoted, from);
    ++at_;
  }
}

void Scanner::skip_parentheses() {
  const Deeper deeper(*this);
  int open = 0;
  while (!at_end()) {
    const char c = peek();
    if (c == '(') ++open;
    if (c == ')' && --open == 0) {
      ++at_;
      return;
    }
    if (c == '#' && at_ > 0 && std::string_view(" \t\n;(").find(text_[at_ - 1]) != std::string_view::npos) {
      while (!at_end() && peek() != '\n') ++at_;
      continue;
    }
    skip_quotable();
  }
  fail("a parenthesis is not closed");
}

void Scanner::skip_braces() {
  const Deeper deeper(*this);
  int open = 1;
  while (!at_end()) {
    const char c = peek();
    if (c == '{') ++open;
    if (c == '}' && --open == 0) {
      ++at_;
      return;
    }
    skip_quotable();
  }
  fail("a brace is not closed");
}

void Scanner::skip_quotable() {
  const char c = peek();
  if (c == '\\') {
    at_ = std::min(at_ + 2, text_.size());
  } else if (c == '\'') {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    at_ = end + 1;
  } else if (c == '"') {
    ++at_;
    const auto ignore = [](Piece::Kind, std::string_view, bool, std::size_t) {};
    double_quoted(ignore);
  } else {
    ++at_;
  }
}

}  // namespace imgforge::shell
