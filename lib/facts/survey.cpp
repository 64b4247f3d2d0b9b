#include "facts/survey.hpp"

#include <elf.h>

#include <algorithm>

namespace imgforge {
namespace {

struct Split {
  std::string_view folder;  // "" for the root
  std::string_view name;
};

Split split_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The site folder of a file that describes a distribution; empty for other files.
std::string_view site_of(std::string_view folder, std::string_view name) {
  const Split parent = split_path(folder);
  if (name == "METADATA" && parent.name.ends_with(".dist-info")) return parent.folder;
  if (name == "PKG-INFO" && parent.name.ends_with(".egg-info")) return parent.folder;
  if (name == "PKG-INFO" && parent.name == "EGG-INFO" && parent.folder.ends_with(".egg")) return parent.folder;
  if (name.ends_with(".egg-info")) return folder;
  return {};
}

bool in_site_packages(std::string_view path) {
  return path.find("/site-packages/") != std::string_view::npos ||
         path.find("/dist-packages/") != std::string_view::npos;
}

constexpr std::size_t max_samples = 64;
constexpr std::uint64_t largest_sample = 8 << 20;

/// "x.cpython-311-x86_64-linux-gnu.so": the machine that an extension module says it is for; 0 where it says none. PEP
/// 3149.
std::uint16_t machine_in_name(std::string_view name) {
  if (name.ends_with("-x86_64-linux-gnu.so")) return EM_X86_64;
  if (name.ends_with("-aarch64-linux-gnu.so")) return EM_AARCH64;
  return EM_NONE;
}

/// The folder or file in site-packages that a path is of.
std::string package_of(std::string_view path) {
  constexpr std::string_view sign = "-packages/";
  const std::size_t begin = path.find(sign) + sign.size();
  return std::string(path.substr(0, path.find('/', begin)));
}

/// "python3.10" or "python3.13t" of ".../lib/python3.10/site-packages/...": "310", "313t"; empty where no folder says so.
std::string tag_of_library(std::string_view path) {
  std::string tag;
  for (std::size_t at = path.find("/python"); at != std::string_view::npos; at = path.find("/python", at + 1)) {
    const std::string_view name = path.substr(at + 7, path.find('/', at + 1) - at - 7);
    if (!name.starts_with("2.") && !name.starts_with("3.")) continue;
    tag = name;
    tag.erase(1, 1);
  }
  return tag;
}

void add_module(Survey& survey, const Node& node, std::string_view name) {
  const auto tag = module_tag(name);
  if (!tag) return;
  const bool in_site = in_site_packages(node.path);
  if (tag->starts_with("cpython-")) {
    std::string_view build = tag->substr(8);
    if (build.ends_with('m')) build.remove_suffix(1);  // pymalloc, up to 3.7: always
    const std::string library = tag_of_library(node.path);
    if (library.empty() || library != build) {
      if (survey.tagged_modules.size() < max_tagged_modules) survey.tagged_modules.push_back(node);
      return;
    }
  }
  if (in_site && node.path.find(".libs/") == std::string::npos) survey.sound_packages.insert(package_of(node.path));
}

void add_machine(SiteMachines& machines, RootView& root, const Node& node, std::uint16_t machine) {
  ++machines.files[machine];
  if (machines.example.contains(machine)) return;
  machines.example.emplace(machine, std::pair(node.path, Evidence::in_layer(root.layer_name(node.layer), node.path)));
}

}  // namespace

std::optional<std::string_view> module_tag(std::string_view name) {
  if (!name.ends_with(".so") || name.starts_with("lib")) return std::nullopt;
  name.remove_suffix(3);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::string_view();
  std::string_view tag = name.substr(dot + 1);
  if (!tag.starts_with("cpython-")) return tag == "abi3" || tag.starts_with("abi3-") ? std::optional(tag.substr(0, 4)) : std::nullopt;
  const std::size_t end = tag.find('-', 8);
  return tag.substr(0, end);
}

bool is_python_name(std::string_view name) {
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  if (name.empty() || name == "2" || name == "3") return true;
  if (!name.starts_with("2.") && !name.starts_with("3.")) return false;
  name.remove_prefix(2);
  if (name.ends_with('t')) name.remove_suffix(1);
  return !name.empty() && name.size() <= 3 && std::all_of(name.begin(), name.end(), is_digit);
}

Survey take_survey(RootView& root, const std::set<std::string>& path_folders) {
  Survey survey;
  std::vector<Node> samples;
  std::set<std::string> samples_of;
  root.walk([&](const Node& node) {
    if (node.type != EntryType::file && node.type != EntryType::symlink) return;
    const auto [folder, name] = split_path(node.path);
    if (is_python_name(name) && (folder.ends_with("/bin") || path_folders.contains(std::string(folder)))) {
      if (survey.pythons.size() < max_pythons) {
        survey.pythons.push_back(node);
      } else {
        survey.too_much = true;
      }
    } else if (const std::string_view site = site_of(folder, name); !site.empty()) {
      if (survey.metadata_count < max_metadata) {
        survey.metadata[std::string(site)].push_back(node);
        ++survey.metadata_count;
      } else {
        survey.too_much = true;
      }
    } else if (name.ends_with(".pth") && in_site_packages(node.path)) {
      auto& files = survey.path_files[std::string(folder)];
      if (files.size() < 256) files.push_back(node);
    }
    if (name.ends_with(".so") && node.type == EntryType::file) add_module(survey, node, name);
    if (!in_site_packages(node.path)) return;
    const std::uint16_t machine = node.elf_machine != 0 ? node.elf_machine : machine_in_name(name);
    if (machine != 0) {
      add_machine(survey.machines, root, node, machine);
    } else if (name.find(".so") != std::string_view::npos && node.type == EntryType::file &&
               node.size <= largest_sample && samples.size() < max_samples &&
               samples_of.insert(package_of(node.path)).second) {
      samples.push_back(node);
    }
  });
  // A table of contents says nothing of machines: then one library of each package is looked into.
  for (const Node& node : samples) {
    const Lookup found = root.lookup(node.path);
    if (found && found.node->elf_machine != 0) add_machine(survey.machines, root, node, found.node->elf_machine);
  }
  return survey;
}

}  // namespace imgforge
