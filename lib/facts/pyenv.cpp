#include "facts/pyenv.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/version.hpp"
#include "facts/commands.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_script = 64 << 10;
constexpr std::size_t max_versions = 32;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

/// The value of `export PYENV_ROOT="..."`; empty where the script is no shim.
std::string root_of_shim(std::string_view script) {
  if (script.find("pyenv") == std::string_view::npos || script.find(" exec ") == std::string_view::npos) return {};
  for (std::string_view line : lines(script)) {
    line = trim(line);
    constexpr std::string_view sign = "export PYENV_ROOT=";
    if (!line.starts_with(sign)) continue;
    line = trim(line.substr(sign.size()));
    if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'') && line.back() == line.front())
      line = line.substr(1, line.size() - 2);
    return line.starts_with('/') ? absolute_path(line, "/") : std::string();
  }
  return {};
}

/// The words of a version file, without comments.
std::vector<std::string> versions_in(std::string_view text) {
  std::vector<std::string> versions;
  for (std::string_view line : lines(text)) {
    line = line.substr(0, line.find('#'));
    for (const std::string_view word : split(line, ' ')) {
      if (!trim(word).empty() && versions.size() < max_versions) versions.emplace_back(trim(word));
    }
  }
  return versions;
}

std::vector<std::string> chosen_versions(RootView& root, const ImageConfig& config, const std::string& pyenv_root,
                                         const std::string& folder) {
  if (const std::string value = config.variable("PYENV_VERSION").value_or(""); !value.empty()) {
    std::vector<std::string> versions;
    for (const std::string_view one : split(value, ':')) {
      if (!one.empty() && versions.size() < max_versions) versions.emplace_back(one);
    }
    return versions;
  }
  std::size_t depth = 0;
  for (std::string one = folder; depth < 64; one = folder_of(one), ++depth) {
    if (const auto text = root.read((one == "/" ? "" : one) + "/.python-version", max_script)) {
      if (auto versions = versions_in(*text); !versions.empty()) return versions;
    }
    if (one == "/") break;
  }
  if (const auto text = root.read(pyenv_root + "/version", max_script)) return versions_in(*text);
  return {"system"};
}

/// The folder of a version; of "3.11" the newest that begins so.
std::string folder_of_version(RootView& root, const std::string& versions, std::string version) {
  if (version.find('/') != std::string::npos || version.starts_with('.')) return {};
  if (root.lookup(versions + "/" + version)) return versions + "/" + version;
  if (version.starts_with("python-")) version.erase(0, 7);
  if (root.lookup(versions + "/" + version)) return versions + "/" + version;
  std::optional<Version> newest;
  std::string found;
  for (const Node& node : root.list(versions)) {
    const std::string_view name = std::string_view(node.path).substr(node.path.rfind('/') + 1);
    if (!name.starts_with(version + ".")) continue;
    const auto one = Version::parse(name);
    if (!one || one->is_prerelease() || (newest && *one < *newest)) continue;
    newest = one;
    found = node.path;
  }
  return found;
}

}  // namespace

Command through_pyenv(RootView& root, const ImageConfig& config, const Command& command, std::string_view name,
                      std::string_view path, const std::string& folder) {
  if (!command.executable || !folder_of(command.found_at).ends_with("/shims")) return command;
  const std::string pyenv_root = root_of_shim(root.read(command.canonical, max_script).value_or(""));
  if (pyenv_root.empty()) return command;
  for (const std::string& version : chosen_versions(root, config, pyenv_root, folder)) {
    if (version == "system") {
      std::vector<std::string> rest;
      for (const std::string& one : path_folders(path, folder)) {
        if (one != folder_of(command.found_at)) rest.push_back(one);
      }
      if (const auto found = find_command(root, name, join(rest, ":"), folder); found && found->executable)
        return *found;
      continue;
    }
    const std::string prefix = folder_of_version(root, pyenv_root + "/versions", version);
    if (prefix.empty()) continue;
    const auto found = command_at(root, prefix + "/bin/" + std::string(name));
    if (found && found->executable) return *found;
  }
  return command;
}

}  // namespace imgforge
