// What the entries of a layer come to: names, types, contents, and damage that only other tools would notice.
#include <catch2/catch.hpp>
#include <clocale>
#include <functional>

#include "layer/captures.hpp"
#include "layer/entry_path.hpp"
#include "layer/layer_reader.hpp"
#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

CapturePolicy keep_all() {
  return [](const Entry&, std::size_t) { return Capture{.limit = 1 << 20}; };
}
LayerIndex read_one(const std::string& blob, const CapturePolicy& policy = keep_all(), const LayerLimits& limits = {}) {
  return read_layer(MemoryImage().add(blob), 0, policy, limits);
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error(ErrorKind::usage, "");
}

bool mentions(const Error& error, const std::string& text) {
  UNSCOPED_INFO(error.message() << " / " << error.hint());
  return error.message().find(text) != std::string::npos || error.hint().find(text) != std::string::npos;
}

/// A name of any length: beyond the header's 100 bytes by a pax record.
std::string long_member(const std::string& path, char type, const std::string& link = "") {
  std::string records;
  if (path.size() > 100) records += pax_record("path", path);
  if (link.size() > 100) records += pax_record("linkpath", link);
  return (records.empty() ? "" : pax_header(records)) + member(path, type, "", link);
}

/// As much of an entry as a test wants to see.
std::string described(const Entry& entry) {
  const char* const types[] = {"file", "directory", "symlink", "hardlink", "character device", "block device", "fifo", "whiteout", "opaque"};
  return std::string(types[static_cast<int>(entry.type)]) + " " + entry.path + (entry.link.empty() ? "" : " -> " + entry.link);
}
std::vector<std::string> entries(const std::vector<std::string>& input) {
  std::vector<std::string> result;
  const LayerIndex index = read_one(tar_of(input));
  for (const Entry entry : index.entries) result.push_back(described(entry));
  return result;
}
using Strings = std::vector<std::string>;

/// The first bytes of an ELF file. ELF specification, "ELF Header".
std::string elf(bool big_endian, unsigned machine) {
  std::string header(64, '\0');
  header.replace(0, 4, "\x7f" "ELF");
  header[5] = big_endian ? 2 : 1;
  header[big_endian ? 19 : 18] = static_cast<char>(machine & 0xff);
  header[big_endian ? 18 : 19] = static_cast<char>(machine >> 8);
  return header;
}

Error corrupt(const std::string& blob) {
  const Error error = error_of([&] { read_one(blob); });
  CAPTURE(error.message());
  CHECK(error.kind() == ErrorKind::image_corrupt);
  CHECK(mentions(error, "layer 1 of 1 (sha256:"));
  return error;
}

}  // namespace

TEST_CASE("Paths in a tar are cleaned and never leave the root") {
  CHECK(clean_path("./usr//bin/../lib/") == "usr/lib");
  CHECK(clean_path("/") == "");
  CHECK(clean_path("./") == "");
  CHECK(clean_path("../../etc/passwd") == "etc/passwd");
  CHECK(clean_path("a/../../b") == "b");
  CHECK(clean_path("..a/.b/c.") == "..a/.b/c.");
}

TEST_CASE("Entries of every type come in the order of the tar") {
  CHECK(entries({folder("."), folder("./usr"), file("/usr/a"), soft_link("bin", "usr/bin"), hard_link("usr/b", "./usr/a"), member("dev/null", '3'), member("pipe", '6'),
                 member("block", '4'), member("contiguous", '7')}) ==
        Strings{"directory ", "directory usr", "file usr/a", "symlink bin -> usr/bin", "hardlink usr/b -> usr/a", "character device dev/null", "fifo pipe",
                "block device block", "file contiguous"});
}

TEST_CASE("Attributes are those of the header") {
  const Entry read = read_one(tar_of({member("a", '0', "12345", "", 04755, 1000)})).entries.at(0);
  CHECK(read.size == 5);
  CHECK(read.mode == 04755);
  CHECK(read.uid == 1000);
  CHECK(read.gid == 1000);
}

