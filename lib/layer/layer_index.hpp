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

namespace imgforge {

enum class EntryType : std::uint8_t { file, directory, symlink, hardlink, character_device, block_device, fifo, whiteout, opaque };

/// One entry of a layer's tar. Paths are bytes, relative, without "." and "..", "//", or a leading or trailing "/";
/// "" is the root itself. A whiteout's path is that of what it deletes, an opaque marker's that of its folder.
struct Entry {
  std::string path;
  std::string link;               // symlink: the target as written; hardlink: a path cleaned as above
  std::uint64_t size = 0;         // bytes of a regular file (apparent size of a sparse one)
  std::uint32_t mode = 0;         // permission bits and set-id bits, 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint16_t elf_machine = 0;  // e_machine of a regular file that is an ELF, else 0 (EM_NONE)
  EntryType type = EntryType::file;
};

struct LayerIndex {
  std::vector<Entry> entries;                      // in the order of the tar
  std::map<std::size_t, std::string> captures;     // by position in `entries`: contents, or their first bytes
  std::optional<Digest> digest;                    // checked blob digest
  std::optional<Digest> diff_id;                   // checked diff id, where it was checked
  std::uint64_t blob_size = 0;
  std::uint64_t tar_size = 0;                      // uncompressed bytes
};

}  // namespace imgforge
