// Places of a parsed Dockerfile against its text: for the tests and the fuzz target.
#pragma once

#include <string>
#include <string_view>

#include "base/place.hpp"
#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

namespace places {

inline std::string outside(const Place& place, const std::vector<std::string_view>& lines, std::string_view what) {
  const bool first = place.line == 1 && place.column == 1;
  const bool inside = place.line >= 1 && place.line <= lines.size() && place.column >= 1 &&
                      place.column <= lines[place.line - 1].size() + 1;
  return first || inside ? "" : std::string(what) + " at " + to_string(place);
}

inline std::string outside(const Instruction& instruction, const std::vector<std::string_view>& lines) {
  std::string found = outside(instruction.place, lines, to_string(instruction.kind));
  const auto add = [&](const Place& place, std::string_view what) {
    if (found.empty()) found = outside(place, lines, what);
  };
  if (instruction.last_line < instruction.place.line || instruction.last_line > lines.size()) add({}, "last line");
  for (const Flag& flag : instruction.flags) add(flag.place, "flag");
  for (const Word& word : instruction.words) add(word.place, "word");
  for (const Assignment& assignment : instruction.assignments) {
    add(assignment.name.place, "name");
    if (assignment.value) add(assignment.value->place, "value");
  }
  const std::string& command = instruction.command.text();
  for (std::size_t i = 0; i < command.size(); ++i) {
    const Place place = instruction.command.place_at(i);
    add(place, "command");
    // A byte of the command is the byte at its place.
    if (found.empty() && place.column <= lines[place.line - 1].size() &&
        lines[place.line - 1][place.column - 1] != command[i]) {
      found = "another byte at " + to_string(place);
    }
  }
  for (const Heredoc& heredoc : instruction.heredocs) add(heredoc.place, "heredoc");
  if (found.empty() && instruction.trigger) found = outside(*instruction.trigger, lines);
  return found;
}

}  // namespace places

/// Says which place lies outside of the text, or is not that of its byte; empty where none is.
inline std::string place_outside(const DockerfileParse& parse, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  std::string found;
  for (const Diagnostic& diagnostic : parse.diagnostics) {
    if (found.empty()) found = places::outside(diagnostic.place, lines, diagnostic.message);
  }
  if (!parse.dockerfile) return found;
  for (const Place& place : parse.dockerfile->env_comments) {
    if (found.empty()) found = places::outside(place, lines, "comment");
  }
  for (const Dockerfile::Pragma& pragma : parse.dockerfile->pragmas) {
    if (found.empty()) found = places::outside(pragma.place, lines, "pragma");
    if (found.empty() && pragma.next_line > lines.size()) found = "line behind a pragma";
  }
  for (const Instruction& instruction : parse.dockerfile->instructions) {
    if (found.empty()) found = places::outside(instruction, lines);
  }
  std::size_t end = parse.dockerfile->stages.empty() ? 0 : parse.dockerfile->stages.front().from;
  for (const Stage& stage : parse.dockerfile->stages) {
    if (stage.from != end || stage.end <= stage.from) found = "stages do not join";
    end = stage.end;
  }
  if (!parse.dockerfile->stages.empty() && end != parse.dockerfile->instructions.size()) found = "stages do not end";
  return found;
}

}  // namespace imgforge::dockerfile
