#include "recipe/parse.hpp"

#include "base/yaml.hpp"
#include "recipe/overrides.hpp"
#include "recipe/reader.hpp"

namespace imgforge {

RecipeParse parse_recipe(std::string_view text, const std::string& name, const std::vector<std::string>& overrides) {
  std::vector<Diagnostic> diagnostics;
  std::optional<YamlNode> root = parse_yaml(text, name, diagnostics);
  if (!root) {
    RecipeParse result;
    result.diagnostics = std::move(diagnostics);
    return result;
  }
  if (root->is_map() || root->is_null()) apply_overrides(*root, overrides, diagnostics);
  RecipeReader reader(name, text, RecipeReader::UnknownKeys::refused, override_place);
  reader.add(std::move(diagnostics));
  return reader.read(*root);
}

}  // namespace imgforge
