// Layers with a table of contents, made part by part, so that each part can be wrong: eStargz and zstd:chunked.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "memory_image.hpp"

namespace imgforge::test {

/// One entry of a layer to be made.
struct Part {
  std::string path;
  std::string type = "reg";  // as tables call it
  std::string data = {};
  std::string link = {};
  unsigned mode = 0644;
};

inline std::string json_text(const std::string& key, const std::string& value) {
  return "\"" + key + "\":\"" + value + "\"";
}
inline std::string json_number(const std::string& key, std::uint64_t value) {
  return "\"" + key + "\":" + std::to_string(value);
}

inline std::string tar_header(const Part& part) {
  const char type = part.type == "dir" ? '5' : part.type == "symlink" ? '2' : part.type == "hardlink" ? '1' : '0';
  return member(part.path + (part.type == "dir" ? "/" : ""), type, part.data, part.link, part.mode).substr(0, 512);
}
inline std::string padding(const std::string& data) { return std::string((512 - data.size() % 512) % 512, '\0'); }

struct ChunkedLayer {
  std::string blob;
  std::string tar;
  std::string json;        // the table
  std::string compressed;  // the table as it lies in the blob
  std::uint64_t table_offset = 0;

  std::string position() const {
    return std::to_string(table_offset) + ":" + std::to_string(compressed.size()) + ":" + std::to_string(json.size()) +
           ":1";
  }
};

/// Files larger than `chunk_size` have several chunks.
inline std::string table_rows(const Part& part, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& places,
                              std::size_t chunk_size) {
  const std::string common = json_text("type", part.type) + "," +
                             json_text("name", part.path + (part.type == "dir" ? "/" : "")) + "," +
                             json_number("mode", part.mode) + "," + json_number("uid", 0) + "," + json_number("gid", 0);
  std::string rows = "{" + common;
  if (!part.link.empty()) rows += "," + json_text("linkName", part.link);
  if (part.type == "reg" && !part.data.empty())
    rows += "," + json_number("size", part.data.size()) + "," + json_text("digest", Digest::of(part.data).to_string());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string chunk = part.data.substr(i * chunk_size, chunk_size);
    if (i != 0) rows += "},{" + json_text("type", "chunk") + "," + json_text("name", part.path);
    rows += "," + json_number("offset", places[i].first) + "," +
            json_number("endOffset", i == 0 ? places.back().second : places[i].second) + "," +
            json_number("chunkOffset", i * chunk_size) + "," +
            json_number("chunkSize", places.size() == 1 ? 0 : chunk.size()) + "," +
            json_text("chunkDigest", Digest::of(chunk).to_string());
  }
  return rows + "}";
}

inline ChunkedLayer chunked_layer(const std::vector<Part>& parts, bool estargz, std::size_t chunk_size = 4 << 20) {
  const auto pack = [&](const std::string& bytes) { return estargz ? gzip(bytes) : zstd(bytes); };
  ChunkedLayer layer;
  std::string rows;
  for (const Part& part : parts) {
    const std::string header = tar_header(part);
    layer.tar += header + part.data + padding(part.data);
    layer.blob += pack(header);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (std::size_t at = 0; at < part.data.size(); at += chunk_size) {
      const std::uint64_t begin = layer.blob.size();
      layer.blob += pack(part.data.substr(at, chunk_size));
      places.emplace_back(begin, layer.blob.size());
    }
    if (!part.data.empty()) layer.blob += pack(padding(part.data));
    rows += (rows.empty() ? "" : ",") + table_rows(part, places, chunk_size);
  }
  layer.json = "{\"version\":1,\"entries\":[" + rows + "]}";
  if (estargz) {
    layer.table_offset = layer.blob.size();
    const std::string index = member("stargz.index.json", '0', layer.json);
    layer.tar += index + end_of_tar();
    layer.compressed = gzip(index + end_of_tar());
    char offset[17];
    std::snprintf(offset, sizeof offset, "%016llx", static_cast<unsigned long long>(layer.table_offset));
    std::string footer("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x1a\0SG\x16\0", 16);
    footer += std::string(offset) + "STARGZ" + std::string("\x01\0\0\xff\xff", 5) + std::string(8, '\0');
    layer.blob += layer.compressed + footer;
  } else {
    layer.tar += end_of_tar();
    layer.blob += pack(end_of_tar());
    layer.compressed = zstd(layer.json);
    layer.table_offset = layer.blob.size() + 8;
    layer.blob += skippable_frame(layer.compressed);
    layer.blob += skippable_frame(std::string(64, '\0'));
  }
  return layer;
}

/// An image of one such layer, with the annotations that its tools write.
inline void add_chunked(MemoryImage& image, const ChunkedLayer& layer, bool estargz) {
  image.add(layer.blob);
  if (estargz) {
    image.annotate("containerd.io/snapshot/stargz/toc.digest", Digest::of(layer.json).to_string());
  } else {
    image.annotate("io.github.containers.zstd-chunked.manifest-checksum", Digest::of(layer.compressed).to_string());
    image.annotate("io.github.containers.zstd-chunked.manifest-position", layer.position());
  }
}

}  // namespace imgforge::test
