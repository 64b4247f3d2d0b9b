#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "knowledge/tables.hpp"

namespace imgforge::knowledge {

namespace {

constexpr std::uint64_t largest_file = 1 << 20;
constexpr std::size_t most_entries = 1000;
constexpr std::size_t most_shown = 50;

// Names of the entries of a folder, sorted, so that faults come in the same order everywhere.
std::set<std::string> entries_of(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  std::set<std::string> names;
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.insert(entry->path().filename().string());
    if (names.size() > most_entries) {
      throw Error(ErrorKind::knowledge,
                  escape_for_display(directory) + ": more than " + std::to_string(most_entries) + " files",
                  "give a folder of its own to the tables");
    }
    entry.increment(error);
  }
  if (error)
    throw Error(ErrorKind::knowledge, escape_for_display(directory) + ": " + error.message(),
                "--knowledge takes a folder of tables");
  return names;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

void Faults::throw_if_any() const { knowledge::throw_if_any(diagnostics); }

void throw_if_any(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return;
  std::string message;
  for (std::size_t i = 0; i < diagnostics.size() && i < most_shown; ++i) {
    const Diagnostic& diagnostic = diagnostics[i];
    if (i != 0) message += "\n";
    message += to_string(diagnostic.place) + ": " + diagnostic.message;
    if (!diagnostic.hint.empty()) message += " (" + diagnostic.hint + ")";
  }
  if (diagnostics.size() > most_shown) message += "\nand " + std::to_string(diagnostics.size() - most_shown) + " more";
  throw Error(ErrorKind::knowledge, std::move(message));
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  Knowledge::Tables::for_each_spec([&](const auto& spec) { names.push_back(spec.name); });
  return names;
}

void load_table(std::string_view text, const std::string& file, std::string_view name, Knowledge::Tables& tables,
                std::vector<Diagnostic>& diagnostics) {
  YamlLimits limits;
  limits.bytes = largest_file;
  const auto document = parse_yaml(text, file, diagnostics, limits);
  if (!document) return;
  Knowledge::Tables::for_each_spec([&]<class RowType>(const TableSpec<RowType>& spec) {
    if (spec.name != name) return;
    Faults faults(file);
    tables.set(read_table(*document, spec, faults));
    diagnostics.insert(diagnostics.end(), faults.diagnostics.begin(), faults.diagnostics.end());
  });
}

void lay_over(Knowledge::Tables& tables, const std::string& directory) {
  const std::vector<std::string> known = table_names();
  std::vector<Diagnostic> diagnostics;
  bool any = false;
  for (const std::string& entry : entries_of(directory)) {
    const std::string path = (std::filesystem::path(directory) / entry).string();
    if (ends_with(entry, ".yml")) {
      diagnostics.push_back({{path, 0, 0}, "a table's file ends in .yaml", "rename it", {}});
      continue;
    }
    if (!ends_with(entry, ".yaml")) continue;
    any = true;
    const std::string name = entry.substr(0, entry.size() - 5);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, known);
      diagnostics.push_back({{path, 0, 0},
                             "no table has this name",
                             near ? "did you mean " + *near + ".yaml?" : "known are " + join_words(known),
                             {}});
      continue;
    }
    try {
      load_table(read_file(path, largest_file), path, name, tables, diagnostics);
    } catch (const Error& error) {
      diagnostics.push_back({{path, 0, 0}, error.message(), error.hint(), {}});
    }
  }
  if (!any && diagnostics.empty()) {
    throw Error(ErrorKind::knowledge, escape_for_display(directory) + ": no *.yaml file in there",
                "known tables are " + join_words(known));
  }
  throw_if_any(diagnostics);
  tables.custom = true;
  throw_if_any(cross_check(tables));
}

}  // namespace imgforge::knowledge
