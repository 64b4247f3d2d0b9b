// What one layer holds: its entries in order, whiteouts, and the contents that were kept in passing (captures).
// Made by one verified pass over the layer's bytes (layer_reader.hpp). image-spec 1.1, layer.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "layer/entry_list.hpp"
#include "layer/secret_file.hpp"

namespace imgforge {

/// Captures that lie in a file, and are read when they are asked for. Thread-safe.
class StoredCaptures {
 public:
  virtual ~StoredCaptures() = default;
  virtual std::vector<std::size_t> positions() const = 0;
  virtual std::uint64_t size(std::size_t position) const = 0;  // bytes; 0 where there is none
  /// The first `most` bytes, fewer where it is shorter; nothing where there is none, or the file is damaged there.
  virtual std::optional<std::string> read(std::size_t position, std::uint64_t most) const = 0;
};

/// How far the bytes behind an index were proven. Of several layers the weakest counts.
enum class Proof {
  toc,     // a table of contents whose digest is in the verified manifest: what the layer's maker says is in it
  digest,  // every byte of the blob passed, and its digest (else its diff id) is right
  full,    // digest and diff id, both
};

struct LayerIndex {
  EntryList entries;                                      // in the order of the tar, or of the table of contents
  std::map<std::size_t, std::string> captures;            // by position in `entries`: contents, or their first bytes
  std::shared_ptr<const StoredCaptures> stored_captures;  // more of them, of an index from the cache; may be null
  /// Files whose content was found to be a secret, by position: what kind it is, and nothing of the content. Of those that
  /// secret_file.hpp takes for candidates, the rest was looked at and is none; of a table of contents nobody looked.
  std::map<std::size_t, SecretKind> secrets;
  std::optional<Digest> digest;                           // checked blob digest
  std::optional<Digest> diff_id;                          // checked diff id, where it was checked
  std::uint64_t blob_size = 0;
  std::uint64_t tar_size = 0;  // uncompressed bytes; 0 from a table of contents
  Proof proof = Proof::digest;
};

}  // namespace imgforge
