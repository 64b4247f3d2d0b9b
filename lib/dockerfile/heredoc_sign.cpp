#include "dockerfile/heredoc_sign.hpp"

#include <algorithm>

#include "dockerfile/shell_lexer.hpp"

namespace imgforge::dockerfile {
namespace {

std::ptrdiff_t quotes_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return c == '"' || c == '\''; });
}

}  // namespace

std::optional<HeredocSign> heredoc_sign(std::string_view word) {
  while (!word.empty() && word.front() >= '0' && word.front() <= '9') word.remove_prefix(1);
  if (!word.starts_with("<<")) return std::nullopt;
  word.remove_prefix(2);
  HeredocSign sign;
  sign.chomp = word.starts_with('-');
  if (sign.chomp) word.remove_prefix(1);
  sign.spaced = !word.empty() && std::string_view(" \t\r").find(word.front()) != std::string_view::npos;
  word.remove_prefix(std::min(word.find_first_not_of(" \t\n\f\r"), word.size()));
  if (word.empty() || word.find('<') != std::string_view::npos) return std::nullopt;

  // Quotes that go missing when quotes are taken away are those around the name.
  LexerOptions options;
  options.keep_unset = true;
  const Lexed plain = lex(word, options, nullptr);
  options.raw_quotes = true;
  const Lexed raw = lex(word, options, nullptr);
  if (plain.words.size() != 1 || raw.words.size() != 1) return std::nullopt;
  sign.name = plain.words.front();
  sign.expand = quotes_of(plain.words.front()) == quotes_of(raw.words.front());
  return sign;
}

std::vector<HeredocSign> heredoc_signs(std::string_view line) {
  std::vector<HeredocSign> signs;
  if (line.find("<<") == std::string_view::npos) return signs;
  LexerOptions options;
  options.raw_quotes = true;
  options.raw_escapes = true;
  options.keep_unset = true;
  for (const std::string& word : lex(line, options, nullptr).words) {
    if (auto sign = heredoc_sign(word)) signs.push_back(std::move(*sign));
  }
  return signs;
}

}  // namespace imgforge::dockerfile
