#include "facts/commands.hpp"

#include "base/text.hpp"

namespace imgforge {

std::string absolute_path(std::string_view path, std::string_view folder) {
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view text) {
    for (const std::string_view part : split(text, '/')) {
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        if (!parts.empty()) parts.pop_back();
      } else {
        parts.push_back(part);
      }
    }
  };
  if (!path.starts_with('/')) add(folder);
  add(path);
  std::string result;
  for (const std::string_view part : parts) result.append("/").append(part);
  return result.empty() ? "/" : result;
}

std::vector<std::string> path_folders(std::string_view path, std::string_view folder) {
  std::vector<std::string> folders;
  for (const std::string_view part : split(path, ':')) {
    folders.push_back(absolute_path(part, folder));
    if (folders.size() == 256) break;
  }
  return folders;
}

std::optional<Command> command_at(RootView& root, const std::string& path) {
  const Lookup link = root.lookup_link(path);
  if (!link) return std::nullopt;
  Command command;
  command.found_at = path;
  const Lookup found = root.lookup(path);
  if (!found) {
    command.dangles = true;
    return command;
  }
  command.canonical = found.node->path;
  command.executable = found.node->type == EntryType::file && (found.node->mode & 0111) != 0;
  return command;
}

std::optional<Command> find_command(RootView& root, std::string_view name, std::string_view path,
                                    std::string_view folder) {
  std::optional<Command> unusable;
  for (const std::string& one : path_folders(path, folder)) {
    auto command = command_at(root, (one == "/" ? "" : one) + "/" + std::string(name));
    if (!command) continue;
    if (command->executable) return command;
    if (!unusable) unusable = std::move(command);
  }
  return unusable;
}

}  // namespace imgforge
