// What the dynamic loader would take from an ELF file: System V gABI, GNU symbol versioning (LSB "Symbol Versioning").
//
// Reads 32 and 64 bit, either byte order. Every offset, count and string is checked against the bytes at hand and
// capped (elf_file.cpp says by how much); nothing here throws on bad input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

/// The versions that a file needs of one library (.gnu.version_r).
struct ElfNeed {
  std::string library;                // "libc.so.6"
  std::vector<std::string> versions;  // "GLIBC_2.34"
};

struct Elf {
  unsigned bits = 64;
  bool big_endian = false;
  unsigned type = 0;     // e_type: ET_EXEC, ET_DYN
  unsigned machine = 0;  // e_machine

  bool headers_readable = false;  // the program headers lie inside the bytes
  std::string interpreter;        // PT_INTERP; empty where there is none
  bool dynamic = false;           // there is a PT_DYNAMIC
  bool dynamic_readable =
      false;  // and it, with the tables it names, lies inside the bytes; else what follows is a part

  std::vector<std::string> needed;  // DT_NEEDED
  std::string soname;
  std::string rpath;
  std::string runpath;
  std::vector<ElfNeed> version_needs;
  std::vector<std::string> version_definitions;  // without the base definition (the file's own name)
};

/// Where the bytes of a file come from, one after the other.
class ElfSource {
 public:
  virtual ~ElfSource() = default;
  /// `size` bytes from `offset`, valid until the source ends; nothing where they do not lie in the file or passed
  /// before they were asked for. Ranges behind what was kept are asked for in the order of the file.
  virtual std::optional<std::string_view> bytes(std::uint64_t offset, std::uint64_t size) = 0;
  /// All before `end` may be asked for in any order from now on, as far as the source keeps so much.
  virtual void keep(std::uint64_t end) = 0;
  virtual std::uint64_t size() const = 0;  // of the file
};

/// As much of a file is kept while it passes, to have the tables in front of the dynamic section that names them: the
/// first loaded segment as far as this. Strings take up to 11 MB in libtorch_cuda.so of torch 2.5.1 (behind the dynamic
/// section there, where patchelf put them).
inline constexpr std::uint64_t most_elf_start = 64ull << 20;

/// Nothing where the bytes do not start with an ELF header.
std::optional<Elf> read_elf(ElfSource& source);

/// Nothing where the bytes do not start with an ELF header. `bytes` may be the first part of a file: what lies behind
/// its end is then not readable.
std::optional<Elf> read_elf(std::string_view bytes);

}  // namespace imgforge
