#include "layer/toc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/decompressor.hpp"
#include "layer/toc_table.hpp"

namespace imgforge {

namespace {

constexpr std::size_t footer_size = 51;         // eStargz
constexpr std::size_t legacy_footer_size = 47;  // stargz, before it
// One request for the footer mostly brings the table, too.
constexpr std::uint64_t tail_size = 256 << 10;
constexpr std::uint64_t largest_gap = 1 << 20;       // that a request reads over rather than leave a second one for
constexpr std::uint64_t largest_request = 32 << 20;  // held in memory
constexpr std::uint64_t largest_file = 64ull << 20;  // as the largest capture
constexpr std::size_t tar_block = 512;

class StringReader final : public ByteReader {
 public:
  explicit StringReader(std::string_view bytes) : bytes_(bytes) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, bytes_.size());
    std::memcpy(buffer, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

/// One reader, then another.
class JoinedReader final : public ByteReader {
 public:
  JoinedReader(ByteReader* first, ByteReader& second) : first_(first), second_(second) {}
  std::size_t read(char* buffer, std::size_t size) override {
    if (first_ != nullptr) {
      if (const std::size_t count = first_->read(buffer, size)) return count;
      first_ = nullptr;
    }
    return second_.read(buffer, size);
  }

 private:
  ByteReader* first_;
  ByteReader& second_;
};

/// Passes on what it reads: counted, bounded, hashed where there is something to compare it with.
class CheckedReader final : public ByteReader {
 public:
  CheckedReader(ByteReader& reader, const std::optional<Digest>& expected, std::uint64_t limit, std::string_view what)
      : reader_(reader), expected_(expected), limit_(limit), what_(what) {
    if (expected) hasher_.emplace(expected->algorithm());
  }
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = reader_.read(buffer, size);
    count_ += count;
    if (count_ > limit_)
      throw Error(ErrorKind::image_limit, fmt::format("{} takes more than {}", what_, human_size(limit_)));
    if (hasher_) hasher_->update(buffer, count);
    return count;
  }
  std::uint64_t count() const { return count_; }

  /// Reads the rest. Throws where the digest is another.
  void finish() {
    char buffer[16 << 10];
    while (read(buffer, sizeof buffer) != 0) {
    }
    if (!hasher_) return;
    const Digest found = hasher_->finish();
    if (found != *expected_) {
      throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of {}: expected {}, found {}", what_,
                                                        expected_->to_string(), found.to_string()));
    }
  }

 private:
  ByteReader& reader_;
  const std::optional<Digest>& expected_;
  std::uint64_t limit_;
  std::string_view what_;
  std::optional<Hasher> hasher_;
  std::uint64_t count_ = 0;
};

/// The first `size` bytes of a reader, and then its end.
class HeadReader final : public ByteReader {
 public:
  HeadReader(ByteReader& reader, std::uint64_t size) : reader_(reader), left_(size) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = reader_.read(buffer, static_cast<std::size_t>(std::min<std::uint64_t>(size, left_)));
    if (count == 0 && left_ != 0 && size != 0)
      throw Error(ErrorKind::image_corrupt, "its table of contents ends early");
    left_ -= count;
    return count;
  }

 private:
  ByteReader& reader_;
  std::uint64_t left_;
};

/// All bytes of a range, exactly as many as were asked for.
std::string read_range(ByteReader& reader, std::uint64_t length) {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::size_t count = 0;
  while (count < bytes.size()) {
    const std::size_t now = reader.read(bytes.data() + count, bytes.size() - count);
    if (now == 0)
      throw Error(ErrorKind::image_corrupt, fmt::format("a range of {} bytes ends after {}", length, count));
    count += now;
  }
  return bytes;
}

/// Where the table begins, by the footer: an empty gzip member whose extra field holds the offset. estargz.md "Footer".
std::optional<std::uint64_t> offset_in_footer(std::string_view blob_end) {
  for (const bool legacy : {false, true}) {
    const std::size_t size = legacy ? legacy_footer_size : footer_size;
    if (blob_end.size() < size) continue;
    std::string_view footer = blob_end.substr(blob_end.size() - size);
    if (!footer.starts_with("\x1f\x8b\x08\x04")) continue;
    footer.remove_prefix(10);
    const auto number = [&](std::size_t at) {
      return static_cast<unsigned char>(footer[at]) | static_cast<unsigned char>(footer[at + 1]) << 8;
    };
    constexpr int payload = 22;  // sixteen hex digits and "STARGZ"
    if (legacy ? number(0) != payload
               : (number(0) != payload + 4 || footer.substr(2, 2) != "SG" || number(4) != payload))
      continue;
    footer.remove_prefix(legacy ? 2 : 6);
    if (footer.substr(16, 6) != "STARGZ") continue;
    std::uint64_t offset = 0;
    for (const char c : footer.substr(0, 16)) {
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) return std::nullopt;
      offset = offset << 4 | static_cast<std::uint64_t>(digit);
    }
    return offset;
  }
  return std::nullopt;
}

