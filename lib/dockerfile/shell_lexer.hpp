// The words of a Dockerfile as BuildKit's shell lexer reads them (moby/buildkit frontend/dockerfile/shell/lex.go):
// the machine below expand.hpp, and what finds heredocs in a line. It resembles a shell, and is none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/expand.hpp"

namespace imgforge::dockerfile {

struct LexerOptions {
  char escape = '\\';
  bool raw_quotes = false;   // quotes stay in the result
  bool raw_escapes = false;  // so do escapes
  bool skip_quotes = false;  // a quote is a character like any other
  bool keep_unset = false;   // $V stays as it is where V is unset
};

struct Lexed {
  std::string text;
  std::vector<std::string> words;       // split at white space that is not quoted, after variables were replaced
  std::string error;                    // empty where there is none; then `text` and `words` hold nothing
  std::vector<std::string> undeclared;  // as in Expansion
  std::vector<std::string> unknown;     // where there are any, `text` and `words` mean nothing
};

/// `look_up` may be empty: no variable is set.
Lexed lex(std::string_view source, const LexerOptions& options, const LookUp& look_up);

}  // namespace imgforge::dockerfile
