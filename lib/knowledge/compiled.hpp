// The compiled form of the tables: CBOR (RFC 8949), a map of table names to byte strings, each of which is the CBOR of
// one table, and the newest as_of of them all. So a table costs nothing until it is asked for, and none needs YAML at
// run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/rows.hpp"

namespace imgforge::knowledge {

/// A view of compiled tables; the bytes outlive it.
class Compiled {
 public:
  Compiled() = default;
  explicit Compiled(std::string_view bytes) : bytes_(bytes) {}
  /// One table as the tree that its file had (without places). Throws Error(knowledge) where it is not in there.
  YamlNode table(std::string_view name) const;
  /// The newest as_of of the tables; 1970-01-01 where there are none.
  Date newest() const;

 private:
  std::string_view bytes_;
};

/// The compiled form of some tables, by name, in that order: same tables, same bytes.
std::string compile(const std::vector<std::pair<std::string, YamlNode>>& tables);

/// Throws Error(knowledge) where the compiled table does not hold what this version of the program expects.
template <class RowType>
TableOf<RowType> decode(const Compiled& compiled) {
  const TableSpec<RowType>& spec = spec_of<RowType>();
  Faults faults(spec.name + " (embedded)");
  TableOf<RowType> table = read_table(compiled.table(spec.name), spec, faults, true);
  faults.throw_if_any();
  return table;
}

}  // namespace imgforge::knowledge
