// Looks a block over before it is used: kainjow's mustache says nothing of a name that it does not know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "render/templates.hpp"

namespace imgforge {

inline constexpr std::size_t longest_block = 64 << 10;  // bytes
inline constexpr std::size_t deepest_sections = 16;

/// Everything that is wrong with the text of a block. `file` is how places call it.
std::vector<Diagnostic> check_block(std::string_view text, const BlockShape& shape, const std::string& file);

/// The text of a block that check_block() had nothing to say about, filled in. Throws Error(templates) where mustache
/// does not take it all the same.
std::string fill_in(std::string_view text, const Values& values);

}  // namespace imgforge
