#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "layer/elf_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto elf = imgforge::read_elf({reinterpret_cast<const char*>(data), size});
  if (elf && elf->needed.size() > 4096) std::abort();
  return 0;
}
