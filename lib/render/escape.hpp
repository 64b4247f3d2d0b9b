// The three ways in which text gets into a Dockerfile. A template takes nothing but Escaped, and only these make one.
//
// All of them throw Error(templates) for a control character other than a tab, above all a line break: no instruction
// can carry it. The recipe's grammars refuse such text long before.
#pragma once

#include <string>
#include <string_view>

namespace imgforge {

/// Text that may stand where its escaper says, and nowhere else.
class Escaped {
 public:
  const std::string& text() const noexcept { return text_; }
  bool operator==(const Escaped&) const = default;

 private:
  explicit Escaped(std::string text) : text_(std::move(text)) {}
  friend Escaped dockerfile_word(std::string_view text);
  friend Escaped shell_word(std::string_view text);
  friend Escaped json_string(std::string_view text);

  std::string text_;
};

/// One word of an ENV, LABEL, ARG, FROM or WORKDIR instruction: bare where it needs no quotes, else in double quotes
/// with \ before ", \ and $, so that nothing is expanded. (In single quotes Docker's parser trips over a backslash.)
/// https://docs.docker.com/reference/dockerfile/#env
Escaped dockerfile_word(std::string_view text);

/// One word of a POSIX shell command (XCU 2.2): bare where it needs no quotes, else in single quotes.
Escaped shell_word(std::string_view text);

/// A JSON string, quotes included (RFC 8259), for instructions in exec form.
Escaped json_string(std::string_view text);

/// What COPY has to be given in exec form to mean this path: it expands variables and takes quotes away, whatever form
/// its arguments come in. To be passed through json_string. Sources are patterns, too; how to quote those differs from
/// builder to builder (buildah 1.28 reads them twice), so a path with \, *, ? or [ has no place here.
std::string copy_path(std::string_view path);

}  // namespace imgforge
