#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/python_metadata.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool cut : {false, true}) {
    const auto metadata = imgforge::parse_python_metadata(text, cut);
    if (metadata && (metadata->name.empty() || metadata->version.empty() || metadata->requires_dist.size() > 4096))
      std::abort();
  }
  imgforge::parse_metadata_name(text);
  return 0;
}
