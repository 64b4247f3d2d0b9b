#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.hpp"
#include "recipe/fields.hpp"
#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;
using nlohmann::json;

TEST_CASE("the field table holds together", "[schema]") {
  std::set<std::string_view> seen;
  for (const Field& field : recipe_fields()) {
    INFO(field.path);
    CHECK(seen.insert(field.path).second);
    CHECK(field.doc.ends_with('.'));
    if (!field.parent().empty())
      CHECK(seen.count(field.parent().substr(0, field.parent().find("[]"))) == 1);  // parents come first
    const bool map = field.kind == Field::Kind::text_map || field.kind == Field::Kind::option_map;
    const bool texts = field.kind == Field::Kind::text || field.kind == Field::Kind::text_list || map;
    CHECK(texts == (field.grammar != nullptr));
    CHECK(map == (field.key_grammar != nullptr));
    CHECK((field.kind == Field::Kind::text_map) == (field.pairs != nullptr && field.add_pair != nullptr));
    CHECK((field.kind == Field::Kind::cells) == (field.cells != nullptr));
    if (is_leaf(field.kind) || field.kind == Field::Kind::text_list) CHECK(field.set != nullptr);
    CHECK_FALSE((field.required && (field.derivable || field.nullable)));
  }
}

TEST_CASE("the JSON Schema says what the table says", "[schema]") {
  const json schema = json::parse(recipe_json_schema());
  CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema["required"] == json({"apiVersion", "name", "target"}));
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["properties"]["target"]["required"] == json({"runner"}));
  CHECK(schema["properties"]["apiVersion"]["enum"] == json({"imgforge/v1"}));
  CHECK(schema["properties"]["accelerator"]["maxProperties"] == 1);
  const json& version = schema["properties"]["python"]["anyOf"][1]["properties"]["version"];
  CHECK(version["anyOf"][0]["const"] == "auto");
  CHECK(version["anyOf"][1]["type"] == "string");  // a number is refused by an editor too
  CHECK(schema["properties"]["workdir"]["anyOf"][0]["type"] == "null");
  CHECK(schema["properties"]["files"]["items"]["required"] == json({"from", "to"}));
  CHECK(schema["properties"]["env"]["propertyNames"]["pattern"] == "^[A-Za-z_][A-Za-z0-9_]*$");
}

TEST_CASE("docs/recipe.md speaks of every key", "[schema]") {
  const std::string page = read_file(std::string(IMGFORGE_SOURCE_DIR) + "/docs/recipe.md", 1 << 20);
  for (const Field& field : recipe_fields()) {
    INFO(field.path);
    CHECK(has(page, "`" + std::string(field.path) + "`"));
    if (field.grammar == nullptr) continue;
    for (const std::string_view choice : field.grammar->choices) {
      INFO(choice);
      CHECK(has(page, "`" + std::string(choice) + "`"));
    }
  }
}

TEST_CASE("the example in docs/recipe.md parses", "[schema]") {
  const std::string page = read_file(std::string(IMGFORGE_SOURCE_DIR) + "/docs/recipe.md", 1 << 20);
  const std::string fence = "```yaml\n";
  const std::size_t start = page.find(fence);
  REQUIRE(start != std::string::npos);
  const std::string example =
      page.substr(start + fence.size(), page.find("```", start + fence.size()) - start - fence.size());
  CHECK(good(example).name == "landsat-tf");
}
