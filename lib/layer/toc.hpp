// Tables of contents: layers that say what is in them without being read whole. eStargz (containerd's
// stargz-snapshotter) and zstd:chunked, in the dialect of containers/storage and in that of stargz-snapshotter.
//
// A table is believed only where its digest stands in the layer's annotations, which the verified manifest holds. It is
// what the layer's maker says; a runtime that ignores tables unpacks the tar. --assurance full holds both against
// another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "image/source.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

enum class TocKind { estargz, zstd_chunked };

/// What the annotations of a layer promise.
struct TocPlace {
  TocKind kind = TocKind::estargz;
  std::optional<Digest> compressed;    // zstd:chunked: digest of the table as it lies in the blob
  std::optional<Digest> uncompressed;  // of the JSON; one of the two is there at least
  std::uint64_t offset = 0;            // in the blob; of eStargz the footer tells it
  std::uint64_t length = 0;            // bytes in the blob; likewise
};

/// Nothing where the annotations name none, or say what cannot be (two tables that differ, a place outside of the
/// blob): then the layer has to be read.
std::optional<TocPlace> find_toc(const LayerBlob& layer);

/// A part of a file, as it lies in the blob.
struct TocChunk {
  std::uint64_t offset = 0;                // in the blob
  std::uint64_t end = 0;                   // in the blob: where the next thing begins
  std::uint64_t inner_offset = 0;          // uncompressed bytes in front of it, from `offset` on
  std::uint64_t size = 0;                  // uncompressed bytes
  bool zeros = false;                      // a hole: nothing is stored
  std::array<unsigned char, 32> sha256{};  // of the uncompressed bytes
};

/// An index whose entries know where their contents are.
struct Toc {
  LayerIndex index;              // proof is Proof::toc; no captures
  std::vector<TocChunk> chunks;  // of all files, in the order of the entries
  /// By position in index.entries, and one more: the chunks of entry i are those from first_chunk[i] to first_chunk[i +
  /// 1]. A file without chunks, of more than no bytes, cannot be read by the table.
  std::vector<std::uint32_t> first_chunk;
  std::uint64_t bytes_read = 0;  // of the blob
};

struct TocLimits {
  std::uint64_t compressed = 64ull << 20;
  std::uint64_t uncompressed = 150ull << 20;  // what containers/storage takes
  std::uint64_t entries = 3'000'000;
  std::uint64_t path_bytes = 192ull << 20;
};

/// The table, by Range. Nothing where the source has no random access. Throws Error(image_corrupt | image_limit) naming
/// the layer where a digest is not the promised one, or the table makes no sense.
std::optional<Toc> read_toc(const Image& image, std::size_t layer, const TocPlace& place, const TocLimits& limits = {});

/// The whole contents of files, by position, each checked against the digests of its chunks. Neighbours in the blob
/// come in one request. Left out is what the table has no digests for, and everything where the source has no random
/// access. `bytes_read` is raised by the bytes of the blob that passed. Throws Error(image_corrupt | image_limit |
/// image_network).
std::map<std::size_t, std::string> read_toc_files(const Image& image, std::size_t layer, const Toc& toc,
                                                  std::vector<std::size_t> positions, std::uint64_t& bytes_read);

/// Whether read_toc_files can give this file, and from which bytes of the blob (both 0 for one without bytes).
struct TocExtent {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
};
std::optional<TocExtent> toc_extent(const Toc& toc, std::size_t position);

/// The first difference between a table and the tar that it is of, as a sentence; nothing where they say the same of
/// every path (type, size, mode, owner, link).
std::optional<std::string> first_difference(const LayerIndex& toc, const LayerIndex& tar);

}  // namespace imgforge
