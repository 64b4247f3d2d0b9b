#include "dockerfile/expand.hpp"

#include "dockerfile/shell_lexer.hpp"

namespace imgforge::dockerfile {
namespace {

Expansion expansion_of(Lexed lexed) {
  Expansion expansion;
  if (lexed.error.empty() && lexed.unknown.empty()) expansion.text = std::move(lexed.text);
  expansion.error = std::move(lexed.error);
  expansion.undeclared = std::move(lexed.undeclared);
  expansion.unknown = std::move(lexed.unknown);
  return expansion;
}

}  // namespace

Expansion expand(std::string_view word, char escape, const LookUp& look_up) {
  LexerOptions options;
  options.escape = escape;
  return expansion_of(lex(word, options, look_up));
}

Expansion expand_heredoc(std::string_view content, const LookUp& look_up) {
  LexerOptions options;
  options.skip_quotes = true;
  return expansion_of(lex(content, options, look_up));
}

std::string unquote(std::string_view word, char escape) {
  std::string text;
  char quote = '\0';
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (c == escape && quote != '\'') {
      const char next = i + 1 < word.size() ? word[i + 1] : '\0';
      const bool takes_next = i + 1 < word.size() && (quote == '\0' || next == '"' || next == '$' || next == escape);
      if (takes_next) {
        text += next;
        ++i;
      } else if (quote != '\0') {
        text += c;
      }
    } else {
      text += c;
    }
  }
  return quote == '\0' ? text : std::string(word);
}

}  // namespace imgforge::dockerfile
