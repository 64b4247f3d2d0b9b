// Which contents to take along where a layer has to pass once more for one of them: what is asked for together mostly
// is of one name (METADATA of every package), in one folder, or of one kind. Else each of them would cost a whole pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "layer/entry_list.hpp"

namespace imgforge {

/// Regular files of `entries` that go with `entry`, by position, and how many of their first bytes to take: small ones
/// whole, of larger ones the start. Nearest first, up to `budget` bytes together, which is lowered by what they come
/// to. `wanted` says which positions are of use at all (others were kept already).
std::map<std::size_t, std::uint64_t> companions(const EntryList& entries, const Entry& entry, std::uint64_t& budget,
                                                const std::function<bool(std::size_t position)>& wanted);

}  // namespace imgforge
