#include "layer/entry_list.hpp"

#include <limits>
#include <stdexcept>

#include "base/error.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_text = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t longest_name = std::numeric_limits<std::uint16_t>::max();

[[noreturn]] void too_much() {
  throw Error(ErrorKind::image_limit, "a layer's paths take more memory than imgforge is ready to give");
}

template <typename Value>
std::size_t bytes_of(const std::vector<Value>& values) {
  return values.capacity() * sizeof(Value);
}

}  // namespace

std::uint32_t EntryList::keep(std::string_view text) {
  if (text.size() > most_text - names_.size()) too_much();
  const auto begin = static_cast<std::uint32_t>(names_.size());
  names_ += text;
  return begin;
}

std::uint32_t EntryList::folder_number(std::string_view path) {
  // Entries of one folder mostly follow each other.
  if (!records_.empty() && folder_path(records_.back().folder) == path) return records_.back().folder;
  const std::uint64_t hash = name_hash(path);
  const std::uint32_t known =
      folder_numbers_.find(hash, [&](std::uint32_t number) { return folder_path(number) == path; });
  if (known != NumberTable::none) return known;
  if (path.size() > most_text - folder_paths_.size()) too_much();
  const auto number = static_cast<std::uint32_t>(folder_ends_.size());
  folder_paths_ += path;
  folder_ends_.push_back(static_cast<std::uint32_t>(folder_paths_.size()));
  folder_numbers_.insert(hash, number, [&](std::uint32_t other) { return name_hash(folder_path(other)); });
  return number;
}

std::uint32_t EntryList::attributes_number(const Attributes& attributes) {
  if (!records_.empty() && attributes_[records_.back().attributes] == attributes) return records_.back().attributes;
  const auto hash_of = [](const Attributes& one) {
    return name_hash({reinterpret_cast<const char*>(&one), sizeof one});
  };
  const std::uint64_t hash = hash_of(attributes);
  const std::uint32_t known =
      attributes_numbers_.find(hash, [&](std::uint32_t number) { return attributes_[number] == attributes; });
  if (known != NumberTable::none) return known;
  const auto number = static_cast<std::uint32_t>(attributes_.size());
  attributes_.push_back(attributes);
  attributes_numbers_.insert(hash, number, [&](std::uint32_t other) { return hash_of(attributes_[other]); });
  return number;
}

void EntryList::push_back(const Entry& entry) {
  if (records_.size() >= NumberTable::none - 1) too_much();
  const std::string_view path = entry.path;
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.size() > longest_name) too_much();
  Record record;
  record.folder = folder_number(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
  record.attributes = attributes_number({entry.mode, entry.uid, entry.gid, entry.elf_machine});
  record.name = keep(name);
  record.name_size = static_cast<std::uint16_t>(name.size());
  record.type = entry.type;
  record.size = entry.size;
  if (!entry.link.empty()) {
    const std::uint32_t target = keep(entry.link);
    record.has_link = true;
    record.size = links_.size();
    links_.push_back({entry.size, target, static_cast<std::uint32_t>(entry.link.size())});
  }
  records_.push_back(record);
}

std::string_view EntryList::link(std::size_t position) const noexcept {
  const Record& record = records_[position];
  if (!record.has_link) return {};
  const Link& link = links_[record.size];
  return {names_.data() + link.target, link.target_size};
}

Entry EntryList::operator[](std::size_t position) const {
  const Record& record = records_[position];
  const Attributes& own = attributes_[record.attributes];
  Entry entry;
  entry.path = folder_path(record.folder);
  if (!entry.path.empty()) entry.path += '/';
  entry.path += name(position);
  entry.link = link(position);
  entry.size = file_size(position);
  entry.mode = own.mode;
  entry.uid = own.uid;
  entry.gid = own.gid;
  entry.elf_machine = static_cast<std::uint16_t>(own.elf_machine);
  entry.type = record.type;
  return entry;
}

Entry EntryList::at(std::size_t position) const {
  if (position >= size()) throw std::out_of_range("EntryList::at");
  return (*this)[position];
}

std::size_t EntryList::memory() const noexcept {
  return bytes_of(records_) + bytes_of(links_) + bytes_of(attributes_) + bytes_of(folder_ends_) + names_.capacity() +
         folder_paths_.capacity() + folder_numbers_.memory() + attributes_numbers_.memory();
}

}  // namespace imgforge
