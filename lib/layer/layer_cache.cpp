#include "layer/layer_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unfinished_file.hpp"
#include "layer/cache_file.hpp"

namespace imgforge {

namespace {

constexpr std::string_view file_suffix = ".layer";
constexpr std::string_view temporary_infix = ".layer.tmp-";  // and sixteen hex digits
constexpr std::size_t temporary_digits = 16;
constexpr std::int64_t second_ns = 1'000'000'000;
// A change may leave no trace in a file's times when it follows another within the clock's step.
constexpr std::int64_t young_ns = 2 * second_ns;
constexpr std::int64_t touch_after_s = 60;        // a finer order of use is worth no write
constexpr std::int64_t broken_after_s = 60 * 60;  // a temporary file of that age has no writer

class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string file_name(const Digest& digest) {
  return fmt::format("{}-{}{}", digest.algorithm_name(), digest.hex(), file_suffix);
}

/// Whether the name is one that file_name() gives.
bool is_file_name(std::string_view name) {
  if (!name.ends_with(file_suffix)) return false;
  name.remove_suffix(file_suffix.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return false;
  return Digest::parse(fmt::format("{}:{}", name.substr(0, dash), name.substr(dash + 1))).has_value();
}

bool is_temporary_name(std::string_view name) {
  const std::size_t infix = name.rfind(temporary_infix);
  if (infix == std::string_view::npos || name.size() != infix + temporary_infix.size() + temporary_digits) return false;
  return is_file_name(fmt::format("{}{}", name.substr(0, infix), file_suffix));
}

OpenFile open_directory(const std::string& path) {
  return OpenFile(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// The folder and what leads to it, for nobody but the user.
OpenFile make_directory(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return OpenFile(-1);
    if (slash == std::string::npos) return open_directory(path);
  }
}

/// One of our files, as far as its owner and kind tell.
OpenFile open_file(int directory, const std::string& name) {
  OpenFile file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct ::stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return OpenFile(-1);
  if (now_ns() / second_ns - status.st_mtim.tv_sec > touch_after_s) ::futimens(file.get(), nullptr);
  return file;
}

struct Listed {
  std::string name;
  std::uint64_t size = 0;  // bytes that it takes on disk
  std::int64_t used_ns = 0;
  bool temporary = false;
};

/// Files that are named as ours.
std::vector<Listed> files_of(const OpenFile& directory) {
  std::vector<Listed> files;
  OpenFile copy(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return files;
  ::DIR* stream = ::fdopendir(copy.get());
  if (stream == nullptr) return files;
  copy.release();
  while (const ::dirent* item = ::readdir(stream)) {
    Listed listed{item->d_name};
    listed.temporary = is_temporary_name(listed.name);
    struct ::stat status {};
    if ((!listed.temporary && !is_file_name(listed.name)) ||
        ::fstatat(directory.get(), listed.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    listed.size = static_cast<std::uint64_t>(status.st_size);
    listed.used_ns = status.st_mtim.tv_sec * second_ns + status.st_mtim.tv_nsec;
    files.push_back(std::move(listed));
  }
  ::closedir(stream);
  return files;
}

/// Deletes until at most `bytes` are left, the least recently used first.
CacheInfo shrink(const OpenFile& directory, std::uint64_t bytes) {
  CacheInfo deleted;
  std::vector<Listed> files = files_of(directory);
  std::uint64_t total = 0;
  for (const Listed& file : files) total += file.size;
  const auto remove = [&](const Listed& file) {
    if (::unlinkat(directory.get(), file.name.c_str(), 0) != 0) return;
    ++deleted.files;
    deleted.bytes += file.size;
    total -= file.size;
  };
  const std::int64_t broken_before = now_ns() - broken_after_s * second_ns;
  std::erase_if(files, [&](const Listed& file) {
    if (file.temporary && file.used_ns < broken_before) remove(file);
    return file.temporary;
  });
  std::sort(files.begin(), files.end(),
            [](const Listed& one, const Listed& other) { return one.used_ns < other.used_ns; });
  for (const Listed& file : files) {
    if (total <= bytes) break;
    remove(file);
  }
  return deleted;
}

/// The file appears whole or not at all, and a run that is killed leaves nothing: until it has a name, it has none.
/// False where the folder's file system has no such files.
bool store_unnamed(const OpenFile& directory, const std::string& name, const auto& write) {
  const OpenFile file(::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return false;
  if (!write(file.get())) return true;  // nor would it succeed otherwise
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  // A link does not replace a file. Between the two the cache has none; of two runs that do this, the first one wins.
  if (::unlinkat(directory.get(), name.c_str(), 0) != 0 && errno != ENOENT) return true;
  return ::linkat(AT_FDCWD, path.c_str(), directory.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

void store_renamed(const OpenFile& directory, const std::string& name, const auto& write) {
  const std::string stem = name.substr(0, name.size() - file_suffix.size());
  const std::string temporary = fmt::format("{}{}{}", stem, temporary_infix, unlikely_digits());
  UnfinishedFile unfinished(directory.get(), temporary);
  const OpenFile file(
      ::openat(directory.get(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  unfinished.made();
  if (!file) return;
  bool done = false;
  try {
    done = write(file.get()) && ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) == 0;
  } catch (const std::exception&) {
  }
  if (!done) ::unlinkat(directory.get(), temporary.c_str(), 0);
}

bool is_young(const FileStamp& stamp) { return std::max(stamp.changed_ns, stamp.modified_ns) > now_ns() - young_ns; }

}  // namespace

LayerCache::LayerCache(std::string directory, std::uint64_t limit) : directory_(std::move(directory)), limit_(limit) {}

std::optional<std::string> LayerCache::default_directory() {
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? std::optional<std::string>(value) : std::nullopt;
  };
  if (const auto cache = absolute("XDG_CACHE_HOME")) return *cache + "/imgforge";
  if (const auto home = absolute("HOME")) return *home + "/.cache/imgforge";
  return std::nullopt;
}

std::optional<LayerIndex> LayerCache::find(const Digest& digest, const std::optional<FileStamp>& stamp) const {
  try {
    const OpenFile directory = open_directory(directory_);
    if (!directory) return std::nullopt;
    OpenFile file = open_file(directory.get(), file_name(digest));
    if (!file) return std::nullopt;
    std::optional<CacheFile> found = read_cache_file(file.release(), digest);
    if (!found) return std::nullopt;
    if (stamp && std::find(found->stamps.begin(), found->stamps.end(), *stamp) == found->stamps.end())
      return std::nullopt;
    return std::move(found->index);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void LayerCache::store(const Digest& digest, const std::optional<FileStamp>& stamp, const LayerIndex& index) {
  if (stamp && is_young(*stamp)) return;
  try {
    const OpenFile directory = make_directory(directory_);
    if (!directory) return;
    const std::string name = file_name(digest);
    std::vector<FileStamp> stamps;
    if (const OpenFile before = open_file(directory.get(), name)) stamps = read_cache_stamps(before.get(), digest);
    if (stamp) {
      std::erase(stamps, *stamp);
      stamps.push_back(*stamp);
    }
    const auto write = [&](int file) {
      struct ::stat status {};
      return write_cache_file(file, digest, index, stamps) && ::fstat(file, &status) == 0 &&
             static_cast<std::uint64_t>(status.st_size) <= limit_;
    };
    if (!store_unnamed(directory, name, write)) store_renamed(directory, name, write);
    shrink(directory, limit_);
  } catch (const std::exception&) {
    // Then it is not kept.
  }
}

CacheInfo LayerCache::info() const {
  CacheInfo info{directory_, 0, 0, limit_};
  const OpenFile directory = open_directory(directory_);
  if (!directory) return info;
  for (const Listed& file : files_of(directory)) {
    ++info.files;
    info.bytes += file.size;
  }
  return info;
}

CacheInfo LayerCache::prune(std::uint64_t bytes) {
  const OpenFile directory = open_directory(directory_);
  CacheInfo deleted = directory ? shrink(directory, bytes) : CacheInfo{};
  deleted.directory = directory_;
  deleted.limit = limit_;
  return deleted;
}

}  // namespace imgforge
