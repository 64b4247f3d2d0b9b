// One instruction from its line (moby/buildkit frontend/dockerfile/instructions/parse.go).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/instruction_reading.hpp"
#include "dockerfile/lines.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {

struct ParsedInstruction {
  std::optional<Instruction> instruction;  // nothing where a fault was reported
  bool unknown = false;                    // its keyword is none, and resembles none
};

class InstructionParser {
 public:
  InstructionParser(TextFile& file, LineReader& reader) : file_(file), reader_(reader) {}

  /// Takes the heredocs that follow the line from the reader.
  ParsedInstruction parse(const JoinedLine& line);

  std::vector<Place> env_comments;
  std::size_t recovered = 0;  // errors reported that leave an instruction all the same: comments behind ENV's values
  /// A heredoc has no end, or there are too many: what follows is no instruction.
  bool stop = false;

 private:
  void take_comments(const InstructionReading& reading);
  bool take_heredocs(const JoinedLine& line, InstructionReading& reading);

  std::size_t heredoc_count_ = 0;
  std::size_t heredoc_leniency_ = 20;
  TextFile& file_;
  LineReader& reader_;
};

std::optional<Instruction::Kind> instruction_kind(std::string_view keyword);  // in any case

}  // namespace imgforge::dockerfile
