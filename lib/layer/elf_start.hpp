// What the first bytes of a file say of it as an ELF. System V gABI, "ELF Header".
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace imgforge {

inline constexpr std::size_t elf_start = 20;  // bytes, as far as e_machine

/// e_machine; EM_NONE (0) of what is no ELF.
inline std::uint16_t elf_machine_in(std::string_view start) noexcept {
  if (start.size() < elf_start || !start.starts_with(ELFMAG)) return EM_NONE;
  const auto low = static_cast<unsigned char>(start[18]);
  const auto high = static_cast<unsigned char>(start[19]);
  return static_cast<std::uint16_t>(start[EI_DATA] == ELFDATA2MSB ? (low << 8 | high) : (high << 8 | low));
}

}  // namespace imgforge