/// Over the tar header of stargz.index.json; returns the size of the JSON behind it.
std::uint64_t skip_tar_header(ByteReader& reader) {
  const std::string header = read_range(reader, tar_block);
  constexpr std::string_view name = "stargz.index.json";
  if (std::string_view(header).substr(0, name.size() + 1) != std::string(name) + '\0')
    throw Error(ErrorKind::image_corrupt, "its table of contents is no stargz.index.json");
  std::uint64_t size = 0;
  for (const char c : header.substr(124, 11)) {
    if (c < '0' || c > '7') throw Error(ErrorKind::image_corrupt, "its table of contents has no size");
    size = size * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return size;
}

Toc read_estargz(const Image& image, const LayerBlob& blob, const TocPlace& place, const TocLimits& limits,
                 std::unique_ptr<ByteReader> tail_reader, std::uint64_t tail_begin) {
  const std::string tail = read_range(*tail_reader, blob.size - tail_begin);
  const std::optional<std::uint64_t> offset = offset_in_footer(tail);
  if (!offset || *offset >= blob.size)
    throw Error(ErrorKind::image_corrupt,
                "its annotations promise an eStargz table of contents, and its end has no footer of one");
  if (blob.size - *offset > limits.compressed)
    throw Error(ErrorKind::image_limit,
                fmt::format("its table of contents takes more than {}", human_size(limits.compressed)));
  std::unique_ptr<ByteReader> front;
  std::uint64_t bytes = tail.size();
  if (*offset < tail_begin) {
    front = image.open_layer_range(blob.index, *offset, tail_begin - *offset);
    if (!front) throw Error(ErrorKind::image_network, "its table of contents cannot be read by range any more");
    bytes += tail_begin - *offset;
  }
  StringReader rest(
      std::string_view(tail).substr(static_cast<std::size_t>(std::max(*offset, tail_begin) - tail_begin)));
  JoinedReader compressed(front.get(), rest);
  Decompressor tar(compressed);
  HeadReader json(tar, skip_tar_header(tar));
  CheckedReader checked(json, place.uncompressed, limits.uncompressed, "its table of contents");
  Toc toc = parse_toc(checked, *offset, limits);
  checked.finish();
  toc.bytes_read = bytes;
  return toc;
}

Toc read_zstd_chunked(ByteReader& range, const TocPlace& place, const TocLimits& limits) {
  CheckedReader compressed(range, place.compressed, limits.compressed, "its table of contents");
  Toc toc;
  try {
    Decompressor json(compressed);
    CheckedReader checked(json, place.uncompressed, limits.uncompressed, "the JSON of its table of contents");
    toc = parse_toc(checked, place.offset, limits);
    checked.finish();
  } catch (const Error& error) {
    // Other bytes than the promised ones are the better explanation.
    if (error.kind() == ErrorKind::image_corrupt) compressed.finish();
    throw;
  }
  compressed.finish();
  toc.bytes_read = compressed.count();
  return toc;
}

[[noreturn]] void throw_within(const Error& error, const Image& image, std::size_t layer) {
  const LayerBlob& blob = image.layers().at(layer);
  throw error.within(fmt::format("layer {} of {} ({})", layer + 1, image.layers().size(),
                                 blob.digest ? blob.digest->to_string() : "no digest"));
}

bool has_digest(const TocChunk& chunk, std::string_view bytes) {
  const std::string hex = Digest::of(bytes).hex();
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t i = 0; i < chunk.sha256.size(); ++i) {
    if (hex[2 * i] != digits[chunk.sha256[i] >> 4] || hex[2 * i + 1] != digits[chunk.sha256[i] & 15]) return false;
  }
  return true;
}

