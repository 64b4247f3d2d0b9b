// Wrappers around a command of a build step, taken off.
#pragma once

#include "facts/run_step.hpp"

namespace imgforge {

/// Takes sudo, exec, command, builtin, time, env, nice, timeout, xargs, conda run and their kin off `command`;
/// variables that they set are added to its environment, and PATH in `context` may become not known. False where
/// nothing is left.
bool take_wrappers_off(RunCommand& command, ShellContext& context);

}  // namespace imgforge