TEST_CASE("Whiteouts, as the image spec names them") {
  CHECK(entries({file("etc/.wh.passwd"), file(".wh.top")}) == Strings{"whiteout etc/passwd", "whiteout top"});
  SECTION("of any type") {
    CHECK(entries({hard_link("etc/.wh.a", "etc/.wh.b"), folder("etc/.wh.c"), soft_link(".wh.d", "x"), member(".wh.e", '3')}) ==
          Strings{"whiteout etc/a", "whiteout etc/c", "whiteout d", "whiteout e"});
  }
  SECTION("an opaque marker has exactly one name") {
    CHECK(entries({file("etc/.wh..wh..opq"), file(".wh..wh..opq"), hard_link("x/.wh..wh..opq", "y")}) == Strings{"opaque etc", "opaque ", "opaque x"});
    CHECK(entries({file("etc/.wh..wh..opqX")}).empty());
  }
  SECTION("AUFS's own files are no part of the root") {
    CHECK(entries({folder(".wh..wh.plnk"), file(".wh..wh.plnk/12.34"), file(".wh..wh.aufs"), file(".wh..wh.plnk/.wh..wh..opq")}).empty());
  }
  SECTION("what would delete the folder itself or its parent is ignored") { CHECK(entries({file("etc/.wh."), file("etc/.wh.."), file("etc/.wh...")}).empty()); }
  SECTION("of a name that itself begins so") { CHECK(entries({file(".wh..hidden")}) == Strings{"whiteout .hidden"}); }
}

TEST_CASE("A file's architecture comes from its ELF header, in both byte orders") {
  const auto machine = [](const std::string& content) { return read_one(tar_of({file("before", "x"), file("program", content)})).entries.at(1).elf_machine; };
  CHECK(machine(elf(false, 62)) == 62);
  CHECK(machine(elf(false, 183)) == 183);
  CHECK(machine(elf(true, 22)) == 22);
  CHECK(machine(elf(false, 62).substr(0, 19)) == 0);
  CHECK(machine("#!/bin/sh\n") == 0);
}

TEST_CASE("However short the reads are, nothing of a file is missed") {
  // Blocks of three bytes: what is compressed comes out in whatever portions it was put in.
  const std::string layer = tar_of({file("program", elf(false, 62)), file("text", "some text")});
  std::string blob;
  for (std::size_t at = 0; at < layer.size(); at += 3) blob += zstd(layer.substr(at, 3));
  const LayerIndex index = read_one(blob);
  CHECK(index.entries.at(0).elf_machine == 62);
  CHECK(index.captures.at(1) == "some text");
}

TEST_CASE("What is kept, the policy says") {
  const std::string layer = tar_of({file("small", "small"), file("large", "large content"), file("empty", ""), file("script", "#!/bin/sh\n"), folder("d")});
  const auto captures = [&](Capture capture, LayerLimits limits = {}) {
    return read_one(layer, [=](const Entry&, std::size_t) { return capture; }, limits).captures;
  };
  using Captures = std::map<std::size_t, std::string>;
  CHECK(captures({}) == Captures{});
  CHECK(captures({.limit = 5}) == Captures{{0, "small"}, {2, ""}});
  CHECK(captures({.limit = 5, .prefix = true}) == Captures{{0, "small"}, {1, "large"}, {2, ""}, {3, "#!/bi"}});
  CHECK(captures({.limit = 100, .script = true}) == Captures{{3, "#!/bin/sh\n"}});
  SECTION("up to a total, beyond which nothing more is kept") { CHECK(captures({.limit = 100}, {.capture_bytes = 15}) == Captures{{0, "small"}, {2, ""}, {3, "#!/bin/sh\n"}}); }
}

TEST_CASE("One content can be had by another pass") {
  MemoryImage image;
  image.tar({file("a", "first"), folder("d"), file("b", "second")});
  using Contents = std::map<std::size_t, std::string>;
  CHECK(read_entries(image, 0, {{2, 100}}) == Contents{{2, "second"}});
  CHECK(read_entries(image, 0, {{0, 3}, {2, 100}}) == Contents{{0, "fir"}, {2, "second"}});
  CHECK(read_entries(image, 0, {{1, 100}, {7, 100}}).empty());
}

