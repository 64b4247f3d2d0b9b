// ld.so.conf and ld.so.cache: folders are absolute, and a bounded number of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/library_folders.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const imgforge::LoaderLine& line : imgforge::parse_loader_conf(text)) {
    if (line.text.empty() || (!line.include && !line.text.starts_with('/'))) std::abort();
  }
  const auto folders = imgforge::parse_loader_cache_folders(text);
  if (folders.size() > 1'000) std::abort();
  for (const auto& folder : folders) {
    if (!folder.starts_with('/')) std::abort();
  }
  return 0;
}
