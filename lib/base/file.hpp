// Files, with bounds and without half-written results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace imgforge {

/// The whole content of a regular file of at most `limit` bytes. Follows links. Throws Error(file) with the path and
/// the system's reason; a folder, a device or a larger file is an error.
std::string read_file(const std::string& path, std::uint64_t limit);

/// Standard input up to its end, at most `limit` bytes; throws Error(file) beyond.
std::string read_standard_input(std::uint64_t limit);

/// Writes through a temporary file in the same folder and renames it, so that `path` holds the old content or the new
/// content and nothing in between. Throws Error(file).
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace imgforge
