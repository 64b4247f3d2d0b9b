#include "knowledge/table.hpp"

#include "base/text.hpp"

namespace imgforge::knowledge {

namespace {

// Rows are written by people; a table of the embedded ones has a few hundred.
constexpr std::size_t most_rows = 10'000;

std::string found(const YamlNode& node) {
  if (!node.is_scalar()) return std::string(kind_name(node));
  return "\"" + escape_for_display(node.text.size() > 80 ? node.text.substr(0, 80) + "..." : node.text) + "\"";
}

std::string expected(std::string_view what, const YamlNode& node) {
  return "expected " + std::string(what) + ", found " + found(node);
}

// 3.10 without quotes is 3.1 to most readers of YAML: refused everywhere, so that a table means the same to all tools.
std::string unquoted_number(const YamlNode& node) {
  if (!node.plain || !is_yaml_number(node.text)) return {};
  return "YAML reads " + node.text + " as a number; write \"" + node.text + "\" with quotes";
}

template <class Value>
std::string parse_scalar(const YamlNode& node, Value& value, std::string_view what) {
  if (!node.is_scalar()) return expected(what, node);
  if (std::string wrong = unquoted_number(node); !wrong.empty()) return wrong;
  const auto parsed = Value::parse(node.text);
  if (!parsed) return expected(what, node);
  value = *parsed;
  return {};
}

}  // namespace

void Faults::add(std::size_t line, std::size_t column, std::string message, std::string hint) {
  diagnostics.push_back({{file_, line, column}, std::move(message), std::move(hint), {}});
}

std::string read_value(const YamlNode& node, std::string& value) {
  if (!node.is_scalar()) return expected("text", node);
  if (trim(node.text).empty()) return "is empty; leave it out where there is nothing to say";
  if (node.text.size() > 4096) return "is longer than 4096 bytes";
  value = node.text;
  return {};
}

std::string read_value(const YamlNode& node, bool& value) {
  if (!node.is_scalar() || !node.plain || (node.text != "true" && node.text != "false")) {
    return expected("true or false", node);
  }
  value = node.text == "true";
  return {};
}

std::string read_value(const YamlNode& node, unsigned& value) {
  const auto number = node.is_scalar() ? to_number(node.text) : std::nullopt;
  if (!number || *number > 1'000'000) return expected("a whole number of at most 1000000", node);
  value = static_cast<unsigned>(*number);
  return {};
}

std::string read_value(const YamlNode& node, Version& value) {
  return parse_scalar(node, value, "a version such as 2.48.0");
}
std::string read_value(const YamlNode& node, PythonMinor& value) {
  return parse_scalar(node, value, "a Python minor such as \"3.11\"");
}
std::string read_value(const YamlNode& node, Date& value) {
  return parse_scalar(node, value, "a date such as 2026-11-30");
}

std::string read_value(const YamlNode& node, std::vector<PythonMinor>& value) {
  if (!node.is_sequence()) return expected("a list of Python minors such as [\"3.10\", \"3.11\"]", node);
  for (const YamlNode& item : node.items) {
    PythonMinor minor;
    if (std::string wrong = read_value(item, minor); !wrong.empty()) return wrong;
    if (!value.empty() && !(value.back() < minor))
      return minor.to_string() + " is out of order; oldest first, each once";
    value.push_back(minor);
  }
  return {};
}

std::string read_value(const YamlNode& node, std::map<std::string, Version, std::less<>>& value) {
  if (!node.is_map()) return expected("a map of package names to versions", node);
  for (const YamlEntry& entry : node.entries) {
    Version version;
    if (std::string wrong = read_value(entry.value, version); !wrong.empty()) {
      return escape_for_display(entry.key) + ": " + wrong;
    }
    value.emplace(entry.key, std::move(version));
  }
  return {};
}

std::string read_value(const YamlNode& node, std::vector<std::pair<std::string, std::string>>& value) {
  if (!node.is_map()) return expected("a map of variable names to values", node);
  for (const YamlEntry& entry : node.entries) {
    std::string text;
    if (std::string wrong = read_value(entry.value, text); !wrong.empty()) {
      return escape_for_display(entry.key) + ": " + wrong;
    }
    value.emplace_back(entry.key, std::move(text));
  }
  return {};
}

bool check_columns(const YamlNode& row, const std::vector<std::string>& columns,
                   const std::vector<std::string>& required, Faults& faults) {
  if (!row.is_map()) {
    faults.add(row, expected("a row: a map of columns", row));
    return false;
  }
  for (const YamlEntry& entry : row.entries) {
    if (std::find(columns.begin(), columns.end(), entry.key) != columns.end()) continue;
    const auto near = nearest(entry.key, columns);
    faults.add(entry.line, entry.column, "unknown column \"" + escape_for_display(entry.key) + "\"",
               near ? "did you mean \"" + *near + "\"?" : "known are " + join_words(columns));
  }
  for (const std::string& name : required) {
    if (row.find(name) != nullptr) continue;
    faults.add(row, "the column \"" + name + "\" is missing",
               name == "source" ? "say who says so: a URL, a file and commit, or a release's notes" : "");
  }
  return true;
}

namespace {

std::optional<Complete> read_range(const YamlNode& node, Faults& faults) {
  const YamlNode* from = node.is_map() ? node.find("from") : nullptr;
  const YamlNode* through = node.is_map() ? node.find("through") : nullptr;
  if (from == nullptr || through == nullptr || node.entries.size() != 2) {
    faults.add(node, "complete: " + expected("{from: VERSION, through: VERSION}", node));
    return std::nullopt;
  }
  Complete complete;
  for (const auto& [part, value] : {std::pair{from, &complete.from}, std::pair{through, &complete.through}}) {
    if (std::string wrong = read_value(*part, *value); !wrong.empty()) {
      faults.add(*part, "complete: " + wrong);
      return std::nullopt;
    }
  }
  if (complete.through < complete.from) {
    faults.add(node, "complete: from is later than through");
    return std::nullopt;
  }
  return complete;
}

// One range, or one per name: {tensorflow: {from: ..., through: ...}, ...}.
void read_complete(const YamlNode& node, Table& table, Faults& faults) {
  const bool by_name = node.is_map() && !node.entries.empty() &&
                       std::all_of(node.entries.begin(), node.entries.end(),
                                   [](const YamlEntry& entry) { return entry.value.is_map(); });
  if (!by_name) {
    table.complete = read_range(node, faults);
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    if (auto complete = read_range(entry.value, faults)) table.complete_of.emplace(entry.key, *complete);
  }
}

}  // namespace

const YamlNode* read_head(const YamlNode& document, std::string_view name, Table& table, Faults& faults) {
  static const std::vector<std::string> keys = {"table", "about", "as_of", "complete", "rows"};
  if (!document.is_map()) {
    faults.add(std::max<std::size_t>(document.line, 1), 1,
               expected("a table: a map with the keys " + join_words(keys), document));
    return nullptr;
  }
  const YamlNode* rows = nullptr;
  const auto take = [&](const YamlEntry& entry, auto& value) {
    if (std::string wrong = read_value(entry.value, value); !wrong.empty())
      faults.add(entry.value, entry.key + ": " + wrong);
  };
  for (const YamlEntry& entry : document.entries) {
    if (entry.key == "table") {
      take(entry, table.name);
      if (!table.name.empty() && table.name != name) {
        faults.add(
            entry.value,
            "table: this file holds \"" + std::string(name) + "\", not \"" + escape_for_display(table.name) + "\"",
            "a table has the name of its file");
      }
    } else if (entry.key == "about") {
      take(entry, table.about);
    } else if (entry.key == "as_of") {
      take(entry, table.as_of);
    } else if (entry.key == "complete") {
      read_complete(entry.value, table, faults);
    } else if (entry.key == "rows") {
      rows = &entry.value;
    } else {
      const auto near = nearest(entry.key, keys);
      faults.add(entry.line, entry.column, "unknown key \"" + escape_for_display(entry.key) + "\"",
                 near ? "did you mean \"" + *near + "\"?" : "known are " + join_words(keys));
    }
  }
  for (const char* key : {"table", "about", "as_of", "rows"}) {
    if (document.find(key) == nullptr) faults.add(document, std::string("the key \"") + key + "\" is missing");
  }
  if (rows == nullptr) return nullptr;
  if (!rows->is_sequence()) {
    faults.add(*rows, "rows: " + expected("a list of rows", *rows));
    return nullptr;
  }
  if (rows->items.size() > most_rows) {
    faults.add(*rows, "more than " + std::to_string(most_rows) + " rows");
    return nullptr;
  }
  return rows;
}

}  // namespace imgforge::knowledge
