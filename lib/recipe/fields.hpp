// The one table of a recipe's keys. The parser, --set, the suggestions for unknown keys, the label and the JSON Schema
// all read it; a key enters it with the code that makes it work.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/grammar.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct Field {
  enum class Kind {
    object,       // a map of further fields
    text,         // one text of the grammar
    number,       // a positive whole number
    text_list,    // a list of texts of the grammar
    text_map,     // names of key_grammar, values of grammar
    object_list,  // a list of maps; their fields have "PATH[]." before the key
  };

  std::string_view path;  // "python.version", "files[].from"
  Kind kind = Kind::text;
  std::string_view doc;  // one line for people
  const Grammar* grammar = nullptr;
  const Grammar* key_grammar = nullptr;
  bool required = false;   // within its parent, where the parent is there
  bool derivable = false;  // "auto" is the same as left out
  bool nullable = false;   // so is null

  /// Takes a text that the grammar has accepted (an empty one for an object: it is there). One call an item of a list.
  void (*set)(Recipe& recipe, const std::string& text) = nullptr;
  /// What was written, in canonical spelling: none where the key was left out, one for a text, all of a list.
  std::vector<std::string> (*get)(const Recipe& recipe) = nullptr;
  TextPairs Recipe::*pairs = nullptr;  // of a text_map

  std::string_view key() const noexcept;     // "version"
  std::string_view parent() const noexcept;  // "python"; empty at the top; "files[]" for fields of an item
};

/// Parents before their fields, in the order in which a recipe is best written.
const std::vector<Field>& recipe_fields();

/// Null where there is no such field. Indices are written as "[]".
const Field* find_recipe_field(std::string_view path);

std::vector<const Field*> recipe_fields_of(std::string_view parent);

constexpr unsigned most_gpus = 1024;  // far beyond any machine; keeps arithmetic safe

}  // namespace imgforge
