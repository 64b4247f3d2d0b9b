#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/tar_header.hpp"

namespace imgforge {

namespace {

/// A libarchive handle over a part of a file, from a position on. Headers are read, contents are skipped by position.
class TarCursor {
 public:
  TarCursor(std::shared_ptr<const RandomFile> file, std::uint64_t position)
      : file_(std::move(file)),
        start_(position),
        position_(position),
        buffer_(256 << 10),
        archive_(archive_read_new()) {
    if (!archive_) throw std::bad_alloc();
    archive_read_support_format_tar(archive_);
    archive_read_set_callback_data(archive_, this);
    archive_read_set_read_callback(archive_, &TarCursor::read_more);
    archive_read_set_skip_callback(archive_, &TarCursor::skip);
    if (archive_read_open1(archive_) != ARCHIVE_OK) {
      const Error error = fault();
      archive_read_free(archive_);
      throw error;
    }
  }
  TarCursor(const TarCursor&) = delete;
  TarCursor& operator=(const TarCursor&) = delete;
  ~TarCursor() { archive_read_free(archive_); }

  /// The next member, or null at the end.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_, &entry);
    if (status == ARCHIVE_EOF) return nullptr;
    // RETRY and FAILED are fatal, too: going on would drop members without a word.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw fault();
    return entry;
  }

  /// Where the header of the current member begins, extended headers included.
  std::uint64_t header_position() const {
    return start_ + static_cast<std::uint64_t>(archive_read_header_position(archive_));
  }

  std::size_t read_data(char* buffer, std::size_t size) {
    const la_ssize_t count = archive_read_data(archive_, buffer, size);
    if (count < 0) throw fault();
    return static_cast<std::size_t>(count);
  }

 private:
  Error fault() const {
    if (!failure_.empty()) return Error(ErrorKind::image_corrupt, failure_);
    // libarchive knows the format as soon as the first header is good.
    if (archive_format(archive_) == 0)
      return Error(ErrorKind::image_unsupported, file_->shown_name() + " is no tar archive");
    const char* reason = archive_error_string(archive_);
    return Error(ErrorKind::image_corrupt,
                 fmt::format("{} is damaged or truncated, near byte {}: {}", file_->shown_name(), position_,
                             escape_for_display(reason ? reason : "no reason given")));
  }

