#include "facts/foreign_modules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "facts/python_metadata.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_record = 32 << 20;  // tensorflow's has 2 MB
constexpr std::uint64_t kept_record = 1 << 20;  // what is kept in passing at the least
constexpr std::size_t max_large_records = 16;   // larger ones cost a pass over their layer each

struct Python {
  PythonMinor minor;
  bool free_threaded = false;
};

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_of_apt(std::string_view site) { return site.starts_with("/usr/lib/") && site.ends_with("/dist-packages"); }

/// The interpreters that see each site folder; the worker's alone where it is among them.
std::map<std::string, std::vector<Python>> pythons_by_site(ImageReader& reader) {
  std::map<std::string, std::vector<Python>> pythons;
  const auto& interpreters = reader.interpreters().value();
  const auto add = [&](const Interpreter& one) {
    for (const std::string& site : one.site_packages) pythons[site].push_back({one.minor, one.path.ends_with('t')});
  };
  for (const Interpreter& one : interpreters) add(one);
  const auto& worker = reader.worker_python();
  if (worker.is_known() && worker->interpreter < interpreters.size()) {
    const Interpreter& one = interpreters[worker->interpreter];
    for (const std::string& site : one.site_packages) pythons[site] = {{one.minor, one.path.ends_with('t')}};
  }
  return pythons;
}

bool fits_one(std::string_view tag, const std::vector<Python>& pythons) {
  return std::any_of(pythons.begin(), pythons.end(),
                     [&](const Python& python) { return module_fits(tag, python.minor, python.free_threaded); });
}

/// "cp310" of a tag that is for one CPython alone ("cp310-cp310-manylinux_2_17_x86_64"); empty of others.
std::string_view own_python_of(std::string_view wheel_tag) {
  const std::size_t first = wheel_tag.find('-');
  if (first == std::string_view::npos) return {};
  const std::string_view python = wheel_tag.substr(0, first);
  const std::string_view abi = wheel_tag.substr(first + 1, wheel_tag.find('-', first + 1) - first - 1);
  const bool same = abi == python || abi == std::string(python) + "m" || abi == std::string(python) + "t";
  const bool plain =
      python.size() > 3 && std::all_of(python.begin() + 2, python.end(), [](char c) { return c >= '0' && c <= '9'; });
  return python.starts_with("cp") && same && plain ? abi : std::string_view();
}

class Foreign {
 public:
  explicit Foreign(ImageReader& reader) : reader_(reader), pythons_(pythons_by_site(reader)) {}

  std::vector<ForeignModules> run() {
    for (const Node& node : reader_.survey().tagged_modules) take(node);
    for (const auto& [site, modules] : modules_) {
      if (!modules.empty()) judge_site(site, modules);
    }
    for (const Distribution& one : reader_.distributions().value()) judge_wheel(one);
    return std::move(found_);
  }

 private:
  struct Module {
    const Node* node;
    std::string relative;  // to the site folder
    std::string tag;
  };

  /// The nearest site folder above.
  void take(const Node& node) {
    for (std::size_t slash = node.path.rfind('/'); slash != std::string::npos && slash != 0;
         slash = node.path.rfind('/', slash - 1)) {
      const std::string site = node.path.substr(0, slash);
      const auto pythons = pythons_.find(site);
      if (pythons == pythons_.end()) continue;
      const std::string relative = node.path.substr(slash + 1);
      const std::string tag(module_tag(name_of(node.path)).value_or(""));
      if (fits_one(tag, pythons->second)) {
        sound_.insert(site + "/" + relative.substr(0, relative.find('/')));
      } else {
        modules_[site].push_back({&node, relative, tag});
      }
      return;
    }
  }

  std::optional<std::string> record_of(const Distribution& distribution) {
    const std::string& path = distribution.metadata_path;
    if (!path.ends_with(".dist-info/METADATA")) return std::nullopt;
    const Lookup found = reader_.root().lookup(path.substr(0, path.rfind('/')) + "/RECORD");
    if (!found || found.node->type != EntryType::file) return std::nullopt;
    if (found.node->size > kept_record && ++large_records_ > max_large_records) return std::nullopt;
    return reader_.root().read(*found.node, max_record);
  }

