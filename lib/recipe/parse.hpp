// Recipe text → Recipe, with every fault at once.
//
// YAML 1.2 subset: one document, no duplicate keys, no merge keys, no cycles, no tags; at most 1 MiB, depth 64 and
// 100,000 node visits (an alias counts each time). A key that the field table (fields.hpp) does not know is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

struct RecipeParse {
  std::optional<Recipe> recipe;             // absent where any diagnostic is an error
  std::vector<Diagnostic> diagnostics;      // in the order of the text
  std::vector<std::string> not_understood;  // dotted paths of unknown keys, where those were tolerated
};

/// `name` is how messages call the text ("recipes/a.yaml", "<stdin>"). `overrides` are "path=value" of --set, typed by
/// the schema; their places are {"--set", 0, 0}. Never throws for what the text holds.
RecipeParse parse_recipe(std::string_view text, const std::string& name,
                         const std::vector<std::string>& overrides = {});

/// The recipe that an image carries in its label dev.imgforge.recipe (compact JSON). The image may have been made by a
/// later imgforge, so unknown keys are listed in not_understood and not errors.
RecipeParse parse_recipe_label(std::string_view json);

/// The recipe as compact JSON with sorted keys, as the label carries it: values of env and labels that look like
/// secrets are left out. Same recipe, same bytes.
std::string to_label_json(const Recipe& recipe);

/// The JSON Schema (draft 2020-12) of a recipe, made from the same field table that the parser uses.
std::string recipe_json_schema();

}  // namespace imgforge
