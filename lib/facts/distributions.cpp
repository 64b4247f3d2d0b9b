#include "facts/distributions.hpp"

#include <algorithm>
#include <set>

#include "base/requirement.hpp"
#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/python_metadata.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_distributions = 20'000;
constexpr std::uint64_t max_whole = 1 << 20;   // METADATA with a description of this size is read whole
constexpr std::uint64_t max_small = 64 << 10;       // WHEEL, requires.txt
constexpr std::uint64_t max_direct_url = 16 << 10;  // direct_url.json, and an egg-link
constexpr std::size_t max_prefix = 128 << 10;  // of a larger one, this much: the header comes first

/// "https://user:token@host/x" without what stands before the "@": a secret must not reach a report.
std::string without_userinfo(std::string url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  const std::size_t at = url.rfind('@', end);
  if (at != std::string::npos && at > scheme && at < end) url.erase(scheme + 3, at - scheme - 2);
  return url;
}

std::optional<Distribution> read_one(ImageReader& reader, const Node& node, const std::string& site) {
  const std::size_t slash = node.path.rfind('/');
  const std::string folder = node.path.substr(0, slash);
  const std::string_view leaf = std::string_view(node.path).substr(slash + 1);
  const bool own_file = leaf.ends_with(".egg-info");
  const std::string_view folder_name = std::string_view(folder).substr(folder.rfind('/') + 1);
  // "~umpy-1.0.dist-info" is what an interrupted pip left behind.
  if (!own_file && folder_name != "EGG-INFO" && !parse_metadata_name(folder_name)) return std::nullopt;

  const Lookup found =
      node.type == EntryType::symlink ? reader.root().lookup(node.path) : Lookup{Lookup::Status::found, node, {}, {}};
  if (!found || found.node->type != EntryType::file) return std::nullopt;
  const bool cut = found.node->size > max_whole;
  const auto text =
      cut ? reader.root().read_prefix(*found.node, max_prefix) : reader.root().read(*found.node, max_whole);
  const auto metadata = text ? parse_python_metadata(*text, cut) : std::nullopt;
  if (!metadata || !is_project_name(metadata->name)) return std::nullopt;

  Distribution distribution;
  distribution.name = normalise_name(metadata->name);
  distribution.version_text = metadata->version;
  distribution.version = Version::parse(metadata->version);
  distribution.site = site;
  distribution.metadata_path = node.path;
  distribution.requires_dist = metadata->requires_dist;
  distribution.requires_python = metadata->requires_python;
  distribution.evidence = reader.evidence(node);
  if (leaf == "PKG-INFO" && distribution.requires_dist.empty())
    distribution.requires_dist = parse_requires_txt(reader.root().read(folder + "/requires.txt", max_small).value_or(""));
  if (leaf == "METADATA") {
    distribution.installer = lower(trim(reader.root().read(folder + "/INSTALLER", 256).value_or("")));
    distribution.wheel_tags = parse_wheel_tags(reader.root().read(folder + "/WHEEL", max_small).value_or(""));
    if (auto direct = parse_direct_url(reader.root().read(folder + "/direct_url.json", max_direct_url).value_or(""))) {
      distribution.direct_url = without_userinfo(std::move(direct->url));
      distribution.editable = direct->editable;
    }
  }
  return distribution;
}

/// setup.py develop leaves NAME.egg-link in a site folder, with the folder of the sources, and a line of the same in
/// easy-install.pth, through which the egg-info there was found.
void mark_develop_installs(ImageReader& reader, std::vector<Distribution>& distributions) {
  std::set<std::string> sites;
  for (const Interpreter& interpreter : reader.interpreters().value())
    sites.insert(interpreter.site_packages.begin(), interpreter.site_packages.end());
  for (Distribution& one : distributions) {
    const std::size_t slash = one.metadata_path.rfind('/');
    const std::string folder = one.metadata_path.substr(0, slash);
    if (!folder.ends_with(".egg-info") || one.site.ends_with("-packages")) continue;
    std::string name = folder.substr(folder.rfind('/') + 1);
    name.resize(name.size() - std::string_view(".egg-info").size());
    std::string dashed = name;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    for (const std::string& site : sites) {
      for (const std::string& link : {name, dashed}) {
        const auto text = reader.root().read(site + "/" + link + ".egg-link", max_direct_url);
        if (!text) continue;
        const std::string_view first = trim(std::string_view(*text).substr(0, text->find('\n')));
        const Lookup found = reader.root().lookup(absolute_path(first, site));
        if (found && found.node->path == one.site) one.editable = true;
      }
    }
  }
}

}  // namespace

Fact<std::vector<Distribution>> read_distributions(ImageReader& reader) {
  const auto& interpreters = reader.interpreters();
  if (interpreters.is_unknown()) return Fact<std::vector<Distribution>>::unknown(interpreters.reason());
  std::vector<Distribution> distributions;
  if (interpreters.is_absent()) return Fact<std::vector<Distribution>>::known(std::move(distributions));
  const auto& metadata = reader.survey().metadata;
  std::set<std::string> done;
  for (const Interpreter& interpreter : interpreters.value()) {
    for (const std::string& site : interpreter.site_packages) {
      const auto files = metadata.find(site);
      if (files == metadata.end() || !done.insert(site).second) continue;
      for (const Node& node : files->second) {
        auto distribution = read_one(reader, node, site);
        if (!distribution) continue;
        if (distributions.size() == max_distributions) {
          return Fact<std::vector<Distribution>>::unknown("the image holds more than 20,000 Python distributions");
        }
        distributions.push_back(std::move(*distribution));
      }
    }
  }
  mark_develop_installs(reader, distributions);
  return Fact<std::vector<Distribution>>::known(std::move(distributions));
}

const Distribution* find_distribution(const std::vector<Distribution>& all, const Interpreter& interpreter,
                                      std::string_view name) {
  for (const std::string& site : interpreter.site_packages) {
    for (const Distribution& one : all) {
      if (one.site == site && one.name == name) return &one;
    }
  }
  return nullptr;
}

}  // namespace imgforge
