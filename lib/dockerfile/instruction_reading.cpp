#include "dockerfile/instruction_reading.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "dockerfile/flags.hpp"
#include "dockerfile/heredoc_sign.hpp"
#include "dockerfile/ports.hpp"
#include "dockerfile/shell_lexer.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t most_words = 20'000;  // of an instruction

}  // namespace

InstructionReading::InstructionReading(MappedText line, const Place& place, char escape)
    : line_(std::move(line)), escape_(escape) {
  command_ = split_command(line_.text(), escape_);
  start_ = command_.keyword.empty() ? place : line_.place_at(command_.keyword_offset);
}

// Everything but heredocs.
std::optional<Fault> InstructionReading::syntax(Kind kind) {
  instruction.kind = kind;
  instruction.place = start_;
  for (const Span& flag : command_.flags) {
    const std::size_t sign = flag.text.find('=');
    Flag read{flag.text.substr(2, sign == std::string::npos ? sign : sign - 2), std::nullopt,
              line_.place_at(flag.offset)};
    if (sign != std::string::npos) read.value = flag.text.substr(sign + 1);
    instruction.flags.push_back(std::move(read));
  }
  arguments_ = line_.slice(command_.arguments_offset, command_.arguments_length);
  std::optional<Fault> fault = arguments_syntax(kind);
  if (!fault && (instruction.words.size() > most_words || instruction.assignments.size() > most_words)) {
    fault =
        Fault{start_, std::string(to_string(kind)) + " has more than " + std::to_string(most_words) + " arguments", {}};
  }
  return fault;
}

bool InstructionReading::can_hold_heredocs() const {
  const Kind kind = instruction.kind;
  return !instruction.json && (kind == Kind::run || kind == Kind::copy || kind == Kind::add);
}

// What BuildKit's second pass finds.
std::optional<Fault> InstructionReading::meaning() const {
  const std::string name(to_string(instruction.kind));
  switch (instruction.kind) {
    case Kind::from: return from_meaning();
    case Kind::copy:
    case Kind::add: return copy_meaning(name);
    case Kind::env:
    case Kind::label:
    case Kind::arg: return assignments_meaning(name);
    case Kind::healthcheck: return healthcheck_meaning();
    case Kind::shell:
      if (auto fault = flags_fault()) return fault;
      if (arguments_.text().empty() || (instruction.json && instruction.words.empty())) return at_least_one(name);
      if (!instruction.json) return Fault{first_word(), "SHELL requires the arguments to be in JSON form", {}};
      return std::nullopt;
    case Kind::expose:
    case Kind::volume:
      if (instruction.words.empty()) return at_least_one(name);
      if (auto fault = flags_fault()) return fault;
      return list_meaning();
    case Kind::user:
    case Kind::workdir:
    case Kind::stopsignal:
    case Kind::maintainer:
      if (instruction.words.empty()) return Fault{start_, name + " requires exactly one argument", {}};
      if (auto fault = flags_fault()) return fault;
      return instruction.kind == Kind::maintainer ? std::nullopt : words_fault();
    case Kind::onbuild:
    case Kind::run:
    case Kind::cmd:
    case Kind::entrypoint: return flags_fault();
  }
  return std::nullopt;
}

std::optional<Fault> InstructionReading::arguments_syntax(Kind kind) {
  switch (kind) {
    case Kind::env:
    case Kind::label:
    case Kind::arg: {
      assignments = read_assignments(kind, arguments_, escape_);
      instruction.assignments = std::move(assignments.assignments);
      if (assignments.error.empty()) return std::nullopt;
      return Fault{assignments.error_place, assignments.error, assignments.error_hint};
    }
    case Kind::from:
    case Kind::expose: list_words(); return std::nullopt;
    case Kind::copy:
    case Kind::add:
    case Kind::volume: return json_or(&InstructionReading::list_words);
    case Kind::run:
    case Kind::cmd:
    case Kind::entrypoint:
    case Kind::shell: return json_or(&InstructionReading::take_command);
    case Kind::healthcheck: return healthcheck_syntax();
    case Kind::maintainer:
    case Kind::stopsignal:
    case Kind::user:
    case Kind::workdir:
      if (!arguments_.text().empty()) instruction.words.push_back({arguments_.text(), arguments_.place_at(0)});
      return std::nullopt;
    case Kind::onbuild: return std::nullopt;
  }
  return std::nullopt;
}

void InstructionReading::list_words() {
  for (const Span& span : split_at_spaces(arguments_.text())) instruction.words.push_back(word_of(span));
}

void InstructionReading::take_command() { instruction.command = arguments_; }

std::optional<Fault> InstructionReading::json_or(void (InstructionReading::*otherwise)()) {
  const JsonStrings json = read_json_strings(arguments_.text());
  if (json.kind == JsonStrings::Kind::not_strings) {
    return Fault{first_word(), "when using JSON array syntax, arrays must be comprised of strings only", {}};
  }
  if (json.kind == JsonStrings::Kind::none) {
    (this->*otherwise)();
    return std::nullopt;
  }
  instruction.json = true;
  for (const Span& span : json.strings) instruction.words.push_back(word_of(span));
  return std::nullopt;
}

