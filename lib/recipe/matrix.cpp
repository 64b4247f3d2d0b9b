#include "recipe/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace imgforge {

namespace {

using Values = Matrix::Values;

const std::string* find(const Values& values, std::string_view path) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& pair) { return pair.first == path; });
  return found == values.end() ? nullptr : &found->second;
}

bool is_axis(const Matrix& matrix, std::string_view path) {
  return std::any_of(matrix.axes.begin(), matrix.axes.end(), [&](const auto& axis) { return axis.first == path; });
}

bool has_all(const Values& cell, const Values& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const std::string* value = find(cell, pair.first);
    return value != nullptr && *value == pair.second;
  });
}

std::vector<Values> product(const Matrix& matrix) {
  std::vector<Values> cells;
  if (matrix.axes.empty()) return cells;
  cells.emplace_back();
  for (const auto& [path, values] : matrix.axes) {
    std::vector<Values> longer;
    for (const Values& cell : cells) {
      for (const std::string& value : values) {
        if (longer.size() == most_matrix_cells) break;
        longer.push_back(cell);
        longer.back().emplace_back(path, value);
      }
    }
    cells = std::move(longer);
  }
  return cells;
}

std::vector<Values> cells_of(const Matrix& matrix) {
  std::vector<Values> cells = product(matrix);
  std::erase_if(cells, [&](const Values& cell) {
    return std::any_of(matrix.exclude.begin(), matrix.exclude.end(),
                       [&](const Values& wanted) { return has_all(cell, wanted); });
  });
  const std::size_t from_axes = cells.size();
  for (const Values& included : matrix.include) {
    Values on_axes;
    std::copy_if(included.begin(), included.end(), std::back_inserter(on_axes),
                 [&](const auto& pair) { return is_axis(matrix, pair.first); });
    bool fitted = false;
    for (std::size_t i = 0; i < from_axes; ++i) {
      if (!has_all(cells[i], on_axes)) continue;
      fitted = true;
      for (const auto& [path, value] : included) {
        if (is_axis(matrix, path)) continue;
        const auto there = std::find_if(cells[i].begin(), cells[i].end(),
                                        [&, &key = path](const auto& pair) { return pair.first == key; });
        if (there == cells[i].end())
          cells[i].emplace_back(path, value);
        else
          there->second = value;  // of an earlier include
      }
    }
    if (!fitted && cells.size() < most_matrix_cells) cells.push_back(included);
  }
  return cells;
}

/// Where the matrix says this.
Place place_in_matrix(const Recipe& recipe, const std::string& path, const std::string& value) {
  const auto place = [&](const std::string& written) -> const Place* {
    const auto found = recipe.places.find(written);
    return found == recipe.places.end() ? nullptr : &found->second;
  };
  for (const auto& [axis, values] : recipe.matrix.axes) {
    if (axis != path) continue;
    const auto found = std::find(values.begin(), values.end(), value);
    if (found == values.end()) break;
    if (const Place* there = place(fmt::format("matrix.axes.{}[{}]", path, found - values.begin()))) return *there;
  }
  for (std::size_t i = 0; i < recipe.matrix.include.size(); ++i) {
    const std::string* included = find(recipe.matrix.include[i], path);
    if (included == nullptr || *included != value) continue;
    if (const Place* there = place(fmt::format("matrix.include[{}].{}", i, path))) return *there;
  }
  return recipe.place_of("matrix");
}

}  // namespace

std::vector<std::vector<std::string>> matrix_cells(const Recipe& recipe) {
  if (recipe.matrix.empty()) return {{}};
  std::vector<std::vector<std::string>> cells;
  for (const Values& cell : cells_of(recipe.matrix)) {
    std::vector<std::string>& overrides = cells.emplace_back();
    for (const auto& [path, value] : cell) overrides.push_back(path + "=" + value);
  }
  return cells;
}

RecipeParse parse_matrix_cell(std::string_view text, const std::string& name, const std::vector<std::string>& set,
                              const std::vector<std::string>& cell, const Recipe& whole) {
  std::vector<std::string> overrides = set;
  overrides.insert(overrides.end(), cell.begin(), cell.end());
  overrides.emplace_back("matrix=null");
  RecipeParse parse = parse_recipe(text, name, overrides);
  for (const std::string& override : cell) {
    const std::size_t equals = override.find('=');
    const std::string path = override.substr(0, equals);
    const Place place = place_in_matrix(whole, path, override.substr(equals + 1));
    if (!parse.recipe) {
      for (Diagnostic& diagnostic : parse.diagnostics) {
        // Messages begin with the path that they speak of.
        if (diagnostic.place.line == 0 && diagnostic.message.starts_with(path)) diagnostic.place = place;
      }
      continue;
    }
    for (auto& [written, there] : parse.recipe->places) {
      if (there.line == 0 && written.starts_with(path) &&
          (written.size() == path.size() || written[path.size()] == '.' || written[path.size()] == '['))
        there = place;
    }
  }
  return parse;
}

}  // namespace imgforge
