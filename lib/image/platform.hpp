// What an image runs on: "os/architecture[/variant]", in Go's names. image-spec 1.1, image-index.md "platform".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imgforge {

struct Platform {
  std::string os = "linux";
  std::string architecture = "amd64";
  std::string variant;  // "v8", empty where none is said

  static std::optional<Platform> parse(std::string_view text);  // "linux/arm64/v8"; x86_64 and aarch64 are read, too
  std::string to_string() const;
  /// Whether an image for `this` satisfies a request for `wanted` (arm64 is arm64/v8; no variant asked: any).
  bool satisfies(const Platform& wanted) const;
  bool operator==(const Platform&) const = default;
};

/// The e_machine of ELF (elf.h) for an architecture: amd64 → 62, arm64 → 183; nothing where it is not known.
std::optional<unsigned> elf_machine_of(std::string_view architecture);
/// "x86-64", "AArch64", or "machine 243".
std::string elf_machine_name(unsigned machine);

}  // namespace imgforge
