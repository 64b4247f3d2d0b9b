#ifdef IMGFORGE_WITH_ISAL

#include <isa-l/igzip_lib.h>

#include "base/error.hpp"
#include "layer/codec.hpp"

namespace imgforge {

namespace {

class IsalCodec final : public Codec {
 public:
  IsalCodec() { restart(); }

  Progress run(CodecBuffers& buffers) override {
    // The library counts in 32 bits and its pointer to input is not const, though it only reads.
    state_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(buffers.input));
    state_.avail_in = static_cast<std::uint32_t>(buffers.input_size);
    state_.next_out = reinterpret_cast<std::uint8_t*>(buffers.output);
    state_.avail_out = static_cast<std::uint32_t>(buffers.output_size);
    const int result = isal_inflate(&state_);
    // In version 2.30 the counts of a failed call may be wrong by some bytes, and another call would read on from there.
    if (result == ISAL_INCORRECT_CHECKSUM) throw Error(ErrorKind::image_corrupt, "its gzip checksum does not match");
    if (result < 0) throw Error(ErrorKind::image_corrupt, "its gzip stream is damaged");
    buffers.input += buffers.input_size - state_.avail_in;
    buffers.input_size = state_.avail_in;
    buffers.output += buffers.output_size - state_.avail_out;
    buffers.output_size = state_.avail_out;
    return state_.block_state == ISAL_BLOCK_FINISH ? Progress::unit_end : Progress::more;
  }

  void restart() override {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

 private:
  inflate_state state_;
};

}  // namespace

std::unique_ptr<Codec> make_gzip_codec() { return std::make_unique<IsalCodec>(); }

}  // namespace imgforge

#endif
