// imgforge_knowledge_compiler OUTPUT TABLE.yaml...: checks the tables, alone and against each other, and writes their
// compiled form. Runs at build time; a fault in a table ends the build with its file and line.
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "knowledge/tables.hpp"

int main(int argc, char* argv[]) try {
  using namespace imgforge;
  if (argc < 3) {
    std::fputs("usage: imgforge_knowledge_compiler OUTPUT TABLE.yaml...\n", stderr);
    return 2;
  }
  Knowledge::Tables tables;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::pair<std::string, YamlNode>> compiled;
  std::vector<std::string> missing = knowledge::table_names();
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    const std::string name = std::filesystem::path(path).stem().string();
    const auto known = std::find(missing.begin(), missing.end(), name);
    if (known == missing.end()) {
      diagnostics.push_back({{path, 0, 0}, "no table has this name, or it was given twice", {}, {}});
      continue;
    }
    missing.erase(known);
    const std::string text = read_file(path, 1 << 20);
    knowledge::load_table(text, path, name, tables, diagnostics);
    if (diagnostics.empty()) compiled.emplace_back(name, *parse_yaml(text, path, diagnostics));
  }
  for (const std::string& name : missing)
    diagnostics.push_back({{name + ".yaml", 0, 0}, "the table is missing", {}, {}});
  knowledge::throw_if_any(diagnostics);
  knowledge::throw_if_any(knowledge::cross_check(tables));
  write_file_atomically(argv[1], knowledge::compile(compiled));
  return 0;
} catch (const imgforge::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
