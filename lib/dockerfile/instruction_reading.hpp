// One instruction's line, read part by part: first what BuildKit's parser does (frontend/dockerfile/parser), then what
// its instructions mean (frontend/dockerfile/instructions/parse.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dockerfile/assignments.hpp"
#include "dockerfile/dockerfile.hpp"
#include "dockerfile/words.hpp"

namespace imgforge::dockerfile {

/// The first fault of an instruction ends its reading.
struct Fault {
  Place place;
  std::string message;
  std::string hint;
};

class InstructionReading {
 public:
  /// `place` is the line's, for one that holds nothing.
  InstructionReading(MappedText line, const Place& place, char escape);

  const std::string& keyword() const { return command_.keyword; }
  const Place& place() const { return start_; }  // of the keyword
  const MappedText& arguments() const { return arguments_; }
  Instruction instruction;
  AssignmentReading assignments;

  /// Everything but heredocs and an ONBUILD's trigger.
  std::optional<Fault> syntax(Instruction::Kind kind);
  bool can_hold_heredocs() const;
  /// What BuildKit finds in its second pass, behind syntax(). An ONBUILD of another instruction is the caller's matter.
  std::optional<Fault> meaning() const;

 private:
  std::optional<Fault> arguments_syntax(Instruction::Kind kind);
  void list_words();
  void take_command();
  std::optional<Fault> json_or(void (InstructionReading::*otherwise)());
  std::optional<Fault> healthcheck_syntax();
  std::optional<Fault> flags_fault() const;
  std::optional<Fault> word_fault(const Word& word) const;
  std::optional<Fault> words_fault() const;
  std::optional<Fault> from_meaning() const;
  std::optional<Fault> copy_meaning(const std::string& name) const;
  std::optional<Fault> assignments_meaning(const std::string& name) const;
  std::optional<Fault> healthcheck_meaning() const;
  std::optional<Fault> list_meaning() const;
  Fault at_least_one(const std::string& name) const;
  Place first_word() const;
  Word word_of(const Span& span) const;

  MappedText line_;
  MappedText arguments_;
  Command command_;
  Place start_;
  char escape_;
  Word health_type_;
};

}  // namespace imgforge::dockerfile
