// The entries of a layer, in the order of its tar, in little memory: about forty bytes each, and what their names take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layer/name_hash.hpp"

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

/// Folders are kept once, names one behind the other, and so are links; owners and modes are few. What [] hands out are
/// copies; views last as long as nothing is added.
class EntryList {
 public:
  /// Throws Error(image_limit) where a path has more than 65,535 bytes, or all of them together four gigabytes.
  void push_back(const Entry& entry);

  std::size_t size() const noexcept { return records_.size(); }
  bool empty() const noexcept { return records_.empty(); }
  Entry operator[](std::size_t position) const;
  Entry at(std::size_t position) const;

  EntryType type(std::size_t position) const noexcept { return records_[position].type; }
  std::uint64_t file_size(std::size_t position) const noexcept {
    const Record& record = records_[position];
    return record.has_link ? links_[record.size].size : record.size;
  }
  struct Attributes {
    std::uint32_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint32_t elf_machine = 0;
    bool operator==(const Attributes&) const = default;
  };
  const Attributes& attributes(std::size_t position) const noexcept {
    return attributes_[records_[position].attributes];
  }
  /// The path in two parts: the last component, and a number for what is in front of it.
  std::string_view name(std::size_t position) const noexcept {
    return {names_.data() + records_[position].name, records_[position].name_size};
  }
  std::uint32_t folder(std::size_t position) const noexcept { return records_[position].folder; }
  std::string_view folder_path(std::uint32_t folder) const noexcept {
    const std::uint32_t begin = folder == 0 ? 0 : folder_ends_[folder - 1];
    return {folder_paths_.data() + begin, folder_ends_[folder] - begin};
  }
  std::size_t folder_count() const noexcept { return folder_ends_.size(); }
  std::string_view link(std::size_t position) const noexcept;

  /// Bytes that it takes in memory.
  std::size_t memory() const noexcept;

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
  friend class EntryColumns;  // cache_columns.hpp: to a file and back

  struct Record {
    std::uint64_t size = 0;  // of an entry with a link: number in links_
    std::uint32_t folder = 0;
    std::uint32_t name = 0;        // where it begins in names_
    std::uint32_t attributes = 0;  // number in attributes_
    std::uint16_t name_size = 0;
    EntryType type = EntryType::file;
    bool has_link = false;
  };
  struct Link {
    std::uint64_t size = 0;    // of the entry
    std::uint32_t target = 0;  // where it begins in names_
    std::uint32_t target_size = 0;
  };

  std::uint32_t folder_number(std::string_view path);
  std::uint32_t attributes_number(const Attributes& attributes);
  std::uint32_t keep(std::string_view text);

  std::vector<Record> records_;
  std::vector<Link> links_;
  std::vector<Attributes> attributes_;
  std::string names_;
  std::string folder_paths_;
  std::vector<std::uint32_t> folder_ends_;  // in folder_paths_
  NumberTable folder_numbers_;
  NumberTable attributes_numbers_;
};

}  // namespace imgforge
