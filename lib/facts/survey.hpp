// One walk over the root: everything that facts look for by name and not by path.
#pragma once

#include <map>
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
  SiteMachines machines;
  std::size_t metadata_count = 0;
  bool too_much = false;  // more of them than is kept
};

inline constexpr std::size_t max_pythons = 4'096;
inline constexpr std::size_t max_metadata = 40'000;

/// `path_folders`: canonical folders of PATH.
Survey take_survey(RootView& root, const std::set<std::string>& path_folders);

/// "python", "python3", "python3.11", "python3.13t"; not "python3-config", "pythonw".
bool is_python_name(std::string_view name);

}  // namespace imgforge
