#include "layer/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace imgforge {
namespace {

constexpr std::size_t max_program_headers = 1024;
constexpr std::size_t max_dynamic_entries = 65'536;
constexpr std::size_t max_libraries = 4'096;  // DT_NEEDED, and libraries of version needs
constexpr std::size_t max_versions = 16'384;  // in all
constexpr std::size_t max_string = 4'096;
constexpr std::uint64_t max_version_table = 1 << 20;  // max_versions take half of it
constexpr std::uint64_t most_before_dynamic = 32 << 20;
constexpr std::uint64_t max_strings = most_elf_start;

struct Bits32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
};
struct Bits64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
};

template <class T>
T swapped(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
}

template <class Bits>
class Reader {
 public:
  Reader(ElfSource& source, bool swap) : source_(source), swap_(swap) {}

  void read(Elf& elf) {
    const auto start = source_.bytes(0, sizeof(typename Bits::Header));
    typename Bits::Header header;
    if (!start || !load(*start, 0, header)) return;
    elf.type = fix(header.e_type);
    elf.machine = fix(header.e_machine);
    if (!read_segments(header)) return;
    elf.headers_readable = true;
    const Segment* dynamic = nullptr;
    const Segment* interpreter = nullptr;
    const Segment* first = nullptr;
    for (const Segment& segment : segments_) {
      if (segment.type == PT_INTERP && segment.size <= max_string && interpreter == nullptr) interpreter = &segment;
      if (segment.type == PT_DYNAMIC && dynamic == nullptr) dynamic = &segment;
      if (segment.type == PT_LOAD && (first == nullptr || segment.offset < first->offset)) first = &segment;
    }
    elf.dynamic = dynamic != nullptr;
    // The tables mostly lie in front of the section that names them.
    if (dynamic != nullptr && first != nullptr && first->offset < dynamic->offset && first->size <= source_.size())
      source_.keep(std::min({first->offset + first->size, most_elf_start}));
    if (interpreter != nullptr && (dynamic == nullptr || interpreter->offset < dynamic->offset))
      read_interpreter(*interpreter, elf), interpreter = nullptr;
    if (dynamic == nullptr) return;
    // patchelf puts new tables in front of a dynamic section that it moves, both in a segment of their own.
    for (const Segment& segment : segments_) {
      if (segment.type != PT_LOAD || segment.offset > dynamic->offset) continue;
      const std::uint64_t before = dynamic->offset - segment.offset;
      if (before < segment.size && before <= most_before_dynamic && dynamic->size <= segment.size - before)
        source_.bytes(segment.offset, before + dynamic->size);
    }
    elf.dynamic_readable = read_dynamic(*dynamic, interpreter, elf);
  }

 private:
  struct Segment {
    std::uint32_t type;
    std::uint64_t offset, address, size;
  };

  template <class T>
  T fix(T value) const {
    return swap_ ? swapped(value) : value;
  }

  template <class T>
  static bool load(std::string_view bytes, std::uint64_t offset, T& value) {
    if (offset > bytes.size() || sizeof value > bytes.size() - offset) return false;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return true;
  }

  void read_interpreter(const Segment& segment, Elf& elf) {
    const auto text = source_.bytes(segment.offset, segment.size);
    if (text) elf.interpreter = text->substr(0, text->find('\0'));
  }

  bool read_segments(const typename Bits::Header& header) {
    const std::size_t count = fix(header.e_phnum);
    if (count == 0) return true;
    if (count > max_program_headers || fix(header.e_phentsize) != sizeof(typename Bits::Segment)) return false;
    const auto table = source_.bytes(fix(header.e_phoff), count * sizeof(typename Bits::Segment));
    if (!table) return false;
    for (std::size_t i = 0; i < count; ++i) {
      typename Bits::Segment segment;
      if (!load(*table, i * sizeof segment, segment)) return false;
      segments_.push_back({fix(segment.p_type), fix(segment.p_offset), fix(segment.p_vaddr), fix(segment.p_filesz)});
    }
    return true;
  }

