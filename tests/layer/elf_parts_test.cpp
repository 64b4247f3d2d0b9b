#include "layer/elf_parts.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

namespace {

Elf library() {
  Elf elf;
  elf.type = 3;
  elf.machine = 62;
  elf.headers_readable = elf.dynamic = elf.dynamic_readable = true;
  elf.soname = "liba.so.1";
  elf.runpath = "$ORIGIN";
  elf.needed = {"libb.so", "libc.so.6"};
  elf.version_needs = {{"libc.so.6", {"GLIBC_2.34", "GLIBC_2.2.5"}}};
  elf.version_definitions = {"A_1.0"};
  return elf;
}

}  // namespace

TEST_CASE("What is kept of ELF files comes back as it was") {
  ElfPartsWriter writer;
  writer.add(3, library());
  Elf object;
  object.type = 1;
  writer.add(4, object);  // no loader reads it
  writer.add(700, library());
  const std::string bytes = writer.take();
  const auto table = elf_part_table(bytes);
  REQUIRE(table.size() == 2);
  const auto elf = parse_elf_part(table.at(700));
  REQUIRE(elf);
  CHECK(elf->soname == "liba.so.1");
  CHECK(elf->runpath == "$ORIGIN");
  CHECK(elf->rpath.empty());
  CHECK(elf->needed == library().needed);
  CHECK(elf->version_definitions == library().version_definitions);
  REQUIRE(elf->version_needs.size() == 1);
  CHECK(elf->version_needs[0].versions == library().version_needs[0].versions);
  CHECK(elf->dynamic_readable);
  CHECK(elf->machine == 62);
}

TEST_CASE("Damaged parts give nothing") {
  ElfPartsWriter writer;
  writer.add(3, library());
  const std::string bytes = writer.take();
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(elf_part_table(bytes.substr(0, size)).empty());
  const std::string part(elf_part_table(bytes).at(3));
  for (std::size_t size = 0; size < part.size(); ++size) CHECK_FALSE(parse_elf_part(part.substr(0, size)));
}
