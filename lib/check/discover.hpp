// Which files `check` looks at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace imgforge {

struct FileToCheck {
  std::string path;
  std::optional<Error> fault;  // of a path that stands for no file: the others are still judged
};

/// A file stands for itself, whatever its name; a folder for every Dockerfile, *.Dockerfile, Dockerfile.* and
/// *.imgforge.yaml below it, sorted, links not followed, hidden folders and node_modules left out. "-" is standard
/// input, once. No file twice. A path that is not there, and a folder that cannot be read or has none of these, comes
/// back with its Error(file). Throws Error(usage) for "-" twice or more than 100,000 files.
std::vector<FileToCheck> files_to_check(const std::vector<std::string>& paths);

}  // namespace imgforge
