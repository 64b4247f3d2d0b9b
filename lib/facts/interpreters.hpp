// Every CPython of the image, on PATH and off it.
#pragma once

#include <optional>

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// Those on PATH first, in the order of PATH; the others by path. At most 256; more of them is unknown.
///
/// A venv is an interpreter of its own although its program is a link to its base: what counts is the folder it is
/// started from (PEP 405). Links from elsewhere into a venv start its base, as CPython does.
Fact<std::vector<Interpreter>> read_interpreters(ImageReader& reader);

/// Which of `interpreters` a command starts; nothing where it is none of them (a shim, a wrapper script).
std::optional<std::size_t> interpreter_of(ImageReader& reader, const std::vector<Interpreter>& interpreters,
                                          const Command& command);

}  // namespace imgforge
