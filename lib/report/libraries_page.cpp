#include "report/libraries_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"

namespace imgforge {
namespace {

/// Of each name one step: later ones find what the first has loaded.
std::vector<const LoaderStep*> one_of_each(const LoadedSet& set) {
  std::vector<const LoaderStep*> steps;
  std::set<std::string_view> names;
  for (const LoaderStep& step : set.steps) {
    if (names.insert(step.library).second) steps.push_back(&step);
  }
  return steps;
}

}  // namespace

std::string libraries_text(const LoadedSet& set, const std::string& path) {
  std::string page = escape_for_display(path) + ":\n";
  if (!set.files.empty() && set.files[0].elf != nullptr && !set.files[0].elf->dynamic)
    return page + "  not a dynamic executable\n";
  for (const LoaderStep* step : one_of_each(set)) {
    const std::string name = escape_for_display(step->library);
    if (!step->file) {
      page +=
          fmt::format("  {} => not found (needed by {})\n", name, escape_for_display(set.files[step->needed_by].path));
      continue;
    }
    const LoadedFile& file = set.files[*step->file];
    page += fmt::format("  {} => {} ({})\n", name, escape_for_display(file.path), escape_for_display(file.by));
  }
  for (const MissingVersion& missing : set.versions) {
    page += fmt::format("  {}: version {} not found (needed by {})\n", escape_for_display(set.files[missing.file].path),
                        escape_for_display(missing.version), escape_for_display(set.files[missing.needed_by].path));
  }
  if (!set.open.empty()) page += "  not known: " + escape_for_display(set.open) + "\n";
  return page;
}

std::string libraries_json(const LoadedSet& set, const std::string& path) {
  using Json = nlohmann::ordered_json;
  Json page = {{"schema", "imgforge.libraries/v1"}, {"path", escape_for_display(path)}};
  page["libraries"] = Json::array();
  for (const LoaderStep* step : one_of_each(set)) {
    Json one = {{"name", escape_for_display(step->library)}};
    one["path"] = step->file ? Json(escape_for_display(set.files[*step->file].path)) : Json(nullptr);
    one["by"] = step->file ? Json(escape_for_display(set.files[*step->file].by)) : Json(nullptr);
    one["needed_by"] = escape_for_display(set.files[step->needed_by].path);
    page["libraries"].push_back(std::move(one));
  }
  page["versions"] = Json::array();
  for (const MissingVersion& missing : set.versions) {
    page["versions"].push_back({{"library", escape_for_display(missing.library)},
                                {"version", escape_for_display(missing.version)},
                                {"path", escape_for_display(set.files[missing.file].path)},
                                {"needed_by", escape_for_display(set.files[missing.needed_by].path)}});
  }
  page["open"] = set.open.empty() ? Json(nullptr) : Json(escape_for_display(set.open));
  return page.dump(2) + "\n";
}

}  // namespace imgforge
