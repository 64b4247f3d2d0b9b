// The compiled form of the tables, which the program carries: nothing costs until it is asked for, single rows can be
// picked without reading the others, and none needs YAML at run time.
//
//   blob    magic, as_of (10 bytes), number of tables (4), of each its name (text), offset (4) and size (4), the tables
//   table   number of strings n (4), n + 1 offsets (4 each) into their bytes, these bytes, a node
//   node    kind (1), then: null nothing; scalar a string's number (var); list the size of its items (var), these;
//           map the size of its entries (var), of each its key (var) and node
//
// Numbers of 4 bytes are little-endian; (var) is LEB128; (text) a length (var) and bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/rows.hpp"

namespace imgforge::knowledge {

/// A node of a compiled table, not read yet. Every read throws Error(knowledge) where the bytes are damaged.
class CompiledNode {
 public:
  /// The text of a scalar of this map, without reading anything else; empty where there is none.
  std::string_view text(std::string_view key) const;
  /// The texts of a list of scalars of this map.
  std::vector<std::string_view> texts(std::string_view key) const;
  /// The whole of it (without places).
  YamlNode read() const;

 private:
  friend class CompiledTable;
  CompiledNode(std::string_view strings, std::string_view bytes) : strings_(strings), bytes_(bytes) {}
  std::optional<CompiledNode> find(std::string_view key) const;

  std::string_view strings_;  // of the table: number, offsets, bytes
  std::string_view bytes_;    // of this node
};

/// One table: all but its rows, and each row by itself.
class CompiledTable {
 public:
  explicit CompiledTable(std::string_view bytes);
  /// The table without its rows: an empty list of them.
  YamlNode head() const;
  std::vector<CompiledNode> rows() const;
  YamlNode read() const { return node_.read(); }

 private:
  CompiledNode node_;
};

/// A view of compiled tables; the bytes outlive it.
class Compiled {
 public:
  Compiled() = default;
  explicit Compiled(std::string_view bytes) : bytes_(bytes) {}
  /// Throws Error(knowledge) where the table is not in there.
  CompiledTable table(std::string_view name) const;
  /// The newest as_of of the tables; 1970-01-01 where there are none.
  Date newest() const;

 private:
  std::string_view bytes_;
};

/// The compiled form of some tables, by name, in that order: same tables, same bytes.
std::string compile(const std::vector<std::pair<std::string, YamlNode>>& tables);

/// Throws Error(knowledge) where the compiled table does not hold what this version of the program expects.
template <class RowType>
TableOf<RowType> decode(const YamlNode& document) {
  const TableSpec<RowType>& spec = spec_of<RowType>();
  Faults faults(spec.name + " (embedded)");
  TableOf<RowType> table = read_table(document, spec, faults, true);
  faults.throw_if_any();
  return table;
}
template <class RowType>
TableOf<RowType> decode(const Compiled& compiled) {
  return decode<RowType>(compiled.table(spec_of<RowType>().name).read());
}

/// One row by itself.
template <class RowType>
RowType decode_row(const CompiledNode& node) {
  const TableSpec<RowType>& spec = spec_of<RowType>();
  const YamlNode document = node.read();
  Faults faults(spec.name + " (embedded)");
  auto row = read_row(document, spec, faults, true);
  faults.throw_if_any();
  return std::move(*row);
}

}  // namespace imgforge::knowledge
