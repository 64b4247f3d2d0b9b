#include "dockerfile/expand.hpp"

#include <catch2/catch.hpp>
#include <map>

namespace imgforge::dockerfile {
namespace {

Variable look_up(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> values = {
      {"HOME", "/root"},        {"EMPTY", ""}, {"VERSION", "3.11.2"}, {"PATHS", "/a/b/c.tar.gz"},
      {"UMLAUT", "f\u00fcr a"}, {"A", "x"},    {"TWO", "one two"},    {"LINES", "a\nb"}};
  if (name == "LATER") return {Variable::State::unknown, {}};
  const auto found = values.find(name);
  return found == values.end() ? Variable{} : Variable{Variable::State::set, found->second};
}

struct Row {
  std::string word;
  std::string text;
};

}  // namespace

TEST_CASE("expand: quotes, escapes and variables") {
  const Row rows[] = {
      {"plain", "plain"},
      {"", ""},
      {"a'b c'd", "ab cd"},
      {"\"a b\"", "a b"},
      {"a\\ b", "a b"},
      {"a\\tb", "atb"},
      {"\"a\\tb\"", "a\\tb"},
      {"\"a\\\"b\"", "a\"b"},
      {"\"a\\\\b\"", "a\\b"},
      {"'a\\b'", "a\\b"},
      {"'\"'", "\""},
      {"\"'\"", "'"},
      {"end\\", "end"},
      {"$HOME", "/root"},
      {"${HOME}", "/root"},
      {"x$HOME/y", "x/root/y"},
      {"\"$HOME\"", "/root"},
      {"'$HOME'", "$HOME"},
      {"\\$HOME", "$HOME"},
      {"\"\\$HOME\"", "$HOME"},
      {"\\\\$HOME", "\\/root"},
      {"$", "$"},
      {"a$.b", "a$.b"},
      {"cost: 5$", "cost: 5$"},
      {"$1x", "x"},
      {"$TWO", "one two"},
      {"${A}}", "x}"},
      {"<<EOF", "<<EOF"},
      {"a<b", "a<b"},
  };
  for (const Row& row : rows) {
    INFO(row.word);
    const Expansion expansion = expand(row.word, '\\', look_up);
    CHECK(expansion.error == "");
    CHECK(expansion.text == row.text);
  }
}

TEST_CASE("expand: what stands in for a variable, cuts and replaces") {
  const Row rows[] = {
      {"${NONE:-d}", "d"},
      {"${NONE-d}", "d"},
      {"${EMPTY:-d}", "d"},
      {"${EMPTY-d}", ""},
      {"${HOME:-d}", "/root"},
      {"${NONE:-}", ""},
      {"${NONE:-$HOME}", "/root"},
      {"${NONE:-${ALSO:-${HOME}/deep}}", "/root/deep"},
      {"${NONE:-\\}}", "}"},
      {"${NONE:-'a }'}", "a }"},
      {"${HOME:+set}", "set"},
      {"${NONE:+set}", ""},
      {"${EMPTY:+set}", ""},
      {"${EMPTY+set}", "set"},
      {"${NONE+set}", ""},
      {"x${NONE:+:$NONE}", "x"},
      {"${HOME:?no home}", "/root"},
      {"${EMPTY?no}", ""},
      {"${VERSION%.*}", "3.11"},
      {"${VERSION%%.*}", "3"},
      {"${VERSION#*.}", "11.2"},
      {"${VERSION##*.}", "2"},
      {"${VERSION#9}", "3.11.2"},
      {"${VERSION%?}", "3.11."},
      {"${PATHS##*/}", "c.tar.gz"},
      {"${PATHS%/*}", "/a/b"},
      {"${VERSION//./}", "3112"},
      {"${VERSION/./-}", "3-11.2"},
      {"${VERSION//./-}", "3-11-2"},
      {"${PATHS//\\//_}", "_a_b_c.tar.gz"},
      {"${VERSION/x/y}", "3.11.2"},
      {"${VERSION/*/all}", "all"},
      {"${VERSION/1?/N}", "3.N.2"},
      {"${UMLAUT/f?r/X}", "X a"},
      {"${UMLAUT%r*}", "f\u00fc"},
      {"${LINES%*}", "a\nb"},
      {"${LINES%%*}", "a\n"},
      {"${LINES//?/c}", "c\nc"},
      {"${A//x*/y}", "y"},
      {"${A//*/y}", "y"},
      {"${1:-b}", "b"},
      {"${@:-b}", "b"},
  };
  for (const Row& row : rows) {
    INFO(row.word);
    const Expansion expansion = expand(row.word, '\\', look_up);
    CHECK(expansion.error == "");
    CHECK(expansion.text == row.text);
  }
}

TEST_CASE("expand: errors as BuildKit words them, and a twin of each that is none") {
  struct {
    std::string bad;
    std::string error;
    std::string good;
  } const rows[] = {
      {"it's", "unexpected end of statement while looking for matching single-quote", "it\\'s"},
      {"\"a", "unexpected end of statement while looking for matching double-quote", "\"a\""},
      {"\"a\\\"", "unexpected end of statement while looking for matching double-quote", "\"a\\\\\""},
      {"${HOME", "syntax error: missing '}'", "${HOME}"},
      {"${HOME:", "syntax error: missing '}'", "${HOME:-}"},
      {"${", "syntax error: missing '}'", "$"},
      {"${}", "syntax error: bad substitution", "\\${}"},
      {"${{HOME}", "syntax error: bad substitution", "${HOME}"},
      {"${:-x}", "syntax error: bad substitution", "${A:-x}"},
      {"${HOME:-x", "syntax error: missing '}'", "${HOME:-x}"},
      {"${HOME:=x}", "unsupported modifier (:=) in substitution", "${HOME:-x}"},
      {"${HOME=x}", "unsupported modifier (=) in substitution", "${HOME-x}"},
      {"${HOME:0:2}", "unsupported modifier (:0) in substitution", "${HOME:-0}"},
      {"${HOME:#/}", "unsupported modifier (:#) in substitution", "${HOME#/}"},
      {"${HOME^^}", "unsupported modifier (^) in substitution", "${HOME}"},
      {"${HOME/x", "syntax error: missing '/' in ${}", "${HOME/x/}"},
      {"${HOME/x/y", "syntax error: missing '}'", "${HOME/x/y}"},
      {"${NONE:?}", "NONE: is not allowed to be unset", "${HOME:?}"},
      {"${NONE?}", "NONE: is not allowed to be unset", "${EMPTY?}"},
      {"${EMPTY:?}", "EMPTY: is not allowed to be empty", "${EMPTY?}"},
      {"${NONE:?give $A}", "NONE: give x", "${A:?give $A}"},
      {"${HOME#\\r}", "invalid pattern (\\r) in substitution: invalid escape '\\r'", "${HOME#\\*}"},
  };
  for (const auto& row : rows) {
    INFO(row.bad);
    const Expansion bad = expand(row.bad, '\\', look_up);
    CHECK(bad.error == row.error);
    CHECK_FALSE(bad.text);
    CHECK(expand(row.good, '\\', look_up).error == "");
    CHECK(expand(row.good, '\\', look_up).text);
  }
}

TEST_CASE("expand: unknown stays unknown, but only where it is used") {
  const Expansion unknown = expand("a${LATER}b$NONE", '\\', look_up);
  CHECK_FALSE(unknown.text);
  CHECK(unknown.error == "");
  CHECK(unknown.unknown == std::vector<std::string>{"LATER"});
  CHECK(unknown.undeclared == std::vector<std::string>{"NONE"});
  CHECK(expand("${HOME:-$LATER}", '\\', look_up).text == "/root");
  CHECK(expand("${NONE:+$LATER}", '\\', look_up).text == "");
  CHECK(expand("'$LATER'", '\\', look_up).text == "$LATER");
  for (const char* word : {"${LATER:-x}", "${LATER+x}", "${LATER:+x}", "${LATER:?x}", "${LATER#x}", "${LATER/a/b}",
                           "${NONE:-$LATER}", "\"$LATER\""}) {
    INFO(word);
    CHECK_FALSE(expand(word, '\\', look_up).text);
    CHECK(expand(word, '\\', look_up).error == "");
    CHECK(expand(word, '\\', look_up).unknown == std::vector<std::string>{"LATER"});
  }
}

TEST_CASE("expand: undeclared are names without a value and without a default that are used") {
  const auto undeclared = [](std::string_view word) { return expand(word, '\\', look_up).undeclared; };
  CHECK(undeclared("$NONE") == std::vector<std::string>{"NONE"});
  CHECK(undeclared("${NONE}") == std::vector<std::string>{"NONE"});
  CHECK(undeclared("${NONE%x}") == std::vector<std::string>{"NONE"});
  CHECK(undeclared("${NONE/x/y}") == std::vector<std::string>{"NONE"});
  CHECK(undeclared("${NONE:-$ALSO}") == std::vector<std::string>{"ALSO"});
  CHECK(undeclared("${NONE:-x}").empty());
  CHECK(undeclared("${NONE-}").empty());
  CHECK(undeclared("${NONE:+x}").empty());
  CHECK(undeclared("${HOME:-$NONE}").empty());
  CHECK(undeclared("${NONE:+$ALSO}").empty());
  CHECK(undeclared("$EMPTY").empty());
  CHECK(undeclared("'$NONE' \\$NONE").empty());
}

TEST_CASE("expand: with the backquote as escape a backslash is a character") {
  CHECK(expand("C:\\dir\\$HOME", '`', look_up).text == "C:\\dir\\/root");
  CHECK(expand("`$HOME", '`', look_up).text == "$HOME");
  CHECK(expand("\"a`\"b\"", '`', look_up).text == "a\"b");
}

TEST_CASE("expand_heredoc: variables, but no quotes") {
  CHECK(expand_heredoc("echo \"$HOME\" '$A'\n", look_up).text == "echo \"/root\" 'x'\n");
  CHECK(expand_heredoc("it's \\$HOME\n", look_up).text == "it's $HOME\n");
  CHECK(expand_heredoc("exec \"$@\"\n", look_up).text == "exec \"\"\n");
  CHECK(expand_heredoc("${HOME:0:1}", look_up).error == "unsupported modifier (:0) in substitution");
}

TEST_CASE("unquote: quotes and escapes alone") {
  CHECK(unquote("'a b'\"c\"", '\\') == "a bc");
  CHECK(unquote("$HOME", '\\') == "$HOME");
  CHECK(unquote("\\$HOME\\ x", '\\') == "$HOME x");
  CHECK(unquote("\"a\\nb\\\"\"", '\\') == "a\\nb\"");
  CHECK(unquote("'a\\b'", '\\') == "a\\b");
  CHECK(unquote("it's", '\\') == "it's");
}

TEST_CASE("expand: deep and long words end") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "${A:-";
  CHECK(expand(deep, '\\', look_up).error.find("nested") != std::string::npos);
  const std::string stars = "${LONG##" + std::string(2'000, '*') + std::string(30'000, 'a') + "b}";
  const auto long_value = [](std::string_view) { return Variable{Variable::State::set, std::string(60'000, 'a')}; };
  const Expansion given_up = expand(stars, '\\', long_value);
  CHECK_FALSE(given_up.text);
  CHECK(given_up.error == "");
  CHECK(given_up.unknown == std::vector<std::string>{"LONG"});
  CHECK(expand("${LONG##*a}", '\\', long_value).text == "");
}

}  // namespace imgforge::dockerfile
