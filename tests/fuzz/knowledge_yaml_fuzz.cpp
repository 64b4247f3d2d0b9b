// Tables of a folder that somebody gave with --knowledge: the first byte chooses the table, the rest is its file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "knowledge/tables.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  if (size == 0) return 0;
  static const std::vector<std::string> names = knowledge::table_names();
  const std::string& name = names[data[0] % names.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

  Knowledge::Tables tables;
  std::vector<Diagnostic> diagnostics;
  knowledge::load_table(text, "fuzz.yaml", name, tables, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) to_string(diagnostic);
  if (!diagnostics.empty()) return 0;

  // What loads also survives being compiled.
  const auto document = parse_yaml(text, "fuzz.yaml", diagnostics);
  if (!document) __builtin_trap();
  const std::string bytes = knowledge::compile({{name, *document}});
  Knowledge::Tables::for_each_spec([&]<class RowType>(const knowledge::TableSpec<RowType>& spec) {
    if (spec.name != name) return;
    const auto again = knowledge::decode<RowType>(knowledge::Compiled(bytes));
    if (again.rows.size() != tables.get<RowType>().rows.size()) __builtin_trap();
  });
  return 0;
}
