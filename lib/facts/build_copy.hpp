// Paths as COPY and the commands that copy take them.
#pragma once

#include <string>
#include <string_view>

namespace imgforge {

/// The last part of a path, whatever slashes stand behind it.
std::string last_part(std::string_view path);

bool has_glob(std::string_view path);

/// Whether programs, libraries or Python packages may lie at or below that path of another stage.
bool holds_programs(std::string_view path);

}  // namespace imgforge
