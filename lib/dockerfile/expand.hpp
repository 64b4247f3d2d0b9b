// Variables and quotes of Dockerfile words: what BuildKit's shell lexer does (frontend/dockerfile/shell/lex.go).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge::dockerfile {

/// A variable's state where it is used.
struct Variable {
  enum class State { unset, set, unknown };  // unknown: an ARG without a value, a variable of a base that is not known
  State state = State::unset;
  std::string value;
};
using LookUp = std::function<Variable(std::string_view name)>;

struct Expansion {
  std::optional<std::string> text;  // nothing where it depends on something unknown, or where `error` says why
  std::string error;                // "syntax error: missing '}'", "V: message"; as BuildKit words it, without the word
  std::vector<std::string> undeclared;  // names that were asked for, unset and without a default ("-", ":-", "+", ":+")
  std::vector<std::string> unknown;     // names that made it unknown
};

/// One word: quotes removed, escapes taken (by `escape`), $V, ${V}, ${V:-x}, ${V-x}, ${V:+x}, ${V+x}, ${V:?x}, ${V?x},
/// ${V#p}, ${V##p}, ${V%p}, ${V%%p}, ${V/p/r}, ${V//p/r} replaced. Nothing is expanded in single quotes.
Expansion expand(std::string_view word, char escape, const LookUp& look_up);

/// The content of a heredoc of COPY or ADD whose name is not quoted: variables replaced, quotes stay. Its escape is
/// always the backslash, whatever the directive says.
Expansion expand_heredoc(std::string_view content, const LookUp& look_up);

/// The same without expansion: quotes and escapes removed alone. The word itself where its quotes do not match.
std::string unquote(std::string_view word, char escape);

}  // namespace imgforge::dockerfile
