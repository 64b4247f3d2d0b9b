// One way of decompressing, as the decompressor drives it.
#pragma once

#include <cstddef>
#include <memory>

namespace imgforge {

/// Input and output windows; a codec moves their fronts along.
struct CodecBuffers {
  const char* input = nullptr;
  std::size_t input_size = 0;
  char* output = nullptr;
  std::size_t output_size = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  enum class Progress {
    more,      // give it more input or output
    unit_end,  // a gzip member or a zstd frame has ended
  };
  /// Moves `buffers` along. Throws Error(image_corrupt | image_limit), after which it must not be called again.
  virtual Progress run(CodecBuffers& buffers) = 0;
  /// Ready for the next member or frame.
  virtual void restart() = 0;
};

std::unique_ptr<Codec> make_gzip_codec();  // isal_codec.cpp or zlib_codec.cpp, by the build option IMGFORGE_WITH_ISAL
std::unique_ptr<Codec> make_zstd_codec();

}  // namespace imgforge