/// The chunk's bytes, out of a piece of the blob that begins at `begin`.
void append_chunk(std::string& content, const TocChunk& chunk, std::string_view piece, std::uint64_t begin) {
  if (chunk.zeros) {
    content.append(static_cast<std::size_t>(chunk.size), '\0');
    return;
  }
  StringReader blob(
      piece.substr(static_cast<std::size_t>(chunk.offset - begin), static_cast<std::size_t>(chunk.end - chunk.offset)));
  Decompressor reader(blob);
  char skipped[16 << 10];
  for (std::uint64_t left = chunk.inner_offset; left != 0;) {
    const std::size_t count =
        reader.read(skipped, static_cast<std::size_t>(std::min<std::uint64_t>(left, sizeof skipped)));
    if (count == 0) throw Error(ErrorKind::image_corrupt, "a chunk ends before its file begins");
    left -= count;
  }
  const std::string bytes = read_range(reader, chunk.size);
  if (!has_digest(chunk, bytes))
    throw Error(ErrorKind::image_corrupt,
                "digest mismatch of a chunk: its bytes are not those of the table of contents");
  content += bytes;
}

}  // namespace

std::optional<Toc> read_toc(const Image& image, std::size_t layer, const TocPlace& place, const TocLimits& limits) {
  const LayerBlob& blob = image.layers().at(layer);
  try {
    Toc toc;
    if (place.kind == TocKind::estargz) {
      const std::uint64_t tail_begin = blob.size - std::min(blob.size, tail_size);
      std::unique_ptr<ByteReader> tail = image.open_layer_range(layer, tail_begin, blob.size - tail_begin);
      if (!tail) return std::nullopt;
      toc = read_estargz(image, blob, place, limits, std::move(tail), tail_begin);
    } else {
      if (place.length > limits.compressed)
        throw Error(ErrorKind::image_limit,
                    fmt::format("its table of contents takes more than {}", human_size(limits.compressed)));
      const std::unique_ptr<ByteReader> range = image.open_layer_range(layer, place.offset, place.length);
      if (!range) return std::nullopt;
      toc = read_zstd_chunked(*range, place, limits);
    }
    toc.index.digest = blob.digest;
    toc.index.blob_size = blob.size;
    return toc;
  } catch (const Error& error) {
    throw_within(error, image, layer);
  }
}

std::optional<TocExtent> toc_extent(const Toc& toc, std::size_t position) {
  const std::uint32_t first = toc.first_chunk.at(position);
  const std::uint32_t last = toc.first_chunk.at(position + 1);
  if (toc.index.entries[position].size > largest_file) return std::nullopt;
  if (first == last) return toc.index.entries[position].size == 0 ? std::optional(TocExtent{}) : std::nullopt;
  TocExtent extent{~std::uint64_t{0}, 0};
  for (std::uint32_t i = first; i < last; ++i) {
    if (toc.chunks[i].zeros) continue;
    extent.offset = std::min(extent.offset, toc.chunks[i].offset);
    extent.end = std::max(extent.end, toc.chunks[i].end);
  }
  if (extent.end == 0) return TocExtent{};
  if (extent.end - extent.offset > 2 * largest_file) return std::nullopt;  // no compression makes a file that much longer
  return extent;
}

std::map<std::size_t, std::string> read_toc_files(const Image& image, std::size_t layer, const Toc& toc,
                                                  std::vector<std::size_t> positions, std::uint64_t& bytes_read) {
  struct Wanted {
    TocExtent extent;
    std::size_t position;
  };
  std::vector<Wanted> wanted;
  for (const std::size_t position : positions) {
    if (const auto extent = toc_extent(toc, position)) wanted.push_back({*extent, position});
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& one, const Wanted& other) { return one.extent.offset < other.extent.offset; });
  std::map<std::size_t, std::string> contents;
  try {
    for (std::size_t i = 0; i < wanted.size();) {
      // Those that lie near each other, in one request.
      std::uint64_t end = wanted[i].extent.end;
      const std::uint64_t begin = wanted[i].extent.offset;
      std::size_t next = i + 1;
      for (; next < wanted.size(); ++next) {
        const TocExtent& extent = wanted[next].extent;
        if (extent.offset > end + largest_gap || std::max(end, extent.end) - begin > largest_request) break;
        end = std::max(end, extent.end);
      }
      std::string piece;
      if (end != begin) {
        const std::unique_ptr<ByteReader> range = image.open_layer_range(layer, begin, end - begin);
        if (!range) return contents;
        piece = read_range(*range, end - begin);
        bytes_read += piece.size();
      }
      for (; i < next; ++i) {
        std::string& content = contents[wanted[i].position];
        for (std::uint32_t chunk = toc.first_chunk[wanted[i].position]; chunk < toc.first_chunk[wanted[i].position + 1];
             ++chunk)
          append_chunk(content, toc.chunks[chunk], piece, begin);
      }
    }
    return contents;
  } catch (const Error& error) {
    throw_within(error, image, layer);
  }
}

}  // namespace imgforge
