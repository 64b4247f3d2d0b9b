// Which contents are kept while a layer passes. A gzip layer passes once, so this is fixed before the walk; whatever was
// not kept is read by passing that layer again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layer/layer_reader.hpp"

namespace imgforge {

/// The static table, and `paths` (absolute, as the config writes them) beside it; of globs, "/usr/share/doc/*/copyright"
/// alone is one.
CapturePolicy standard_captures(std::vector<std::string> paths);

/// Stands for the static table: another table has another number. For what is kept between runs.
std::uint64_t capture_set();

}  // namespace imgforge
