// os-release(5): shell-like assignments, one a line.
#pragma once

#include <string_view>

#include "facts/facts.hpp"

namespace imgforge {

/// Unknown keys and lines that are no assignment are passed over; of a key that is there twice the last holds, as a
/// shell would have it. Values are cut at 256 bytes.
OsRelease parse_os_release(std::string_view text);

}  // namespace imgforge
