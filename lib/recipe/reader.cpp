#include "recipe/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_diagnostics = 100;
constexpr std::size_t most_unknown = 1000;
constexpr std::size_t longest_line = 4096;  // longer ones are not shown
constexpr std::size_t longest_key = 64;     // that is shown, and compared with the known ones

std::string shown(std::string_view text) {
  if (text.size() <= longest_key) return escape_for_display(text);
  return escape_for_display(text.substr(0, longest_key)) + "...";
}

/// "python" and "version" are "python.version".
std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

}  // namespace

RecipeReader::RecipeReader(std::string name, std::string_view text, UnknownKeys unknown, std::string other)
    : name_(std::move(name)), lines_(lines(text)), unknown_(unknown), other_(std::move(other)) {}

void RecipeReader::add(std::vector<Diagnostic> diagnostics) { result_.diagnostics = std::move(diagnostics); }

Place RecipeReader::place_at(std::size_t line, std::size_t column) const {
  if (line == 0) return {other_.empty() ? name_ : other_, 0, 0};
  return {name_, line, column};
}

bool RecipeReader::full() const noexcept { return result_.diagnostics.size() >= most_diagnostics; }

void RecipeReader::report(Place place, std::string message, std::string hint) {
  if (full()) return;
  Diagnostic diagnostic;
  if (place.line != 0 && place.line <= lines_.size()) {
    const std::string_view line = lines_[place.line - 1];
    if (line.size() <= longest_line) diagnostic.line_text = std::string(line);
  }
  diagnostic.place = std::move(place);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  result_.diagnostics.push_back(std::move(diagnostic));
}

RecipeParse RecipeReader::read(const YamlNode& root) {
  recipe_.places[""] = {name_, 0, 0};
  if (root.is_null()) {
    report({name_, 0, 0}, "the recipe is empty", "the least recipe: apiVersion: imgforge/v1, name and target.runner");
  } else if (!root.is_map()) {
    report(place_of(root), fmt::format("a recipe is a map of keys, this is {}", kind_name(root)),
           "it begins with: apiVersion: imgforge/v1");
  } else {
    read_object({}, {}, root, place_of(root));
    check_together();
  }
  std::stable_sort(result_.diagnostics.begin(), result_.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     // What came from the command line stands last.
                     const auto key = [](const Diagnostic& item) {
                       return std::pair(item.place.line == 0 ? SIZE_MAX : item.place.line, item.place.column);
                     };
                     return key(a) < key(b);
                   });
  if (full()) {
    Diagnostic diagnostic;
    diagnostic.place.file = name_;
    diagnostic.message = fmt::format("there may be more faults; only the first {} are shown", most_diagnostics);
    result_.diagnostics.push_back(std::move(diagnostic));
  }
  if (!has_errors(result_.diagnostics)) result_.recipe = std::move(recipe_);
  return std::move(result_);
}

void RecipeReader::read_object(const std::string& path, std::string_view field_path, const YamlNode& node,
                               const Place& place) {
  std::vector<std::string> meant;  // a key that is misspelt is not missing
  for (const YamlEntry& entry : node.entries) {
    // A key with a dot is no path: "python.version" is written as two levels.
    const bool plain_key = entry.key.find_first_of(".[") == std::string::npos;
    const std::string field_name = below(std::string(field_path), entry.key);
    const Field* field = plain_key ? find_recipe_field(field_name) : nullptr;
    if (field != nullptr) {
      read_field(below(path, entry.key), *field, entry);
    } else if (std::optional<std::string> near = unknown_key(path, field_path, entry)) {
      meant.push_back(std::move(*near));
    }
  }
  for (const Field* field : recipe_fields_of(field_path)) {
    if (!field->required || node.find(field->key()) != nullptr) continue;
    if (std::find(meant.begin(), meant.end(), field->key()) == meant.end()) missing(*field, path, place);
  }
}

void RecipeReader::missing(const Field& field, const std::string& path, const Place& place) {
  if (field.kind == Field::Kind::object) {
    for (const Field* child : recipe_fields_of(field.path)) {
      if (child->required) missing(*child, below(path, field.key()), place);
    }
    return;
  }
  std::string hint;
  if (field.grammar != nullptr && !field.grammar->choices.empty()) {
    const auto& choices = field.grammar->choices;
    hint = fmt::format("write {}: {}", field.key(), join_words({choices.begin(), choices.end()}, "or"));
  } else if (field.grammar != nullptr) {
    hint = std::string(field.grammar->advice);
  }
  report(place, fmt::format("{} is missing: {}", below(path, field.key()), field.doc), std::move(hint));
}

