#include "image/tar_members.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

std::optional<std::string> normalise_member_name(std::string_view name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  return join(parts, "/");
}

TarMember describe_tar_member(archive_entry* entry, std::uint64_t header_position) {
  TarMember member;
  member.header_position = header_position;
  if (const char* target = archive_entry_hardlink(entry)) {
    member.kind = TarMember::Kind::hard_link;
    member.link = target;
  } else if (const char* link = archive_entry_symlink(entry)) {
    member.kind = TarMember::Kind::symbolic_link;
    member.link = link;
  } else if (archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) >= 0 &&
             archive_entry_sparse_count(entry) == 0) {
    member.kind = TarMember::Kind::file;
    member.size = static_cast<std::uint64_t>(archive_entry_size(entry));
  }
  return member;
}

std::string TarMembers::add(archive_entry* entry, std::uint64_t header_position) {
  if (++count_ > limits_.members)
    throw Error(ErrorKind::image_limit, fmt::format("{} has more than {} members", archive_, limits_.members));
  const char* name = archive_entry_pathname(entry);
  if (!name || archive_entry_filetype(entry) == AE_IFDIR) return "";
  std::optional<std::string> path = normalise_member_name(name);
  if (!path || path->empty()) return "";
  TarMember member = describe_tar_member(entry, header_position);
  name_bytes_ += path->size() + member.link.size();
  if (name_bytes_ > limits_.name_bytes) {
    throw Error(ErrorKind::image_limit,
                fmt::format("the names in {} take more than {}", archive_, human_size(limits_.name_bytes)));
  }
  members_.insert_or_assign(*path, std::move(member));
  return std::move(*path);
}

std::optional<TarMembers::Found> TarMembers::resolve(const std::string& name) const {
  std::optional<std::string> path = normalise_member_name(name);
  std::set<std::string> seen;
  while (path) {
    const auto found = members_.find(*path);
    if (found == members_.end()) {
      if (seen.empty()) return std::nullopt;
      throw Error(ErrorKind::image_corrupt, fmt::format("{} is missing in the archive; {} is a link to it",
                                                        escape_for_display(*path), escape_for_display(name)));
    }
    const TarMember& member = found->second;
    if (member.kind == TarMember::Kind::file) return Found{found->first, member};
    if (member.kind == TarMember::Kind::other) {
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("{} is no regular file in the archive", escape_for_display(*path)));
    }
    if (!seen.insert(*path).second || seen.size() > limits_.links) {
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("the links at {} in the archive run in a circle, or through more than {} links",
                              escape_for_display(name), limits_.links));
    }
    const std::size_t slash = path->rfind('/');
    const bool from_root =
        member.kind == TarMember::Kind::hard_link || member.link.starts_with('/') || slash == std::string::npos;
    path = normalise_member_name(from_root ? member.link : path->substr(0, slash + 1) + member.link);
  }
  throw Error(ErrorKind::image_corrupt, fmt::format("the link {} leads out of the archive", escape_for_display(name)));
}

}  // namespace imgforge
