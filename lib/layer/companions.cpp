#include "layer/companions.hpp"

#include <string_view>

namespace imgforge {

namespace {

constexpr std::uint64_t small = 256 << 10;        // taken whole
constexpr std::uint64_t start = 64 << 10;         // of what is larger
constexpr std::uint64_t program_start = 4 << 10;  // tells what kind of program it is
constexpr std::size_t most = 20'000;

std::string_view extension_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace

std::map<std::size_t, std::uint64_t> companions(const EntryList& entries, const Entry& entry, std::uint64_t& budget,
                                                const std::function<bool(std::size_t position)>& wanted) {
  const std::string_view name = std::string_view(entry.path).substr(entry.path.rfind('/') + 1);
  const std::string_view folder = folder_of(entry.path);
  const std::string_view extension = extension_of(name);
  const bool program = (entry.mode & 0111) != 0;
  std::map<std::size_t, std::uint64_t> taken;
  enum class Kind { same_name, same_folder, same_extension, same_use };
  for (const Kind kind : {Kind::same_name, Kind::same_folder, Kind::same_extension, Kind::same_use}) {
    if ((kind == Kind::same_extension && extension.empty()) || (kind == Kind::same_use && !program)) continue;
    for (std::size_t position = 0; position < entries.size() && taken.size() < most; ++position) {
      if (entries.type(position) != EntryType::file) continue;
      if (kind == Kind::same_name && entries.name(position) != name) continue;
      if (kind == Kind::same_folder && entries.folder_path(entries.folder(position)) != folder) continue;
      if (kind == Kind::same_extension && extension_of(entries.name(position)) != extension) continue;
      if (taken.contains(position) || !wanted(position)) continue;
      const Entry described = entries[position];
      if (kind == Kind::same_use && (described.mode & 0111) == 0) continue;
      std::uint64_t bytes = described.size <= small ? described.size : start;
      if (kind == Kind::same_use && bytes > program_start) bytes = program_start;
      if (bytes == 0 || bytes > budget) continue;
      budget -= bytes;
      taken[position] = bytes;
    }
  }
  return taken;
}

}  // namespace imgforge
