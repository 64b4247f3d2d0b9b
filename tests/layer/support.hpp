// Layers made byte by byte, and images of them in memory that count how often each layer was opened.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "image/source.hpp"
#include "layer/layer_reader.hpp"
#include "layer/root_view.hpp"

namespace imgforge::test {

// --- tars ---

struct TarEntry {
  std::string name;
  char type = '0';  // POSIX typeflag
  std::string content;
  std::string link;
  unsigned mode = 0644;
  unsigned uid = 0;
  unsigned gid = 0;
};

inline TarEntry file(std::string name, std::string content = "", unsigned mode = 0644) { return {std::move(name), '0', std::move(content), "", mode}; }
inline TarEntry folder(std::string name, unsigned mode = 0755) { return {std::move(name), '5', "", "", mode}; }
inline TarEntry soft_link(std::string name, std::string target) { return {std::move(name), '2', "", std::move(target), 0777}; }
inline TarEntry hard_link(std::string name, std::string target) { return {std::move(name), '1', "", std::move(target)}; }
inline TarEntry device(std::string name) { return {std::move(name), '3'}; }
inline TarEntry fifo(std::string name) { return {std::move(name), '6'}; }

inline std::string padded(std::string content) {
  content.resize((content.size() + 511) / 512 * 512, '\0');
  return content;
}

/// A ustar header as given, with the right checksum; `size` may differ from what follows.
inline std::string tar_header(const TarEntry& entry, std::uint64_t size) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, std::size_t width, const std::string& text) { header.replace(at, std::min(width, text.size()), text, 0, width); };
  const auto octal = [](std::uint64_t value, int width) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", width, static_cast<unsigned long long>(value));
    return std::string(text);
  };
  put(0, 100, entry.name);
  put(100, 8, octal(entry.mode, 7));
  put(108, 8, octal(entry.uid, 7));
  put(116, 8, octal(entry.gid, 7));
  put(124, 12, octal(size, 11));
  put(136, 12, octal(0, 11));
  header[156] = entry.type;
  put(157, 100, entry.link);
  put(257, 8, std::string("ustar\0" "00", 8));
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(148, 8, octal(sum, 6) + std::string("\0 ", 2));
  return header;
}

inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}

/// A pax extended header for the entry that follows.
inline std::string pax_header(const std::string& records) { return tar_header({"PaxHeaders/x", 'x'}, records.size()) + padded(records); }

inline std::string tar_bytes(const TarEntry& entry) {
  std::string before;
  if (entry.name.size() > 100) before += pax_record("path", entry.name);
  if (entry.link.size() > 100) before += pax_record("linkpath", entry.link);
  if (!before.empty()) before = pax_header(before);
  return before + tar_header(entry, entry.content.size()) + padded(entry.content);
}

inline std::string end_of_tar() { return std::string(1024, '\0'); }

inline std::string tar(const std::vector<TarEntry>& entries) {
  std::string bytes;
  for (const TarEntry& entry : entries) bytes += tar_bytes(entry);
  return bytes + end_of_tar();
}

// --- compression ---

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

/// One frame; `window_log` 0 leaves the window to the level.
inline std::string zstd(const std::string& bytes, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log != 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  // As a stream of unknown length, so that the frame declares its window and not its content.
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

// --- images ---

class MemoryReader final : public ByteReader {
 public:
  /// Hands out at most `step` bytes at once.
  explicit MemoryReader(std::string bytes, std::size_t step = 1 << 20) : bytes_(std::move(bytes)), step_(step) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min({size, step_, bytes_.size() - at_});
    std::memcpy(buffer, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

class MemoryImage final : public Image {
 public:
  /// Blobs, the lowest layer first, with right digests and sizes; diff ids only of plain tars.
  explicit MemoryImage(std::vector<std::string> blobs, std::size_t step = 1 << 20) : blobs_(std::move(blobs)), step_(step), opened_(blobs_.size()) {
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      LayerBlob layer;
      layer.digest = Digest::of(blobs_[i]);
      layer.size = blobs_[i].size();
      layer.index = i;
      layers_.push_back(layer);
    }
  }
  explicit MemoryImage(const std::vector<std::vector<TarEntry>>& layers) : MemoryImage(tars(layers)) {}

  const ImageConfig& config() const override { return config_; }
  const std::vector<LayerBlob>& layers() const override { return layers_; }
  const std::optional<Digest>& digest() const override { return digest_; }
  const Digest& config_digest() const override { return config_digest_; }
  std::unique_ptr<ByteReader> open_layer(std::size_t index) const override {
    ++opened_.at(index);
    return std::make_unique<MemoryReader>(blobs_.at(index), step_);
  }
  const std::string& name() const override { return name_; }
  std::uint64_t bytes_read() const override { return 0; }

  LayerBlob& layer(std::size_t index) { return layers_.at(index); }
  /// How often a layer was opened.
  int opened(std::size_t index) const { return opened_.at(index); }
  int opened() const {
    int sum = 0;
    for (const auto& count : opened_) sum += count;
    return sum;
  }

 private:
  static std::vector<std::string> tars(const std::vector<std::vector<TarEntry>>& layers) {
    std::vector<std::string> result;
    for (const auto& layer : layers) result.push_back(tar(layer));
    return result;
  }
  std::vector<std::string> blobs_;
  std::size_t step_;
  std::vector<LayerBlob> layers_;
  ImageConfig config_;
  std::optional<Digest> digest_;
  Digest config_digest_ = Digest::of("{}");
  std::string name_ = "memory";
  mutable std::vector<std::atomic<int>> opened_;
};

/// What is kept: everything of at most `limit` bytes.
inline CapturePolicy keep_all(std::uint64_t limit = 1 << 20) {
  return [limit](const Entry&, std::size_t) { return Capture{limit, false}; };
}

inline LayerIndex read_one(const std::string& blob, const CapturePolicy& policy = keep_all(), const LayerLimits& limits = {}) {
  return read_layer(MemoryImage(std::vector<std::string>{blob}), 0, policy, limits);
}

/// The error that an action ends with; the test fails where it ends well.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error(ErrorKind::usage, "");
}

inline bool mentions(const Error& error, const std::string& text) {
  UNSCOPED_INFO(error.message() << " / " << error.hint());
  return error.message().find(text) != std::string::npos || error.hint().find(text) != std::string::npos;
}

}  // namespace imgforge::test
