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
  void read_boolean(const std::string& path, const Field& field, const YamlNode& node);
  void read_option(const std::string& path, const Field& field, const YamlEntry& entry);
  bool read_value(const std::string& path, const Field& field, const YamlNode& node);

  // reader_matrix.cpp
  void read_axes(const std::string& path, const YamlNode& node);
  void read_cells(const std::string& path, const Field& field, const YamlNode& node);
  /// One value of a path, checked as if it stood there; nothing where that has faults.
  std::optional<std::string> matrix_value(const std::string& path, const YamlEntry& key, const YamlNode& value);
  /// Whether the key is a path that a matrix may vary.
  bool matrix_path(const std::string& path, const YamlEntry& entry);
  void check_matrix();

  /// The known key that was meant, where one is near.
  std::optional<std::string> unknown_key(const std::string& path, std::string_view field_path, const YamlEntry& entry);
  void missing(const Field& field, const std::string& path, const Place& place);

  // reader_together.cpp
  void check_together();
  void check_push_tags();
  void check_runner_keys();
  void check_gpu_sources();

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
