// pyenv's shims: scripts on PATH that start a program of the Python version that is chosen.
#pragma once

#include <string_view>

#include "facts/facts.hpp"
#include "image/manifest.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// What a shim (a script in a folder "shims" that runs `pyenv exec`) starts as `name`: by PYENV_VERSION, else
/// .python-version in the working directory or above it, else $PYENV_ROOT/version; "system" is the next on `path`, and
/// "3.11" the newest 3.11.* that is installed (pyenv 2.3, COMMANDS.md `pyenv local`). `command` itself where it is no
/// shim, or where nothing of that name is found.
Command through_pyenv(RootView& root, const ImageConfig& config, const Command& command, std::string_view name,
                      std::string_view path, const std::string& folder);

}  // namespace imgforge
