// The blocks that the program carries (templates/*.mustache).
#pragma once

#include "render/templates.hpp"

namespace imgforge {

/// Null where no block is called so.
const BlockShape* find_block_shape(std::string_view name);

/// Block name → text.
std::map<std::string, std::string, std::less<>> embedded_blocks();

}  // namespace imgforge