std::optional<std::string> RecipeReader::unknown_key(const std::string& path, std::string_view field_path,
                                                     const YamlEntry& entry) {
  const std::string full_path = below(path, entry.key);
  if (unknown_ == UnknownKeys::listed) {
    if (result_.not_understood.size() < most_unknown) result_.not_understood.push_back(shown(full_path));
    return std::nullopt;
  }
  if (full()) return std::nullopt;
  std::string message = fmt::format("unknown key \"{}\"", shown(entry.key));
  if (!path.empty()) message += " in " + path;
  std::vector<std::string> known;
  for (const Field* field : recipe_fields_of(field_path)) known.emplace_back(field->key());
  std::string hint = fmt::format("known keys here: {}", join(known, ", "));
  std::optional<std::string> meant;
  if (entry.key.size() <= longest_key) {
    // The same word may be known elsewhere, at another level.
    const auto& all = recipe_fields();
    const auto elsewhere = std::find_if(all.begin(), all.end(), [&](const Field& field) {
      return field.path == entry.key || (field.key() == entry.key && field.path.find("[]") == std::string_view::npos);
    });
    meant = nearest(entry.key, known);
    if (meant) {
      message += fmt::format(", did you mean \"{}\"?", *meant);
    } else if (elsewhere != all.end()) {
      hint = elsewhere->parent().empty() ? fmt::format("{} stands at the top of the recipe", elsewhere->key())
                                         : fmt::format("{} stands under {}", elsewhere->key(), elsewhere->parent());
    }
  }
  report(place_at(entry.line, entry.column), std::move(message), std::move(hint));
  return meant;
}

bool RecipeReader::expect(const std::string& path, const YamlNode& node, YamlNode::Kind kind, std::string_view wanted,
                          std::string hint) {
  if (node.kind == kind) return true;
  report(place_of(node), fmt::format("{}: {} is expected, this is {}", path, wanted, kind_name(node)), std::move(hint));
  return false;
}

void RecipeReader::read_field(const std::string& path, const Field& field, const YamlEntry& entry) {
  const YamlNode& node = entry.value;
  recipe_.places[path] = is_leaf(field.kind) ? place_of(node) : place_at(entry.line, entry.column);

  if (field.nullable && node.is_null()) return;
  if (field.derivable && node.is_scalar() && node.text == "auto") return;
  if (node.is_null()) {
    std::string_view value = "a value";
    if (field.kind == Field::Kind::object || field.kind == Field::Kind::text_map) value = "{}";
    if (field.kind == Field::Kind::text_list || field.kind == Field::Kind::object_list) value = "[]";
    std::string hint = fmt::format("write {}{}", value, field.required ? "" : ", or leave the key out");
    report(place_at(entry.line, entry.column), fmt::format("{} has no value", path), std::move(hint));
    return;
  }
  switch (field.kind) {
    case Field::Kind::object:
      if (!expect(path, node, YamlNode::Kind::map, "a map", {})) return;
      if (field.set != nullptr) field.set(recipe_, {});
      read_object(path, field.path, node, place_at(entry.line, entry.column));
      return;
    case Field::Kind::text: read_text(path, field, node); return;
    case Field::Kind::number: read_number(path, field, node); return;
    case Field::Kind::boolean: read_boolean(path, field, node); return;
    case Field::Kind::text_list:
    case Field::Kind::object_list: read_list(path, field, node); return;
    case Field::Kind::text_map:
    case Field::Kind::option_map: read_map(path, field, node); return;
    case Field::Kind::axes: read_axes(path, node); return;
    case Field::Kind::cells: read_cells(path, field, node); return;
  }
}

void RecipeReader::read_text(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::scalar, "text", {})) return;
  const Grammar& grammar = *field.grammar;
  if (grammar.is_version && node.plain) {
    if (const std::optional<std::string> trap = number_trap(node.text)) {
      report(place_of(node), fmt::format("{}: {}", path, *trap),
             fmt::format("write it in quotes: \"{}\"", shown(node.text)));
      return;
    }
  }
  if (const std::optional<std::string> fault = check_text(grammar, node.text)) {
    report(place_of(node), fmt::format("{}: {}", path, *fault), std::string(grammar.advice));
    return;
  }
  field.set(recipe_, node.text);
}

