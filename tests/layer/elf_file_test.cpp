// What the loader takes from an ELF file, and that broken files are told from good ones.
#include "layer/elf_file.hpp"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "layer/small_elf.hpp"

using namespace imgforge;

TEST_CASE("this very program reads as the loader reads it", "[elf]") {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto elf = read_elf(bytes);
  REQUIRE(elf);
  CHECK(elf->bits == sizeof(void*) * 8);
  CHECK(elf->headers_readable);
  CHECK(elf->dynamic);
  CHECK(elf->dynamic_readable);
  CHECK(elf->interpreter.find("/ld-") != std::string::npos);
  CHECK(std::find(elf->needed.begin(), elf->needed.end(), "libc.so.6") != elf->needed.end());
  const auto libc = std::find_if(elf->version_needs.begin(), elf->version_needs.end(),
                                 [](const ElfNeed& need) { return need.library == "libc.so.6"; });
  REQUIRE(libc != elf->version_needs.end());
  CHECK(std::any_of(libc->versions.begin(), libc->versions.end(),
                    [](const std::string& name) { return name.starts_with("GLIBC_2."); }));
}

TEST_CASE("a static program has neither interpreter nor dynamic part", "[elf]") {
  const auto elf = read_elf(small_elf({.machine = EM_AARCH64}));
  REQUIRE(elf);
  CHECK(elf->machine == EM_AARCH64);
  CHECK(elf->headers_readable);
  CHECK_FALSE(elf->dynamic);
  CHECK(elf->interpreter.empty());
}

TEST_CASE("needs and definitions of symbol versions", "[elf]") {
  const auto user = read_elf(small_elf({.interpreter = "/lib64/ld-linux-x86-64.so.2",
                                        .needed = {"libc.so.6", "libm.so.6"},
                                        .needs = {"GLIBC_2.2.5", "GLIBC_2.34"}}));
  REQUIRE(user);
  CHECK(user->dynamic_readable);
  CHECK(user->interpreter == "/lib64/ld-linux-x86-64.so.2");
  CHECK(user->needed == std::vector<std::string>{"libc.so.6", "libm.so.6"});
  REQUIRE(user->version_needs.size() == 1);
  CHECK(user->version_needs[0].library == "libc.so.6");
  CHECK(user->version_needs[0].versions == std::vector<std::string>{"GLIBC_2.2.5", "GLIBC_2.34"});
  const auto libc = read_elf(small_elf({.soname = "libc.so.6", .defines = {"GLIBC_2.2.5", "GLIBC_2.31"}}));
  REQUIRE(libc);
  CHECK(libc->soname == "libc.so.6");
  CHECK(libc->version_definitions == std::vector<std::string>{"GLIBC_2.2.5", "GLIBC_2.31"});
}

TEST_CASE("what is no ELF is nothing, what is cut is told to be", "[elf]") {
  CHECK_FALSE(read_elf(""));
  CHECK_FALSE(
      read_elf("\x7f"
               "ELF"));
  CHECK_FALSE(read_elf("<html><body>404 Not Found</body></html>" + std::string(100, ' ')));
  const std::string whole = small_elf({.interpreter = "/lib/ld.so", .needed = {"libc.so.6"}, .needs = {"GLIBC_2.34"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto elf = read_elf(std::string_view(whole).substr(0, size));
    if (!elf) continue;
    CHECK_FALSE((elf->headers_readable && elf->dynamic_readable && elf->needed.empty()));
  }
}

TEST_CASE("any damaged byte leaves the reader inside of its bounds", "[elf]") {
  const std::string whole =
      small_elf({.interpreter = "/lib/ld.so", .needed = {"libc.so.6"}, .needs = {"GLIBC_2.34"}, .defines = {"X_1"}});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      const auto elf = read_elf(bytes);
      if (elf) CHECK(elf->needed.size() <= 4096);
    }
  }
}
