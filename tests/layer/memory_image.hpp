// An image in memory for the tests of layers: any bytes as a blob, and tars written header by header, so that odd ones
// can be made, too (ustar, POSIX.1-1988).
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "image/source.hpp"

namespace imgforge::test {

inline std::string padded(std::string data) {
  data.resize((data.size() + 511) / 512 * 512, '\0');
  return data;
}

/// A header block with the checksum that it needs.
inline std::string sealed(std::string header) {
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  header.replace(148, 7, std::string(text, 7));
  return header;
}

/// One tar member: a header block and its data, padded.
inline std::string member(const std::string& path, char type, const std::string& data = "", const std::string& link = "", unsigned mode = 0644, unsigned uid = 0) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, std::size_t size, const std::string& text) { std::memcpy(header.data() + at, text.data(), std::min(size, text.size())); };
  const auto octal = [&](std::size_t at, std::size_t size, unsigned long long value) {
    char text[24];
    std::snprintf(text, sizeof text, "%0*llo", static_cast<int>(size) - 1, value);
    put(at, size, text);
  };
  put(0, 100, path);
  octal(100, 8, mode);
  octal(108, 8, uid);
  octal(116, 8, uid);
  octal(124, 12, data.size());
  octal(136, 12, 0);
  header[156] = type;
  put(157, 100, link);
  put(257, 8, std::string("ustar\00000", 8));
  return sealed(header) + padded(data);
}

/// A record of a pax header (POSIX pax, "pax Extended Header").
inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}
/// A pax header for the member that follows.
inline std::string pax_header(const std::string& records) { return member("PaxHeaders/x", 'x', records); }

inline std::string file(const std::string& path, const std::string& data = "x", unsigned mode = 0644) { return member(path, '0', data, "", mode); }
inline std::string folder(const std::string& path, unsigned mode = 0755) { return member(path + "/", '5', "", "", mode); }
inline std::string soft_link(const std::string& path, const std::string& target) { return member(path, '2', "", target, 0777); }
inline std::string hard_link(const std::string& path, const std::string& target) { return member(path, '1', "", target); }
inline std::string whiteout(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? member(".wh." + path, '0') : member(path.substr(0, slash + 1) + ".wh." + path.substr(slash + 1), '0');
}
inline std::string opaque(const std::string& path) { return member(path + "/.wh..wh..opq", '0'); }
inline std::string end_of_tar() { return std::string(1024, '\0'); }

inline std::string tar_of(const std::vector<std::string>& members) {
  std::string bytes;
  for (const std::string& one : members) bytes += one;
  return bytes + end_of_tar();
}

inline std::string gzip(const std::string& bytes, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

/// One frame, as a stream of unknown length: it declares its window and not its content. `window_log` 0: by level.
inline std::string zstd(const std::string& bytes, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log != 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string result(ZSTD_compressBound(bytes.size()) + 64, '\0');
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer output{result.data(), result.size(), 0};
  ZSTD_compressStream2(context, &output, &input, ZSTD_e_continue);
  ZSTD_compressStream2(context, &output, &input, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  result.resize(output.pos);
  return result;
}

/// RFC 8878 section 3.1.2.
inline std::string skippable_frame(const std::string& bytes) {
  std::string frame = "\x50\x2a\x4d\x18";
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(bytes.size() >> shift & 0xff);
  return frame + bytes;
}

/// What the image says of a layer, where that is not the truth.
struct Claims {
  std::optional<std::string> digest_of;  // the bytes whose digest is claimed, instead of the blob's
  std::optional<std::uint64_t> size;
  std::optional<std::string> diff_id_of;  // the tar whose digest is the diff id; none: no diff id
  bool no_digest = false;
};

class MemoryImage final : public Image {
 public:
  MemoryImage& add(const std::string& blob, const Claims& claims = {}) {
    LayerBlob layer;
    if (!claims.no_digest) layer.digest = Digest::of(claims.digest_of.value_or(blob));
    if (claims.diff_id_of) layer.diff_id = Digest::of(*claims.diff_id_of);
    layer.size = claims.size.value_or(blob.size());
    layer.index = blobs_.size();
    layers_.push_back(layer);
    blobs_.push_back(blob);
    opened.push_back(0);
    return *this;
  }
  /// A plain tar of these members.
  MemoryImage& tar(const std::vector<std::string>& members) { return add(tar_of(members)); }

  MemoryImage& annotate(const std::string& name, const std::string& value) {
    layers_.back().annotations[name] = value;
    return *this;
  }

  mutable std::vector<int> opened;  // how often each layer was opened
  mutable std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // that were asked for: offset and length
  bool has_ranges = true;

  const ImageConfig& config() const override { return config_; }
  const std::vector<LayerBlob>& layers() const override { return layers_; }
  const std::optional<Digest>& digest() const override { return digest_; }
  const Digest& config_digest() const override { return *digest_; }
  std::unique_ptr<ByteReader> open_layer(std::size_t index) const override {
    ++opened.at(index);
    return std::make_unique<Reader>(blobs_.at(index));
  }
  std::unique_ptr<ByteReader> open_layer_range(std::size_t index, std::uint64_t offset, std::uint64_t length) const override {
    if (!has_ranges) return nullptr;
    ranges.emplace_back(offset, length);
    return std::make_unique<Reader>(blobs_.at(index).substr(offset, length));
  }
  const std::string& name() const override { return name_; }
  std::uint64_t bytes_read() const override { return 0; }

 private:
  class Reader final : public ByteReader {
   public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
    std::size_t read(char* buffer, std::size_t size) override {
      // Odd portions, as a network gives them.
      const std::size_t count = std::min({size, bytes_.size() - at_, at_ % 2 == 0 ? std::size_t{4093} : std::size_t{777}});
      std::memcpy(buffer, bytes_.data() + at_, count);
      at_ += count;
      return count;
    }

   private:
    std::string bytes_;
    std::size_t at_ = 0;
  };

  ImageConfig config_;
  std::vector<LayerBlob> layers_;
  std::vector<std::string> blobs_;
  std::optional<Digest> digest_ = Digest::of("");
  std::string name_ = "memory";
};

}  // namespace imgforge::test
