// What the loader reads of a layer's ELF files, kept while the layer passes: a library of 500 MB leaves some hundred
// bytes, and the layer need not be read again for them.
//
// All of a layer's stand in one capture, behind those of its entries: at the position that is the number of entries.
// Of each file its position, the size of what follows, and its fields; numbers are LEB128, texts have theirs in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layer/elf_file.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// Images with a CUDA toolkit and a framework take two or three megabytes; beyond this nothing more is kept.
inline constexpr std::size_t most_elf_parts = 64 << 20;

class ElfPartsWriter {
 public:
  /// Positions ascend.
  void add(std::size_t position, const Elf& elf);
  bool empty() const noexcept { return bytes_.empty(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Where each file's part begins and how long it is; as far as it is sound.
std::map<std::size_t, std::string_view> elf_part_table(std::string_view parts);
std::optional<Elf> parse_elf_part(std::string_view part);

/// ELF files of a root, each read once.
class ElfFiles {
 public:
  explicit ElfFiles(RootView& root) : root_(root) {}
  /// Nothing where the file is no ELF, or (`is_known` false) where nothing of it was kept and it is too large to be
  /// read again.
  const Elf* find(const Node& node, bool* is_known = nullptr);

 private:
  struct Layer {
    std::string bytes;
    std::map<std::size_t, std::string_view> parts;
    bool passed = false;  // its bytes streamed past: what has no part is no ELF
  };
  struct Found {
    std::optional<Elf> elf;
    bool known = true;
  };
  Found read(const Node& node);

  RootView& root_;
  std::map<std::size_t, std::unique_ptr<Layer>> layers_;
  std::map<std::pair<std::size_t, std::size_t>, Found> files_;
};

}  // namespace imgforge
