// The members of an uncompressed tar, one after another, from anything that gives bytes: libarchive's reader, tamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct archive;
struct archive_entry;

namespace imgforge {

/// Where a tar comes from. Throws Error(image_*).
class TarInput {
 public:
  virtual ~TarInput() = default;
  /// As ByteReader::read.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// Goes on by up to `count` bytes without reading them, and says by how many.
  virtual std::uint64_t skip(std::uint64_t /*count*/) { return 0; }
};

/// Headers are checked, contents are read or skipped. No member is dropped without a word: whatever libarchive cannot
/// read is Error(image_corrupt), or Error(image_unsupported) where the first header is none.
class TarCursor {
 public:
  /// `name` is how messages name the tar, escaped for display.
  TarCursor(std::unique_ptr<TarInput> input, std::string name);
  ~TarCursor();
  TarCursor(const TarCursor&) = delete;
  TarCursor& operator=(const TarCursor&) = delete;

  /// The next member, or null at the end. It lives until the next call.
  archive_entry* next();
  /// Where the headers of the current member begin, extended ones included; counted from the input's start.
  std::uint64_t header_position() const;
  /// Contents of the current member, in order; 0 at their end.
  std::size_t read_data(char* buffer, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace imgforge
