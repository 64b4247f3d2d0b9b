// A layer's table of contents: the input is a blob of which the first byte says how it is announced. No input may do
// worse than an Error, and what is read by the table is within its limits.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "../layer/memory_image.hpp"
#include "layer/toc.hpp"

using namespace imgforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string blob(reinterpret_cast<const char*>(data + 3), size - 3);
  test::MemoryImage image;
  image.add(blob);
  TocPlace place;
  // Without a digest to hold it against, so that every table gets past that door.
  place.kind = (data[0] & 1) != 0 ? TocKind::estargz : TocKind::zstd_chunked;
  place.offset = std::min<std::uint64_t>(data[1], blob.size());
  place.length = std::min<std::uint64_t>(data[2] * 16u, blob.size() - place.offset);
  try {
    const auto toc = read_toc(image, 0, place,
                              {.compressed = 1 << 16, .uncompressed = 1 << 18, .entries = 1000, .path_bytes = 1 << 16});
    if (!toc) return 0;
    std::uint64_t bytes_read = 0;
    for (std::size_t i = 0; i < toc->index.entries.size() && i < 8; ++i) {
      const Entry entry = toc->index.entries[i];
      if (entry.size > 1 << 20) continue;
      for (const auto& [position, content] : read_toc_files(image, 0, *toc, {i}, bytes_read)) {
        if (position != i || content.size() != entry.size) __builtin_trap();
      }
    }
    (void)first_difference(toc->index, toc->index);
  } catch (const Error&) {
  }
  return 0;
}
