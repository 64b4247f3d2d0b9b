// Recipe text of any kind: a recipe or an error, never both, and a label that is read back as itself.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "recipe/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const RecipeParse parse = parse_recipe(text, "recipe.yaml");
  if (parse.recipe.has_value() == has_errors(parse.diagnostics)) std::abort();
  for (const Diagnostic& diagnostic : parse.diagnostics) {
    if (to_string(diagnostic).empty()) std::abort();
  }
  if (parse.recipe) {
    const std::string label = to_label_json(*parse.recipe);
    const RecipeParse again = parse_recipe_label(label);
    if (!again.recipe || to_label_json(*again.recipe) != label) std::abort();
  }
  parse_recipe_label(text);
  return 0;
}
