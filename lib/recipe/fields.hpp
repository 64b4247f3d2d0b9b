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

constexpr unsigned most_gpus = 1024;  // far beyond any machine; keeps arithmetic safe

struct Field {
  enum class Kind {
    object,       // a map of further fields
    text,         // one text of the grammar
    number,       // a whole number from 1 to `most`
    boolean,      // true or false
    text_list,    // a list of texts of the grammar
    text_map,     // names of key_grammar, values of grammar
    option_map,   // names of key_grammar, values of grammar or lists of them
    object_list,  // a list of maps; their fields have "PATH[]." before the key
    axes,         // paths of the recipe, each with a list of its values
    cells,        // a list of maps from paths of the recipe to values
  };

  std::string_view path;  // "python.version", "files[].from"
  Kind kind = Kind::text;
  std::string_view doc;  // one line for people
  const Grammar* grammar = nullptr;
  const Grammar* key_grammar = nullptr;
  bool required = false;   // within its parent, where the parent is there
  bool derivable = false;  // "auto" is the same as left out
  bool nullable = false;   // so is null
  bool in_label = true;    // whether the label of the image carries it
  unsigned most = most_gpus;  // of a number

  /// Takes a text that the grammar has accepted (an empty one for an object: it is there). One call an item of a list.
  void (*set)(Recipe& recipe, const std::string& text) = nullptr;
  /// What was written, in canonical spelling: none where the key was left out, one for a text, all of a list.
  std::vector<std::string> (*get)(const Recipe& recipe) = nullptr;
  // Of a text_map.
  void (*add_pair)(Recipe& recipe, const std::string& name, const std::string& text) = nullptr;
  const TextPairs& (*pairs)(const Recipe& recipe) = nullptr;
  std::vector<Matrix::Values>& (*cells)(Recipe& recipe) = nullptr;  // of cells

  std::string_view key() const noexcept;     // "version"
  std::string_view parent() const noexcept;  // "python"; empty at the top; "files[]" for fields of an item
};

/// One text.
constexpr bool is_leaf(Field::Kind kind) noexcept {
  return kind == Field::Kind::text || kind == Field::Kind::number || kind == Field::Kind::boolean;
}

/// Parents before their fields, in the order in which a recipe is best written.
const std::vector<Field>& recipe_fields();

/// Null where there is no such field. Indices are written as "[]".
const Field* find_recipe_field(std::string_view path);

std::vector<const Field*> recipe_fields_of(std::string_view parent);

/// What a dotted path means: a field, or an entry of a map ("env.NAME", "target.properties.spark.executor.cores").
struct RecipePath {
  const Field* field = nullptr;  // null where there is no such path; no path leads into a list
  std::string_view name;         // of the entry, empty for a field itself
};
RecipePath find_recipe_path(std::string_view path);

}  // namespace imgforge
