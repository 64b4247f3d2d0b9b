// The cells of a recipe's matrix.
//
// Axes multiply: every combination of their values is a cell. A map of `exclude` takes away the cells that have all of its
// values. A map of `include` adds its values to every cell that has the same values on the axes that it names; where
// there is no such cell, it is one of its own. (GitHub's matrices read include and exclude so, too.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recipe/parse.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

constexpr std::size_t most_matrix_cells = 1000;  // parse_recipe refuses more

/// What each cell overrides ("python.version=3.11"), as parse_recipe takes it; axes in the order written, the last one
/// changes first. One cell without overrides where the recipe has no matrix.
std::vector<std::vector<std::string>> matrix_cells(const Recipe& recipe);

/// The recipe of one cell: parse_recipe(text, name, overrides of --set and then those of the cell), with places of what
/// the cell overrides in the matrix of `whole`, and without a matrix.
RecipeParse parse_matrix_cell(std::string_view text, const std::string& name, const std::vector<std::string>& set,
                              const std::vector<std::string>& cell, const Recipe& whole);

}  // namespace imgforge
