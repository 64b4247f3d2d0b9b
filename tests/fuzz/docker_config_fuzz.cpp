// docker's config.json. What is found must be for the host that was asked about; nothing else may come out than an
// Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "image/credentials.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string_view host : {"docker.io", "localhost:5000"}) {
    try {
      if (const auto lookup = imgforge::find_credentials(bytes, host); lookup.found) lookup.found->basic();
    } catch (const imgforge::Error&) {
    }
  }
  return 0;
}