  static la_ssize_t read_more(archive* handle, void* data, const void** buffer) {
    auto& self = *static_cast<TarCursor*>(data);
    // An exception must not pass through C.
    try {
      const std::size_t count = self.file_->read_at(self.position_, self.buffer_.data(), self.buffer_.size());
      self.position_ += count;
      *buffer = self.buffer_.data();
      return static_cast<la_ssize_t>(count);
    } catch (const Error& error) {
      self.failure_ = error.message();
      archive_set_error(handle, EIO, "read error");
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t skip(archive*, void* data, la_int64_t request) {
    auto& self = *static_cast<TarCursor*>(data);
    // Never beyond the end: libarchive then reads on and notices that the archive is cut.
    const std::uint64_t rest = self.file_->size() - std::min(self.position_, self.file_->size());
    const std::uint64_t count = std::min(rest, static_cast<std::uint64_t>(std::max<la_int64_t>(request, 0)));
    self.position_ += count;
    return static_cast<la_int64_t>(count);
  }

  std::shared_ptr<const RandomFile> file_;
  std::uint64_t start_;
  std::uint64_t position_;
  std::vector<char> buffer_;
  std::string failure_;
  archive* archive_;
};

/// Lexically: "./a//b/../c" is "a/c". Nothing where it climbs out of the archive.
std::optional<std::string> normalise(std::string_view name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  return join(parts, "/");
}

struct Member {
  enum class Kind { file, symbolic_link, hard_link, other };
  Kind kind = Kind::other;
  std::uint64_t header_position = 0;
  std::uint64_t size = 0;
  std::string link;
};

class MemberReader final : public ByteReader {
 public:
  MemberReader(const std::shared_ptr<const RandomFile>& file, const Member& member)
      : file_(file), cursor_(file, member.header_position), left_(member.size) {
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
  Tar(std::shared_ptr<const RandomFile> file, const TarLimits& limits) : file_(std::move(file)), limits_(limits) {
    refuse_what_is_no_tar();
    TarCursor cursor(file_, 0);
    std::size_t count = 0;
    std::size_t name_bytes = 0;
    while (archive_entry* entry = cursor.next()) {
      if (++count > limits_.members) {
        throw Error(ErrorKind::image_limit,
                    fmt::format("{} has more than {} members", file_->shown_name(), limits_.members));
      }
      const char* name = archive_entry_pathname(entry);
      if (!name) continue;
      Member member = member_of(entry, cursor.header_position());
      // Checked here and not only when the member is read, so that a cut archive is known at once.
      if (member.kind == Member::Kind::file &&
          member.size > file_->size() - std::min(member.header_position, file_->size())) {
        throw Error(ErrorKind::image_corrupt,
                    fmt::format("{} is truncated: {} has {} bytes from byte {} on, the file ends at byte {}",
                                file_->shown_name(), escape_for_display(name), member.size, member.header_position,
                                file_->size()));
      }
      std::optional<std::string> path = normalise(name);
      if (!path || path->empty() || archive_entry_filetype(entry) == AE_IFDIR) continue;
      name_bytes += path->size() + member.link.size();
      if (name_bytes > limits_.name_bytes) {
        throw Error(ErrorKind::image_limit, fmt::format("the names in {} take more than {}", file_->shown_name(),
                                                        human_size(limits_.name_bytes)));
      }
      members_.insert_or_assign(std::move(*path), std::move(member));
    }
  }

  std::optional<std::uint64_t> size_of(const std::string& path) const override {
    const Member* member = resolve(path);
    return member ? std::optional(member->size) : std::nullopt;
  }

  std::unique_ptr<ByteReader> open(const std::string& path) const override {
    const Member* member = resolve(path);
    if (!member) return nullptr;
    const std::optional<std::uint64_t> position = data_position(*file_, member->header_position);
    if (position) return open_part(file_, *position, member->size);
    return std::make_unique<MemberReader>(file_, *member);
  }

  std::unique_ptr<ByteReader> open_range(const std::string& path, std::uint64_t offset,
                                         std::uint64_t length) const override {
    const Member* member = resolve(path);
    if (!member) return nullptr;
    const std::optional<std::uint64_t> position = data_position(*file_, member->header_position);
    if (!position) return nullptr;
    const std::uint64_t begin = std::min(offset, member->size);
    return open_part(file_, *position + begin, std::min(length, member->size - begin));
  }

  std::optional<FileStamp> stamp_of(const std::string& path) const override {
    const Member* member = resolve(path);
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

  static Member member_of(archive_entry* entry, std::uint64_t position) {
    Member member;
    member.header_position = position;
    if (const char* target = archive_entry_hardlink(entry)) {
      member.kind = Member::Kind::hard_link;
      member.link = target;
    } else if (const char* link = archive_entry_symlink(entry)) {
      member.kind = Member::Kind::symbolic_link;
      member.link = link;
    } else if (archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) >= 0 &&
               archive_entry_sparse_count(entry) == 0) {
      member.kind = Member::Kind::file;
      member.size = static_cast<std::uint64_t>(archive_entry_size(entry));
    }
    return member;
  }

  const Member* resolve(const std::string& name) const {
    std::optional<std::string> path = normalise(name);
    std::set<std::string> seen;
    while (path) {
      const auto found = members_.find(*path);
      if (found == members_.end()) {
        if (seen.empty()) return nullptr;
        throw Error(ErrorKind::image_corrupt, fmt::format("{} is missing in the archive; {} is a link to it",
                                                          escape_for_display(*path), escape_for_display(name)));
      }
      const Member& member = found->second;
      if (member.kind == Member::Kind::file) return &member;
      if (member.kind == Member::Kind::other) {
        throw Error(ErrorKind::image_corrupt,
                    fmt::format("{} is no regular file in the archive", escape_for_display(*path)));
      }
      if (!seen.insert(*path).second || seen.size() > limits_.links) {
        throw Error(ErrorKind::image_corrupt,
                    fmt::format("the links at {} in the archive run in a circle, or through more than {} links",
                                escape_for_display(name), limits_.links));
      }
      const std::size_t slash = path->rfind('/');
      const bool from_root =
          member.kind == Member::Kind::hard_link || member.link.starts_with('/') || slash == std::string::npos;
      path = normalise(from_root ? member.link : path->substr(0, slash + 1) + member.link);
    }
    throw Error(ErrorKind::image_corrupt,
                fmt::format("the link {} leads out of the archive", escape_for_display(name)));
  }

  std::shared_ptr<const RandomFile> file_;
  TarLimits limits_;
  std::unordered_map<std::string, Member> members_;
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
