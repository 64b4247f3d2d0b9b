// What a tar holds, by name, with its links followed inside of it. For image archives: layers and documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct archive_entry;

namespace imgforge {

/// What a member's name means, lexically: "./a//b/../c" is "a/c". Nothing where it climbs out of the archive.
std::optional<std::string> normalise_member_name(std::string_view name);

struct TarLimits {
  std::size_t members = 100'000;
  std::size_t name_bytes = 64 << 20;  // of all names and links together
  std::size_t links = 40;             // that one name may lead through
};

struct TarMember {
  enum class Kind { file, symbolic_link, hard_link, other };
  Kind kind = Kind::other;
  std::uint64_t header_position = 0;  // extended headers included
  std::uint64_t size = 0;             // of a file, in bytes
  std::string link;                   // of links, as written
};

/// Of a name that is there twice the later member holds, as for whoever unpacks it; folders have no entry.
class TarMembers {
 public:
  /// `archive` is how messages name it, escaped for display.
  TarMembers(std::string archive, const TarLimits& limits) : archive_(std::move(archive)), limits_(limits) {}

  /// Takes the member that a cursor is at, and returns its normalised name, "" where it gets no entry.
  /// Throws Error(image_limit).
  std::string add(archive_entry* entry, std::uint64_t header_position);

  struct Found {
    const std::string& name;  // where the links end
    const TarMember& member;  // a file
  };
  /// Nothing where there is no such name. Throws Error(image_corrupt) where it is no file, or links lead nowhere.
  std::optional<Found> resolve(const std::string& name) const;

 private:
  std::string archive_;
  TarLimits limits_;
  std::size_t count_ = 0;
  std::size_t name_bytes_ = 0;
  std::unordered_map<std::string, TarMember> members_;
};

/// What the member that a cursor is at is.
TarMember describe_tar_member(archive_entry* entry, std::uint64_t header_position);

}  // namespace imgforge
