// Recipes for tests: the least one, and what its parse said.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "recipe/parse.hpp"

namespace imgforge::test {

inline const std::string least = "apiVersion: imgforge/v1\nname: heron\ntarget: {runner: dataflow}\n";

/// All diagnostics as printed.
inline std::string said(const RecipeParse& parse) {
  std::string text;
  for (const Diagnostic& diagnostic : parse.diagnostics) text += to_string(diagnostic);
  return text;
}

/// The recipe, which has to parse.
inline Recipe good(const std::string& text, const std::vector<std::string>& overrides = {}) {
  RecipeParse parse = parse_recipe(text, "recipe.yaml", overrides);
  INFO(text);
  INFO(said(parse));
  REQUIRE(parse.recipe);
  CHECK(parse.diagnostics.empty());
  return std::move(*parse.recipe);
}

/// What is said of the least recipe with `more` behind it, which must not parse. `more` begins in line 4.
inline std::string faults(const std::string& more, const std::vector<std::string>& overrides = {}) {
  const RecipeParse parse = parse_recipe(least + more, "recipe.yaml", overrides);
  INFO(more);
  CHECK_FALSE(parse.recipe);
  CHECK(has_errors(parse.diagnostics));
  return said(parse);
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace imgforge::test
