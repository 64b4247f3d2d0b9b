// One layer, read whole: what is accepted, what is kept, and every kind of damage that must give no facts at all.
#include "layer/layer_reader.hpp"

#include <catch2/catch.hpp>

#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// A tar whose content does not compress well and spans many buffers.
std::string large_tar() {
  std::string data(700'000, '\0');
  unsigned state = 1;
  for (char& c : data) c = static_cast<char>((state = state * 1103515245 + 12345) >> 20);
  return folder("usr") + file("usr/data", data) + file("usr/last", "the end") + end_of_tar();
}

LayerIndex read(const MemoryImage& image, const CapturePolicy& policy = {}) { return read_layer(image, 0, policy); }

Error failure(const MemoryImage& image, const LayerLimits& limits = {}) {
  try {
    read_layer(image, 0, {}, limits);
  } catch (const Error& error) {
    return error;
  }
  FAIL("the layer was accepted");
  return Error(ErrorKind::usage, "");
}

std::string paths(const LayerIndex& index) {
  std::string text;
  for (const Entry entry : index.entries) text += (text.empty() ? "" : " ") + entry.path;
  return text;
}

}  // namespace

TEST_CASE("layers are told by their bytes", "[layer]") {
  const std::string tar = large_tar();
  const auto check = [&](const std::string& blob) {
    MemoryImage image;
    image.add(blob, {.diff_id_of = tar});
    const LayerIndex index = read(image);
    CHECK(paths(index) == "usr usr/data usr/last");
    CHECK(index.tar_size == tar.size());
    CHECK(index.blob_size == blob.size());
  };
  SECTION("plain") { check(tar); }
  SECTION("gzip") { check(gzip(tar)); }
  SECTION("several gzip members, cut anywhere") {
    for (const std::size_t cut : {std::size_t{1}, std::size_t{511}, std::size_t{4093}, std::size_t{262'144}, tar.size() - 1}) check(gzip(tar.substr(0, cut)) + gzip(tar.substr(cut)));
  }
  SECTION("an empty gzip member first, as eStargz ends") { check(gzip("") + gzip(tar) + gzip("")); }
  SECTION("zeros and garbage behind the last member") {
    check(gzip(tar) + std::string(1000, '\0'));
    check(gzip(tar) + "garbage");
  }
  SECTION("zstd") { check(zstd(tar)); }
  SECTION("zstd frames, and a skippable one between") {
    const std::string skippable = std::string("\x50\x2a\x4d\x18\x04\x00\x00\x00????", 12);
    check(zstd(tar.substr(0, 1000)) + skippable + zstd(tar.substr(1000)));
    check(skippable + zstd(tar));
  }
}

TEST_CASE("an empty layer is a layer", "[layer]") {
  MemoryImage nothing, zeros, zipped;
  nothing.add("");
  zeros.add(end_of_tar());
  zipped.add(gzip(end_of_tar()));
  for (const MemoryImage* image : {&nothing, &zeros, &zipped}) CHECK(read(*image).entries.empty());
}

TEST_CASE("what lies behind the tar's end belongs to the digest", "[layer]") {
  const std::string tar = file("a") + end_of_tar() + std::string(300'000, 'z');
  MemoryImage image;
  image.add(tar, {.diff_id_of = tar});
  CHECK(paths(read(image)) == "a");
  MemoryImage changed;
  changed.add(tar + "z", {.digest_of = tar, .size = tar.size() + 1});
  CHECK(failure(changed).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("damage gives no facts", "[layer]") {
  const std::string tar = large_tar();
  const std::string zipped = gzip(tar);
  const auto corrupt = [](const std::string& blob, const Claims& claims = {}) {
    MemoryImage image;
    image.add(blob, claims);
    const Error error = failure(image);
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(error.message().find("layer 1 of 1") != std::string::npos);
    return error.message();
  };
  SECTION("digest") { CHECK(corrupt(zipped, {.digest_of = "other bytes"}).find("digest mismatch") != std::string::npos); }
  SECTION("size, longer") { CHECK(corrupt(zipped, {.size = zipped.size() - 1}).find("size") != std::string::npos); }
  SECTION("size, shorter") { CHECK(corrupt(zipped, {.size = zipped.size() + 1}).find("size") != std::string::npos); }
  SECTION("diff id of a plain tar") { CHECK(corrupt(tar, {.diff_id_of = "other"}).find("diff id") != std::string::npos); }
  SECTION("diff id as the only proof") { CHECK(corrupt(zipped, {.diff_id_of = "other", .no_digest = true}).find("diff id") != std::string::npos); }
  SECTION("no proof at all") { corrupt(zipped, {.no_digest = true}); }
  SECTION("gzip cut short") {
    for (const std::size_t size : {std::size_t{3}, std::size_t{20}, zipped.size() / 2, zipped.size() - 9, zipped.size() - 1}) corrupt(zipped.substr(0, size));
  }
  SECTION("gzip checksum") {
    std::string bad = zipped;
    bad[bad.size() - 6] ^= 1;
    corrupt(bad);
  }
  SECTION("gzip bits") {
    std::string bad = zipped;
    bad[bad.size() / 2] ^= 0x55;
    corrupt(bad);
  }
  SECTION("zstd cut short") { corrupt(zstd(tar).substr(0, 5000)); }
  SECTION("zstd with garbage behind it") { corrupt(zstd(tar) + "garbage"); }
  SECTION("no tar") { corrupt("this is no tar at all, and never was" + std::string(2000, '!')); }
  SECTION("garbage after a good header") { corrupt(file("a") + std::string(1024, '!')); }
  SECTION("a tar cut inside of a file") { corrupt(tar.substr(0, 100'000)); }
  SECTION("a good gzip of a cut tar") { corrupt(gzip(tar.substr(0, 100'000))); }
  SECTION("a header with a wrong checksum") {
    std::string bad = file("a") + file("b") + end_of_tar();
    bad[1024 + 10] ^= 1;
    corrupt(bad);
  }
}

TEST_CASE("limits end in an error, never in a shorter answer", "[layer]") {
  const auto limited = [](const std::string& tar, const LayerLimits& limits) {
    MemoryImage image;
    image.add(tar);
    return failure(image, limits).kind();
  };
  CHECK(limited(file("a") + file("b") + end_of_tar(), {.entries = 1}) == ErrorKind::image_limit);
  CHECK(limited(file("aaaa") + end_of_tar(), {.path_bytes = 3}) == ErrorKind::image_limit);
  CHECK(limited(gzip(large_tar()), {.tar_bytes = 600'000}) != ErrorKind::usage);
  // A pax record of a size that no file has.
  const std::string lies = member("x", 'x', "28 size=9223372036854775807\n") + file("huge") + end_of_tar();
  MemoryImage image;
  image.add(lies);
  CHECK(failure(image).kind() == ErrorKind::image_corrupt);
  // A path longer than any that Linux takes.
  const std::string path(5000, 'p');
  const std::string body = "5011 path=" + path + "\n";
  MemoryImage long_path;
  long_path.add(member("x", 'x', body) + file("short") + end_of_tar());
  CHECK(failure(long_path).kind() == ErrorKind::image_limit);
}

TEST_CASE("a zstd window that would take our memory is refused", "[layer]") {
  // One frame whose header asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2), and an empty last block.
  const std::string frame = std::string("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
  MemoryImage image;
  image.add(frame);
  CHECK(failure(image).kind() == ErrorKind::image_limit);
}

TEST_CASE("other compressions are named", "[layer]") {
  MemoryImage bzip2, xz;
  bzip2.add("BZh91AY&SY");
  xz.add(std::string("\xfd" "7zXZ\0\0", 7));
  CHECK(failure(bzip2).kind() == ErrorKind::image_unsupported);
  CHECK(failure(xz).message().find("xz") != std::string::npos);
}

TEST_CASE("names are cleaned and never leave the root", "[layer]") {
  MemoryImage image;
  image.tar({folder("."), file("./a"), file("/b"), file("x//y/./z"), file("../../etc/passwd"), file("x/../../c"), file("caf\xe9")});
  CHECK(paths(read(image)) == "a b x/y/z etc/passwd c caf\xe9");
  CHECK(read(image).entries.at(0).path.empty());  // the root
}

TEST_CASE("whiteouts are told from what only looks like them", "[layer]") {
  MemoryImage image;
  image.tar({whiteout("a/b"), opaque("a"), hard_link("c/.wh.d", "c/x"), file("a/.wh..wh..opqX"), file(".wh..wh.plnk/1"), file("a/.wh."), file("a/.wh...")});
  const LayerIndex index = read(image);
  REQUIRE(index.entries.size() == 3);
  CHECK((index.entries[0].type == EntryType::whiteout && index.entries[0].path == "a/b"));
  CHECK((index.entries[1].type == EntryType::opaque && index.entries[1].path == "a"));
  CHECK((index.entries[2].type == EntryType::whiteout && index.entries[2].path == "c/d"));
}

TEST_CASE("a policy decides what is kept", "[layer]") {
  const std::string elf = std::string("\x7f" "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xb7\0", 20) + std::string(100, 'e');
  MemoryImage image;
  image.tar({file("a", "aaaa"), file("b", "bbbb"), file("lib.so", elf), file("empty", ""), soft_link("l", "a"), member("dev", '3')});
  const LayerIndex index = read(image, [](const Entry& entry, std::size_t) -> Capture {
    if (entry.path == "a") return {4, false};
    if (entry.path == "b") return {3, false};
    if (entry.path == "lib.so") return {10, true};
    return {100, false};
  });
  CHECK(index.captures.at(0) == "aaaa");
  CHECK_FALSE(index.captures.contains(1));  // larger than wanted
  CHECK(index.captures.at(2) == elf.substr(0, 10));
  CHECK(index.captures.at(3).empty());
  CHECK(index.entries[2].elf_machine == 183);
  CHECK(index.entries[0].elf_machine == 0);
  CHECK(index.entries[4].link == "a");
  CHECK(index.entries[5].type == EntryType::character_device);
}
