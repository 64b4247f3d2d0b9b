#include "layer/elf_parts.hpp"

#include <elf.h>

#include <algorithm>

namespace imgforge {
namespace {

constexpr std::uint64_t most_read_again = 64 << 20;
constexpr std::size_t most_texts = 65'536;  // in one list

void put(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}
void put(std::string& bytes, std::string_view text) {
  put(bytes, std::uint64_t{text.size()});
  bytes.append(text);
}
void put(std::string& bytes, const std::vector<std::string>& texts) {
  put(bytes, std::uint64_t{texts.size()});
  for (const std::string& text : texts) put(bytes, std::string_view(text));
}

class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[0]);
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (!good_ || size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view found = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return found;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> found;
    const std::uint64_t count = number();
    if (count > most_texts) good_ = false;
    for (std::uint64_t i = 0; good_ && i < count; ++i) found.emplace_back(text());
    return found;
  }
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

void ElfPartsWriter::add(std::size_t position, const Elf& elf) {
  if (elf.type == ET_REL) return;
  std::string part;
  put(part, std::uint64_t{elf.bits});
  put(part, std::uint64_t{elf.big_endian} | std::uint64_t{elf.headers_readable} << 1 | std::uint64_t{elf.dynamic} << 2 |
                std::uint64_t{elf.dynamic_readable} << 3);
  put(part, std::uint64_t{elf.type});
  put(part, std::uint64_t{elf.machine});
  for (const std::string* text : {&elf.interpreter, &elf.soname, &elf.rpath, &elf.runpath})
    put(part, std::string_view(*text));
  put(part, elf.needed);
  put(part, elf.version_definitions);
  put(part, std::uint64_t{elf.version_needs.size()});
  for (const ElfNeed& need : elf.version_needs) {
    put(part, std::string_view(need.library));
    put(part, need.versions);
  }
  if (part.size() + 20 > most_elf_parts - std::min(bytes_.size(), most_elf_parts)) return;
  put(bytes_, std::uint64_t{position});
  put(bytes_, std::string_view(part));
}

std::map<std::size_t, std::string_view> elf_part_table(std::string_view parts) {
  std::map<std::size_t, std::string_view> table;
  Fields fields(parts);
  while (fields.good() && !fields.at_end()) {
    const std::uint64_t position = fields.number();
    const std::string_view part = fields.text();
    if (fields.good()) table.emplace_hint(table.end(), position, part);
  }
  return table;
}

std::optional<Elf> parse_elf_part(std::string_view part) {
  Fields fields(part);
  Elf elf;
  elf.bits = static_cast<unsigned>(fields.number());
  const std::uint64_t flags = fields.number();
  elf.big_endian = (flags & 1) != 0;
  elf.headers_readable = (flags & 2) != 0;
  elf.dynamic = (flags & 4) != 0;
  elf.dynamic_readable = (flags & 8) != 0;
  elf.type = static_cast<unsigned>(fields.number());
  elf.machine = static_cast<unsigned>(fields.number());
  for (std::string* text : {&elf.interpreter, &elf.soname, &elf.rpath, &elf.runpath}) *text = fields.text();
  elf.needed = fields.texts();
  elf.version_definitions = fields.texts();
  const std::uint64_t count = fields.number();
  for (std::uint64_t i = 0; fields.good() && i < std::min<std::uint64_t>(count, most_texts); ++i) {
    ElfNeed need;
    need.library = fields.text();
    need.versions = fields.texts();
    elf.version_needs.push_back(std::move(need));
  }
  return fields.good() ? std::optional(std::move(elf)) : std::nullopt;
}

const Elf* ElfFiles::find(const Node& node, bool* is_known) {
  const auto key = std::pair(node.layer, node.entry);
  auto found = files_.find(key);
  if (found == files_.end()) found = files_.emplace(key, read(node)).first;
  if (is_known != nullptr) *is_known = found->second.known;
  return found->second.elf ? &*found->second.elf : nullptr;
}

ElfFiles::Found ElfFiles::read(const Node& node) {
  if (node.type != EntryType::file) return {};
  std::unique_ptr<Layer>& layer = layers_[node.layer];
  if (!layer) {
    layer = std::make_unique<Layer>();
    const LayerIndex& index = root_.layer(node.layer);
    layer->passed = index.proof != Proof::toc;
    const std::size_t behind = index.entries.size();
    if (const auto kept = index.captures.find(behind); kept != index.captures.end()) {
      layer->bytes = kept->second;
    } else if (index.stored_captures) {
      if (auto stored = index.stored_captures->read(behind, most_elf_parts)) layer->bytes = std::move(*stored);
    }
    layer->parts = elf_part_table(layer->bytes);
  }
  if (const auto part = layer->parts.find(node.entry); part != layer->parts.end()) {
    auto elf = parse_elf_part(part->second);
    return {elf, elf.has_value()};
  }
  // Where the layer passed, an ELF file without a part is an object file, or there were too many of them.
  if (layer->passed) return {std::nullopt, node.elf_machine == 0};
  if (node.size > most_read_again) return {std::nullopt, false};
  const auto content = root_.read(node, most_read_again);
  if (!content) return {std::nullopt, false};
  return {read_elf(*content), true};
}

}  // namespace imgforge
