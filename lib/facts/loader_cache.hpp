// /etc/ld.so.cache, as ldconfig(8) writes it: glibc elf/cache.h, sysdeps/generic/dl-cache.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

struct LoaderCacheEntry {
  std::string name;  // soname
  std::string path;
  std::int32_t flags = 0;   // kind of ELF in the low byte, architecture in the second
  std::uint64_t hwcap = 0;  // 0 of a library that any processor of its kind runs
};

/// Entries in the order of the file, of the old format ("ld.so-1.7.0"), of the new ("glibc-ld.so.cache1.1"), or of the
/// new one behind the old. Little or big endian, as the flags of the header or the counts tell. Nothing where it is
/// neither, or cut; entries whose texts lie outside of the file are left out. At most 200,000.
std::optional<std::vector<LoaderCacheEntry>> parse_loader_cache(std::string_view content);

}  // namespace imgforge
