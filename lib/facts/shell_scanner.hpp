// The characters of a shell script: a cursor, and words with their quotes and expansions.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "facts/shell_syntax.hpp"

namespace imgforge::shell {

bool is_name_start(char c);
bool is_name(char c);  // a further character of a variable's name
bool is_digit(char c);

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

 protected:
  /// Failures unwind the recursion as Error(image_unsupported) "line N: ..."; they never leave parse().
  [[noreturn]] void fail(std::string_view what) const;

  /// One level of nesting for as long as it lives.
  struct Deeper {
    explicit Deeper(Scanner& scanner);
    ~Deeper() { --scanner_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Scanner& scanner_;
  };

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view what) const;

  /// A word; `inside_test` is for [[ ]], where patterns may hold characters that end words elsewhere.
  Word word(bool inside_test = false);
  static Word literal(std::string_view text);
  /// Remembers something that only bash has.
  void note(std::string_view what, std::size_t offset);
  /// From a '(' to behind the ')' that closes it; quotes, comments and nested ones are seen.
  void skip_parentheses();

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<BashConstruct> bash_;

 private:
  using Add = std::function<void(Piece::Kind, std::string_view, bool quoted, std::size_t offset)>;
  void double_quoted(const Add& add);
  void backticks(const Add& add, bool quoted);
  void expansion(const Add& add, bool quoted);  // from a '$' on
  void note_braces(std::string_view inner, std::size_t offset);
  void skip_braces();    // from behind a '{' to behind the '}' that closes it
  void skip_quotable();  // one character, or all of what it quotes
};

}  // namespace imgforge::shell
