// The answer of a token server: a token that a header can carry, or an Error.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "image/registry_answer.hpp"
#include "image/registry_token.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto now = std::chrono::steady_clock::now();
  try {
    const auto token = imgforge::parse_token({reinterpret_cast<const char*>(data), size}, "the server", now);
    if (!imgforge::is_header_word(token.value) || token.until <= now) std::abort();
  } catch (const imgforge::Error&) {
  }
  return 0;
}
