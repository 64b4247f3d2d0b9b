// How an instruction's text falls into words, flags and JSON (moby/buildkit frontend/dockerfile/parser/line_parsers.go
// and split_command.go). All positions are offsets into the text given.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge::dockerfile {

struct Span {
  std::size_t offset = 0;
  std::string text;
};

/// Parts between ASCII white space; quotes mean nothing here.
std::vector<Span> split_at_spaces(std::string_view text);

/// Words of ENV, LABEL and ARG: white space in quotes or behind the escape does not end one. Quotes and escapes stay.
std::vector<Span> split_quoted(std::string_view text, char escape);

/// "KEYWORD --flag --flag=value arguments", the arguments trimmed.
struct Command {
  std::string keyword;
  std::size_t keyword_offset = 0;
  std::vector<Span> flags;  // quotes and escapes taken away
  std::size_t arguments_offset = 0;
  std::size_t arguments_length = 0;
};
Command split_command(std::string_view text, char escape);

struct JsonStrings {
  enum class Kind {
    none,         // no JSON array: the shell form
    not_strings,  // an array with something else than texts in it
    strings,
  } kind = Kind::none;
  std::vector<Span> strings;
};
JsonStrings read_json_strings(std::string_view text);

}  // namespace imgforge::dockerfile
