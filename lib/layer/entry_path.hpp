// Names in a tar → paths in the root. They are bytes, and hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

/// Linux takes no longer path (PATH_MAX), so no image that ever ran has one.
inline constexpr std::size_t longest_path = 4096;

/// The components of a path, without empty ones and "."; ".." takes one away and stops at the root.
std::vector<std::string_view> clean_components(std::string_view path);

/// The same as a relative path: "./usr//bin/../lib/" becomes "usr/lib", "/" becomes "".
std::string clean_path(std::string_view path);

/// What the name of an entry makes of it: image-spec 1.1, layer.md "Whiteouts".
struct EntryName {
  enum class Kind {
    plain,
    whiteout,  // of `path`
    opaque,    // of the folder `path`
    reserved,  // AUFS's own files and folders, and whiteouts of nothing: never part of the root
  };
  Kind kind = Kind::plain;
  std::string path;  // cleaned, as Entry::path has it
};
EntryName entry_name(std::string_view raw);

}  // namespace imgforge
