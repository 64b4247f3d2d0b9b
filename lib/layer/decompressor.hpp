// A layer's blob → the bytes of its tar. What the blob is, its first bytes tell; media types are only claims.
//
// gzip (RFC 1952, any number of members, anything behind the last one ignored as gzip(1) does), zstd (RFC 8878, any number
// of frames, windows of at most 128 MiB), or a plain tar. gzip is inflated by ISA-L on x86-64 and zlib elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "image/source.hpp"

namespace imgforge {

enum class Compression { none, gzip, zstd };

/// What the first bytes of a blob say (six are enough). Throws Error(image_unsupported) for bzip2 and xz.
Compression sniff_compression(std::string_view start);

class Decompressor final : public ByteReader {
 public:
  /// `blob` has to outlive the decompressor.
  explicit Decompressor(ByteReader& blob);
  ~Decompressor() override;

  /// Throws Error(image_corrupt) where the stream is damaged or ends early, Error(image_limit) where its window is too large.
  std::size_t read(char* buffer, std::size_t size) override;

  Compression compression() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace imgforge
