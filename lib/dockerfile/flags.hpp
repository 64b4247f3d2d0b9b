// Flags that instructions take, and what may stand behind them (moby/buildkit frontend/dockerfile/instructions:
// bflag.go, commands_runmount.go and its kin, parseHealthcheck).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

struct FlagFault {
  Place place;
  std::string message;
};

/// The first fault of an instruction's flags, as BuildKit would stop at it.
std::optional<FlagFault> check_flags(const Instruction& instruction);

}  // namespace imgforge::dockerfile
