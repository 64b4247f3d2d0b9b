// The compiled tables as this program carries them. Apart from lib/knowledge, since the compiler of the tables is built
// from that room and cannot hold what it is going to make.
#include "knowledge/tables.hpp"

extern "C" {
extern const char imgforge_knowledge_tables_begin[];
extern const char imgforge_knowledge_tables_end[];
}

namespace imgforge {

namespace {

std::string_view blob() {
  return {imgforge_knowledge_tables_begin,
          static_cast<std::size_t>(imgforge_knowledge_tables_end - imgforge_knowledge_tables_begin)};
}

}  // namespace

Knowledge Knowledge::embedded() { return Knowledge(std::make_unique<Tables>(blob())); }

Knowledge Knowledge::with_directory(const std::string& directory) {
  auto tables = std::make_unique<Tables>(blob());
  knowledge::lay_over(*tables, directory);
  return Knowledge(std::move(tables));
}

}  // namespace imgforge
