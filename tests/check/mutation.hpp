// Recipes and Dockerfiles to change one version of, for the tests that hold the rules against the tables.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "check/compat.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

/// A valid recipe of the repository, and the Dockerfile that it renders to.
struct Original {
  std::string name;
  std::string text;
  Recipe recipe;  // with what the plan filled in: base, Python and Beam are there
  std::string base_kind;
  bool keeps = false;  // the base brings a package that the recipe asks for
  std::string dockerfile;
};

/// All of recipes/, by name. Rendered once.
const std::vector<Original>& originals();
const Original& original(const std::string& name);

const Knowledge& tables();

/// The rules that have an error to tell.
std::set<std::string> errors_of_recipe(const Original& original, const std::vector<std::string>& overrides);
std::set<std::string> errors_of_dockerfile(const std::string& name, const std::string& text);

std::string replaced(std::string text, const std::string& from, const std::string& to);

/// Whether rows that were looked up say that these do not go together.
bool is_no(const Judgement& judgement);

std::string shown(const std::set<std::string>& rules);

}  // namespace imgforge