std::optional<Fault> InstructionReading::healthcheck_syntax() {
  const std::string_view text = arguments_.text();
  std::size_t end = 0;
  while (end < text.size() && !is_byte_space(text[end])) ++end;
  health_type_ = {std::string(text.substr(0, end)), first_word()};
  while (end < text.size() && is_byte_space(text[end])) ++end;
  arguments_ = arguments_.slice(end);
  return json_or(&InstructionReading::take_command);
}

std::optional<Fault> InstructionReading::flags_fault() const {
  if (auto fault = check_flags(instruction)) return Fault{fault->place, std::move(fault->message), {}};
  return std::nullopt;
}

// Quotes and braces of words that are expanded: whatever the variables are, these end the build.
std::optional<Fault> InstructionReading::word_fault(const Word& word) const {
  LexerOptions options;
  options.escape = escape_;
  options.keep_unset = true;
  Lexed lexed = lex(word.text, options, nullptr);
  // ${V?message} of a variable that may be set is no fault of the text; nothing else fails for want of a value.
  if (lexed.error.empty()) return std::nullopt;
  return Fault{word.place, std::move(lexed.error), {}};
}

std::optional<Fault> InstructionReading::words_fault() const {
  for (const Word& word : instruction.words) {
    if (auto fault = word_fault(word)) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> InstructionReading::from_meaning() const {
  const std::vector<Word>& words = instruction.words;
  if (words.size() != 1 && !(words.size() == 3 && lower(words[1].text) == "as")) {
    const auto comment =
        std::find_if(words.begin(), words.end(), [](const Word& word) { return word.text.starts_with('#'); });
    return Fault{start_, "FROM requires either one or three arguments",
                 comment == words.end() ? "" : "a comment stands on a line of its own"};
  }
  if (words.size() == 3) {
    const std::string stage = lower(words[2].text);
    const bool valid = stage[0] >= 'a' && stage[0] <= 'z' &&
                       stage.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string::npos;
    if (!valid) {
      return Fault{words[2].place,
                   "invalid name for build stage: " + quoted(words[2].text) +
                       ", name can't start with a number or contain symbols",
                   {}};
    }
  }
  if (auto fault = flags_fault()) return fault;
  return word_fault(words[0]);
}

std::optional<Fault> InstructionReading::copy_meaning(const std::string& name) const {
  const std::vector<Word>& words = instruction.words;
  if (words.size() < 2) {
    return Fault{
        start_,
        name + " requires at least two arguments, but only one was provided. Destination could not be determined",
        {}};
  }
  if (auto fault = flags_fault()) return fault;
  if (heredoc_sign(words.back().text))
    return Fault{words.back().place, name + " cannot accept a heredoc as a destination", {}};
  for (const Word& word : words) {
    if (heredoc_sign(word.text)) continue;
    if (auto fault = word_fault(word)) {
      if (!instruction.json)
        fault->hint = "paths with spaces or quotes need the JSON form: " + name + " [\"source\", \"destination\"]";
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> InstructionReading::assignments_meaning(const std::string& name) const {
  if (auto fault = flags_fault()) return fault;
  if (instruction.assignments.empty()) return at_least_one(name);
  for (const Assignment& assignment : instruction.assignments) {
    if (assignment.name.text.empty()) return Fault{assignment.name.place, name + " names can not be blank", {}};
  }
  for (const Assignment& assignment : instruction.assignments) {
    if (auto fault = word_fault(assignment.name)) return fault;
    if (!assignment.value) continue;
    if (auto fault = word_fault(*assignment.value)) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> InstructionReading::healthcheck_meaning() const {
  if (health_type_.text.empty()) return at_least_one("HEALTHCHECK");
  const std::string type = lower(health_type_.text);
  if (type == "none") {
    if (arguments_.text().empty()) return std::nullopt;
    return Fault{first_word(), "HEALTHCHECK NONE takes no arguments", {}};
  }
  if (auto fault = flags_fault()) return fault;
  if (type != "cmd") {
    std::string shown = health_type_.text;
    for (char& c : shown) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return Fault{health_type_.place, "Unknown type " + quoted(shown) + " in HEALTHCHECK (try CMD)", {}};
  }
  if (instruction.json ? instruction.words.empty() : arguments_.text().empty()) {
    return Fault{health_type_.place, "Missing command after HEALTHCHECK CMD", {}};
  }
  return std::nullopt;
}

std::optional<Fault> InstructionReading::list_meaning() const {
  for (const Word& word : instruction.words) {
    if (auto fault = word_fault(word)) return fault;
    if (instruction.kind == Kind::volume && trim_space(word.text).empty()) {
      return Fault{word.place, "VOLUME specified can not be an empty string", {}};
    }
    if (instruction.kind != Kind::expose) continue;
    std::string fault = fault_of_port(unquote(word.text, escape_));
    if (!fault.empty()) {
      return Fault{word.place, std::move(fault),
                   word.text.starts_with('#') ? "a comment stands on a line of its own" : ""};
    }
  }
  return std::nullopt;
}

Fault InstructionReading::at_least_one(const std::string& name) const {
  return {start_, name + " requires at least one argument", {}};
}

Place InstructionReading::first_word() const { return arguments_.text().empty() ? start_ : arguments_.place_at(0); }

Word InstructionReading::word_of(const Span& span) const { return {span.text, arguments_.place_at(span.offset)}; }

}  // namespace imgforge::dockerfile
