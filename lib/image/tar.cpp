#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/tar_cursor.hpp"
#include "image/tar_header.hpp"
#include "image/tar_members.hpp"

namespace imgforge {

namespace {

/// A file from a position on, whose contents are skipped by position.
class FileInput final : public TarInput {
 public:
  FileInput(std::shared_ptr<const RandomFile> file, std::uint64_t position)
      : file_(std::move(file)), position_(position) {}

  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = file_->read_at(position_, buffer, size);
    position_ += count;
    return count;
  }

  std::uint64_t skip(std::uint64_t count) override {
    // Never beyond the end: libarchive then reads on and notices that the archive is cut.
    const std::uint64_t rest = file_->size() - std::min(position_, file_->size());
    position_ += std::min(rest, count);
    return std::min(rest, count);
  }

 private:
  std::shared_ptr<const RandomFile> file_;
  std::uint64_t position_;
};

class MemberReader final : public ByteReader {
 public:
  MemberReader(const std::shared_ptr<const RandomFile>& file, const TarMember& member)
      : file_(file),
        cursor_(std::make_unique<FileInput>(file, member.header_position), file->shown_name()),
        left_(member.size) {
    archive_entry* entry = cursor_.next();
    if (!entry || static_cast<std::uint64_t>(archive_entry_size(entry)) != member.size) changed();
  }

  std::size_t read(char* buffer, std::size_t size) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    if (wanted == 0) return 0;
    const std::size_t count = cursor_.read_data(buffer, wanted);
    if (count == 0) changed();
    left_ -= count;
    return count;
  }

 private:
  [[noreturn]] void changed() const {
    throw Error(ErrorKind::image_corrupt, file_->shown_name() + " changed while it was read");
  }

  std::shared_ptr<const RandomFile> file_;
  TarCursor cursor_;
  std::uint64_t left_;
};

/// Where the contents of a plain file begin whose headers begin at `position`; nothing where that is not clear, and
/// then libarchive has to find them.
std::optional<std::uint64_t> data_position(const RandomFile& file, std::uint64_t position) {
  constexpr std::size_t max_headers = 16;  // extended ones in front of one member
  std::array<char, tar_block_bytes> block{};
  for (std::size_t i = 0; i < max_headers; ++i) {
    if (file.read_at(position, block.data(), block.size()) != block.size()) return std::nullopt;
    const std::optional<TarHeader> header = parse_tar_header({block.data(), block.size()});
    if (!header) return std::nullopt;
    position += block.size();
    if (header->is_file()) return position;
    if (std::string_view("xgXLK").find(header->type) == std::string_view::npos) return std::nullopt;
    if (header->size >= file.size() - std::min(position, file.size())) return std::nullopt;
    position += header->size + tar_padding(header->size);
  }
  return std::nullopt;
}

class Tar final : public FileTree {
 public:
  Tar(std::shared_ptr<const RandomFile> file, const TarLimits& limits)
      : file_(std::move(file)), members_(file_->shown_name(), limits) {
    refuse_what_is_no_tar();
    TarCursor cursor(std::make_unique<FileInput>(file_, 0), file_->shown_name());
    while (archive_entry* entry = cursor.next()) {
      const std::uint64_t position = cursor.header_position();
      const TarMember member = describe_tar_member(entry, position);
      // Checked here and not only when the member is read, so that a cut archive is known at once.
      if (member.size > file_->size() - std::min(position, file_->size())) {
        const char* name = archive_entry_pathname(entry);
        throw Error(ErrorKind::image_corrupt,
                    fmt::format("{} is truncated: {} has {} bytes from byte {} on, the file ends at byte {}",
                                file_->shown_name(), escape_for_display(name ? name : "a member"), member.size,
                                position, file_->size()));
      }
      members_.add(entry, position);
    }
  }

  std::optional<std::uint64_t> size_of(const std::string& path) const override {
    const TarMember* member = find(path);
    return member ? std::optional(member->size) : std::nullopt;
  }

  std::unique_ptr<ByteReader> open(const std::string& path) const override {
    const TarMember* member = find(path);
    if (!member) return nullptr;
    const std::optional<std::uint64_t> position = data_position(*file_, member->header_position);
    if (position) return open_part(file_, *position, member->size);
    return std::make_unique<MemberReader>(file_, *member);
  }

  std::unique_ptr<ByteReader> open_range(const std::string& path, std::uint64_t offset,
                                         std::uint64_t length) const override {
    const TarMember* member = find(path);
    if (!member) return nullptr;
    const std::optional<std::uint64_t> position = data_position(*file_, member->header_position);
    if (!position) return nullptr;
    const std::uint64_t begin = std::min(offset, member->size);
    return open_part(file_, *position + begin, std::min(length, member->size - begin));
  }

  std::optional<FileStamp> stamp_of(const std::string& path) const override {
    const TarMember* member = find(path);
    return member ? file_->stamp(member->header_position) : std::nullopt;
  }

 private:
  void refuse_what_is_no_tar() const {
    if (file_->size() == 0) {
      throw Error(ErrorKind::image_unsupported,
                  fmt::format("{} is empty, a tar archive of an image is expected", file_->shown_name()));
    }
    std::array<char, 8> start{};
    const std::size_t count = file_->read_at(0, start.data(), start.size());
    if (const auto compression = compression_of({start.data(), count})) {
      throw Error(ErrorKind::image_unsupported,
                  fmt::format("{} is compressed with {}; image archives are read uncompressed", file_->shown_name(),
                              *compression),
                  fmt::format("decompress it first: {} -dk FILE", *compression));
    }
  }

  const TarMember* find(const std::string& path) const {
    const std::optional<TarMembers::Found> found = members_.resolve(path);
    return found ? &found->member : nullptr;
  }

  std::shared_ptr<const RandomFile> file_;
  TarMembers members_;
};

}  // namespace

std::optional<std::string_view> compression_of(std::string_view first_bytes) noexcept {
  if (first_bytes.starts_with("\x1f\x8b")) return "gzip";
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (first_bytes.starts_with("\xfd"
                              "7zXZ"))
    return "xz";
  if (first_bytes.starts_with("BZh")) return "bzip2";
  return std::nullopt;
}

std::unique_ptr<FileTree> open_tar(std::shared_ptr<const RandomFile> file, const TarLimits& limits) {
  return std::make_unique<Tar>(std::move(file), limits);
}

}  // namespace imgforge
