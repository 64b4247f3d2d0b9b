#include "recipe/parse.hpp"

#include "base/yaml.hpp"
#include "recipe/overrides.hpp"
#include "recipe/reader.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

namespace {

RecipeParse parse(std::string_view text, const std::string& name, const std::vector<std::string>& overrides) {
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

}  // namespace

RecipeParse parse_recipe(std::string_view text, const std::string& name, const std::vector<std::string>& overrides) {
  RecipeParse result = parse(text, name, overrides);
  // Messages end up in the logs of CI: a line that may hold a secret is not shown, its place is enough.
  for (Diagnostic& diagnostic : result.diagnostics) {
    if (looks_secret(diagnostic.line_text, diagnostic.line_text)) diagnostic.line_text.clear();
  }
  return result;
}

}  // namespace imgforge
