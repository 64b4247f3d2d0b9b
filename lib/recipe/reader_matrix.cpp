// The matrix of a recipe: paths that lead somewhere, values that would fit there, and not too many cells.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "recipe/matrix.hpp"
#include "recipe/reader.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

/// Paths that are about the recipe and not about the image.
bool may_vary(std::string_view path) {
  constexpr std::array<std::string_view, 4> fixed = {"apiVersion", "matrix", "checks", "push"};
  return std::none_of(fixed.begin(), fixed.end(), [&](std::string_view top) {
    return path == top || (path.starts_with(top) && path[top.size()] == '.');
  });
}

/// YAML's reader has bounded the depth.
json to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return nullptr;
    case YamlNode::Kind::scalar: return node.text;
    case YamlNode::Kind::sequence: {
      json list = json::array();
      for (const YamlNode& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case YamlNode::Kind::map: {
      json map = json::object();
      for (const YamlEntry& entry : node.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
  }
  return nullptr;
}

/// As --set takes it: text as it stands, anything else as YAML, of which JSON is a part.
std::string override_text(const RecipePath& path, const YamlNode& node) {
  if (node.is_null()) return "null";
  if (!node.is_scalar()) return to_json_line(to_json(node));
  const bool list = path.field->kind == Field::Kind::text_list ||
                    (path.field->kind == Field::Kind::option_map && node.text.starts_with('['));
  return list && node.text != "auto" ? to_json_line(json::array({node.text})) : node.text;
}

constexpr std::size_t shown_bytes = 80;
std::string shown_key(std::string_view text) { return escape_for_display(text.substr(0, shown_bytes)); }

}  // namespace

std::optional<std::string> RecipeReader::matrix_value(const std::string& path, const YamlEntry& key,
                                                      const YamlNode& value) {
  const RecipePath goal = find_recipe_path(key.key);
  if (value.is_null()) {
    if (goal.name.empty() && !goal.field->required) return "null";
    report(place_at(key.line, key.column), fmt::format("{} has a value that is empty", path),
           goal.name.empty() ? "a key that has to be there cannot be taken away" : "write \"\" for an empty one");
    return std::nullopt;
  }
  RecipeReader there(name_, {}, UnknownKeys::refused, other_);
  there.lines_ = lines_;
  YamlEntry entry = key;
  entry.value = value;
  if (goal.field->kind == Field::Kind::text_list && value.is_scalar()) {
    // One item, as --set takes it.
    entry.value = {};
    entry.value.kind = YamlNode::Kind::sequence;
    entry.value.line = value.line;
    entry.value.column = value.column;
    entry.value.items.push_back(value);
  }
  if (!goal.name.empty()) {
    entry.key = std::string(goal.name);
    YamlNode map;
    map.kind = YamlNode::Kind::map;
    map.line = value.line;
    map.column = value.column;
    map.entries.push_back(std::move(entry));
    entry = {};
    entry.value = std::move(map);
  }
  there.read_field(std::string(goal.field->path), *goal.field, entry);
  const std::vector<Diagnostic>& faults = there.result_.diagnostics;
  if (faults.empty()) return override_text(goal, value);
  for (const Diagnostic& fault : faults) {
    if (!full()) result_.diagnostics.push_back(fault);
  }
  return std::nullopt;
}

void RecipeReader::read_axes(const std::string& path, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::map, "a map of keys and their values",
              "as python.version: [\"3.10\", \"3.11\"]"))
    return;
  for (const YamlEntry& entry : node.entries) {
    if (full()) return;
    const std::string axis_path = path + "." + shown_key(entry.key);
    if (!matrix_path(path, entry)) continue;
    if (!expect(axis_path, entry.value, YamlNode::Kind::sequence, "a list of values", "write [ ] around it")) continue;
    if (entry.value.items.empty()) {
      report(place_of(entry.value), axis_path + " has no values", "a matrix with an empty axis has no cells");
      continue;
    }
    std::vector<std::string> values;
    for (const YamlNode& item : entry.value.items) {
      if (full() || values.size() > most_matrix_cells) break;
      std::optional<std::string> value = matrix_value(axis_path, entry, item);
      if (!value) continue;
      if (std::find(values.begin(), values.end(), *value) != values.end()) {
        report(place_of(item), axis_path + " has a value twice", "two cells would be the same");
        continue;
      }
      recipe_.places[fmt::format("{}.{}[{}]", path, entry.key, values.size())] = place_of(item);
      values.push_back(std::move(*value));
    }
    recipe_.matrix.axes.emplace_back(entry.key, std::move(values));
  }
}

