#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "recipe/fields.hpp"
#include "recipe/parse.hpp"
#include "recipe/reader.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::string_view label_name = "label dev.imgforge.recipe";

/// The value as the recipe reader takes it. parse_json has bounded depth and count.
YamlNode to_node(const json& value) {
  YamlNode node;
  if (value.is_null()) return node;
  if (value.is_array()) {
    node.kind = YamlNode::Kind::sequence;
    for (const json& item : value) node.items.push_back(to_node(item));
    return node;
  }
  if (value.is_object()) {
    node.kind = YamlNode::Kind::map;
    for (const auto& [key, item] : value.items()) node.entries.push_back({key, 0, 0, to_node(item)});
    return node;
  }
  node.kind = YamlNode::Kind::scalar;
  node.plain = !value.is_string();
  node.text = value.is_string() ? value.get<std::string>() : value.dump();
  return node;
}

/// The object that holds the field "a.b.c": the one at "a.b".
json& parent_of(json& root, const Field& field) {
  json* object = &root;
  if (field.parent().empty()) return *object;
  for (const std::string_view key : split(field.parent(), '.')) object = &(*object)[std::string(key)];
  return *object;
}

void write(json& root, const Field& field, const Recipe& recipe) {
  if (!field.in_label) return;
  const std::string key(field.key());
  if (field.kind == Field::Kind::option_map) {
    json options = json::object();
    for (const auto& [name, value] : recipe.target.options) {
      const auto secret = [&name = name](const std::string& text) { return looks_secret(name, text); };
      if (std::any_of(value.texts.begin(), value.texts.end(), secret)) continue;
      options[name] = value.list ? json(value.texts) : json(value.texts.front());
    }
    if (!options.empty()) parent_of(root, field)[key] = std::move(options);
    return;
  }
  if (field.kind == Field::Kind::text_map) {
    json pairs = json::object();
    for (const auto& [name, value] : field.pairs(recipe)) {
      if (!looks_secret(name, value)) pairs[name] = value;
    }
    if (!pairs.empty()) parent_of(root, field)[key] = std::move(pairs);
    return;
  }
  if (field.get == nullptr) return;
  std::vector<std::string> values = field.get(recipe);
  if (values.empty()) return;
  json& slot = parent_of(root, field)[key];
  if (field.kind == Field::Kind::text_list)
    slot = std::move(values);
  else if (field.kind == Field::Kind::number)
    slot = *to_number(values.front());
  else
    slot = std::move(values.front());
}

}  // namespace

std::string to_label_json(const Recipe& recipe) {
  json root = json::object();
  for (const Field& field : recipe_fields()) write(root, field, recipe);
  for (const FileCopy& file : recipe.files) root["files"].push_back({{"from", file.from}, {"to", file.to}});
  return to_json_line(root);
}

RecipeParse parse_recipe_label(std::string_view text) {
  RecipeParse result;
  const std::string name(label_name);
  try {
    const JsonLimits limits{.depth = 64, .elements = 100'000, .bytes = 1 << 20};
    RecipeReader reader(name, {}, RecipeReader::UnknownKeys::listed);
    RecipeParse parse = reader.read(to_node(parse_json(text, "the label", limits)));
    if (parse.recipe) {
      // An image waives none of its own faults, is one cell, and does not say where it goes.
      parse.recipe->checks.ignore.clear();
      parse.recipe->matrix = {};
      parse.recipe->push = {};
    }
    return parse;
  } catch (const Error& error) {
    Diagnostic diagnostic;
    diagnostic.place.file = name;
    diagnostic.message = error.message();
    diagnostic.hint = error.hint();
    result.diagnostics.push_back(std::move(diagnostic));
  }
  return result;
}

}  // namespace imgforge
