// The page that `imgforge inspect IMAGE --libraries PATH` prints: ldd for a file of an image, without running it.
#pragma once

#include <string>

#include "facts/loader.hpp"
#include "report/report.hpp"

namespace imgforge {

/// A line a library, as ldd(1) has it: "libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (ld.so.cache)", "libx.so =>
/// not found", then the versions that are not defined.
std::string libraries_text(const LoadedSet& set, const std::string& path);

/// Schema imgforge.libraries/v1: path, libraries [{name, path | null, by, needed_by}], versions, open.
std::string libraries_json(const LoadedSet& set, const std::string& path);

}  // namespace imgforge
