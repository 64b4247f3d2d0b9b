#include "layer/layer_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "layer/cache_columns.hpp"
#include "layer/cache_file.hpp"

using namespace imgforge;

namespace {

/// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/imgforge-cache-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string cache() const { return path_ + "/cache"; }

 private:
  std::string path_;
};

const Digest key = Digest::of("a layer");

Entry entry(const std::string& path, EntryType type = EntryType::file, std::uint64_t size = 0,
            const std::string& link = "") {
  return {path, link, size, 0644, 0, 0, 0, type};
}

LayerIndex some_index() {
  LayerIndex index;
  index.entries.push_back(entry("", EntryType::directory));
  index.entries.push_back(entry("usr/lib", EntryType::directory));
  index.entries.push_back({"usr/lib/a.so", "", 5'000'000'000, 07755, 4294967295, 7, 62, EntryType::file});
  index.entries.push_back(entry("usr/lib/b.so", EntryType::symlink, 0, "a.so"));
  index.entries.push_back(entry("usr/bin/\xff\n", EntryType::hardlink, 3, "usr/lib/a.so"));
  index.entries.push_back(entry("gone", EntryType::whiteout));
  index.entries.push_back(entry("usr/share", EntryType::opaque));
  index.captures[2] = std::string(600'000, 'x') + "end";
  index.captures[4] = "three";
  index.captures[6] = "";
  index.digest = key;
  index.diff_id = Digest::of("a tar");
  index.blob_size = 12;
  index.tar_size = 34;
  return index;
}

std::optional<std::string> capture_of(const LayerIndex& index, std::size_t position) {
  REQUIRE(index.stored_captures);
  return index.stored_captures->read(position, index.stored_captures->size(position));
}

void check_same(const LayerIndex& found, const LayerIndex& index) {
  REQUIRE(found.entries.size() == index.entries.size());
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    const Entry one = found.entries[i], other = index.entries[i];
    CHECK(one.path == other.path);
    CHECK(one.link == other.link);
    CHECK(one.size == other.size);
    CHECK(one.mode == other.mode);
    CHECK(one.uid == other.uid);
    CHECK(one.gid == other.gid);
    CHECK(one.elf_machine == other.elf_machine);
    CHECK(one.type == other.type);
  }
  CHECK(found.digest == index.digest);
  CHECK(found.diff_id == index.diff_id);
  CHECK(found.blob_size == index.blob_size);
  CHECK(found.tar_size == index.tar_size);
  CHECK(found.proof == index.proof);
  for (const auto& [position, content] : index.captures) CHECK(capture_of(found, position) == content);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(folder)) names.push_back(item.path().filename());
  return names;
}

std::string only_file(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  REQUIRE(names.size() == 1);
  return folder + "/" + names.front();
}

std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

FileStamp old_stamp() { return {1, 2, 3, 4'000'000'000, 5'000'000'000, 6}; }

}  // namespace