TEST_CASE("The standard captures keep what facts ask for") {
  const std::vector<std::string> input = {
      file("usr/lib/python3/dist-packages/x-1.dist-info/METADATA", "Name: x"), file("usr/lib/python3/dist-packages/x-1.dist-info/RECORD", "x.py"),
      file("etc/passwd", "root:x"), file("home/etc/passwd", "no"), file("opt/venv/pyvenv.cfg", "home = /usr"), file("usr/lib/x86_64-linux-gnu/libc.so.6", "ELF"),
      file("opt/start", "#!/bin/sh\n"), file("usr/local/bin/run", "#!/bin/sh\n", 0755), file("usr/local/bin/program", "ELF", 0755),
      file("usr/local/bin/data", "#!/bin/sh\n", 0644), file("entry.sh", "#!/bin/sh\n", 0755), file("opt/apache/beam/boot", "\x7f" "ELF", 0755)};
  const LayerIndex index = read_one(tar_of(input), standard_captures({"/opt//start"}));
  Strings kept;
  for (const auto& [position, content] : index.captures) kept.push_back(index.entries[position].path);
  CHECK(kept == Strings{"usr/lib/python3/dist-packages/x-1.dist-info/METADATA", "usr/lib/python3/dist-packages/x-1.dist-info/RECORD", "etc/passwd", "opt/venv/pyvenv.cfg", "opt/start",
                        "usr/local/bin/run", "entry.sh"});
  const LayerIndex large = read_one(tar_of({file("a.dist-info/METADATA", std::string(2 << 20, 'm')), file("etc/passwd", std::string(2 << 20, 'p'))}), standard_captures({}));
  CHECK(large.captures.size() == 1);
  CHECK(large.captures.at(0).size() == 1 << 20);
}

TEST_CASE("Names are bytes") {
  const std::string latin = "caf\xe9", utf8 = "caf\xc3\xa9", escape = "a\x1b[31mb\nc";
  CHECK(entries({file(latin), file(utf8), file(escape), soft_link("l", latin)}) == Strings{"file " + latin, "file " + utf8, "file " + escape, "symlink l -> " + latin});
  SECTION("in pax headers too, whatever the locale") {
    const std::string name = std::string(120, 'n') + utf8, raw = std::string(120, 'n') + latin;
    std::setlocale(LC_CTYPE, "C");
    const Strings read = entries({long_member(name, '0'), long_member(raw, '0'), long_member("l", '2', name)});
    std::setlocale(LC_CTYPE, "C.UTF-8");
    CHECK(read == Strings{"file " + name, "file " + raw, "symlink l -> " + name});
  }
}

TEST_CASE("Long names come by GNU headers, too") {
  const std::string name = std::string(300, 'n'), target = std::string(200, 't');
  std::string bytes;
  bytes += member("././@LongLink", 'L', name + '\0');
  bytes += member("././@LongLink", 'K', target + '\0');
  bytes += member("short", '2', "", "short") + end_of_tar();
  const LayerIndex index = read_one(bytes);
  CHECK(described(index.entries.at(0)) == "symlink " + name + " -> " + target);
}

TEST_CASE("A sparse file has its apparent size, and its holes are zeros") {
  // GNU tar --sparse --format=pax, version 1.0: the map is in front of the data.
  const std::string map = padded("1\n1000\n4\n");
  const std::string records = pax_record("GNU.sparse.major", "1") + pax_record("GNU.sparse.minor", "0") + pax_record("GNU.sparse.name", "sparse") +
                              pax_record("GNU.sparse.realsize", "2000");
  const std::string bytes = pax_header(records) + member("GNUSparseFile.1/sparse", '0', map + "data") + end_of_tar();
  const LayerIndex index = read_one(bytes);
  CHECK(described(index.entries.at(0)) == "file sparse");
  CHECK(index.entries.at(0).size == 2000);
  CHECK((index.captures.at(0) == std::string(1000, '\0') + "data" + std::string(996, '\0')));
}

