#include "dockerfile/assignments.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "dockerfile/text_file.hpp"
#include "dockerfile/words.hpp"

namespace imgforge::dockerfile {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t most_comments = 50;  // of an instruction

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string missing_sign(std::string_view word) {
  return "Syntax error - can't find = in " + quoted(word) + ". Must be of the form: name=value";
}

Assignment split_assignment(const Span& word, const MappedText& arguments) {
  const std::size_t sign = word.text.find('=');
  Assignment assignment{{word.text.substr(0, sign), arguments.place_at(word.offset)}, std::nullopt};
  if (sign != std::string::npos) {
    const std::size_t value = word.offset + sign + 1;
    Place place = arguments.place_at(value);
    // An empty value at the end stands behind the text.
    if (value >= arguments.text().size()) ++place.column;
    assignment.value = Word{word.text.substr(sign + 1), std::move(place)};
  }
  return assignment;
}

// "ENV NAME VALUE", the value with all its spaces.
void read_old_form(Kind kind, const MappedText& arguments, AssignmentReading& reading) {
  const std::string& text = arguments.text();
  const std::size_t end = std::min(text.find_first_of("\t\v\f\r "), text.size());
  std::size_t value = end;
  while (value < text.size() && is_word_space(text[value])) ++value;
  const Word name{text.substr(0, end), arguments.place_at(0)};
  if (end == text.size()) {
    reading.error = std::string(to_string(kind)) + " must have two arguments";
    reading.error_place = name.place;
    return;
  }
  reading.assignments.push_back({name, Word{text.substr(value), arguments.place_at(value)}});

  // "ENV A 1 # one host": the comment is part of the value. Certain where the value proper is one plain word, and words
  // follow the sign; a prompt (PS1) may look like that.
  if (kind != Kind::env || name.text.starts_with("PS")) return;
  const std::size_t word_end = text.find_first_of(" \t", value);
  if (word_end == std::string::npos || text.find_first_of("\"'#") < word_end) return;
  const std::size_t sign = text.find_first_not_of(" \t", word_end);
  if (sign == std::string::npos || text[sign] != '#' || sign + 1 >= text.size()) return;
  const std::size_t comment = text.find_first_not_of(" \t", sign + 1);
  if (comment == sign + 1 || comment == std::string::npos || !is_letter(text[comment])) return;
  reading.comments.push_back({arguments.place_at(sign), {}});
}

struct CommentFound {
  std::size_t offset;
  std::size_t end;    // where its line ends in the text
  std::string fault;  // empty where BuildKit takes it for an assignment
};

// The first comment behind a value: from "#" at the start of a word to the end of its line in the file. `from` skips
// those that BuildKit takes.
std::optional<CommentFound> find_comment(const std::vector<Span>& words, const MappedText& arguments,
                                         std::size_t from) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text.find('=') == std::string::npos && !words[i].text.starts_with('#')) return std::nullopt;
    if (words[i].offset < from || !words[i].text.starts_with('#')) continue;
    const std::size_t line = arguments.place_at(words[i].offset).line;
    CommentFound found{words[i].offset, words[i].offset, {}};
    while (found.end < arguments.text().size() && arguments.place_at(found.end).line == line) ++found.end;
    for (std::size_t j = i; j < words.size() && words[j].offset < found.end; ++j) {
      if (words[j].text.find('=') == std::string::npos) {
        found.fault = missing_sign(words[j].text);
        break;
      }
    }
    return found;
  }
  return std::nullopt;
}

MappedText without(const MappedText& text, std::size_t from, std::size_t to) {
  MappedText rest = text.slice(0, from);
  rest.append(text.slice(to));
  return rest;
}

}  // namespace

AssignmentReading read_assignments(Kind kind, const MappedText& arguments, char escape) {
  AssignmentReading reading;
  std::vector<Span> words = split_quoted(arguments.text(), escape);
  if (kind != Kind::arg && !words.empty() && words[0].text.find('=') == std::string::npos) {
    read_old_form(kind, arguments, reading);
    return reading;
  }
  MappedText text = arguments;
  std::size_t from = 0;
  while (kind == Kind::env && reading.comments.size() < most_comments) {
    const auto comment = find_comment(words, text, from);
    if (!comment) break;
    reading.comments.push_back({text.place_at(comment->offset), comment->fault});
    if (comment->fault.empty()) {
      from = comment->end;
      continue;
    }
    // Quotes in the comment have hidden what follows: the words are to be found anew.
    text = without(text, comment->offset, comment->end);
    words = split_quoted(text.text(), escape);
  }
  for (const Span& word : words) {
    if (kind != Kind::arg && word.text.find('=') == std::string::npos) {
      reading.error = missing_sign(word.text);
      reading.error_place = text.place_at(word.offset);
      if (word.text.starts_with('#')) reading.error_hint = "a comment stands on a line of its own";
      return reading;
    }
    reading.assignments.push_back(split_assignment(word, text));
  }
  return reading;
}

}  // namespace imgforge::dockerfile
