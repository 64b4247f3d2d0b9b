// Facts by named paths alone, for --depth contract: who looks for a file by its path stops at the layer that has it, so
// the layers below are not read. What only a look through the whole root tells is unknown.
#pragma once

#include <optional>
#include <vector>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// The interpreters that PATH (and PYTHON_PATH) lead to as `python` and `python3`, with path, minor and prefix, and
/// whether they have a pip where this boot wants one; nothing else of them is looked at.
Fact<std::vector<Interpreter>> read_named_interpreters(ImageReader& reader);

/// Which of these a command starts.
std::optional<std::size_t> named_interpreter_of(const std::vector<Interpreter>& interpreters, const Command& command);

/// The release of boot's SDK, else that of the package beside the interpreter that boot starts.
Fact<Version> read_named_beam_version(ImageReader& reader);

/// By the loader that the interpreter names: glibc or musl, without its version.
Fact<Libc> read_libc_of_interpreter(ImageReader& reader);

}  // namespace imgforge