  struct Range {
    std::uint64_t offset = 0, size = 0;
  };
  /// Where an address lies in the file, and how much of its segment from there on.
  std::optional<Range> place_of(std::uint64_t address) const {
    for (const Segment& segment : segments_) {
      if (segment.type != PT_LOAD || address < segment.address || address - segment.address >= segment.size) continue;
      const std::uint64_t behind = address - segment.address;
      const std::uint64_t offset = segment.offset + behind;
      if (offset < segment.offset || offset >= source_.size()) return std::nullopt;
      return Range{offset, std::min(segment.size - behind, source_.size() - offset)};
    }
    return std::nullopt;
  }

  std::optional<std::string> string_at(std::uint64_t index) const {
    if (index >= strings_.size()) return std::nullopt;
    const std::string_view rest = strings_.substr(index, max_string + 1);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(rest.substr(0, end));
  }

  bool read_dynamic(const Segment& dynamic, const Segment* interpreter, Elf& elf) {
    std::vector<std::uint64_t> needed;
    std::optional<std::uint64_t> strings, strings_size, soname, rpath, runpath, needs, definitions;
    std::uint64_t need_count = 0, definition_count = 0;
    {
      const std::size_t count =
          std::min<std::uint64_t>(dynamic.size / sizeof(typename Bits::Dynamic), max_dynamic_entries);
      const auto table = source_.bytes(dynamic.offset, count * sizeof(typename Bits::Dynamic));
      if (!table) return false;
      for (std::size_t i = 0; i < count; ++i) {
        typename Bits::Dynamic entry;
        if (!load(*table, i * sizeof entry, entry)) return false;
        const auto tag = static_cast<std::int64_t>(fix(entry.d_tag));
        const std::uint64_t value = fix(entry.d_un.d_val);
        if (tag == DT_NULL) break;
        switch (tag) {
          case DT_NEEDED:
            if (needed.size() == max_libraries) return false;
            needed.push_back(value);
            break;
          case DT_STRTAB: strings = value; break;
          case DT_STRSZ: strings_size = value; break;
          case DT_SONAME: soname = value; break;
          case DT_RPATH: rpath = value; break;
          case DT_RUNPATH: runpath = value; break;
          case DT_VERNEED: needs = value; break;
          case DT_VERNEEDNUM: need_count = value; break;
          case DT_VERDEF: definitions = value; break;
          case DT_VERDEFNUM: definition_count = value; break;
          default: break;
        }
      }
    }
    if (!strings || !strings_size) return needed.empty() && !needs && !definitions;
    // What lies behind the dynamic section (patchelf moves tables to the end) passes in the order of the file.
    const auto strings_place = place_of(*strings);
    if (!strings_place || *strings_size > strings_place->size || *strings_size > max_strings) return false;
    std::optional<Range> needs_place, definitions_place;
    if (needs && !(needs_place = place_of(*needs))) return false;
    if (definitions && !(definitions_place = place_of(*definitions))) return false;
    std::vector<std::pair<Range, std::string_view*>> wanted = {{{strings_place->offset, *strings_size}, &strings_}};
    std::string_view need_table, definition_table, interpreter_text;
    if (needs) wanted.push_back({{needs_place->offset, std::min(needs_place->size, max_version_table)}, &need_table});
    if (definitions)
      wanted.push_back(
          {{definitions_place->offset, std::min(definitions_place->size, max_version_table)}, &definition_table});
    if (interpreter != nullptr) wanted.push_back({{interpreter->offset, interpreter->size}, &interpreter_text});
    std::sort(wanted.begin(), wanted.end(),
              [](const auto& one, const auto& other) { return one.first.offset < other.first.offset; });
    for (const auto& [range, into] : wanted) {
      const auto bytes = source_.bytes(range.offset, range.size);
      if (!bytes && into != &interpreter_text) return false;
      if (bytes) *into = *bytes;
    }
    elf.interpreter += interpreter_text.substr(0, interpreter_text.find('\0'));

    for (const std::uint64_t index : needed) {
      auto name = string_at(index);
      if (!name) return false;
      elf.needed.push_back(std::move(*name));
    }
    const auto take = [&](const std::optional<std::uint64_t>& index, std::string& into) {
      if (!index) return true;
      auto text = string_at(*index);
      if (!text) return false;
      into = std::move(*text);
      return true;
    };
    return take(soname, elf.soname) && take(rpath, elf.rpath) && take(runpath, elf.runpath) &&
           (!needs || read_needs(need_table, need_count, elf)) &&
           (!definitions || read_definitions(definition_table, definition_count, elf));
  }

