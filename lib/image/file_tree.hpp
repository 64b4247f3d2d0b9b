// Files of an image layout by relative path, wherever they lie: in a folder or inside a tar. Nothing is ever unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "image/source.hpp"
#include "image/tar_members.hpp"

namespace imgforge {

class FileTree {
 public:
  virtual ~FileTree() = default;
  /// Bytes of a regular file; nothing where there is none of this name. Throws Error(image_corrupt) where something
  /// else has the name: in a folder a link (it could show any file of this machine), in a tar a link that leads
  /// nowhere.
  virtual std::optional<std::uint64_t> size_of(const std::string& path) const = 0;
  /// The file from its start, or nothing. Thread-safe.
  virtual std::unique_ptr<ByteReader> open(const std::string& path) const = 0;
  /// `length` bytes of it from `offset` on, fewer at its end, or nothing. Thread-safe.
  virtual std::unique_ptr<ByteReader> open_range(const std::string& path, std::uint64_t offset,
                                                 std::uint64_t length) const = 0;
  /// Where on this machine its bytes lie, as of now.
  virtual std::optional<FileStamp> stamp_of(const std::string& path) const = 0;
};

/// A regular file of this machine, read at any position from any thread. Throws Error(image_*) on failure.
class RandomFile {
 public:
  /// Opens `path`, following links: it is the user who named it. O_NONBLOCK, so that a FIFO does not hang.
  explicit RandomFile(const std::string& path);
  /// Takes over a descriptor of a regular file of `size` bytes.
  RandomFile(int descriptor, std::uint64_t size, std::string shown_name);
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;
  ~RandomFile();

  std::uint64_t size() const noexcept { return size_; }
  const std::string& shown_name() const noexcept { return shown_name_; }  // escaped for display
  /// Up to `count` bytes at `position`; fewer only at the end of the file.
  std::size_t read_at(std::uint64_t position, char* buffer, std::size_t count) const;
  /// The state of the file as of now, for what lies at `offset` in it.
  std::optional<FileStamp> stamp(std::uint64_t offset) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string shown_name_;
};

/// `length` bytes of the file from `offset` on, fewer at its end.
std::unique_ptr<ByteReader> open_part(std::shared_ptr<const RandomFile> file, std::uint64_t offset,
                                      std::uint64_t length);

/// The folder `path`: names are opened without following a link at their end, and have to be regular files.
/// Throws Error(image_not_found) where there is no such folder.
std::unique_ptr<FileTree> open_folder(const std::string& path);

/// The first bytes of a compressed file, by name: "gzip", "zstd", "xz", "bzip2"; nothing for anything else.
std::optional<std::string_view> compression_of(std::string_view first_bytes) noexcept;

/// The members of an uncompressed tar, found in one pass over its headers. Links are followed inside the tar only. Of
/// a name that is there twice the later member holds, as for whoever unpacks it.
/// Throws Error(image_corrupt) where it is damaged or cut, (image_limit), or (image_unsupported) where it is empty, no
/// tar or, with a hint, compressed.
std::unique_ptr<FileTree> open_tar(std::shared_ptr<const RandomFile> file, const TarLimits& limits = {});

}  // namespace imgforge
