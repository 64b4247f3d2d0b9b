// A recipe → Facts: what the image that it asks for will be, with the recipe's places.
#pragma once

#include "facts/build.hpp"
#include "facts/facts.hpp"
#include "facts/from_dockerfile.hpp"
#include "knowledge/knowledge.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

/// `context` gives requirements and constraints files beside the recipe. Both references have to outlive the facts.
Facts facts_from_recipe(const Recipe& recipe, const ContextFile& context, const Knowledge& knowledge);

}  // namespace imgforge
