// From lines as written to instructions' lines: parser directives, comments, continuations, heredocs
// (moby/buildkit frontend/dockerfile/parser/parser.go and directives.go).
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {

/// "# name=value" before anything else: syntax, escape, check.
class DirectiveReader {
 public:
  explicit DirectiveReader(std::string_view comment_sign = "#") : sign_(comment_sign) {}

  struct Directive {
    std::string name;  // lower case
    std::string value;
  };
  /// The next line's directive. The first line that holds none ends it: then there are no more. `error` is set where
  /// one is there twice.
  std::optional<Directive> read(std::string_view line, std::string& error);

 private:
  std::string_view sign_;
  bool done_ = false;
  std::set<std::string> seen_;
};

/// Of "# syntax=" (or "// syntax="), behind a "#!" line where there is one; empty where there is none.
std::string find_syntax(const TextFile& file);

/// An instruction with its arguments in one line: continuations joined, comments and empty lines between them gone.
struct JoinedLine {
  MappedText text;
  std::size_t first_line = 0;
  std::size_t last_line = 0;
};

/// Lines of a heredoc: [first, end), and whether the line behind them is its name.
struct HeredocLines {
  std::size_t first = 0;
  std::size_t end = 0;
  bool terminated = false;
};

class LineReader {
 public:
  explicit LineReader(TextFile& file) : file_(file) {}

  /// Nothing at the end of the file, or behind a line that is too long.
  std::optional<JoinedLine> next();
  /// The heredoc that begins on the next line.
  HeredocLines heredoc(std::string_view name, bool tabs_before_name);
  /// The next line is the one behind `line_number`.
  void back_to(std::size_t line_number) { line_number_ = line_number; }
  char escape() const noexcept { return escape_; }
  std::size_t line_number() const noexcept { return line_number_; }  // of the line taken last
  std::vector<Dockerfile::Pragma> pragmas;

 private:
  bool take_line(std::string_view& line);
  void take_directive(std::string_view line);
  void take_comment(std::string_view line);
  bool continues(std::string_view& line) const;
  void settle_pragmas();

  TextFile& file_;
  std::size_t line_number_ = 0;
  char escape_ = '\\';
  DirectiveReader directives_;
  std::size_t settled_pragmas_ = 0;
};

}  // namespace imgforge::dockerfile
