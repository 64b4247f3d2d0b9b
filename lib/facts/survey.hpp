// One walk over the root: everything that facts look for by name and not by path.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

struct Survey {
  std::vector<Node> pythons;  // files and links called python, python3, python3.11, ... in bin folders and on PATH
  std::map<std::string, std::vector<Node>> metadata;    // by site folder: METADATA, PKG-INFO, *.egg-info files
  std::map<std::string, std::vector<Node>> path_files;  // by folder: *.pth
  /// Extension modules that name the CPython that they are for (PEP 3149: x.cpython-310-x86_64-linux-gnu.so), without
  /// those that lie in the library of that very Python (lib/python3.10/).
  std::vector<Node> tagged_modules;
  /// The folders and files right in a site folder that hold a module of the folder's own Python, or one for any (abi3,
  /// or no tag at all).
  std::set<std::string> sound_packages;
  SiteMachines machines;
  std::size_t metadata_count = 0;
  bool too_much = false;  // more of them than is kept
};

inline constexpr std::size_t max_pythons = 4'096;
inline constexpr std::size_t max_metadata = 40'000;
inline constexpr std::size_t max_tagged_modules = 20'000;

/// `path_folders`: canonical folders of PATH.
Survey take_survey(RootView& root, const std::set<std::string>& path_folders);

/// What an extension module's name says of the CPython that it is for: "cpython-310" of
/// "x.cpython-310-x86_64-linux-gnu.so", also with the letters of a build ("cpython-36m", "cpython-313t"), "abi3", and ""
/// where it says nothing. Nothing where the name is no extension module's: no ".so" at its end, or "lib..." before.
std::optional<std::string_view> module_tag(std::string_view name);

/// "python", "python3", "python3.11", "python3.13t"; not "python3-config", "pythonw".
bool is_python_name(std::string_view name);

}  // namespace imgforge
