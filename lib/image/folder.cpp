#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"

namespace imgforge {

namespace {

/// A part of a RandomFile as a stream.
class PartReader final : public ByteReader {
 public:
  PartReader(std::shared_ptr<const RandomFile> file, std::uint64_t offset, std::uint64_t length)
      : file_(std::move(file)), position_(offset), left_(length) {}

  std::size_t read(char* buffer, std::size_t size) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    const std::size_t count = file_->read_at(position_, buffer, wanted);
    position_ += count;
    left_ -= count;
    return count;
  }

 private:
  std::shared_ptr<const RandomFile> file_;
  std::uint64_t position_;
  std::uint64_t left_;
};

class Folder final : public FileTree {
  static constexpr std::uint64_t whole = std::numeric_limits<std::uint64_t>::max();

 public:
  explicit Folder(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) return;
    const int reason = errno;
    throw Error(reason == EACCES ? ErrorKind::image_access : ErrorKind::image_not_found,
                fmt::format("cannot open the folder {}: {}", escape_for_display(path), std::strerror(reason)));
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() override { ::close(descriptor_); }

  std::optional<std::uint64_t> size_of(const std::string& path) const override {
    const std::unique_ptr<RandomFile> file = open_file(path);
    return file ? std::optional(file->size()) : std::nullopt;
  }

  std::unique_ptr<ByteReader> open(const std::string& path) const override {
    std::unique_ptr<RandomFile> file = open_file(path);
    return file ? open_part(std::move(file), 0, whole) : nullptr;
  }

  std::unique_ptr<ByteReader> open_range(const std::string& path, std::uint64_t offset,
                                         std::uint64_t length) const override {
    std::unique_ptr<RandomFile> file = open_file(path);
    return file ? open_part(std::move(file), offset, length) : nullptr;
  }

  std::optional<FileStamp> stamp_of(const std::string& path) const override {
    const std::unique_ptr<RandomFile> file = open_file(path);
    return file ? file->stamp(0) : std::nullopt;
  }

 private:
  std::unique_ptr<RandomFile> open_file(const std::string& path) const {
    const std::string name = escape_for_display(path_ + "/" + path);
    const int file = ::openat(descriptor_, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
      const int reason = errno;
      if (reason == ENOENT || reason == ENOTDIR) return nullptr;
      if (reason == ELOOP)
        throw Error(ErrorKind::image_corrupt,
                    name + " is a symbolic link; in an image layout it has to be the file itself");
      throw Error(reason == EACCES ? ErrorKind::image_access : ErrorKind::image_corrupt,
                  fmt::format("cannot open {}: {}", name, std::strerror(reason)));
    }
    struct stat status {};
    const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    auto result = std::make_unique<RandomFile>(file, regular ? static_cast<std::uint64_t>(status.st_size) : 0, name);
    if (!regular) throw Error(ErrorKind::image_corrupt, name + " is no regular file");
    return result;
  }

  std::string path_;
  int descriptor_;
};

}  // namespace

RandomFile::RandomFile(const std::string& path) : shown_name_(escape_for_display(path)) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int reason = errno;
    throw Error(reason == EACCES ? ErrorKind::image_access : ErrorKind::image_not_found,
                fmt::format("cannot open {}: {}", shown_name_, std::strerror(reason)));
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error(ErrorKind::image_unsupported, fmt::format("{} is {}, an archive file is expected", shown_name_,
                                                          S_ISDIR(status.st_mode) ? "a folder" : "no regular file"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

RandomFile::RandomFile(int descriptor, std::uint64_t size, std::string shown_name)
    : descriptor_(descriptor), size_(size), shown_name_(std::move(shown_name)) {}

RandomFile::~RandomFile() { ::close(descriptor_); }

std::size_t RandomFile::read_at(std::uint64_t position, char* buffer, std::size_t count) const {
  std::size_t done = 0;
  // Nothing lies beyond what off_t can say.
  if (position > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - count) return 0;
  while (done < count) {
    const ssize_t now = ::pread(descriptor_, buffer + done, count - done, static_cast<off_t>(position + done));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0)
      throw Error(ErrorKind::image_corrupt, fmt::format("cannot read {}: {}", shown_name_, std::strerror(errno)));
    if (now == 0) break;
    done += static_cast<std::size_t>(now);
  }
  return done;
}

std::optional<FileStamp> RandomFile::stamp(std::uint64_t offset) const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return std::nullopt;
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return FileStamp{status.st_dev,
                   status.st_ino,
                   static_cast<std::uint64_t>(status.st_size),
                   nanoseconds(status.st_mtim),
                   nanoseconds(status.st_ctim),
                   offset};
}

std::unique_ptr<ByteReader> open_part(std::shared_ptr<const RandomFile> file, std::uint64_t offset,
                                      std::uint64_t length) {
  return std::make_unique<PartReader>(std::move(file), offset, length);
}

std::unique_ptr<FileTree> open_folder(const std::string& path) { return std::make_unique<Folder>(path); }

}  // namespace imgforge
