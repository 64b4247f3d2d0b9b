#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "layer/toc.hpp"

namespace imgforge {

namespace {

/// A path, short: two that share it would be a collision of SHA-256's first sixteen bytes.
struct Row {
  std::array<char, 32> path;  // hex digits
  std::uint32_t position;
};

/// Of each path the entry that holds, ordered by `path`. The root's own entry is not compared: tables leave it out.
std::vector<Row> rows_of(const EntryList& entries) {
  constexpr std::string_view table = "stargz.index.json";  // a member of an eStargz's tar, and no row of its own table
  std::vector<Row> rows;
  rows.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry entry = entries[i];
    if (entry.path == table || (entry.path.empty() && entry.type != EntryType::opaque)) continue;
    // Whiteouts stand beside what they make room for.
    const char kind = entry.type == EntryType::whiteout ? 'w' : entry.type == EntryType::opaque ? 'o' : 'e';
    const std::string hex = Digest::of(kind + entry.path).hex();
    Row row{{}, static_cast<std::uint32_t>(i)};
    std::memcpy(row.path.data(), hex.data(), row.path.size());
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& one, const Row& other) { return one.path < other.path; });
  // Of several entries of one path the last one holds.
  std::vector<Row> last;
  for (const Row& row : rows) {
    if (!last.empty() && last.back().path == row.path)
      last.back() = row;
    else
      last.push_back(row);
  }
  return last;
}

std::string difference(const Entry& toc, const Entry& tar) {
  const std::string path = "/" + escape_for_display(toc.path);
  if (toc.type != tar.type)
    return fmt::format("{} is of one type in the table of contents, and of another in the tar", path);
  if (toc.type == EntryType::whiteout || toc.type == EntryType::opaque) return "";
  const auto of = [&](std::string_view what, const auto& one, const auto& other) {
    return fmt::format("{}: {} {} in the table of contents, {} in the tar", path, what, one, other);
  };
  if (toc.size != tar.size) return of("size", toc.size, tar.size);
  if (toc.link != tar.link) return of("link to", escape_for_display(toc.link), escape_for_display(tar.link));
  if (toc.type == EntryType::hardlink) return "";
  if (toc.mode != tar.mode && toc.type != EntryType::symlink)
    return of("mode", fmt::format("{:04o}", toc.mode), fmt::format("{:04o}", tar.mode));
  if (toc.uid != tar.uid) return of("uid", toc.uid, tar.uid);
  if (toc.gid != tar.gid) return of("gid", toc.gid, tar.gid);
  return "";
}

}  // namespace

std::optional<std::string> first_difference(const LayerIndex& toc, const LayerIndex& tar) {
  const std::vector<Row> said = rows_of(toc.entries);
  const std::vector<Row> found = rows_of(tar.entries);
  const auto name = [](const EntryList& entries, const Row& row) {
    return "/" + escape_for_display(entries[row.position].path);
  };
  std::size_t i = 0, j = 0;
  while (i < said.size() || j < found.size()) {
    if (j == found.size() || (i < said.size() && said[i].path < found[j].path))
      return fmt::format("{} is in the table of contents and not in the tar", name(toc.entries, said[i]));
    if (i == said.size() || found[j].path < said[i].path)
      return fmt::format("{} is in the tar and not in the table of contents", name(tar.entries, found[j]));
    const std::string text = difference(toc.entries[said[i].position], tar.entries[found[j].position]);
    if (!text.empty()) return text;
    ++i;
    ++j;
  }
  return std::nullopt;
}

}  // namespace imgforge
