#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/unfinished_file.hpp"

namespace imgforge {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail(const std::string& what, const std::string& path, int number) {
  throw Error(ErrorKind::file, fmt::format("{} {}: {}", what, escape_for_display(path), std::strerror(number)));
}

std::string read_all(int descriptor, const std::string& name, std::uint64_t limit) {
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read", name, errno);
    if (count == 0) return content;
    if (content.size() + static_cast<std::size_t>(count) > limit) {
      throw Error(ErrorKind::file, fmt::format("{} is larger than {}", escape_for_display(name), human_size(limit)),
                  "nothing that imgforge reads whole is that large: is it the right file?");
    }
    content.append(buffer, static_cast<std::size_t>(count));
  }
}

void write_all(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string read_file(const std::string& path, std::uint64_t limit) {
  // O_NONBLOCK: a FIFO without a writer must not hang us; it has no effect on regular files.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail("cannot open", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail("cannot read", path, errno);
  if (S_ISDIR(status.st_mode)) throw Error(ErrorKind::file, escape_for_display(path) + " is a folder, a file was expected");
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::file, escape_for_display(path) + " is no regular file");
  return read_all(file.get(), path, limit);
}

std::string read_standard_input(std::uint64_t limit) { return read_all(STDIN_FILENO, "standard input", limit); }

void write_file_atomically(const std::string& path, std::string_view content) {
  // Through a link, so that the link stays and its target changes, as every editor does.
  std::string target = path;
  if (char* real = ::realpath(path.c_str(), nullptr)) {
    target = real;
    std::free(real);
  }
  struct stat status{};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw Error(ErrorKind::file, "cannot write " + escape_for_display(path) + ": it is a folder");
  if (exists && !S_ISREG(status.st_mode)) {
    // A device or a pipe (/dev/stdout) cannot be replaced, only written to.
    const Descriptor device(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) fail("cannot write", path, errno);
    write_all(device.get(), content, path);
    return;
  }
  const std::string temporary = target + "." + unlikely_digits().substr(0, 8);
  UnfinishedFile unfinished(AT_FDCWD, temporary);
  const Descriptor file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const int failed = errno;
  unfinished.made();
  if (file.get() < 0) fail("cannot write", path, failed);
  try {
    write_all(file.get(), content, path);
    // It is 0600 so far; it gets what an ordinary open would have given it.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file.get(), exists ? (status.st_mode & 07777) : (0666 & ~mask)) != 0) fail("cannot write", path, errno);
    if (::fsync(file.get()) != 0) fail("cannot write", path, errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail("cannot write", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace imgforge
