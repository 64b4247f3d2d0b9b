#include "check/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 100'000;
constexpr int deepest_folder = 64;

bool is_meant(const std::string& name) {
  return name == "Dockerfile" || name == "Containerfile" || name.ends_with(".Dockerfile") ||
         name.starts_with("Dockerfile.") || name.ends_with(".imgforge.yaml");
}

bool is_left_out(const std::string& folder) { return folder.starts_with(".") || folder == "node_modules"; }

Error cannot_read(const std::string& path, const std::error_code& why) {
  return Error(ErrorKind::file, fmt::format("cannot read {}: {}", escape_for_display(path), why.message()));
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code failed;
  fs::recursive_directory_iterator item(folder, failed);
  if (failed) throw cannot_read(folder, failed);
  for (; item != fs::recursive_directory_iterator(); item.increment(failed)) {
    const std::string name = item->path().filename().string();
    std::error_code ignored;
    const fs::file_status status = item->symlink_status(ignored);
    if (fs::is_directory(status)) {
      if (is_left_out(name) || item.depth() >= deepest_folder) item.disable_recursion_pending();
    } else if (fs::is_regular_file(status) && is_meant(name)) {
      found.push_back(item->path().string());
      if (found.size() > most_files)
        throw Error(ErrorKind::usage, fmt::format("{} holds more than {} Dockerfiles and recipes", folder, most_files),
                    "name folders below it");
    }
  }
  if (failed) throw cannot_read(folder, failed);
  if (found.empty()) {
    throw Error(ErrorKind::file, fmt::format("no Dockerfile and no recipe below {}", escape_for_display(folder)),
                "files called Dockerfile, *.Dockerfile, Dockerfile.* and *.imgforge.yaml are looked for; name others "
                "themselves");
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<FileToCheck> files_to_check(const std::vector<std::string>& paths) {
  std::vector<FileToCheck> files;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path, std::optional<Error> fault = std::nullopt) {
    if (!seen.insert(fs::path(path).lexically_normal().string()).second) return;
    files.push_back({path, std::move(fault)});
  };
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    throw Error(ErrorKind::usage, "standard input can be read once", "name - once");
  for (const std::string& path : paths) {
    if (path == "-") {
      add(path);
      continue;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (!fs::exists(status)) {
      add(path, cannot_read(path, failed ? failed : std::make_error_code(std::errc::no_such_file_or_directory)));
      continue;
    }
    if (!fs::is_directory(status)) {
      add(path);
      continue;
    }
    try {
      for (const std::string& file : files_below(path)) add(file);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::file) throw;
      add(path, error);
    }
  }
  return files;
}

}  // namespace imgforge
