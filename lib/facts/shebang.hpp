// The first line of a script: "#!/bin/sh".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

/// The interpreter line of a script: "#!/usr/bin/env -S bash -e" → {"/usr/bin/env", "-S", "bash", "-e"}, split as far
/// as env does it; the kernel itself knows one argument. Nothing where the text has no such line.
std::optional<std::vector<std::string>> parse_shebang(std::string_view text);

}  // namespace imgforge
