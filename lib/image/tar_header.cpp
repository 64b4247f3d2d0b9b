#include "image/tar_header.hpp"

#include <algorithm>

namespace imgforge {

namespace {

/// The text of a field: up to its first NUL.
std::string_view text(std::string_view block, std::size_t offset, std::size_t size) {
  const std::string_view field = block.substr(offset, size);
  return field.substr(0, field.find('\0'));
}

/// Octal digits with blanks or NULs around them, or GNU's base 256. Nothing for what is neither, or negative.
std::optional<std::uint64_t> number(std::string_view field) {
  const auto first = static_cast<unsigned char>(field.front());
  if (first & 0x80U) {
    // The sign is the next bit; four of the twelve bytes have to be empty for 64 bits.
    if (first != 0x80U) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : field.substr(1)) {
      if (value >> 55U) return std::nullopt;
      value = value << 8U | static_cast<unsigned char>(c);
    }
    return value;
  }
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  std::uint64_t value = 0;
  while (!field.empty() && field.front() >= '0' && field.front() <= '7') {
    value = value << 3U | static_cast<unsigned>(field.front() - '0');
    field.remove_prefix(1);
  }
  if (!field.empty() && field.front() != ' ' && field.front() != '\0') return std::nullopt;
  return value;
}

}  // namespace

std::optional<TarHeader> parse_tar_header(std::string_view block) {
  constexpr std::size_t checksum_at = 148;
  constexpr std::size_t checksum_bytes = 8;
  if (block.size() != tar_block_bytes) return std::nullopt;
  const std::optional<std::uint64_t> checksum = number(block.substr(checksum_at, checksum_bytes));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= checksum_at && i < checksum_at + checksum_bytes;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  const std::optional<std::uint64_t> size = number(block.substr(124, 12));
  if (!checksum || *checksum != sum || !size) return std::nullopt;
  TarHeader header{std::string(text(block, 0, 100)), std::string(text(block, 157, 100)), *size, block[156]};
  if (header.type == '\0') header.type = header.name.ends_with('/') ? '5' : '0';  // before POSIX
  // GNU's magic is "ustar  ": there, other things stand in place of the prefix.
  if (block.substr(257, 6) == std::string_view("ustar\0", 6)) {
    const std::string_view prefix = text(block, 345, 155);
    if (!prefix.empty()) header.name = std::string(prefix) + "/" + header.name;
  }
  return header;
}

bool is_zero_block(std::string_view block) noexcept {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

}  // namespace imgforge
