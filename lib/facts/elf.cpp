#include "facts/elf.hpp"

#include <elf.h>

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
  Reader(std::string_view bytes, bool swap) : bytes_(bytes), swap_(swap) {}

  void read(Elf& elf) {
    typename Bits::Header header;
    if (!load(0, header)) return;
    elf.type = fix(header.e_type);
    elf.machine = fix(header.e_machine);
    if (!read_segments(header)) return;
    elf.headers_readable = true;
    for (const Segment& segment : segments_) {
      if (segment.type == PT_INTERP && segment.size <= max_string && inside(segment.offset, segment.size)) {
        const std::string_view text = bytes_.substr(segment.offset, segment.size);
        elf.interpreter = text.substr(0, text.find('\0'));
      }
      if (segment.type == PT_DYNAMIC) elf.dynamic = true;
    }
    if (elf.dynamic) elf.dynamic_readable = read_dynamic(elf);
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

  bool inside(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  template <class T>
  bool load(std::uint64_t offset, T& value) const {
    if (!inside(offset, sizeof value)) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  bool read_segments(const typename Bits::Header& header) {
    const std::size_t count = fix(header.e_phnum);
    if (count == 0) return true;
    if (count > max_program_headers || fix(header.e_phentsize) != sizeof(typename Bits::Segment)) return false;
    const std::uint64_t start = fix(header.e_phoff);
    for (std::size_t i = 0; i < count; ++i) {
      typename Bits::Segment segment;
      if (start > bytes_.size() || !load(start + i * sizeof segment, segment)) return false;
      segments_.push_back({fix(segment.p_type), fix(segment.p_offset), fix(segment.p_vaddr), fix(segment.p_filesz)});
    }
    return true;
  }

  /// Where an address lies in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Segment& segment : segments_) {
      if (segment.type != PT_LOAD || address < segment.address || address - segment.address >= segment.size) continue;
      const std::uint64_t offset = segment.offset + (address - segment.address);
      if (offset < segment.offset || offset >= bytes_.size()) return std::nullopt;
      return offset;
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

  bool read_dynamic(Elf& elf) {
    std::vector<std::uint64_t> needed;
    std::optional<std::uint64_t> strings, strings_size, soname, rpath, runpath, needs, definitions;
    std::uint64_t need_count = 0, definition_count = 0;
    for (const Segment& segment : segments_) {
      if (segment.type != PT_DYNAMIC) continue;
      if (!inside(segment.offset, segment.size)) return false;
      const std::size_t count = segment.size / sizeof(typename Bits::Dynamic);
      for (std::size_t i = 0; i < count; ++i) {
        typename Bits::Dynamic entry;
        if (i == max_dynamic_entries || !load(segment.offset + i * sizeof entry, entry)) return false;
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
      break;
    }
    if (!strings || !strings_size) return needed.empty() && !needs && !definitions;
    const auto strings_offset = offset_of(*strings);
    if (!strings_offset || !inside(*strings_offset, *strings_size)) return false;
    strings_ = bytes_.substr(*strings_offset, *strings_size);

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
           (!needs || read_needs(*needs, need_count, elf)) &&
           (!definitions || read_definitions(*definitions, definition_count, elf));
  }

  // Verneed and Verdef have the same layout in both classes, so the 64 bit types serve for either.
  bool read_needs(std::uint64_t address, std::uint64_t count, Elf& elf) {
    auto at = offset_of(address);
    if (!at || count > max_libraries) return false;
    std::size_t versions = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      Elf64_Verneed need;
      if (!load(*at, need)) return false;
      ElfNeed found;
      auto library = string_at(fix(need.vn_file));
      if (!library) return false;
      found.library = std::move(*library);
      std::uint64_t version_at = *at + fix(need.vn_aux);
      for (unsigned k = 0; k < fix(need.vn_cnt); ++k) {
        Elf64_Vernaux version;
        if (++versions > max_versions || !load(version_at, version)) return false;
        auto name = string_at(fix(version.vna_name));
        if (!name) return false;
        found.versions.push_back(std::move(*name));
        if (fix(version.vna_next) == 0) break;
        version_at += fix(version.vna_next);
      }
      elf.version_needs.push_back(std::move(found));
      if (fix(need.vn_next) == 0) break;
      *at += fix(need.vn_next);
    }
    return true;
  }

  bool read_definitions(std::uint64_t address, std::uint64_t count, Elf& elf) {
    auto at = offset_of(address);
    if (!at || count > max_versions) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      Elf64_Verdef definition;
      Elf64_Verdaux name;
      if (!load(*at, definition) || !load(*at + fix(definition.vd_aux), name)) return false;
      // The first name is the version's own, further ones are its parents.
      auto text = string_at(fix(name.vda_name));
      if (!text) return false;
      if ((fix(definition.vd_flags) & VER_FLG_BASE) == 0) elf.version_definitions.push_back(std::move(*text));
      if (fix(definition.vd_next) == 0) break;
      *at += fix(definition.vd_next);
    }
    return true;
  }

  std::string_view bytes_;
  bool swap_;
  std::vector<Segment> segments_;
  std::string_view strings_;
};

}  // namespace

std::optional<Elf> read_elf(std::string_view bytes) {
  if (bytes.size() < EI_NIDENT || bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) return std::nullopt;
  const auto width = static_cast<unsigned char>(bytes[EI_CLASS]);
  const auto order = static_cast<unsigned char>(bytes[EI_DATA]);
  if ((width != ELFCLASS32 && width != ELFCLASS64) || (order != ELFDATA2LSB && order != ELFDATA2MSB))
    return std::nullopt;
  if (bytes.size() < (width == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr))) return std::nullopt;
  Elf elf;
  elf.bits = width == ELFCLASS64 ? 64 : 32;
  elf.big_endian = order == ELFDATA2MSB;
  const bool swap = elf.big_endian != (std::endian::native == std::endian::big);
  if (elf.bits == 64) {
    Reader<Bits64>(bytes, swap).read(elf);
  } else {
    Reader<Bits32>(bytes, swap).read(elf);
  }
  return elf;
}

}  // namespace imgforge
