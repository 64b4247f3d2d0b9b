// How much of an image may be read for its facts (DESIGN: --depth).
#pragma once

#include <string_view>

namespace imgforge {

enum class Depth {
  contract,  // the config and named paths: what it takes that boot starts. What needs every layer is not asked
  full,      // all that is in the image
};

inline std::string_view to_string(Depth depth) noexcept { return depth == Depth::contract ? "contract" : "full"; }

}  // namespace imgforge
