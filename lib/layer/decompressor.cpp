#include "layer/decompressor.hpp"

#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "layer/codec.hpp"

namespace imgforge {

namespace {

constexpr std::size_t buffer_size = 256 << 10;
constexpr int most_idle = 3;  // calls that move nothing, before a codec counts as stuck
constexpr std::string_view gzip_magic = "\x1f\x8b";
constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";

/// Skippable frames (RFC 8878, 3.1.2) have sixteen magics; zstd:chunked layers may begin with one.
bool is_skippable_frame(std::string_view start) {
  return start.size() >= 4 && (static_cast<unsigned char>(start[0]) & 0xF0) == 0x50 && start.substr(1, 3) == "\x2a\x4d\x18";
}

}  // namespace

Compression sniff_compression(std::string_view start) {
  if (start.starts_with(gzip_magic)) return Compression::gzip;
  if (start.starts_with(zstd_magic) || is_skippable_frame(start)) return Compression::zstd;
  const auto unsupported = [](std::string_view what) {
    return Error(ErrorKind::image_unsupported, "it is compressed with " + std::string(what) + ", which no image specification knows", "use gzip or zstd layers");
  };
  if (start.starts_with("BZh")) throw unsupported("bzip2");
  if (start.starts_with("\xfd" "7zXZ")) throw unsupported("xz");
  return Compression::none;
}

struct Decompressor::State {
  ByteReader& blob;
  Compression compression = Compression::none;
  std::unique_ptr<Codec> codec;
  std::vector<char> buffer = std::vector<char>(buffer_size);
  std::size_t start = 0;  // of what is left in the buffer
  std::size_t end = 0;
  bool blob_ended = false;
  bool inside_unit = false;  // a member or frame has begun and not ended
  bool ended = false;

  explicit State(ByteReader& reader) : blob(reader) {}

  std::string_view left() const { return {buffer.data() + start, end - start}; }

  /// At least `wanted` bytes in the buffer, or all that there are.
  void fill(std::size_t wanted) {
    while (!blob_ended && end - start < wanted) {
      if (start != 0) {
        std::memmove(buffer.data(), buffer.data() + start, end - start);
        end -= start;
        start = 0;
      }
      const std::size_t count = blob.read(buffer.data() + end, buffer.size() - end);
      if (count == 0) blob_ended = true;
      end += count;
    }
  }

  /// Whether another member or frame follows. What does not begin like one is ignored, for zstd it is damage.
  bool at_next_unit() {
    fill(4);
    if (left().empty()) return false;
    if (compression == Compression::gzip) return left().starts_with(gzip_magic);
    return true;
  }

  /// The digest is that of the whole blob, so what is ignored is read all the same.
  void drain() {
    do {
      start = end = 0;
      fill(1);
    } while (!left().empty());
  }
};

Decompressor::Decompressor(ByteReader& blob) : state_(std::make_unique<State>(blob)) {
  state_->fill(6);
  state_->compression = sniff_compression(state_->left());
  if (state_->compression == Compression::gzip) state_->codec = make_gzip_codec();
  if (state_->compression == Compression::zstd) state_->codec = make_zstd_codec();
}

Decompressor::~Decompressor() = default;

Compression Decompressor::compression() const { return state_->compression; }

std::size_t Decompressor::read(char* buffer, std::size_t size) {
  State& state = *state_;
  if (state.ended || size == 0) return 0;
  if (!state.codec) {
    if (state.left().empty()) {  // nothing is to be done, so nothing is to be copied
      const std::size_t count = state.blob_ended ? 0 : state.blob.read(buffer, size);
      state.ended = count == 0;
      return count;
    }
    const std::size_t count = std::min(size, state.left().size());
    std::memcpy(buffer, state.left().data(), count);
    state.start += count;
    if (count == 0) state.ended = true;
    return count;
  }
  CodecBuffers buffers{nullptr, 0, buffer, size};
  int idle = 0;
  while (buffers.output_size == size) {
    if (!state.inside_unit) {
      if (!state.at_next_unit()) {
        state.drain();
        state.ended = true;
        return 0;
      }
      state.inside_unit = true;
    }
    state.fill(1);
    const std::size_t given = state.left().size();
    buffers.input = state.left().data();
    buffers.input_size = state.left().size();
    state.ended = true;  // should this throw, nothing more comes
    const Codec::Progress progress = state.codec->run(buffers);
    state.ended = false;
    state.start = state.end - buffers.input_size;
    if (progress == Codec::Progress::unit_end) {
      state.inside_unit = false;
      state.codec->restart();
    } else if (given == 0 && buffers.output_size == size) {
      throw Error(ErrorKind::image_corrupt, "its compressed stream ends early");
    }
    idle = buffers.input_size == given && buffers.output_size == size ? idle + 1 : 0;
    if (idle > most_idle) throw Error(ErrorKind::image_corrupt, "its compressed stream is damaged: it leads nowhere");
  }
  return size - buffers.output_size;
}

}  // namespace imgforge
