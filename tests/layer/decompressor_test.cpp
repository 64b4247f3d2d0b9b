#include "layer/decompressor.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "base/text.hpp"
#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error(ErrorKind::usage, "");
}

class Portions final : public ByteReader {
 public:
  /// Hands out at most `step` bytes at once.
  Portions(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min({size, step_, bytes_.size() - at_});
    std::memcpy(buffer, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

/// A text that compresses to several blocks.
std::string some_bytes(std::size_t size = 300'000) {
  std::string bytes;
  unsigned state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += "line " + std::to_string(state % 5000) + "\n";
  }
  return bytes;
}

std::string decompress(const std::string& blob, std::size_t step = 1 << 20, std::size_t window = 70'000) {
  Portions reader(blob, step);
  Decompressor decompressor(reader);
  std::string result, buffer(window, '\0');
  while (const std::size_t count = decompressor.read(buffer.data(), buffer.size())) result.append(buffer, 0, count);
  char rest = 0;
  CHECK(reader.read(&rest, 1) == 0);  // everything was read: it belongs to the digest
  CHECK(decompressor.read(buffer.data(), buffer.size()) == 0);
  return result;
}

}  // namespace

TEST_CASE("What a blob is, its first bytes tell") {
  CHECK(sniff_compression(gzip("x")) == Compression::gzip);
  CHECK(sniff_compression(zstd("x")) == Compression::zstd);
  CHECK(sniff_compression(skippable_frame("table of contents")) == Compression::zstd);
  CHECK(sniff_compression(tar_of({file("x")})) == Compression::none);
  CHECK(sniff_compression("") == Compression::none);
  for (const std::string start : {"BZh91AY&SY", "\xfd" "7zXZ\0"}) {
    const Error error = error_of([&] { sniff_compression(start); });
    CHECK(error.kind() == ErrorKind::image_unsupported);
    CHECK(error.hint().find("use gzip or zstd") != std::string::npos);
  }
}

TEST_CASE("Streams come out as they went in, however the bytes arrive") {
  const std::string plain = GENERATE(std::string(), std::string("x"), some_bytes(1000), some_bytes());
  const auto step = GENERATE(std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1 << 20});
  CAPTURE(plain.size(), step);
  CHECK((decompress(gzip(plain), step) == plain));
  CHECK((decompress(zstd(plain), step) == plain));
  if (!plain.empty()) CHECK((decompress(plain, step) == plain));
}

TEST_CASE("A reader with a small buffer gets the same bytes") {
  const std::string bytes = some_bytes(50'000);
  for (const std::size_t window : {1, 13, 512}) {
    CHECK((decompress(gzip(bytes), 1 << 20, window) == bytes));
    CHECK((decompress(zstd(bytes), 1 << 20, window) == bytes));
  }
}

TEST_CASE("Small portions on both sides cut members and trailers anywhere") {
  std::string plain, members;
  for (int i = 0; i < 30; ++i) {
    const std::string part = some_bytes(static_cast<std::size_t>(i) * 11);
    plain += part;
    members += gzip(part, i % 10);
  }
  for (std::size_t step = 1; step <= 40; ++step) {
    for (std::size_t window = 1; window <= 20; ++window) {
      CAPTURE(step, window);
      REQUIRE((decompress(members, step, window) == plain));
    }
  }
}

TEST_CASE("gzip may have several members, and something behind the last") {
  const std::string one = some_bytes(100'000), other = some_bytes(70'000);
  CHECK((decompress(gzip(one) + gzip(other)) == one + other));
  CHECK((decompress(gzip(one) + gzip("") + gzip(other), 5) == one + other));
  CHECK((decompress(gzip(one) + std::string(10'000, '\0')) == one));
  CHECK((decompress(gzip(one) + "garbage, as gzip(1) ignores it") == one));
  CHECK((decompress(gzip(one) + "\x1f") == one));
}

TEST_CASE("gzip with every optional header field is read") {
  // RFC 1952: FLG = FEXTRA | FNAME | FCOMMENT, as eStargz uses the extra field.
  const std::string body = gzip("content").substr(10);
  const std::string header("\x1f\x8b\x08\x1c\0\0\0\0\0\x03" "\x04\0SGxx" "name\0" "comment\0", 10 + 6 + 5 + 8);
  CHECK(decompress(header + body) == "content");
}

TEST_CASE("zstd may have several frames, skippable ones among them") {
  const std::string one = some_bytes(100'000), other = some_bytes(70'000);
  CHECK((decompress(zstd(one) + skippable_frame("toc") + zstd(other) + skippable_frame(std::string(64, 'f'))) == one + other));
  CHECK((decompress(skippable_frame("") + zstd(one), 3) == one));
}

TEST_CASE("A stream that was cut is corrupt") {
  const std::string bytes = some_bytes(100'000);
  for (const std::string& blob : {gzip(bytes), zstd(bytes)}) {
    for (const std::size_t kept : {std::size_t{6}, blob.size() / 2, blob.size() - 5, blob.size() - 1}) {
      CAPTURE(kept, blob.size());
      const Error error = error_of([&] { decompress(blob.substr(0, kept)); });
      CHECK(error.kind() == ErrorKind::image_corrupt);
    }
  }
}

TEST_CASE("Behind damage, nothing more comes") {
  // A distance beyond the start, near the end of the input: ISA-L 2.30 leaves its counts one byte behind the input.
  const auto blob = base64_decode("H4sIAAAAAAACAystLtJnoDEwAAIzExMwDQToNBa2mampAhMnHgcCALMXG9IgSe5EFwAA");
  REQUIRE(blob);
  Portions reader(*blob, 1000);
  Decompressor decompressor(reader);
  char buffer[1000];
  CHECK(error_of([&] {
          while (decompressor.read(buffer, sizeof buffer) != 0) {
          }
        }).kind() == ErrorKind::image_corrupt);
  CHECK(decompressor.read(buffer, sizeof buffer) == 0);
}

TEST_CASE("A changed byte is corrupt: gzip has a checksum") {
  const std::string blob = gzip(some_bytes(50'000), 0);  // stored, so that only the checksum tells
  std::string changed = blob;
  changed[blob.size() / 2] ^= 1;
  CHECK(error_of([&] { decompress(changed); }).kind() == ErrorKind::image_corrupt);
  std::string wrong_sum = blob;
  wrong_sum[blob.size() - 6] ^= 1;
  CHECK(error_of([&] { decompress(wrong_sum); }).kind() == ErrorKind::image_corrupt);
  std::string wrong_length = blob;
  wrong_length[blob.size() - 2] ^= 1;
  CHECK(error_of([&] { decompress(wrong_length); }).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("Garbage behind a zstd frame is corrupt: zstd(1) refuses it, too") {
  CHECK(error_of([&] { decompress(zstd("x") + "garbage"); }).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("The window of a zstd stream is memory, and bounded") {
  // A frame header that asks for a window of 2^31 bytes (RFC 8878 section 3.1.1.1.2), then one of 2^27.
  const std::string huge("\x28\xb5\x2f\xfd\x00\xa8" "\x01\0\0", 9);
  const Error error = error_of([&] { decompress(huge); });
  CHECK(error.kind() == ErrorKind::image_limit);
  CHECK(error.message().find("128 MiB") != std::string::npos);
  CHECK(decompress(zstd("small content", 27)) == "small content");
}
