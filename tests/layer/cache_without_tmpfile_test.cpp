// The cache on a file system that knows no O_TMPFILE, as NFS and many FUSE ones.
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "layer/layer_cache.hpp"

using namespace imgforge;

namespace {

std::atomic<bool> knows_tmpfile = true;
std::atomic<int> refused = 0;

}  // namespace

// In place of the C library's, for this whole program.
extern "C" int openat(int directory, const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const unsigned mode = makes ? va_arg(more, unsigned) : 0;
  va_end(more);
  if (!knows_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
    ++refused;
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

namespace {

class Without {
 public:
  Without() {
    char name[] = "/tmp/imgforge-cache-XXXXXX";
    folder_ = ::mkdtemp(name);
    refused = 0;
    knows_tmpfile = false;
  }
  ~Without() {
    knows_tmpfile = true;
    std::filesystem::remove_all(folder_);
  }
  std::string cache() const { return folder_ + "/cache"; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(cache())) names.push_back(item.path().filename());
    return names;
  }

 private:
  std::string folder_;
};

LayerIndex index_with(const std::string& path) {
  LayerIndex index;
  index.entries.push_back({path, "", 3, 0644, 0, 0, 0, EntryType::file});
  index.captures[0] = "abc";
  return index;
}

const Digest key = Digest::of("a layer");

}  // namespace

TEST_CASE("Without files that have no name yet, the cache writes one that is renamed") {
  const Without file_system;
  LayerCache cache(file_system.cache());
  cache.store(key, std::nullopt, index_with("one"));
  CHECK(refused > 0);
  CHECK(file_system.names().size() == 1);  // and no temporary file
  auto found = cache.find(key, std::nullopt);
  REQUIRE(found);
  CHECK(found->entries[0].path == "one");
  SECTION("a later one replaces it") {
    cache.store(key, std::nullopt, index_with("two"));
    found = cache.find(key, std::nullopt);
    REQUIRE(found);
    CHECK(found->entries[0].path == "two");
    CHECK(file_system.names().size() == 1);
  }
  SECTION("several at once leave one, whole") {
    {
      std::vector<std::jthread> writers;
      for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&] {
          for (int n = 0; n < 20; ++n) cache.store(key, std::nullopt, index_with("same"));
        });
      }
    }
    found = cache.find(key, std::nullopt);
    REQUIRE(found);
    CHECK(found->entries[0].path == "same");
    CHECK(file_system.names().size() == 1);
  }
}
