// Names → programs, as execvp(3) and container runtimes find them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// What Docker and containerd set where the image has no PATH.
inline constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `path` made absolute against `folder`, without ".", ".." and "//"; links are not looked at.
std::string absolute_path(std::string_view path, std::string_view folder);

/// The folders of a PATH, absolute; an empty element is `folder`. At most 256.
std::vector<std::string> path_folders(std::string_view path, std::string_view folder);

/// A file by its absolute path, as a command: nothing where there is no such name at all.
std::optional<Command> command_at(RootView& root, const std::string& path);

/// A name without a slash by PATH: the first that can be run; where none can, the first that is there at all.
std::optional<Command> find_command(RootView& root, std::string_view name, std::string_view path,
                                    std::string_view folder);

}  // namespace imgforge
