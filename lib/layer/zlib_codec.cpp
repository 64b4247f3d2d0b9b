#ifndef IMGFORGE_WITH_ISAL

#include <zlib.h>

#include <new>

#include "base/error.hpp"
#include "layer/codec.hpp"

namespace imgforge {

namespace {

class ZlibCodec final : public Codec {
 public:
  ZlibCodec() {
    // 15: the largest window; +16: a gzip header and trailer are expected.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibCodec() override { inflateEnd(&stream_); }

  Progress run(CodecBuffers& buffers) override {
    // zlib's pointer to input is not const, though it only reads.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(buffers.input));
    stream_.avail_in = static_cast<uInt>(buffers.input_size);
    stream_.next_out = reinterpret_cast<Bytef*>(buffers.output);
    stream_.avail_out = static_cast<uInt>(buffers.output_size);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    buffers.input += buffers.input_size - stream_.avail_in;
    buffers.input_size = stream_.avail_in;
    buffers.output += buffers.output_size - stream_.avail_out;
    buffers.output_size = stream_.avail_out;
    if (result == Z_STREAM_END) return Progress::unit_end;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_BUF_ERROR) throw Error(ErrorKind::image_corrupt, "its gzip stream is damaged");
    return Progress::more;
  }

  void restart() override { inflateReset(&stream_); }

 private:
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Codec> make_gzip_codec() { return std::make_unique<ZlibCodec>(); }

}  // namespace imgforge

#endif
