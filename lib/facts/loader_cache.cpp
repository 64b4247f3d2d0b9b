#include "facts/loader_cache.hpp"

#include <algorithm>

namespace imgforge {
namespace {

constexpr std::size_t max_entries = 200'000;
constexpr std::size_t max_text = 4'096;
constexpr std::size_t max_text_bytes = 64 << 20;  // of all together: entries may share a text
constexpr std::string_view old_magic = "ld.so-1.7.0";
constexpr std::string_view new_magic = "glibc-ld.so.cache1.1";
constexpr std::size_t old_header = 16, old_entry = 12;
constexpr std::size_t new_header = 48, new_entry = 24;

class Bytes {
 public:
  Bytes(std::string_view bytes, bool big) : bytes_(bytes), big_(big) {}
  std::uint64_t number(std::size_t at, unsigned size) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[at + (big_ ? i : size - 1 - i)]);
      value = value << 8 | byte;
    }
    return value;
  }
  std::uint32_t word(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::optional<std::string_view> text(std::uint64_t at) const {
    if (at >= bytes_.size()) return std::nullopt;
    const std::string_view rest = bytes_.substr(at, max_text + 1);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

 private:
  std::string_view bytes_;
  bool big_;
};

/// A count that fits is of the right byte order: of 24 bytes each, the other one is far too large.
bool fits(std::uint64_t count, std::size_t entry, std::size_t room) { return count <= room / entry; }

void add(std::vector<LoaderCacheEntry>& entries, std::size_t& texts, const Bytes& bytes, std::uint64_t name,
         std::uint64_t path, std::uint32_t flags, std::uint64_t hwcap) {
  const auto key = bytes.text(name);
  const auto value = bytes.text(path);
  if (!key || !value || key->size() + value->size() > max_text_bytes - texts) return;
  texts += key->size() + value->size();
  entries.push_back({std::string(*key), std::string(*value), static_cast<std::int32_t>(flags), hwcap});
}

std::optional<std::vector<LoaderCacheEntry>> parse_new(std::string_view content) {
  if (content.size() < new_header) return std::nullopt;
  const std::size_t room = content.size() - new_header;
  for (const bool big : {false, true}) {
    const Bytes bytes(content, big);
    const std::uint32_t count = bytes.word(20);
    if (!fits(count, new_entry, room)) continue;
    std::vector<LoaderCacheEntry> entries;
    std::size_t texts = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, max_entries); ++i) {
      const std::size_t at = new_header + i * new_entry;
      add(entries, texts, bytes, bytes.word(at + 4), bytes.word(at + 8), bytes.word(at), bytes.number(at + 16, 8));
    }
    return entries;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<LoaderCacheEntry>> parse_loader_cache(std::string_view content) {
  if (content.starts_with(new_magic)) return parse_new(content);
  if (!content.starts_with(old_magic) || content.size() < old_header) return std::nullopt;
  const std::size_t room = content.size() - old_header;
  for (const bool big : {false, true}) {
    const Bytes bytes(content, big);
    const std::uint32_t count = bytes.word(12);
    if (!fits(count, old_entry, room)) continue;
    const std::size_t strings = old_header + std::size_t{count} * old_entry;
    // The new format may stand where the old one's strings begin, aligned to eight.
    const std::size_t behind = (strings + 7) & ~std::size_t{7};
    if (behind < content.size() && content.substr(behind).starts_with(new_magic))
      return parse_new(content.substr(behind));
    std::vector<LoaderCacheEntry> entries;
    std::size_t texts = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, max_entries); ++i) {
      const std::size_t at = old_header + i * old_entry;
      add(entries, texts, bytes, std::uint64_t{bytes.word(at + 4)} + strings,
          std::uint64_t{bytes.word(at + 8)} + strings, bytes.word(at), 0);
    }
    return entries;
  }
  return std::nullopt;
}

}  // namespace imgforge
