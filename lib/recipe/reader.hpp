// A tree of values → Recipe, by the field table. Both the YAML of a recipe and the JSON of a label come this way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.hpp"
#include "recipe/fields.hpp"
#include "recipe/parse.hpp"

namespace imgforge {

class RecipeReader {
 public:
  enum class UnknownKeys { refused, listed };

  /// `name` is how places call the text, `text` the text itself (for the lines that diagnostics show). Nodes of line 0
  /// were never text: their place is `other`, or `name` where that is empty.
  RecipeReader(std::string name, std::string_view text, UnknownKeys unknown, std::string other = {});

  /// Faults that were found before; they are sorted in.
  void add(std::vector<Diagnostic> diagnostics);

  /// May be called once.
  RecipeParse read(const YamlNode& root);

 private:
  void read_object(const std::string& path, std::string_view field_path, const YamlNode& node, const Place& place);
  void read_field(const std::string& path, const Field& field, const YamlEntry& entry);
  void read_text(const std::string& path, const Field& field, const YamlNode& node);
  void read_number(const std::string& path, const Field& field, const YamlNode& node);
  void read_list(const std::string& path, const Field& field, const YamlNode& node);
  void read_map(const std::string& path, const Field& field, const YamlNode& node);
  /// The known key that was meant, where one is near.
  std::optional<std::string> unknown_key(const std::string& path, std::string_view field_path, const YamlEntry& entry);
  void missing(const Field& field, const std::string& path, const Place& place);
  void check_together();

  bool expect(const std::string& path, const YamlNode& node, YamlNode::Kind kind, std::string_view wanted,
              std::string hint);
  Place place_at(std::size_t line, std::size_t column) const;
  Place place_of(const YamlNode& node) const { return place_at(node.line, node.column); }
  bool full() const noexcept;
  void report(Place place, std::string message, std::string hint = {});

  std::string name_;
  std::vector<std::string_view> lines_;
  UnknownKeys unknown_;
  std::string other_;
  Recipe recipe_;
  RecipeParse result_;
};

}  // namespace imgforge
