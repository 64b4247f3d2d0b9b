#include "image/platform.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

TEST_CASE("platforms are read and written in Go's names", "[platform]") {
  CHECK(Platform::parse("linux/arm64/v8")->to_string() == "linux/arm64/v8");
  CHECK(Platform::parse("linux/amd64") == Platform{});
  CHECK(Platform::parse("linux/x86_64")->architecture == "amd64");
  CHECK(Platform::parse("linux/aarch64")->architecture == "arm64");
  CHECK(Platform::parse("linux/armhf")->to_string() == "linux/arm/v7");
  for (const char* text :
       {"", "amd64", "linux/", "/amd64", "linux/amd64/v1/x", "Linux/amd64", "linux/am d64", "linux/\x1b[0m"}) {
    INFO(text);
    CHECK_FALSE(Platform::parse(text));
  }
}

TEST_CASE("a machine runs code of its own and lower variants", "[platform]") {
  const auto satisfies = [](const char* have, const char* wanted) {
    return Platform::parse(have)->satisfies(*Platform::parse(wanted));
  };
  CHECK(satisfies("linux/arm64", "linux/arm64/v8"));
  CHECK(satisfies("linux/arm64/v8", "linux/arm64"));
  CHECK(satisfies("linux/arm/v6", "linux/arm/v7"));
  CHECK_FALSE(satisfies("linux/arm/v7", "linux/arm/v6"));
  CHECK(satisfies("linux/amd64/v3", "linux/amd64"));
  CHECK_FALSE(satisfies("linux/amd64/v3", "linux/amd64/v2"));
  CHECK_FALSE(satisfies("linux/arm64", "linux/amd64"));
  CHECK_FALSE(satisfies("windows/amd64", "linux/amd64"));
}

TEST_CASE("machines of ELF have the names that people know", "[platform]") {
  CHECK(elf_machine_of("amd64") == 62u);
  CHECK(elf_machine_of("arm64") == 183u);
  CHECK_FALSE(elf_machine_of("unknown"));
  CHECK(elf_machine_name(62) == "x86-64");
  CHECK(elf_machine_name(183) == "AArch64");
  CHECK(elf_machine_name(9999) == "machine 9999");
}
