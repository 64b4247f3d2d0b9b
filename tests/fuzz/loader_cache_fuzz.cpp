#include <cstddef>
#include <cstdint>
#include <string_view>

#include "facts/loader_cache.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  imgforge::parse_loader_cache({reinterpret_cast<const char*>(data), size});
  return 0;
}
