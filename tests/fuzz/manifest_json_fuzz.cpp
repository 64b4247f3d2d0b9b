// Manifests, indexes and configs: the same bytes as each of the three. Only imgforge::Error may come out.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "image/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    document_kind(bytes, "");
  } catch (const Error&) {
  }
  try {
    parse_manifest(bytes);
  } catch (const Error&) {
  }
  try {
    choose_platform(parse_index(bytes), Platform{});
  } catch (const Error&) {
  }
  try {
    parse_config(bytes).variable("PATH");
  } catch (const Error&) {
  }
  return 0;
}
