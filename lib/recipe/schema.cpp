#include <nlohmann/json.hpp>

#include "recipe/fields.hpp"
#include "recipe/matrix.hpp"
#include "recipe/parse.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

json text_schema(const Grammar& grammar) {
  json schema = {{"type", "string"}};
  if (!grammar.choices.empty()) {
    schema["enum"] = grammar.choices;
    return schema;
  }
  if (!grammar.pattern.empty()) schema["pattern"] = grammar.pattern;
  schema["maxLength"] = grammar.longest;
  return schema;
}

json object_schema(std::string_view path);

/// A map of recipe paths; what they may hold is said by the keys themselves.
json paths_schema(json value) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", "^[A-Za-z_]+(\\.[A-Za-z0-9_.:-]+)?$"}}},
          {"additionalProperties", std::move(value)},
          {"minProperties", 1}};
}

json field_schema(const Field& field) {
  switch (field.kind) {
    case Field::Kind::object: return object_schema(field.path);
    case Field::Kind::text: return text_schema(*field.grammar);
    case Field::Kind::number: return {{"type", "integer"}, {"minimum", 1}, {"maximum", field.most}};
    case Field::Kind::boolean: return {{"type", "boolean"}};
    case Field::Kind::text_list: return {{"type", "array"}, {"items", text_schema(*field.grammar)}};
    case Field::Kind::object_list: return {{"type", "array"}, {"items", object_schema(std::string(field.path) + "[]")}};
    case Field::Kind::axes:
      return paths_schema({{"type", "array"}, {"minItems", 1}, {"maxItems", most_matrix_cells}, {"uniqueItems", true}});
    case Field::Kind::cells: return {{"type", "array"}, {"items", paths_schema(true)}};
    case Field::Kind::option_map: {
      json value = text_schema(*field.grammar);
      value["type"] = {"string", "number", "boolean"};
      const json list = {{"type", "array"}, {"items", value}};
      return {{"type", "object"},
              {"propertyNames", text_schema(*field.key_grammar)},
              {"additionalProperties", {{"anyOf", {std::move(value), list}}}}};
    }
    case Field::Kind::text_map: {
      // Numbers and booleans are taken as the text that was written.
      json value = text_schema(*field.grammar);
      value["type"] = {"string", "number", "boolean"};
      return {{"type", "object"},
              {"propertyNames", text_schema(*field.key_grammar)},
              {"additionalProperties", std::move(value)}};
    }
  }
  return {};
}

json object_schema(std::string_view path) {
  json properties = json::object();
  json required = json::array();
  for (const Field* field : recipe_fields_of(path)) {
    json schema = field_schema(*field);
    json choices = json::array();
    if (field->derivable) choices.push_back({{"const", "auto"}});
    if (field->nullable) choices.push_back({{"type", "null"}});
    if (!choices.empty()) {
      choices.push_back(std::move(schema));
      schema = {{"anyOf", std::move(choices)}};
    }
    schema["description"] = field->doc;
    properties[std::string(field->key())] = std::move(schema);
    if (field->required) required.push_back(field->key());
  }
  json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (path == "accelerator") schema["maxProperties"] = 1;  // a GPU or a TPU
  return schema;
}

}  // namespace

std::string recipe_json_schema() {
  json schema = object_schema({});
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "imgforge recipe, v1";
  return schema.dump(2) + "\n";
}

}  // namespace imgforge
