// Steps read for tests.
#pragma once

#include <string>
#include <vector>

#include "facts/run_step.hpp"

namespace imgforge {

/// A step of /bin/sh in folder "/" with PATH and HOME as containers have them.
RunStep step_of(const std::string& text, bool bash = false);
/// The only command of a step, or the last one.
RunCommand command_of(const std::string& text);
/// One line a command: "? " before one that may not run, "! " before one whose failing is ignored; unknown words as
/// <...>.
std::string shown(const RunStep& step);

}  // namespace imgforge
