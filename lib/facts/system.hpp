// Facts of the system around Python: distribution, C library, users, folders that have to be writable.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

Fact<OsRelease> read_os_release(ImageReader& reader);
Fact<User> read_user(ImageReader& reader);
Fact<Libc> read_libc(ImageReader& reader);
Fact<WorkingDirectory> read_workdir(ImageReader& reader);
Fact<bool> read_venv_folder_writable(ImageReader& reader);

/// Folders in which the dynamic loader looks without being told, for an architecture in Go's names.
std::vector<std::string> loader_folders(std::string_view architecture);

/// libc.so.6 for the image's architecture.
std::optional<Node> find_libc(ImageReader& reader);

/// Whether a user may make entries in a folder, by its owner, group and mode bits.
bool may_write(const Node& folder, const User& user);

/// Whether a user can make the folder `path` with all that is missing above it, or write into it where it is there.
bool can_create(RootView& root, const std::string& path, const User& user);

}  // namespace imgforge