TEST_CASE("What is stored is found again") {
  const Folder folder;
  LayerCache cache(folder.cache());
  CHECK_FALSE(cache.find(key, std::nullopt));
  const LayerIndex index = some_index();
  cache.store(key, std::nullopt, index);
  const auto found = cache.find(key, std::nullopt);
  REQUIRE(found);
  check_same(*found, index);
  CHECK(found->stored_captures->positions() == std::vector<std::size_t>{2, 4, 6});
  CHECK(found->stored_captures->size(2) == 600'003);
  CHECK_FALSE(capture_of(*found, 3));
  CHECK_FALSE(cache.find(Digest::of("another layer"), std::nullopt));
  struct ::stat status {};
  REQUIRE(::stat(folder.cache().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::stat(only_file(folder.cache()).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  SECTION("and completed by what was captured later") {
    LayerIndex more = *found;
    more.captures[3] = "late";
    cache.store(key, std::nullopt, more);
    const auto again = cache.find(key, std::nullopt);
    REQUIRE(again);
    check_same(*again, index);
    CHECK(capture_of(*again, 3) == "late");
    CHECK(capture_of(*found, 4) == "three");  // from the file that has lost its name
  }
  SECTION("an empty one, too") {
    cache.store(key, std::nullopt, LayerIndex{});
    const auto empty = cache.find(key, std::nullopt);
    REQUIRE(empty);
    CHECK(empty->entries.empty());
    CHECK_FALSE(empty->digest);
  }
}

TEST_CASE("For a local file the cache answers only while it is the same") {
  const Folder folder;
  LayerCache cache(folder.cache());
  const LayerIndex index = some_index();
  const FileStamp stamp = old_stamp();
  cache.store(key, stamp, index);
  CHECK(cache.find(key, stamp));
  CHECK(cache.find(key, std::nullopt));  // there the digest names the bytes
  for (const auto change : {&FileStamp::device, &FileStamp::inode, &FileStamp::size, &FileStamp::offset}) {
    FileStamp other = stamp;
    ++(other.*change);
    CHECK_FALSE(cache.find(key, other));
  }
  for (const auto change : {&FileStamp::modified_ns, &FileStamp::changed_ns}) {
    FileStamp other = stamp;
    ++(other.*change);
    CHECK_FALSE(cache.find(key, other));
  }

  SECTION("several files may have the same bytes") {
    FileStamp copy = stamp;
    for (int i = 0; i < 7; ++i) {
      ++copy.inode;
      cache.store(key, copy, index);
    }
    CHECK(cache.find(key, stamp));
    ++copy.inode;
    cache.store(key, copy, index);
    CHECK(cache.find(key, copy));
    CHECK_FALSE(cache.find(key, stamp));  // the oldest is forgotten
    CHECK(names_in(folder.cache()).size() == 1);
  }
  SECTION("what came from a registry says nothing of files") {
    const Digest other = Digest::of("other");
    cache.store(other, std::nullopt, index);
    CHECK_FALSE(cache.find(other, stamp));
  }
  SECTION("a file that was just written may change unseen") {
    const Digest other = Digest::of("other");
    FileStamp young = stamp;
    young.changed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count() -
        1'000'000'000;
    cache.store(other, young, index);
    CHECK_FALSE(cache.find(other, young));
    young.changed_ns -= 2'000'000'000;
    cache.store(other, young, index);
    CHECK(cache.find(other, young));
  }
}

TEST_CASE("Damage anywhere in a cache file is as if it were not there, and replaced") {
  const Folder folder;
  LayerCache cache(folder.cache());
  const LayerIndex index = some_index();
  cache.store(key, std::nullopt, index);
  const std::string path = only_file(folder.cache());
  const std::string good = content_of(path);
  const auto is_lost_or_right = [&] {
    const auto found = cache.find(key, std::nullopt);
    if (!found) return;
    REQUIRE(found->entries.size() == index.entries.size());
    for (std::size_t i = 0; i < index.entries.size(); ++i) {
      REQUIRE(found->entries[i].path == index.entries[i].path);
      REQUIRE(found->entries[i].link == index.entries[i].link);
      REQUIRE(found->entries[i].size == index.entries[i].size);
    }
    for (const auto& [position, content] : index.captures) {
      const auto capture = capture_of(*found, position);
      REQUIRE((!capture || *capture == content));
    }
  };
  for (std::size_t at = 0; at < good.size(); at += at < 500 || at >= cache_head_size - 64 ? 1 : 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    write_file(path, bad);
    is_lost_or_right();
    if (at < cache_head_size) CHECK_FALSE(cache.find(key, std::nullopt));
  }
  for (std::size_t size = 0; size < good.size(); size += size < cache_head_size ? 511 : 7) {
    write_file(path, good.substr(0, size));
    CHECK_FALSE(cache.find(key, std::nullopt));
  }
  write_file(path, good + "x");
  CHECK_FALSE(cache.find(key, std::nullopt));
  cache.store(key, std::nullopt, index);
  CHECK(cache.find(key, std::nullopt));

  SECTION("as is a file under another's name") {
    const Digest other = Digest::of("other");
    std::filesystem::copy_file(only_file(folder.cache()),
                               folder.cache() + fmt::format("/sha256-{}.layer", other.hex()));
    CHECK_FALSE(cache.find(other, std::nullopt));
  }
  SECTION("and a link, a folder, a pipe") {
    std::filesystem::rename(only_file(folder.cache()), folder.cache() + "/elsewhere");
    std::filesystem::create_symlink("elsewhere", path);
    CHECK_FALSE(cache.find(key, std::nullopt));
    cache.store(key, std::nullopt, index);
    CHECK(cache.find(key, std::nullopt));
    CHECK_FALSE(std::filesystem::is_symlink(path));
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_FALSE(cache.find(key, std::nullopt));
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    CHECK_FALSE(cache.find(key, std::nullopt));
    cache.store(key, std::nullopt, index);  // nothing to be done, and no harm
    CHECK_FALSE(cache.find(key, std::nullopt));
  }
}

TEST_CASE("A cache that cannot be written is none") {
  const LayerIndex index = some_index();
  for (const std::string path : {"/proc/imgforge", "/dev/null/imgforge"}) {
    LayerCache cache(path);
    cache.store(key, std::nullopt, index);
    CHECK_FALSE(cache.find(key, std::nullopt));
    CHECK(cache.info().files == 0);
    CHECK(cache.prune(0).files == 0);
  }
}

TEST_CASE("The cache stays within its bound: what was not used for longest goes first") {
  const Folder folder;
  LayerIndex index = some_index();
  index.captures.clear();
  LayerCache cache(folder.cache(), 3 * 5000);
  const auto used_at = [&](const Digest& digest, std::int64_t seconds) {
    const ::timespec times[2] = {{seconds, 0}, {seconds, 0}};
    const std::string path = folder.cache() + fmt::format("/sha256-{}.layer", digest.hex());
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  };
  const Digest first = Digest::of("1"), second = Digest::of("2"), third = Digest::of("3"), fourth = Digest::of("4");
  cache.store(first, std::nullopt, index);
  used_at(first, 1000);
  cache.store(second, std::nullopt, index);
  used_at(second, 2000);
  cache.store(third, std::nullopt, index);
  used_at(third, 3000);
  CHECK(cache.info().files == 3);
  CHECK(cache.find(first, std::nullopt));  // used now
  cache.store(fourth, std::nullopt, index);
  CHECK(cache.find(first, std::nullopt));
  CHECK_FALSE(cache.find(second, std::nullopt));
  CHECK(cache.find(third, std::nullopt));
  CHECK(cache.info().bytes <= 3 * 5000);
  CHECK(cache.info().limit == 3 * 5000);

  SECTION("prune takes only files of ours") {
    write_file(folder.cache() + "/README", "mine");
    write_file(folder.cache() + "/sha256-12.layer", "mine");
    const CacheInfo gone = cache.prune(0);
    CHECK(gone.files == 3);
    CHECK(gone.bytes > 0);
    CHECK(cache.info().files == 0);
    CHECK(names_in(folder.cache()).size() == 2);
  }
  SECTION("and what lies there of broken runs, once it is old") {
    const std::string broken = folder.cache() + fmt::format("/sha256-{}.layer.tmp-0123456789abcdef", first.hex());
    write_file(broken, "half");
    cache.prune(1 << 20);
    CHECK(std::filesystem::exists(broken));
    const ::timespec times[2] = {{1000, 0}, {1000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, broken.c_str(), times, 0) == 0);
    cache.prune(1 << 20);
    CHECK_FALSE(std::filesystem::exists(broken));
    CHECK(cache.info().files == 3);
  }
  SECTION("a layer that is larger than all of it is not kept") {
    LayerIndex large = index;
    std::string noise;
    for (unsigned i = 0, value = 1; i < 40'000; ++i)
      noise += static_cast<char>((value = value * 1103515245 + 12345) >> 24);
    large.captures[2] = noise;
    const Digest fifth = Digest::of("5");
    cache.store(fifth, std::nullopt, large);
    CHECK_FALSE(cache.find(fifth, std::nullopt));
    CHECK(cache.info().files == 3);
  }
}

TEST_CASE("Many writers and readers of one cache file do not disturb each other") {
  const Folder folder;
  const LayerIndex index = some_index();
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      LayerCache cache(folder.cache());
      for (int round = 0; round < 20; ++round) {
        cache.store(key, std::nullopt, index);
        const auto found = cache.find(key, std::nullopt);
        if (found && (found->entries.size() != index.entries.size() || found->stored_captures->read(4, 100) != "three"))
          ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(LayerCache(folder.cache()).find(key, std::nullopt));
  CHECK(names_in(folder.cache()).size() == 1);
}

TEST_CASE("A run that is killed leaves nothing half-written") {
  const Folder folder;
  LayerIndex index = some_index();
  for (int i = 0; i < 20'000; ++i) index.entries.push_back(entry(fmt::format("folder{}/file{}", i / 10, i * 7919)));
  const auto handler = ::signal(SIGINT, SIG_DFL);  // not the test program's, from a child's first moment on
  for (int round = 0; round < 10; ++round) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      LayerCache cache(folder.cache());
      for (;;) cache.store(key, std::nullopt, index);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(15 + round * 3));
    ::kill(child, SIGINT);
    ::waitpid(child, nullptr, 0);
  }
  ::signal(SIGINT, handler);
  for (const std::string& name : names_in(folder.cache())) CHECK(name == fmt::format("sha256-{}.layer", key.hex()));
  if (const auto found = LayerCache(folder.cache()).find(key, std::nullopt))
    CHECK(found->entries.size() == index.entries.size());
}

TEST_CASE("An entry of a Python tree takes less than twenty bytes on disk") {
  const Folder folder;
  LayerIndex index;
  const std::string words[] = {"core", "_impl", "utils", "ops",      "test_array",
                               "base", "frame", "io",    "__init__", "parsers"};
  unsigned random = 1;
  const auto next = [&] { return (random = random * 1103515245 + 12345) >> 16; };
  for (int package = 0; package < 500; ++package) {
    for (int file = 0; file < 100; ++file) {
      const std::string folder_path =
          fmt::format("usr/local/lib/python3.11/site-packages/package{}/{}", package, words[file / 10]);
      const std::string name = fmt::format("{}_{}{}", words[next() % 10], words[next() % 10], next() % 100);
      index.entries.push_back(entry(
          fmt::format("{}/{}", folder_path, file % 2 == 0 ? name + ".py" : "__pycache__/" + name + ".cpython-311.pyc"),
          EntryType::file, next() % 50'000));
    }
  }
  LayerCache cache(folder.cache());
  cache.store(key, std::nullopt, index);
  CHECK(cache.info().bytes < 20 * index.entries.size());
  CHECK(index.entries.memory() < 100 * index.entries.size());  // room to grow is among it
}

TEST_CASE("Columns that make no sense are refused") {
  using Columns = EntryColumns;
  const LayerIndex index = some_index();
  const Columns::Counts counts = Columns::counts(index.entries);
  std::vector<std::string> good(Columns::column_count);
  for (int i = 0; i < Columns::column_count; ++i)
    Columns::write(index.entries, static_cast<Columns::Column>(i), [&](std::string_view bytes) { good[i] += bytes; });
  const auto reads = [&](const std::vector<std::string>& columns) {
    Columns reading(counts);
    for (int i = 0; i < Columns::column_count; ++i) {
      if (!reading.read(static_cast<Columns::Column>(i), columns[i])) return false;
    }
    return true;
  };
  CHECK(reads(good));
  const auto with = [&](Columns::Column column, const std::string& bytes) {
    std::vector<std::string> changed = good;
    changed[column] = bytes;
    return reads(changed);
  };
  for (int i = 0; i < Columns::column_count; ++i) {
    const auto column = static_cast<Columns::Column>(i);
    CHECK_FALSE(with(column, good[i] + std::string(1, '\0')));
    CHECK_FALSE(with(column, good[i].substr(0, good[i].size() - 1)));
    CHECK_FALSE(with(column, ""));
  }
  const auto replaced = [&](Columns::Column column, const std::string& from, const std::string& to) {
    std::string text = good[column];
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return with(column, text.replace(at, from.size(), to));
  };
  CHECK(replaced(Columns::name_text, "gone", "gene"));
  CHECK_FALSE(replaced(Columns::name_text, "gone", "go/e"));
  CHECK_FALSE(replaced(Columns::folder_text, "usr", "../"));
  CHECK_FALSE(replaced(Columns::folder_text, "usr", "u//"));
  CHECK_FALSE(replaced(Columns::folder_text, "usr", "/sr"));
}
