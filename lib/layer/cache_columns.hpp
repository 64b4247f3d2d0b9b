// Entries as columns of bytes, for the cache: each column is of one kind, so that it compresses well, and can be made
// and read by itself. Numbers are LEB128.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "layer/entry_list.hpp"

namespace imgforge {

/// Appends a number, low bits first, seven a byte.
void put_number(std::string& bytes, std::uint64_t value);
/// Takes one from the front; nothing where there is none or it does not fit.
std::optional<std::uint64_t> take_long_number(std::string_view& bytes) noexcept;
inline std::optional<std::uint64_t> take_number(std::string_view& bytes) noexcept {
  if (bytes.empty() || static_cast<unsigned char>(bytes.front()) >= 0x80) return take_long_number(bytes);
  const auto value = static_cast<unsigned char>(bytes.front());  // most are of one byte
  bytes.remove_prefix(1);
  return value;
}

class EntryColumns {
 public:
  enum Column : std::uint8_t {
    folders,      // for each folder: how many bytes it shares with the one before it, how many more follow
    folder_text,  // those
    attributes,   // mode, uid, gid, e_machine, for each that there is
    types,        // for each entry: type, 16 more with a link
    entry_folder,
    entry_attributes,
    sizes,
    name_sizes,
    name_text,
    link_sizes,  // of the entries that have one
    link_text,
    column_count
  };

  struct Counts {
    std::uint64_t entries = 0;
    std::uint64_t folders = 0;
    std::uint64_t attributes = 0;
    std::uint64_t links = 0;
  };
  static constexpr std::uint64_t most_entries = 100'000'000;  // as many as --max-files may ask for

  static Counts counts(const EntryList& list);
  /// Bytes that a column of this many has at the most.
  static std::uint64_t most_bytes(Column column, const Counts& counts);
  /// Gives the column to `sink` in portions.
  static void write(const EntryList& list, Column column, const std::function<void(std::string_view)>& sink);

  explicit EntryColumns(const Counts& counts) : counts_(counts) {}
  /// To be called for each column in order. False where it makes no sense: then no more is to be asked.
  bool read(Column column, std::string bytes);
  /// Behind the last column.
  EntryList finish();

 private:
  bool read_folders(std::string_view text);
  bool read_attributes(std::string_view bytes);
  bool read_types(std::string_view bytes);
  bool read_entry_folders(std::string_view bytes);
  bool read_entry_attributes(std::string_view bytes);
  bool read_sizes(std::string_view bytes);
  bool read_names(std::string text);
  bool read_links(std::string_view text);

  Counts counts_;
  EntryList list_;
  std::string lengths_;  // the column in front of a text
};

}  // namespace imgforge
