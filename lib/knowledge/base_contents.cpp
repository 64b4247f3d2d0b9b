// knowledge/base_contents.yaml: its columns, its checks, and the look-up.
#include <re2/re2.h>

#include "base/text.hpp"
#include "knowledge/pattern.hpp"
#include "knowledge/tables.hpp"

namespace imgforge {

namespace {

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

std::string check_base_content(const BaseContent& row) {
  for (const auto& [column, text] : {std::pair<const char*, const std::string&>{"repository", row.repository},
                                     std::pair<const char*, const std::string&>{"tag", row.tag}}) {
    const RE2 pattern(text, pattern_options());
    if (!pattern.ok()) return std::string(column) + ": not a pattern: " + escape_for_display(pattern.error());
  }
  for (const auto& [path, text] : row.files) {
    if (!path.starts_with('/')) return "files: an absolute path is needed, not \"" + escape_for_display(path) + "\"";
  }
  return {};
}

bool matches(const std::string& pattern, std::string_view text) {
  if (!knowledge::may_match(pattern, text)) return false;
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), RE2(pattern, pattern_options()));
}

}  // namespace

namespace knowledge {

template <>
const TableSpec<BaseContent>& spec_of() {
  using Type = BaseContent;
  static const TableSpec<Type> spec = {
      "base_contents",
      {required<Type>("repository", &Type::repository), required<Type>("tag", &Type::tag),
       optional<Type>("programs", &Type::programs), optional<Type>("lacks", &Type::lacks),
       optional<Type>("env", &Type::env), optional<Type>("env_open", &Type::env_open),
       optional<Type>("entrypoint", &Type::entrypoint), optional<Type>("cmd", &Type::cmd),
       optional<Type>("user", &Type::user), optional<Type>("workdir", &Type::workdir),
       optional<Type>("folders", &Type::folders), optional<Type>("files", &Type::files)},
      [](const Type& row) { return row.repository + ":" + row.tag; },
      check_base_content,
      {}};
  return spec;
}

}  // namespace knowledge

std::vector<const BaseContent*> Knowledge::base_contents(std::string_view host_and_repository,
                                                         std::string_view tag) const {
  std::vector<const BaseContent*> found;
  const std::string* repository = nullptr;  // rows of a repository stand together: its pattern is asked once
  bool repository_matches = false;
  for (const BaseContent& row : tables_->get<BaseContent>().rows) {
    if (repository == nullptr || *repository != row.repository) {
      repository = &row.repository;
      repository_matches = matches(row.repository, host_and_repository);
    }
    if (repository_matches && matches(row.tag, tag)) found.push_back(&row);
  }
  return found;
}

}  // namespace imgforge
