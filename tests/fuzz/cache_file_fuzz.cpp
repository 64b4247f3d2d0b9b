// A file of the layer cache. As bytes, which the head's checksum mostly ends, and, so that the rest is reached, with a
// head that is sealed anew, and as columns.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "layer/cache_columns.hpp"
#include "layer/cache_file.hpp"

namespace {

using imgforge::EntryColumns;

const imgforge::Digest key = *imgforge::Digest::parse("sha256:" + std::string(64, 'a'));

void use(const imgforge::EntryList& entries) {
  std::size_t bytes = 0;
  for (const imgforge::Entry& entry : entries) {
    if (entry.path.starts_with('/') || entry.path.find("//") != std::string::npos) std::abort();
    bytes += entry.path.size() + entry.link.size();
  }
  if (bytes > std::size_t{1} << 40) std::abort();
}

void read_as_file(std::string bytes, bool sealed) {
  if (sealed && bytes.size() >= imgforge::cache_head_size) imgforge::seal_cache_head(bytes.data());
  const int descriptor = ::memfd_create("cache", MFD_CLOEXEC);
  if (::write(descriptor, bytes.data(), bytes.size()) != static_cast<::ssize_t>(bytes.size())) std::abort();
  const auto found = imgforge::read_cache_file(descriptor, key);
  if (!found) return;
  use(found->index.entries);
  for (const std::size_t position : found->index.stored_captures->positions()) {
    if (position >= found->index.entries.size()) std::abort();
    const auto content = found->index.stored_captures->read(position, found->index.stored_captures->size(position));
    if (content && content->size() != found->index.stored_captures->size(position)) std::abort();
  }
}

/// Four counts, and then each column behind its length.
void read_as_columns(std::string_view bytes) {
  const auto number = [&] {
    const auto value = imgforge::take_number(bytes);
    return value.value_or(0);
  };
  EntryColumns::Counts counts{number(), number(), number(), number()};
  if (counts.folders > 1 << 20 || counts.links > 1 << 20) return;  // as the head's reader has it
  EntryColumns columns(counts);
  for (std::uint8_t column = 0; column < EntryColumns::column_count; ++column) {
    const std::size_t size = std::min<std::uint64_t>(number(), bytes.size());
    if (!columns.read(static_cast<EntryColumns::Column>(column), std::string(bytes.substr(0, size)))) return;
    bytes.remove_prefix(size);
  }
  use(columns.finish());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: read_as_file(bytes, false); break;
    case 1: read_as_file(bytes, true); break;
    default: read_as_columns(bytes);
  }
  return 0;
}