bool RecipeReader::matrix_path(const std::string& path, const YamlEntry& entry) {
  const Place place = place_at(entry.line, entry.column);
  if (!may_vary(entry.key)) {
    report(place, fmt::format("{}: {} is the same in every cell", path, shown_key(entry.key)));
    return false;
  }
  const RecipePath goal = find_recipe_path(entry.key);
  if (goal.field != nullptr) return true;
  std::vector<std::string> known;
  for (const Field& field : recipe_fields()) {
    if (may_vary(field.path) && field.path.find("[]") == std::string_view::npos) known.emplace_back(field.path);
  }
  std::string message = fmt::format("{}: \"{}\" is no key of a recipe", path, shown_key(entry.key));
  if (const auto near = entry.key.size() <= shown_bytes ? nearest(entry.key, known) : std::nullopt)
    message += fmt::format(", did you mean \"{}\"?", *near);
  report(place, std::move(message), "keys are written by their paths, as python.version");
  return false;
}

void RecipeReader::read_cells(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::sequence, "a list of maps", "as [{python.version: \"3.10\"}]")) return;
  std::vector<Matrix::Values>& cells = field.cells(recipe_);
  for (std::size_t i = 0; i < node.items.size() && !full(); ++i) {
    const YamlNode& item = node.items[i];
    const std::string item_path = fmt::format("{}[{}]", path, i);
    recipe_.places[item_path] = place_of(item);
    Matrix::Values values;
    if (expect(item_path, item, YamlNode::Kind::map, "a map", {})) {
      if (item.entries.empty()) report(place_of(item), item_path + " names no key");
      for (const YamlEntry& entry : item.entries) {
        if (full() || !matrix_path(item_path, entry)) continue;
        std::optional<std::string> value = matrix_value(item_path + "." + shown_key(entry.key), entry, entry.value);
        recipe_.places[item_path + "." + entry.key] = place_of(entry.value);
        if (value) values.emplace_back(entry.key, std::move(*value));
      }
    }
    cells.push_back(std::move(values));
  }
}

void RecipeReader::check_matrix() {
  const Matrix& matrix = recipe_.matrix;
  if (matrix.empty() && matrix.exclude.empty()) return;
  if (has_errors(result_.diagnostics)) return;  // what was refused is missing here
  std::size_t cells = matrix.axes.empty() ? 0 : 1;
  for (const auto& [path, values] : matrix.axes) {
    cells *= values.size();
    if (cells <= most_matrix_cells) continue;
    report(recipe_.place_of("matrix"), fmt::format("matrix has more than {} cells", most_matrix_cells));
    return;
  }
  if (matrix.include.size() > most_matrix_cells - cells) {
    report(recipe_.place_of("matrix.include"), fmt::format("matrix has more than {} cells", most_matrix_cells));
    return;
  }
  for (std::size_t i = 0; i < matrix.exclude.size(); ++i) {
    for (const auto& [path, value] : matrix.exclude[i]) {
      const auto axis = std::find_if(matrix.axes.begin(), matrix.axes.end(),
                                     [&, &key = path](const auto& one) { return one.first == key; });
      const Place place = recipe_.place_of(fmt::format("matrix.exclude[{}].{}", i, path));
      if (axis == matrix.axes.end()) {
        report(place, fmt::format("matrix.exclude[{}]: {} is no axis, so nothing is excluded", i, path));
      } else if (std::find(axis->second.begin(), axis->second.end(), value) == axis->second.end()) {
        report(place, fmt::format("matrix.exclude[{}]: no cell has this {}, so nothing is excluded", i, path));
      }
    }
  }
  if (has_errors(result_.diagnostics)) return;
  if (matrix_cells(recipe_).empty()) report(recipe_.place_of("matrix"), "every cell of the matrix is excluded");
}

}  // namespace imgforge
