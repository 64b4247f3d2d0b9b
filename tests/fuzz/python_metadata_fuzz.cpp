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
  if (imgforge::parse_wheel_tags(text).size() > 256 || imgforge::parse_requires_txt(text).size() > 4096) std::abort();
  imgforge::parse_direct_url(text);
  std::size_t bytes = 0;
  imgforge::for_each_recorded(text, [&](std::string_view path) { bytes += path.size(); });
  if (bytes > size) std::abort();
  return 0;
}
