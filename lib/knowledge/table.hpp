// Tables as they are written: from YAML or the compiled blob to rows of values, with every fault named by file and
// line.
//
// One column list per row type (rows.cpp) drives it all: what a row may hold, what it must hold, and how text becomes
// a value. The YAML reader and the compiled form feed the same code, so both are checked alike.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/place.hpp"
#include "base/yaml.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge::knowledge {

/// One file: its name, what it is about, the day that its rows were last compared with their sources, and its rows.
struct Table {
  std::string name;
  std::string about;
  Date as_of;
  std::optional<Complete> complete;
  std::map<std::string, std::optional<Complete>, std::less<>>
      complete_of;  // of a table about several things, by their name
};

/// A table with its rows, and the place of each for messages.
template <class RowType>
struct TableOf : Table {
  std::vector<RowType> rows;
  std::vector<Place> places;
};

/// Faults of a file, collected.
class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}
  void add(std::size_t line, std::size_t column, std::string message, std::string hint = {});
  void add(const YamlNode& node, std::string message, std::string hint = {}) {
    add(node.line, node.column, std::move(message), std::move(hint));
  }
  /// Throws Error(knowledge) that lists the faults, where there are any.
  void throw_if_any() const;
  const std::string& file() const noexcept { return file_; }
  std::vector<Diagnostic> diagnostics;

 private:
  std::string file_;
};

/// Reads a value, or says what is wrong with it: "expected a version such as 2.48.0". Empty where all is well.
std::string read_value(const YamlNode& node, std::string& value);
std::string read_value(const YamlNode& node, bool& value);
std::string read_value(const YamlNode& node, unsigned& value);
std::string read_value(const YamlNode& node, Version& value);
std::string read_value(const YamlNode& node, PythonMinor& value);
std::string read_value(const YamlNode& node, Date& value);
std::string read_value(const YamlNode& node, BeamBehaviour& value);
std::string read_value(const YamlNode& node, std::vector<PythonMinor>& value);
std::string read_value(const YamlNode& node, std::map<std::string, Version, std::less<>>& value);
std::string read_value(const YamlNode& node, std::vector<std::pair<std::string, std::string>>& value);
std::string read_value(const YamlNode& node, std::vector<std::string>& value);
std::string read_value(const YamlNode& node, std::vector<unsigned>& value);
std::string read_value(const YamlNode& node, std::map<std::string, std::string, std::less<>>& value);
std::string read_value(const YamlNode& node, std::vector<FrameworkBuild::Cuda>& value);

template <class Value>
std::string read_value(const YamlNode& node, std::optional<Value>& value) {
  Value found{};
  std::string wrong = read_value(node, found);
  if (wrong.empty()) value = std::move(found);
  return wrong;
}

template <class RowType>
struct Column {
  std::string name;
  bool required;
  std::function<std::string(const YamlNode&, RowType&)> read;
};

template <class RowType, class Owner, class Value>
Column<RowType> required(std::string name, Value Owner::*member) {
  return {std::move(name), true,
          [member](const YamlNode& node, RowType& row) { return read_value(node, row.*member); }};
}
template <class RowType, class Owner, class Value>
Column<RowType> optional(std::string name, Value Owner::*member) {
  return {std::move(name), false,
          [member](const YamlNode& node, RowType& row) { return read_value(node, row.*member); }};
}

template <class RowType>
struct TableSpec {
  std::string name;
  std::vector<Column<RowType>> columns;              // beside source and unverified, which every row has
  std::function<std::string(const RowType&)> key;    // no two rows have the same
  std::function<std::string(const RowType&)> check;  // what is wrong with the row as a whole; empty where nothing is
  std::function<bool(const RowType&, const RowType&)> before;  // the order that look-ups want; none: that of the file
};

/// The head of a table (all but its rows) and the node of its rows; nothing where there is none to read.
const YamlNode* read_head(const YamlNode& document, std::string_view name, Table& table, Faults& faults);
/// What stands in `row` but not in `columns`, what of `required` is missing, and whether it is a map at all.
bool check_columns(const YamlNode& row, const std::vector<std::string>& columns,
                   const std::vector<std::string>& required, Faults& faults);

/// Reads one row; nothing where something is wrong with it, which is among the faults then.
/// `checked`: it went through this before (it was compiled), so its columns and the row as a whole are not looked at
/// again. Compiling a few hundred patterns only to see that they compile would cost more than the answer.
template <class RowType>
std::optional<RowType> read_row(const YamlNode& node, const TableSpec<RowType>& spec, Faults& faults, bool checked) {
  if (!checked) {
    std::vector<std::string> names;
    std::vector<std::string> needed = {"source"};
    for (const auto& column : spec.columns) {
      names.push_back(column.name);
      if (column.required) needed.push_back(column.name);
    }
    names.insert(names.end(), {"source", "unverified"});
    if (!check_columns(node, names, needed, faults)) return std::nullopt;
  }
  RowType row;
  bool whole = true;
  std::size_t next = 0;  // columns mostly stand in the order of the spec
  for (const YamlEntry& entry : node.entries) {
    std::string wrong;
    if (entry.key == "source") {
      wrong = read_value(entry.value, row.source);
    } else if (entry.key == "unverified") {
      wrong = read_value(entry.value, row.unverified);
    } else {
      const std::size_t count = spec.columns.size();
      std::size_t tried = 0;
      while (tried < count && spec.columns[(next + tried) % count].name != entry.key) ++tried;
      if (tried == count) {
        whole = false;  // unknown: told by check_columns
        continue;
      }
      next = (next + tried) % count;
      wrong = spec.columns[next].read(entry.value, row);
      next = (next + 1) % count;
    }
    if (wrong.empty()) continue;
    faults.add(entry.value, entry.key + ": " + wrong);
    whole = false;
  }
  for (const auto& column : spec.columns) whole = whole && (!column.required || node.find(column.name) != nullptr);
  if (!whole || node.find("source") == nullptr) return std::nullopt;
  if (checked || !spec.check) return row;
  if (std::string wrong = spec.check(row); !wrong.empty()) {
    faults.add(node, std::move(wrong));
    return std::nullopt;
  }
  return row;
}

template <class RowType>
TableOf<RowType> read_table(const YamlNode& document, const TableSpec<RowType>& spec, Faults& faults,
                            bool checked = false) {
  TableOf<RowType> table;
  const YamlNode* rows = read_head(document, spec.name, table, faults);
  if (rows == nullptr) return table;
  table.rows.reserve(rows->items.size());
  table.places.reserve(rows->items.size());
  std::unordered_map<std::string, std::size_t> lines_of_keys;
  for (const YamlNode& node : rows->items) {
    auto row = read_row(node, spec, faults, checked);
    if (!row) continue;
    if (!checked) {
      const auto [known, fresh] = lines_of_keys.emplace(spec.key(*row), node.line);
      if (!fresh) {
        faults.add(node, "a second row for " + known->first + ", the first is in line " + std::to_string(known->second),
                   "keep one of them");
        continue;
      }
    }
    const bool in_order = !spec.before || table.rows.empty() || !spec.before(*row, table.rows.back());
    const auto at =
        in_order ? table.rows.end() : std::upper_bound(table.rows.begin(), table.rows.end(), *row, spec.before);
    table.places.insert(table.places.begin() + (at - table.rows.begin()), {faults.file(), node.line, node.column});
    table.rows.insert(at, std::move(*row));
  }
  return table;
}

}  // namespace imgforge::knowledge
