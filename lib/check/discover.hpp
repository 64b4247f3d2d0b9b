// Which files `check` looks at.
#pragma once

#include <string>
#include <vector>

namespace imgforge {

/// A file stands for itself, whatever its name; a folder for every Dockerfile, *.Dockerfile, Dockerfile.* and
/// *.imgforge.yaml below it, sorted, links not followed, hidden folders and node_modules left out. "-" is standard
/// input, once. No file twice. Throws Error(file) where a path is not there or a folder cannot be read or has none of
/// these, and Error(usage) for "-" twice or more than 100,000 files.
std::vector<std::string> files_to_check(const std::vector<std::string>& paths);

}  // namespace imgforge
