// The WWW-Authenticate header: never an exception, and no challenge without a scheme.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "image/challenge.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& challenge : imgforge::parse_challenges({reinterpret_cast<const char*>(data), size})) {
    if (challenge.scheme.empty()) std::abort();
  }
  return 0;
}
