// Content-Range and Retry-After: never an exception, a range is one, and nobody waits longer than a day.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "image/registry_blob.hpp"
#include "image/retry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto range = imgforge::parse_content_range(text); range && range->last < range->first) std::abort();
  const auto pause = imgforge::parse_retry_after(text, 784111777);
  if (pause && (pause->count() < 0 || *pause > std::chrono::hours(24))) std::abort();
  return 0;
}
