// NAME=VALUE of ENV, LABEL and ARG (moby/buildkit frontend/dockerfile/parser/line_parsers.go, parseNameVal).
#pragma once

#include <string>
#include <vector>

#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

struct AssignmentReading {
  std::vector<Assignment> assignments;
  std::string error;  // empty where there is none
  Place error_place;
  std::string error_hint;

  /// What ENV has behind its values, as Dockerfile::env_comments. BuildKit's error is in `fault` where it has one: then
  /// the comment was left out.
  struct Comment {
    Place place;
    std::string fault;
  };
  std::vector<Comment> comments;
};

AssignmentReading read_assignments(Instruction::Kind kind, const MappedText& arguments, char escape);

}  // namespace imgforge::dockerfile
