#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "base/error.hpp"
#include "layer/codec.hpp"

namespace imgforge {

namespace {

// The window is chosen by the file and is memory that we have to give: 128 MiB is what `zstd --ultra -22` asks for.
constexpr int largest_window_log = 27;

class ZstdCodec final : public Codec {
 public:
  ZstdCodec() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, largest_window_log);
  }
  ~ZstdCodec() override { ZSTD_freeDCtx(context_); }
  ZstdCodec(const ZstdCodec&) = delete;
  ZstdCodec& operator=(const ZstdCodec&) = delete;

  Progress run(CodecBuffers& buffers) override {
    ZSTD_inBuffer input{buffers.input, buffers.input_size, 0};
    ZSTD_outBuffer output{buffers.output, buffers.output_size, 0};
    const std::size_t result = ZSTD_decompressStream(context_, &output, &input);
    buffers.input += input.pos;
    buffers.input_size -= input.pos;
    buffers.output += output.pos;
    buffers.output_size -= output.pos;
    if (ZSTD_isError(result)) {
      const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
      if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (code == ZSTD_error_frameParameter_windowTooLarge) {
        throw Error(ErrorKind::image_limit, "its zstd stream needs a window of more than 128 MiB", "compress the layer without --long");
      }
      throw Error(ErrorKind::image_corrupt, "its zstd stream is damaged");
    }
    return result == 0 ? Progress::unit_end : Progress::more;
  }

  void restart() override {}  // frames follow each other by themselves

 private:
  ZSTD_DCtx* context_;
};

}  // namespace

std::unique_ptr<Codec> make_zstd_codec() { return std::make_unique<ZstdCodec>(); }

}  // namespace imgforge
