// Shorthands of the Dockerfile tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

/// The Dockerfile of a text that has to parse without a word said; fails the test where it does not.
Dockerfile parsed(std::string_view text);
/// "line:column message" of each diagnostic; warnings start with "warning ".
std::vector<std::string> faults(std::string_view text);
/// "line:column" of a place.
std::string at(const Place& place);
/// Texts of an instruction's words.
std::vector<std::string> texts(const std::vector<Word>& words);
/// "NAME=VALUE", "NAME" of assignments.
std::vector<std::string> pairs(const std::vector<Assignment>& assignments);

}  // namespace imgforge::dockerfile
