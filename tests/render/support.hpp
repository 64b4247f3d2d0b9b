// Recipes to Dockerfiles in one step, and Dockerfiles read back: what a builder makes of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "knowledge/knowledge.hpp"
#include "recipe/parse.hpp"
#include "render/plan.hpp"
#include "render/render.hpp"
#include "render/templates.hpp"

namespace imgforge::test {

const Knowledge& knowledge();
const Templates& templates();

/// The recipe of a text that has to parse.
Recipe recipe_of(const std::string& text, const std::vector<std::string>& overrides = {});

/// The plan of a recipe that has to have one; warnings are fine.
Plan plan_of(const std::string& recipe, const std::vector<std::string>& overrides = {});

std::string dockerfile_of(const std::string& recipe, const std::vector<std::string>& overrides = {});

/// Everything that making a plan says, as printed; the recipe itself has to parse.
std::string said_of(const std::string& recipe, const std::vector<std::string>& overrides = {});

/// recipes/NAME.yaml of the repository.
std::string repository_recipe(const std::string& name);
const std::vector<std::string>& repository_recipes();

struct Instruction {
  std::string keyword;    // "RUN"
  std::string arguments;  // lines joined as a builder joins them, comment lines taken out
};

/// docs.docker.com/reference/dockerfile/#format: comments, line continuation with a backslash.
std::vector<Instruction> instructions(const std::string& dockerfile);

/// The arguments of all instructions with this keyword.
std::vector<std::string> all(const std::string& dockerfile, std::string_view keyword);

/// NAME=VALUE pairs of ENV and LABEL, as Docker's parser and shell lexer read them: quotes removed, backslashes taken.
/// A $ that is not escaped fails the test unless `expansions` are expected.
std::vector<std::pair<std::string, std::string>> pairs(const std::string& arguments, bool expansions = false);

/// One word as the lexer leaves it.
std::string unquoted(const std::string& word, bool expansions = false);

/// What the command of a RUN hands to `program`, a line a word: the command runs under sh, with `program` and
/// everything in `silent` in the place of a function.
std::vector<std::string> words_given(const std::string& command, const std::string& program,
                                     const std::vector<std::string>& silent = {});

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace imgforge::test
