// Tables of contents: layers that say what is in them without being read whole. eStargz (containerd's
// stargz-snapshotter) and zstd:chunked, in the dialect of containers/storage and in that of stargz-snapshotter.
//
// A table is believed only where its digest stands in the layer's annotations, which the verified manifest holds. It is
// what the layer's maker says; a runtime that ignores tables unpacks the tar. --assurance full holds both against
// another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "image/source.hpp"
#include "layer/captures.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

enum class TocKind { estargz, zstd_chunked };

/// What the annotations of a layer promise.
struct TocPlace {
  TocKind kind = TocKind::estargz;
  Digest digest;                          // eStargz: of the uncompressed table; zstd:chunked: of the compressed one
  std::optional<std::uint64_t> offset;    // in the blob; absent for eStargz, whose footer tells
  std::uint64_t length = 0;               // compressed bytes
  std::uint64_t uncompressed_length = 0;  // 0 where it is not said
};

/// Nothing where the annotations name none, are not understood, or name tables of two kinds (which may differ).
std::optional<TocPlace> find_toc(const LayerBlob& layer);

/// Where the bytes of a file lie in the blob.
struct TocChunk {
  std::uint64_t offset = 0;        // in the blob
  std::uint64_t end = 0;           // in the blob: where the next thing begins
  std::uint64_t inner_offset = 0;  // eStargz: uncompressed bytes to skip in the gzip member
  std::uint64_t size = 0;          // uncompressed bytes
  bool zeros = false;              // a hole: nothing is stored
  std::optional<Digest> digest;    // of the uncompressed chunk
};

/// An index whose entries know where their contents are.
struct Toc {
  LayerIndex index;                            // proof is Proof::toc; no captures
  std::vector<std::vector<TocChunk>> chunks;   // by position in index.entries
  std::vector<std::optional<Digest>> digests;  // of whole files, likewise
  std::uint64_t bytes_read = 0;
};

/// The table, by Range. Nothing where the source has no random access. Throws Error(image_corrupt | image_limit) where
/// its digest is not the promised one, or what it says makes no sense.
std::optional<Toc> read_toc(const Image& image, std::size_t layer, const TocPlace& place);

/// A file's content by Range, checked against the digests of its chunks (else of the whole file); its first `size`
/// bytes. Nothing where the table has no digest for it, or the source no random access: then the layer has to be read.
/// `bytes_read` is raised by the bytes of the blob that passed.
std::optional<std::string> read_toc_entry(const Image& image, std::size_t layer, const Toc& toc, std::size_t position,
                                          std::uint64_t size, std::uint64_t& bytes_read);

/// The first difference between a table and the tar that it is of, as a sentence; nothing where they say the same of
/// every path (type, size, mode, owner, link).
std::optional<std::string> first_difference(const LayerIndex& toc, const LayerIndex& tar);

}  // namespace imgforge
