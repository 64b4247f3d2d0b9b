// The compatibility tags in a wheel's file name (PEP 427 and 425), as far as the Python is concerned.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/version.hpp"

namespace imgforge {

/// "x-1.0-cp311-cp311-linux_x86_64.whl" of a path or URL, with or without a query or fragment; nothing where it names
/// no wheel.
std::optional<std::string> wheel_file_name(std::string_view path_or_url);

/// Whether CPython of that minor installs it: its own cpXY, an abi3 of an older minor, py3 or an older py3Y without an
/// ABI. Nothing where the name is no wheel's, or of tags that are not known here.
std::optional<bool> wheel_is_for(std::string_view file_name, const PythonMinor& python);

/// "cp39-cp39" of a wheel's name; empty where it is none.
std::string wheel_python_tags(std::string_view file_name);

}  // namespace imgforge
