// One file of the layer cache: a head of fixed size with its own SHA-256, columns of entries, and captures in blocks;
// each of these a zstd frame with a checksum. Captures are read when they are asked for: they are most of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/digest.hpp"
#include "image/source.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

struct CacheFile {
  LayerIndex index;
  /// Files that were found to have these bytes, the newest last; none where the bytes came from elsewhere.
  std::vector<FileStamp> stamps;
};

inline constexpr std::size_t most_stamps = 8;

/// Writes it to an empty file. False where the system failed; then what was written is of no use.
bool write_cache_file(int descriptor, const Digest& key, const LayerIndex& index, const std::vector<FileStamp>& stamps);

/// Nothing where it is not whole, or is not of this version, capture set and key. Takes the descriptor over.
std::optional<CacheFile> read_cache_file(int descriptor, const Digest& key);

/// Only the stamps, of a file that may be damaged elsewhere.
std::vector<FileStamp> read_cache_stamps(int descriptor, const Digest& key);

/// A head with the checksum that it needs, for tests.
inline constexpr std::size_t cache_head_size = 4096;
void seal_cache_head(char* head);

}  // namespace imgforge
