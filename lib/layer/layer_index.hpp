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

enum class EntryType : std::uint8_t {
  file,
  directory,
  symlink,
  hardlink,
  character_device,
  block_device,
  fifo,
  whiteout,
  opaque
};

/// One entry of a layer's tar. Paths are bytes, relative, without "." and "..", "//", or a leading or trailing "/";
/// "" is the root itself. A whiteout's path is that of what it deletes, an opaque marker's that of its folder.
struct Entry {
  std::string path;
  std::string link;        // symlink: the target as written; hardlink: a path cleaned as above
  std::uint64_t size = 0;  // bytes of a regular file (apparent size of a sparse one)
  std::uint32_t mode = 0;  // permission bits and set-id bits, 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint16_t elf_machine = 0;  // e_machine of a regular file that is an ELF, else 0 (EM_NONE)
  EntryType type = EntryType::file;
};

/// Entries in the order of the tar, in memory that does not hold a path twice: what it hands out are copies.
class EntryList {
 public:
  void push_back(const Entry& entry) { entries_.push_back(entry); }
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  Entry operator[](std::size_t position) const { return entries_[position]; }
  Entry at(std::size_t position) const { return entries_.at(position); }

  class Iterator {
   public:
    Iterator(const EntryList& list, std::size_t position) : list_(&list), position_(position) {}
    Entry operator*() const { return (*list_)[position_]; }
    Iterator& operator++() {
      ++position_;
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return position_ == other.position_; }

   private:
    const EntryList* list_;
    std::size_t position_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::vector<Entry> entries_;
};

/// How far the bytes behind an index were proven. Of several layers the weakest counts.
enum class Proof {
  toc,     // a table of contents whose digest is in the verified manifest: what the layer's maker says is in it
  digest,  // every byte of the blob passed, and its digest (else its diff id) is right
  full,    // digest and diff id, both
};

struct LayerIndex {
  EntryList entries;                            // in the order of the tar, or of the table of contents
  std::map<std::size_t, std::string> captures;  // by position in `entries`: contents, or their first bytes
  std::optional<Digest> digest;                 // checked blob digest
  std::optional<Digest> diff_id;                // checked diff id, where it was checked
  std::uint64_t blob_size = 0;
  std::uint64_t tar_size = 0;  // uncompressed bytes; 0 from a table of contents
  Proof proof = Proof::digest;
};

}  // namespace imgforge
