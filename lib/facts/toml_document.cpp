#include "facts/toml_document.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <toml.hpp>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t largest = 4 << 20;
constexpr int deepest = 64;
constexpr std::size_t most_values = 400'000;

/// toml11 recurses with the nesting of lists, inline tables and dotted keys. Brackets in texts and comments count, too:
/// what is refused for them is none of the files that are read here.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  for (const std::string_view line : lines(text)) {
    int dots = 0;
    for (const char c : line) {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      if (c == '.') ++dots;
      if (c == '=') break;
      if (depth > deepest || dots > deepest) return true;
    }
    for (const char c : line.substr(std::min(line.find('='), line.size()))) {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      if (depth > deepest) return true;
    }
  }
  return false;
}

}  // namespace

struct TomlValue::Node {
  enum class Kind { table, list, text, boolean, other };
  Kind kind = Kind::other;
  std::string text;
  bool boolean = false;
  std::vector<TomlValue> items;
  std::map<std::string, TomlValue, std::less<>> entries;  // sorted: toml11's order is its hash table's
  std::size_t line = 0;
  std::size_t column = 0;
};

namespace {

TomlValue converted(const toml::value& value, std::size_t& left) {
  auto node = std::make_shared<TomlValue::Node>();
  const toml::source_location place = value.location();
  node->line = place.line();
  node->column = place.column();
  if (left == 0) return TomlValue(std::move(node));
  --left;
  if (value.is_table()) {
    node->kind = TomlValue::Node::Kind::table;
    for (const auto& [key, entry] : value.as_table()) node->entries.emplace(key, converted(entry, left));
  } else if (value.is_array()) {
    node->kind = TomlValue::Node::Kind::list;
    for (const toml::value& item : value.as_array()) node->items.push_back(converted(item, left));
  } else if (value.is_string()) {
    node->kind = TomlValue::Node::Kind::text;
    node->text = value.as_string().str;
  } else if (value.is_boolean()) {
    node->kind = TomlValue::Node::Kind::boolean;
    node->boolean = value.as_boolean();
  }
  return TomlValue(std::move(node));
}

}  // namespace

bool TomlValue::is_table() const noexcept { return node_->kind == Node::Kind::table; }
bool TomlValue::is_list() const noexcept { return node_->kind == Node::Kind::list; }

std::optional<std::string> TomlValue::text() const {
  return node_->kind == Node::Kind::text ? std::optional(node_->text) : std::nullopt;
}

std::optional<bool> TomlValue::boolean() const {
  return node_->kind == Node::Kind::boolean ? std::optional(node_->boolean) : std::nullopt;
}

std::vector<TomlValue> TomlValue::items() const { return node_->items; }

std::vector<std::pair<std::string, TomlValue>> TomlValue::entries() const {
  return {node_->entries.begin(), node_->entries.end()};
}

std::optional<TomlValue> TomlValue::find(std::string_view key) const {
  const auto found = node_->entries.find(key);
  return found == node_->entries.end() ? std::nullopt : std::optional(found->second);
}

std::size_t TomlValue::line() const noexcept { return node_->line; }
std::size_t TomlValue::column() const noexcept { return node_->column; }

std::optional<TomlValue> parse_toml(std::string_view text, const std::string& file, std::string& why) {
  if (text.size() > largest) {
    why = fmt::format("{} has {}, at most {} are read", file, human_size(text.size()), human_size(largest));
    return std::nullopt;
  }
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) {
    why = fmt::format("{} is no text in UTF-8", file);
    return std::nullopt;
  }
  if (is_too_deep(text)) {
    why = fmt::format("{} is nested deeper than {}", file, deepest);
    return std::nullopt;
  }
  try {
    std::istringstream stream{std::string(text)};
    std::size_t left = most_values;
    return converted(toml::parse(stream, file), left);
  } catch (const std::exception&) {  // toml11 throws several types, with messages of many lines
    why = fmt::format("{} is no TOML", file);
    return std::nullopt;
  }
}

}  // namespace imgforge