TEST_CASE("A layer ends where its tar ends, or its bytes do") {
  const std::string one = file("a", "content");
  CHECK(read_one(one).entries.size() == 1);
  CHECK(read_one(one + std::string(512, '\0')).entries.size() == 1);
  CHECK(read_one(one + end_of_tar() + std::string(100'000, 'g')).entries.size() == 1);
  CHECK(read_one(end_of_tar()).entries.empty());
  CHECK(read_one("").entries.empty());
  CHECK(read_one(gzip("")).entries.empty());
}

TEST_CASE("The last file's padding may be missing, as umoci insert leaves it, but nothing of the file") {
  const std::string data(700, 'd');
  const std::string layer = file("a") + file("b", data).substr(0, 512 + 700);
  const LayerIndex index = read_one(gzip(layer));
  CHECK(index.captures.at(1) == data);
  CHECK(index.tar_size == layer.size());
  CHECK(read_one(layer).digest == Digest::of(layer));
  CHECK(read_one(layer + std::string(10, '\0')).entries.size() == 2);
  corrupt(layer.substr(0, layer.size() - 1));
  corrupt(gzip(layer.substr(0, layer.size() - 100)));
  corrupt(file("a") + file("b", std::string(1024, 'd')).substr(0, 512 + 1023));
  corrupt(file("a") + folder("b").substr(0, 505));
  // Behind the end, any number of bytes.
  CHECK(read_one(tar_of({file("b", data)}) + "x").entries.size() == 1);
}

TEST_CASE("What was checked is said") {
  const std::string plain = tar_of({file("a", "content")});
  const std::string blob = gzip(plain);
  SECTION("the digest of the blob") {
    const LayerIndex index = read_layer(MemoryImage().add(blob, {.diff_id_of = plain}), 0, {});
    CHECK(index.digest == Digest::of(blob));
    CHECK(index.diff_id == std::nullopt);
    CHECK(index.blob_size == blob.size());
    CHECK(index.tar_size == plain.size());
  }
  SECTION("the diff id, where that is the only proof") {
    const LayerIndex index = read_layer(MemoryImage().add(blob, {.diff_id_of = plain, .no_digest = true}), 0, {});
    CHECK(index.digest == std::nullopt);
    CHECK(index.diff_id == Digest::of(plain));
  }
  SECTION("both, where they are the same") {
    const LayerIndex index = read_layer(MemoryImage().add(plain, {.diff_id_of = plain}), 0, {});
    CHECK(index.digest == Digest::of(plain));
    CHECK(index.diff_id == Digest::of(plain));
  }
}

TEST_CASE("Damage in transit is told by digest and size, not by what it broke") {
  const std::string blob = gzip(tar_of({file("a", "content")}));
  std::string changed = blob;
  changed[20] ^= 0x55;
  CHECK(mentions(error_of([&] { read_layer(MemoryImage().add(changed, {.digest_of = blob}), 0, {}); }), "digest mismatch"));
  const std::string cut = blob.substr(0, 30);
  CHECK(mentions(error_of([&] { read_layer(MemoryImage().add(cut, {.digest_of = blob, .size = blob.size()}), 0, {}); }), "the size does not match"));
}

TEST_CASE("A damaged tar is corrupt, whatever its digest says") {
  const std::string good = file("a", std::string(3000, 'x'));
  SECTION("no tar at all") { corrupt(std::string(2000, 'g')); }
  SECTION("garbage behind an entry") { corrupt(good + std::string(1024, 'g')); }
  SECTION("cut in a header") { corrupt(good + file("b").substr(0, 300)); }
  SECTION("cut in the data") { corrupt(gzip(good.substr(0, 2000))); }
  SECTION("cut in data that is kept, and in data that is not") {
    const std::string cut = good.substr(0, 2000);
    CHECK(error_of([&] { read_one(cut, {}); }).kind() == ErrorKind::image_corrupt);
    CHECK(error_of([&] { read_one(cut, keep_all()); }).kind() == ErrorKind::image_corrupt);
  }
  SECTION("a header whose checksum is wrong, behind a good one") {
    std::string header = file("b");
    header[0] ^= 1;
    corrupt(good + header + end_of_tar());
  }
  SECTION("a pax size that lies: 8 EiB") { corrupt(pax_header(pax_record("size", "9223372036854775807")) + file("b", "x") + end_of_tar()); }
  SECTION("a pax size that lies: more than there is") { corrupt(pax_header(pax_record("size", "100000")) + file("b", "x") + end_of_tar()); }
  SECTION("a negative pax size") { corrupt(pax_header(pax_record("size", "-1")) + file("b", "x") + end_of_tar()); }
  SECTION("a pax header that is none: what it says of path and size would be lost") {
    corrupt(pax_header("this is no record\n") + file("b", "x") + end_of_tar());
  }
  SECTION("a pax header of many megabytes") { corrupt(pax_header(pax_record("comment", std::string(8 << 20, 'c'))) + file("b", "x") + end_of_tar()); }
  SECTION("a base-256 size of 2^63") {
    std::string header = file("b", "");
    header.replace(124, 12, std::string("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12));
    header = sealed(header);
    corrupt(header + end_of_tar());
  }
}

TEST_CASE("Layers that are too large are refused") {
  const auto limited = [](const std::vector<std::string>& input, const LayerLimits& limits) {
    const Error error = error_of([&] { read_one(tar_of(input), {}, limits); });
    CAPTURE(error.message());
    CHECK(error.kind() == ErrorKind::image_limit);
  };
  limited({file("a"), file("b"), file("c")}, {.entries = 2});
  limited({file("a"), long_member("b", '2', std::string(500, 'l'))}, {.path_bytes = 500});
  limited({file("a", std::string(50'000, 'x'))}, {.tar_bytes = 50'500});
  limited({long_member(std::string(5000, 'n'), '0')}, {});
  limited({long_member("l", '2', std::string(5000, 'n'))}, {});
}

TEST_CASE("Progress adds up to the blob") {
  const std::string blob = gzip(tar_of({file("a", std::string(100'000, 'x'))}));
  std::uint64_t sum = 0;
  read_layer(MemoryImage().add(blob), 0, {}, {}, [&](std::uint64_t count) { sum += count; });
  CHECK(sum == blob.size());
}

TEST_CASE("An error below libarchive arrives as it was thrown") {
  class Broken final : public ByteReader {
   public:
    std::size_t read(char* buffer, std::size_t size) override {
      if (std::exchange(started_, true)) throw Error(ErrorKind::image_network, "the connection broke");
      const std::string start = file("a", "x");
      std::memcpy(buffer, start.data(), std::min(size, start.size()));
      return std::min(size, start.size());
    }

   private:
    bool started_ = false;
  };
  class BrokenImage final : public Image {
   public:
    BrokenImage() { layers_.push_back({Digest::of(""), std::nullopt, 1 << 20, "", 0}); }
    const ImageConfig& config() const override { return config_; }
    const std::vector<LayerBlob>& layers() const override { return layers_; }
    const std::optional<Digest>& digest() const override { return layers_[0].diff_id; }
    const Digest& config_digest() const override { return *layers_[0].digest; }
    std::unique_ptr<ByteReader> open_layer(std::size_t) const override { return std::make_unique<Broken>(); }
    const std::string& name() const override { return config_.user; }
    std::uint64_t bytes_read() const override { return 0; }

   private:
    ImageConfig config_;
    std::vector<LayerBlob> layers_;
  };
  const Error error = error_of([] { read_layer(BrokenImage(), 0, {}); });
  CHECK(error.kind() == ErrorKind::image_network);
  CHECK(mentions(error, "the connection broke"));
}
