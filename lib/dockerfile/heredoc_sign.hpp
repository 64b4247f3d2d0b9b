// "<<NAME" in an instruction's line (moby/buildkit frontend/dockerfile/parser/parser.go, ParseHeredoc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge::dockerfile {

struct HeredocSign {
  std::string name;     // quotes taken away
  bool expand = true;   // no part of the name was quoted
  bool spaced = false;  // "<< NAME": older BuildKits take it for none
  bool chomp = false;   // "<<-": tabs at the start of its lines go
};

/// Of one word: "<<EOF", "2<<-'EOF'". Nothing where it is something else.
std::optional<HeredocSign> heredoc_sign(std::string_view word);

/// All of an instruction's line, in order. Where the line cannot be lexed as BuildKit does, there are none.
std::vector<HeredocSign> heredoc_signs(std::string_view line);

}  // namespace imgforge::dockerfile
