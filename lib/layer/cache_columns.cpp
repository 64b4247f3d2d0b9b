#include "layer/cache_columns.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::size_t portion = 64 << 10;
constexpr unsigned link_flag = 16;
constexpr std::uint64_t longest_number = 10;  // bytes of 64 bits, seven a byte
constexpr std::uint64_t most_text = std::numeric_limits<std::uint32_t>::max();

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::size_t shared(std::string_view one, std::string_view other) {
  const std::size_t size = std::min(one.size(), other.size());
  return static_cast<std::size_t>(
      std::mismatch(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(size), other.begin()).first - one.begin());
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

/// As clean_path() leaves it.
bool is_clean_folder(std::string_view path) {
  if (path.empty()) return true;
  for (;;) {
    const std::size_t slash = path.find('/');
    if (!is_plain_name(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Collects, and hands on when there is enough.
class Portions {
 public:
  explicit Portions(const std::function<void(std::string_view)>& sink) : sink_(sink) { bytes_.reserve(portion + 64); }
  std::string& bytes() {
    if (bytes_.size() >= portion) flush();
    return bytes_;
  }
  void text(std::string_view text) { bytes() += text; }
  void flush() {
    if (!bytes_.empty()) sink_(bytes_);
    bytes_.clear();
  }

 private:
  const std::function<void(std::string_view)>& sink_;
  std::string bytes_;
};

}  // namespace

void put_number(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

std::optional<std::uint64_t> take_long_number(std::string_view& bytes) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7fu;
    if (shift == 63 && bits > 1) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

EntryColumns::Counts EntryColumns::counts(const EntryList& list) {
  return {list.size(), list.folder_count(), list.attributes_.size(), list.links_.size()};
}

std::uint64_t EntryColumns::most_bytes(Column column, const Counts& counts) {
  switch (column) {
    case folders: return counts.folders * 2 * longest_number;
    case folder_text:
    case name_text:
    case link_text: return most_text;
    case attributes: return counts.attributes * 4 * longest_number;
    case types: return counts.entries;
    case link_sizes: return counts.links * longest_number;
    default: return counts.entries * longest_number;
  }
}

void EntryColumns::write(const EntryList& list, Column column, const std::function<void(std::string_view)>& sink) {
  Portions out(sink);
  const auto each = [&](const auto& put) {
    for (const EntryList::Record& record : list.records_) put(out.bytes(), record);
  };
  const auto each_folder = [&](const auto& put) {
    std::string_view before;
    for (std::uint32_t number = 0; number < list.folder_count(); ++number) {
      const std::string_view path = list.folder_path(number);
      put(shared(before, path), path);
      before = path;
    }
  };
  std::uint32_t before = 0;
  switch (column) {
    case folders:
      each_folder([&](std::size_t same, std::string_view path) {
        put_number(out.bytes(), same);
        put_number(out.bytes(), path.size() - same);
      });
      break;
    case folder_text: each_folder([&](std::size_t same, std::string_view path) { out.text(path.substr(same)); }); break;
    case attributes:
      for (const EntryList::Attributes& one : list.attributes_) {
        for (const std::uint32_t value : {one.mode, one.uid, one.gid, one.elf_machine}) put_number(out.bytes(), value);
      }
      break;
    case types:
      each([](std::string& bytes, const auto& record) {
        bytes += static_cast<char>(static_cast<unsigned>(record.type) | (record.has_link ? link_flag : 0));
      });
      break;
    case entry_folder:
      each([&](std::string& bytes, const auto& record) {
        put_number(bytes, zigzag(static_cast<std::int64_t>(record.folder) - static_cast<std::int64_t>(before)));
        before = record.folder;
      });
      break;
    case entry_attributes:
      each([](std::string& bytes, const auto& record) { put_number(bytes, record.attributes); });
      break;
    case sizes:
      each([&](std::string& bytes, const auto& record) {
        put_number(bytes, record.has_link ? list.links_[record.size].size : record.size);
      });
      break;
    case name_sizes: each([](std::string& bytes, const auto& record) { put_number(bytes, record.name_size); }); break;
    case name_text:
      for (std::size_t i = 0; i < list.size(); ++i) out.text(list.name(i));
      break;
    case link_sizes:
      for (const EntryList::Link& link : list.links_) put_number(out.bytes(), link.target_size);
      break;
    case link_text:
      for (const EntryList::Link& link : list.links_)
        out.text(std::string_view(list.names_).substr(link.target, link.target_size));
      break;
    case column_count: break;
  }
  out.flush();
}

bool EntryColumns::read(Column column, std::string bytes) {
  switch (column) {
    case folders:
    case name_sizes:
    case link_sizes: lengths_ = std::move(bytes); return true;
    case folder_text: return read_folders(bytes);
    case attributes: return read_attributes(bytes);
    case types: return read_types(bytes);
    case entry_folder: return read_entry_folders(bytes);
    case entry_attributes: return read_entry_attributes(bytes);
    case sizes: return read_sizes(bytes);
    case name_text: return read_names(std::move(bytes));
    case link_text: return read_links(bytes);
    case column_count: break;
  }
  return false;
}

bool EntryColumns::read_folders(std::string_view text) {
  std::string_view lengths = lengths_;
  if (counts_.folders > lengths.size()) return false;
  list_.folder_ends_.reserve(counts_.folders);
  std::string path;
  for (std::uint64_t number = 0; number < counts_.folders; ++number) {
    const auto same = take_number(lengths);
    const auto more = take_number(lengths);
    if (!same || !more || *same > path.size() || *more > text.size()) return false;
    path.resize(*same);
    path += text.substr(0, *more);
    text.remove_prefix(*more);
    if (path.size() > longest_path || !is_clean_folder(path) || path.size() > most_text - list_.folder_paths_.size())
      return false;
    list_.folder_paths_ += path;
    list_.folder_ends_.push_back(static_cast<std::uint32_t>(list_.folder_paths_.size()));
  }
  return lengths.empty() && text.empty();
}

bool EntryColumns::read_attributes(std::string_view bytes) {
  if (counts_.attributes > bytes.size()) return false;
  for (std::uint64_t number = 0; number < counts_.attributes; ++number) {
    std::uint32_t values[4];
    for (std::uint32_t& value : values) {
      const auto taken = take_number(bytes);
      if (!taken || *taken > std::numeric_limits<std::uint32_t>::max()) return false;
      value = static_cast<std::uint32_t>(*taken);
    }
    if (values[0] > 07777 || values[3] > 0xFFFF) return false;
    list_.attributes_.push_back({values[0], values[1], values[2], values[3]});
  }
  return bytes.empty();
}

bool EntryColumns::read_types(std::string_view bytes) {
  if (bytes.size() != counts_.entries || counts_.entries > most_entries) return false;
  list_.records_.resize(bytes.size());
  std::uint64_t links = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const unsigned type = byte & ~link_flag;
    if (type > static_cast<unsigned>(EntryType::opaque)) return false;
    list_.records_[i].type = static_cast<EntryType>(type);
    list_.records_[i].has_link = (byte & link_flag) != 0;
    links += list_.records_[i].has_link ? 1 : 0;
  }
  return links == counts_.links;
}

bool EntryColumns::read_entry_folders(std::string_view bytes) {
  std::int64_t folder = 0;
  for (EntryList::Record& record : list_.records_) {
    const auto taken = take_number(bytes);
    if (!taken || *taken > 2 * most_text) return false;
    folder += unzigzag(*taken);
    if (folder < 0 || static_cast<std::uint64_t>(folder) >= counts_.folders) return false;
    record.folder = static_cast<std::uint32_t>(folder);
  }
  return bytes.empty();
}

bool EntryColumns::read_entry_attributes(std::string_view bytes) {
  for (EntryList::Record& record : list_.records_) {
    const auto taken = take_number(bytes);
    if (!taken || *taken >= counts_.attributes) return false;
    record.attributes = static_cast<std::uint32_t>(*taken);
  }
  return bytes.empty();
}

bool EntryColumns::read_sizes(std::string_view bytes) {
  list_.links_.reserve(counts_.links);
  for (EntryList::Record& record : list_.records_) {
    const auto taken = take_number(bytes);
    if (!taken) return false;
    record.size = *taken;
    if (!record.has_link) continue;
    record.size = list_.links_.size();
    list_.links_.push_back({*taken, 0, 0});
  }
  return bytes.empty();
}

bool EntryColumns::read_names(std::string text) {
  std::string_view lengths = lengths_;
  std::uint64_t begin = 0;
  for (EntryList::Record& record : list_.records_) {
    const auto size = take_number(lengths);
    if (!size || *size > longest_path || *size > text.size() - begin) return false;
    const std::string_view name = std::string_view(text).substr(begin, *size);
    // Only the root has no name.
    if (name.empty() ? !list_.folder_path(record.folder).empty() : !is_plain_name(name)) return false;
    record.name = static_cast<std::uint32_t>(begin);
    record.name_size = static_cast<std::uint16_t>(*size);
    begin += *size;
  }
  list_.names_ = std::move(text);
  return lengths.empty() && begin == list_.names_.size();
}

bool EntryColumns::read_links(std::string_view text) {
  std::string_view lengths = lengths_;
  std::uint64_t begin = list_.names_.size();
  const std::uint64_t end = begin + text.size();
  if (end > most_text) return false;
  list_.names_ += text;
  for (EntryList::Link& link : list_.links_) {
    const auto size = take_number(lengths);
    if (!size || *size == 0 || *size > longest_path || *size > end - begin) return false;
    link.target = static_cast<std::uint32_t>(begin);
    link.target_size = static_cast<std::uint32_t>(*size);
    begin += *size;
  }
  return lengths.empty() && begin == end;
}

EntryList EntryColumns::finish() { return std::move(list_); }

}  // namespace imgforge
