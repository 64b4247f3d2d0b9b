#include "facts/loader_cache.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

namespace {

std::string word(std::uint32_t value, bool big = false) {
  std::string bytes(4, '\0');
  for (unsigned i = 0; i < 4; ++i) bytes[big ? 3 - i : i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

const std::string texts = std::string("libz.so.1") + '\0' + "/lib/libz.so.1" + '\0';

std::string new_cache(std::uint32_t name, std::uint32_t path, bool big = false) {
  return "glibc-ld.so.cache1.1" + word(1, big) + word(static_cast<std::uint32_t>(texts.size()), big) +
         std::string(20, '\0') + word(0x303, big) + word(name, big) + word(path, big) + std::string(12, '\0') + texts;
}

std::string old_start() { return std::string("ld.so-1.7.0") + '\0' + word(1) + word(0x303) + word(0) + word(10); }

}  // namespace

TEST_CASE("Both formats of ld.so.cache are read, in either byte order") {
  const std::string padded = old_start() + std::string((8 - old_start().size() % 8) % 8, '\0');
  for (const std::string& content :
       {new_cache(72, 82), new_cache(72, 82, true), old_start() + texts, padded + new_cache(72, 82)}) {
    const auto entries = parse_loader_cache(content);
    REQUIRE(entries);
    REQUIRE(entries->size() == 1);
    CHECK((*entries)[0].name == "libz.so.1");
    CHECK((*entries)[0].path == "/lib/libz.so.1");
    CHECK((*entries)[0].flags == 0x303);
  }
}

TEST_CASE("What is cut or points elsewhere is left out") {
  CHECK(parse_loader_cache(new_cache(72, 5000))->empty());
  CHECK_FALSE(parse_loader_cache(new_cache(72, 82).substr(0, 60)));
  CHECK_FALSE(parse_loader_cache("no cache"));
  CHECK_FALSE(parse_loader_cache(""));
}
