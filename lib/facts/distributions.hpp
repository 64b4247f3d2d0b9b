// The Python distributions that are installed in site folders.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// Of every site folder that an interpreter has in effect, folders in the order of the interpreters. At most 20,000;
/// more of them is unknown.
Fact<std::vector<Distribution>> read_distributions(ImageReader& reader);

/// A distribution of one interpreter by normalised name: the one in the folder that comes first.
const Distribution* find_distribution(const std::vector<Distribution>& all, const Interpreter& interpreter,
                                      std::string_view name);

}  // namespace imgforge