  // Verneed and Verdef have the same layout in both classes, so the 64 bit types serve for either.
  bool read_needs(std::string_view table, std::uint64_t count, Elf& elf) {
    std::uint64_t at = 0;
    if (count > max_libraries) return false;
    std::size_t versions = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      Elf64_Verneed need;
      if (!load(table, at, need)) return false;
      ElfNeed found;
      auto library = string_at(fix(need.vn_file));
      if (!library) return false;
      found.library = std::move(*library);
      std::uint64_t version_at = at + fix(need.vn_aux);
      for (unsigned k = 0; k < fix(need.vn_cnt); ++k) {
        Elf64_Vernaux version;
        if (++versions > max_versions || !load(table, version_at, version)) return false;
        auto name = string_at(fix(version.vna_name));
        if (!name) return false;
        found.versions.push_back(std::move(*name));
        if (fix(version.vna_next) == 0) break;
        version_at += fix(version.vna_next);
      }
      elf.version_needs.push_back(std::move(found));
      if (fix(need.vn_next) == 0) break;
      at += fix(need.vn_next);
    }
    return true;
  }

  bool read_definitions(std::string_view table, std::uint64_t count, Elf& elf) {
    std::uint64_t at = 0;
    if (count > max_versions) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      Elf64_Verdef definition;
      Elf64_Verdaux name;
      if (!load(table, at, definition) || !load(table, at + fix(definition.vd_aux), name)) return false;
      // The first name is the version's own, further ones are its parents.
      auto text = string_at(fix(name.vda_name));
      if (!text) return false;
      if ((fix(definition.vd_flags) & VER_FLG_BASE) == 0) elf.version_definitions.push_back(std::move(*text));
      if (fix(definition.vd_next) == 0) break;
      at += fix(definition.vd_next);
    }
    return true;
  }

  ElfSource& source_;
  bool swap_;
  std::vector<Segment> segments_;
  std::string_view strings_;
};

/// A file, or its start, that is at hand.
class Flat final : public ElfSource {
 public:
  explicit Flat(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::string_view> bytes(std::uint64_t offset, std::uint64_t size) override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.substr(offset, size);
  }
  void keep(std::uint64_t) override {}
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::optional<Elf> read_elf(ElfSource& source) {
  const auto start = source.bytes(0, EI_NIDENT);
  if (!start || !start->starts_with(ELFMAG)) return std::nullopt;
  const auto width = static_cast<unsigned char>((*start)[EI_CLASS]);
  const auto order = static_cast<unsigned char>((*start)[EI_DATA]);
  if ((width != ELFCLASS32 && width != ELFCLASS64) || (order != ELFDATA2LSB && order != ELFDATA2MSB))
    return std::nullopt;
  if (source.size() < (width == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr))) return std::nullopt;
  Elf elf;
  elf.bits = width == ELFCLASS64 ? 64 : 32;
  elf.big_endian = order == ELFDATA2MSB;
  const bool swap = elf.big_endian != (std::endian::native == std::endian::big);
  if (elf.bits == 64) {
    Reader<Bits64>(source, swap).read(elf);
  } else {
    Reader<Bits32>(source, swap).read(elf);
  }
  return elf;
}

std::optional<Elf> read_elf(std::string_view bytes) {
  Flat source(bytes);
  return read_elf(source);
}

}  // namespace imgforge