void RecipeReader::read_number(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::scalar, "a number", {})) return;
  const std::optional<std::uint64_t> number = to_number(node.text);
  if (!number || *number == 0 || *number > field.most) {
    report(place_of(node),
           fmt::format("{}: \"{}\" is no whole number from 1 to {}", path, shown(node.text), field.most));
    return;
  }
  field.set(recipe_, node.text);
}

void RecipeReader::read_boolean(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::scalar, "true or false", {})) return;
  // As YAML 1.2 spells them (core schema, 10.3.2). In quotes, too: there is nothing else that could be meant.
  const std::string word = lower(node.text);
  const bool spelled = node.text == word || node.text == "True" || node.text == "False" || node.text == "TRUE" ||
                       node.text == "FALSE";
  if (spelled && (word == "true" || word == "false")) {
    field.set(recipe_, word);
    return;
  }
  std::string hint = "write true or false";
  if (word == "yes" || word == "on" || word == "y" || word == "1") hint = "write true";
  if (word == "no" || word == "off" || word == "n" || word == "0") hint = "write false";
  report(place_of(node), fmt::format("{}: \"{}\" is neither true nor false", path, shown(node.text)), std::move(hint));
}

void RecipeReader::read_list(const std::string& path, const Field& field, const YamlNode& node) {
  const std::string hint =
      node.is_scalar() && field.kind == Field::Kind::text_list ? fmt::format("write [\"{}\"]", shown(node.text)) : "";
  if (!expect(path, node, YamlNode::Kind::sequence, "a list", hint)) return;
  for (std::size_t i = 0; i < node.items.size() && !full(); ++i) {
    const YamlNode& item = node.items[i];
    const std::string item_path = fmt::format("{}[{}]", path, i);
    recipe_.places[item_path] = place_of(item);
    if (field.kind == Field::Kind::text_list) {
      read_text(item_path, field, item);
    } else if (expect(item_path, item, YamlNode::Kind::map, "a map", {})) {
      field.set(recipe_, {});
      read_object(item_path, fmt::format("{}[]", field.path), item, place_of(item));
    }
  }
}

void RecipeReader::read_map(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::map, "a map of names and values", "write NAME: value, one a line")) return;
  for (const YamlEntry& entry : node.entries) {
    if (full()) return;
    const Place key_place = place_at(entry.line, entry.column);
    const std::string entry_path = below(path, shown(entry.key));
    if (const std::optional<std::string> fault = check_text(*field.key_grammar, entry.key)) {
      report(key_place, fmt::format("{}: {}", path, *fault), std::string(field.key_grammar->advice));
      continue;
    }
    if (entry.value.is_null()) {
      report(key_place, fmt::format("{} has no value", entry_path), "write \"\" for an empty one");
      continue;
    }
    if (field.kind == Field::Kind::option_map) {
      read_option(entry_path, field, entry);
      continue;
    }
    if (!read_value(entry_path, field, entry.value)) continue;
    recipe_.places[below(path, entry.key)] = place_of(entry.value);
    field.add_pair(recipe_, entry.key, entry.value.text);
  }
}

bool RecipeReader::read_value(const std::string& path, const Field& field, const YamlNode& node) {
  if (!expect(path, node, YamlNode::Kind::scalar, "text", {})) return false;
  const std::optional<std::string> fault = check_text(*field.grammar, node.text);
  if (fault) report(place_of(node), fmt::format("{}: {}", path, *fault), std::string(field.grammar->advice));
  return !fault;
}

void RecipeReader::read_option(const std::string& path, const Field& field, const YamlEntry& entry) {
  OptionValue value;
  value.list = entry.value.is_sequence();
  if (!value.list) {
    if (!expect(path, entry.value, YamlNode::Kind::scalar, "text or a list", {})) return;
    if (!read_value(path, field, entry.value)) return;
    value.texts.push_back(entry.value.text);
  }
  for (const YamlNode& item : entry.value.items) {
    if (full()) return;
    const std::string item_path = fmt::format("{}[{}]", path, value.texts.size());
    if (!read_value(item_path, field, item)) return;
    recipe_.places[item_path] = place_of(item);
    value.texts.push_back(item.text);
  }
  recipe_.places[path] = place_of(entry.value);
  recipe_.target.options.emplace_back(entry.key, std::move(value));
}

}  // namespace imgforge
