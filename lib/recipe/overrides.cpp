#include "recipe/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "recipe/fields.hpp"

namespace imgforge {

namespace {

Diagnostic fault(std::string message, std::string hint = {}) {
  Diagnostic diagnostic;
  diagnostic.place.file = override_place;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

void forget_places(YamlNode& node) {
  node.line = node.column = 0;
  for (YamlNode& item : node.items) forget_places(item);
  for (YamlEntry& entry : node.entries) {
    entry.line = entry.column = 0;
    forget_places(entry.value);
  }
}

YamlNode text_node(std::string_view text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::string(text);
  return node;
}

/// The value as YAML, or nothing and a diagnostic.
std::optional<YamlNode> yaml_value(std::string_view path, std::string_view text, std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> found;
  // Behind a key, as it would stand in a recipe: yaml-cpp takes an unclosed "[a" alone for the start of a key.
  std::optional<YamlNode> document = parse_yaml("value: " + std::string(text) + "\n", override_place, found);
  if (found.empty() && (!document->is_map() || document->entries.size() != 1))
    found.push_back(fault("more than one value"));
  if (!found.empty()) {
    diagnostics.push_back(fault(fmt::format("{}: {}", path, found.front().message), found.front().hint));
    return std::nullopt;
  }
  YamlNode node = std::move(document->entries.front().value);
  forget_places(node);
  return node;
}

/// The entry of `key`; a new one where there is none.
YamlEntry& entry_of(YamlNode& map, std::string_view key) {
  for (YamlEntry& entry : map.entries) {
    if (entry.key == key) return entry;
  }
  map.entries.emplace_back();
  map.entries.back().key = std::string(key);
  return map.entries.back();
}

/// The map at `path` ("a.b"), made where it is not there or is no map.
YamlNode& map_at(YamlNode& root, std::string_view path) {
  YamlNode* node = &root;
  if (!path.empty()) {
    for (const std::string_view key : split(path, '.')) {
      YamlEntry& entry = entry_of(*node, key);
      if (!entry.value.is_map()) {
        entry.value = {};
        entry.value.kind = YamlNode::Kind::map;
      }
      node = &entry.value;
    }
  }
  return *node;
}

void erase_at(YamlNode& root, std::string_view path) {
  YamlNode* node = &root;
  const std::vector<std::string_view> keys = split(path, '.');
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = std::find_if(node->entries.begin(), node->entries.end(),
                                    [&](const YamlEntry& entry) { return entry.key == keys[i]; });
    if (found == node->entries.end()) return;
    if (i + 1 == keys.size()) {
      node->entries.erase(found);
      return;
    }
    node = &found->value;
  }
}

void unknown_path(std::string_view path, std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> known;
  for (const Field& field : recipe_fields()) {
    if (field.path.find("[]") == std::string_view::npos) known.emplace_back(field.path);
  }
  std::string message = fmt::format("\"{}\" is no key of a recipe", escape_for_display(path.substr(0, 100)));
  if (path.find('[') != std::string_view::npos) {
    diagnostics.push_back(
        fault(std::move(message), "items of a list cannot be set alone, set the list: --set 'packages.pip=[a, b]'"));
    return;
  }
  if (const auto near = path.size() <= 100 ? nearest(path, known) : std::nullopt)
    message += fmt::format(", did you mean \"{}\"?", *near);
  diagnostics.push_back(fault(std::move(message)));
}

}  // namespace

void apply_overrides(YamlNode& root, const std::vector<std::string>& overrides, std::vector<Diagnostic>& diagnostics) {
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      diagnostics.push_back(fault(fmt::format("\"{}\" has no \"=\"", escape_for_display(text.substr(0, 100))),
                                  "write --set path=value, as --set python.version=3.11"));
      continue;
    }
    const std::string_view path = trim(std::string_view(text).substr(0, equals));
    const std::string_view value = std::string_view(text).substr(equals + 1);
    const RecipePath goal = find_recipe_path(path);
    if (goal.field == nullptr) {
      unknown_path(path, diagnostics);
      continue;
    }
    root.kind = YamlNode::Kind::map;
    const Field& field = *goal.field;
    if (!goal.name.empty()) {
      std::optional<YamlNode> node = text_node(value);
      if (field.kind == Field::Kind::option_map && value.starts_with('[')) node = yaml_value(path, value, diagnostics);
      if (!node) continue;
      YamlEntry& entry = entry_of(map_at(root, field.path), goal.name);
      entry.line = entry.column = 0;
      entry.value = std::move(*node);
      continue;
    }
    if (value == "null") {
      erase_at(root, path);
      continue;
    }
    std::optional<YamlNode> node;
    if (is_leaf(field.kind) || value == "auto") {
      node = text_node(value);
    } else if (field.kind == Field::Kind::text_list && !value.starts_with('[')) {
      node.emplace();
      node->kind = YamlNode::Kind::sequence;
      node->items.push_back(text_node(value));
    } else {
      node = yaml_value(path, value, diagnostics);
    }
    if (!node) continue;
    YamlEntry& entry = entry_of(map_at(root, field.parent()), field.key());
    entry.line = entry.column = 0;
    entry.value = std::move(*node);
  }
}

}  // namespace imgforge
