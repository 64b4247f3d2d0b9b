// One block of 512 bytes that describes a member of a tar: POSIX ustar and pax, and GNU's forms of them. Only what it
// takes to find a member's contents; libarchive reads everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imgforge {

inline constexpr std::size_t tar_block_bytes = 512;

struct TarHeader {
  std::string name;        // with the ustar prefix; not normalised
  std::string link;        // of links
  std::uint64_t size = 0;  // bytes of the contents, as this block says
  char type = '0';         // '0' file, '1' hard link, '2' symbolic link, '5' folder, 'x' and 'g' pax, 'L' and 'K' GNU
  bool is_file() const noexcept { return type == '0' || type == '7'; }
};

/// What a block says; nothing where its checksum does not hold or its size is no number.
std::optional<TarHeader> parse_tar_header(std::string_view block);

/// Whether the block is all zeros, as at the end of a tar.
bool is_zero_block(std::string_view block) noexcept;

/// The bytes up to the next block's boundary behind `size` bytes of contents.
constexpr std::uint64_t tar_padding(std::uint64_t size) noexcept {
  return (tar_block_bytes - size % tar_block_bytes) % tar_block_bytes;
}

}  // namespace imgforge
