#include "image/platform.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace imgforge {

namespace {

struct Architecture {
  std::string_view name;
  unsigned elf_machine;
  std::string_view elf_name;
};

constexpr std::array architectures = {
    Architecture{"amd64", EM_X86_64, "x86-64"},
    Architecture{"arm64", EM_AARCH64, "AArch64"},
    Architecture{"arm", EM_ARM, "ARM"},
    Architecture{"386", EM_386, "Intel 80386"},
    Architecture{"ppc64le", EM_PPC64, "PowerPC64"},
    Architecture{"s390x", EM_S390, "IBM S/390"},
    Architecture{"riscv64", EM_RISCV, "RISC-V"},
};

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

/// Variants of one architecture are ordered: a v7 machine runs v6 code. No variant is what Go and Docker take it for.
std::optional<std::uint64_t> variant_level(std::string_view architecture, std::string_view variant) {
  if (variant.empty()) {
    if (architecture == "arm") return 7;
    if (architecture == "arm64") return 8;
    return 1;
  }
  return variant.front() == 'v' ? to_number(variant.substr(1)) : std::nullopt;
}

}  // namespace

std::optional<Platform> Platform::parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  if (!std::all_of(parts.begin(), parts.end(), is_word)) return std::nullopt;
  Platform platform;
  platform.os = parts[0];
  platform.architecture = parts[1];
  if (parts.size() == 3) platform.variant = parts[2];
  // What uname and dpkg call them.
  if (platform.architecture == "x86_64" || platform.architecture == "x86-64") platform.architecture = "amd64";
  if (platform.architecture == "aarch64") platform.architecture = "arm64";
  if (platform.architecture == "i386") platform.architecture = "386";
  if (platform.architecture == "armhf") {
    platform.architecture = "arm";
    if (platform.variant.empty()) platform.variant = "v7";
  }
  return platform;
}

std::string Platform::to_string() const {
  return variant.empty() ? fmt::format("{}/{}", os, architecture) : fmt::format("{}/{}/{}", os, architecture, variant);
}

bool Platform::satisfies(const Platform& wanted) const {
  if (os != wanted.os || architecture != wanted.architecture) return false;
  if (wanted.variant.empty() || variant == wanted.variant) return true;
  const auto have = variant_level(architecture, variant);
  const auto want = variant_level(architecture, wanted.variant);
  return have && want && *have <= *want;
}

std::optional<unsigned> elf_machine_of(std::string_view architecture) {
  for (const Architecture& known : architectures) {
    if (known.name == architecture) return known.elf_machine;
  }
  return std::nullopt;
}

std::string elf_machine_name(unsigned machine) {
  for (const Architecture& known : architectures) {
    if (known.elf_machine == machine) return std::string(known.elf_name);
  }
  return fmt::format("machine {}", machine);
}

}  // namespace imgforge
