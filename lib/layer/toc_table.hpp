// The JSON of a table of contents. eStargz's docs/estargz.md "TOC", and containers/storage
// pkg/chunked/internal/minimal: zstd:chunked has the same table with a few more keys.
#pragma once

#include <cstdint>

#include "image/source.hpp"
#include "layer/toc.hpp"

namespace imgforge {

/// Reads JSON up to the reader's end, in memory for the table alone. `table_offset`: where the table begins in the
/// blob, and so the last chunk ends at the latest. Throws Error(image_corrupt | image_limit).
Toc parse_toc(ByteReader& json, std::uint64_t table_offset, const TocLimits& limits);

}  // namespace imgforge