  void judge_site(const std::string& site, const std::vector<Module>& modules) {
    std::map<std::string_view, const Module*> open;
    for (const Module& one : modules) open.emplace(one.relative, &one);
    const std::vector<Python>& pythons = pythons_.at(site);
    for (const Distribution& one : reader_.distributions().value()) {
      if (one.site != site || open.empty()) continue;
      const auto record = record_of(one);
      if (!record) continue;
      std::vector<const Module*> own;
      bool fits = false;
      for_each_recorded(*record, [&](std::string_view path) {
        const auto module = open.find(path);
        if (module != open.end()) {
          own.push_back(module->second);
          return;
        }
        const auto tag = path.ends_with(".so") ? module_tag(name_of(path)) : std::nullopt;
        if (tag && path.find(".libs/") == std::string_view::npos && fits_one(*tag, pythons)) fits = true;
      });
      for (const Module* module : own) open.erase(module->relative);
      if (own.empty() || fits) continue;
      if (is_of_apt(site) && one.installer.empty()) continue;
      add(one.name, site, own);
      told_.insert(&one);
    }
    if (is_of_apt(site)) return;
    std::map<std::string, std::vector<const Module*>> by_package;
    for (const auto& [relative, module] : open) {
      const std::string package = site + "/" + std::string(relative.substr(0, relative.find('/')));
      if (!sound_.contains(package) && !reader_.survey().sound_packages.contains(package))
        by_package[package].push_back(module);
    }
    for (const auto& [package, own] : by_package) add("", site, own);
  }

  void add(const std::string& distribution, const std::string& site, const std::vector<const Module*>& modules) {
    std::map<std::string, std::vector<const Module*>> by_tag;
    for (const Module* one : modules) by_tag[one->tag].push_back(one);
    for (const auto& [tag, own] : by_tag) {
      // "cpython-310-x86_64-linux-gnu" without the name before and the ".so" behind.
      std::string_view whole = name_of(own.front()->node->path);
      whole.remove_prefix(whole.find("cpython-"));
      whole.remove_suffix(3);
      found_.push_back({distribution, site, std::string(whole), own.size(), own.front()->node->path,
                        reader_.evidence(*own.front()->node)});
    }
  }

  /// One whose modules carry no tag: the WHEEL tells which CPython they were built with.
  void judge_wheel(const Distribution& one) {
    const auto pythons = pythons_.find(one.site);
    if (pythons == pythons_.end() || one.wheel_tags.empty() || told_.contains(&one)) return;
    std::string_view other;
    for (const std::string& tag : one.wheel_tags) {
      const std::string_view own = own_python_of(tag);
      if (own.empty() || fits_one("cpython-" + std::string(own.substr(2)), pythons->second)) return;
      other = own;
    }
    const auto record = record_of(one);
    if (!record) return;
    std::size_t modules = 0;
    std::string example;
    bool tagged = false;
    for_each_recorded(*record, [&](std::string_view path) {
      const auto tag = path.ends_with(".so") ? module_tag(name_of(path)) : std::nullopt;
      if (!tag || path.find(".libs/") != std::string_view::npos) return;
      if (!tag->empty()) tagged = true;
      if (modules++ == 0) example = one.site + "/" + std::string(path);
    });
    if (modules == 0 || tagged) return;
    const Lookup found = reader_.root().lookup(example);
    if (!found) return;
    found_.push_back({one.name, one.site, std::string(other), modules, example, reader_.evidence(*found.node)});
  }

  ImageReader& reader_;
  std::map<std::string, std::vector<Python>> pythons_;
  std::map<std::string, std::vector<Module>> modules_;  // by site folder: those that do not fit
  std::set<std::string> sound_;                         // what lies in a site folder and holds one that fits
  std::set<const Distribution*> told_;
  std::vector<ForeignModules> found_;
  std::size_t large_records_ = 0;
};

}  // namespace

bool module_fits(std::string_view tag, const PythonMinor& minor, bool free_threaded) {
  if (tag.empty()) return true;
  if (tag == "abi3") return !free_threaded;
  if (!tag.starts_with("cpython-")) return false;
  tag.remove_prefix(8);
  // Builds with debugging load what releases load, and the reverse is nobody's image.
  if (tag.ends_with('d')) tag.remove_suffix(1);
  if (tag.ends_with('m')) tag.remove_suffix(1);
  const bool threaded = tag.ends_with('t');
  if (threaded) tag.remove_suffix(1);
  return threaded == free_threaded && tag == std::to_string(minor.major) + std::to_string(minor.minor);
}

Fact<std::vector<ForeignModules>> read_foreign_modules(ImageReader& reader) {
  using Result = Fact<std::vector<ForeignModules>>;
  const auto& interpreters = reader.interpreters();
  if (interpreters.is_unknown()) return Result::unknown(interpreters.reason());
  if (interpreters.is_absent()) return Result::known({});
  if (!reader.distributions().is_known()) return Result::unknown("the Python distributions of the image are not known");
  std::vector<ForeignModules> found = Foreign(reader).run();
  std::vector<Evidence> evidence;
  for (const ForeignModules& one : found) evidence.push_back(one.evidence);
  return Result::known(std::move(found), std::move(evidence));
}

}  // namespace imgforge
