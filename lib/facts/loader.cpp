#include "facts/loader.hpp"

#include <algorithm>

#include "facts/gpu_files.hpp"
#include "facts/loader_paths.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_files = 5'000;  // of a process; TensorFlow with CUDA takes 150
constexpr std::size_t max_steps = 100'000;
constexpr std::size_t max_looked_up = 500'000;
constexpr std::size_t max_chain = 256;  // loaders of loaders whose DT_RPATH is looked at
constexpr std::uint64_t max_cache = 4 << 20;

bool is_musl_own(std::string_view name) {
  // musl ldso/dynlinker.c: these are the libc itself.
  if (name == "libc.so" || name.starts_with("libc.musl-") || name.starts_with("ld-musl-")) return true;
  for (const std::string_view own : {"libc.", "libpthread.", "librt.", "libm.", "libdl.", "libutil.", "libxnet."}) {
    if (name.starts_with(own) && name.substr(own.size()).starts_with("so")) return true;
  }
  return false;
}

}  // namespace

struct Loader::Process {
  LoadedSet set;
  std::map<std::string, std::size_t, std::less<>> names;  // names that files were asked for by, and sonames
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> nodes;
  bool musl = false;
  Elf like;  // class, machine and byte order of the first file
  std::string interpreter;
  std::vector<std::string> defaults;
  std::string lib, platform;
};

Loader::Loader(ImageReader& reader) : reader_(reader), elfs_(reader.elfs()) {}

void Loader::read_configuration() {
  if (configured_) return;
  configured_ = true;
  library_path_ = reader_.config().variable("LD_LIBRARY_PATH").value_or("");
  if (const auto content = reader_.root().read("/etc/ld.so.cache", max_cache)) {
    if (auto entries = parse_loader_cache(*content)) {
      has_cache_ = true;
      cache_ = std::move(*entries);
      // Of a name the plain library; one for some processors only is no other library than that.
      for (const LoaderCacheEntry& entry : cache_) {
        if (entry.hwcap == 0) cached_.emplace(entry.name, &entry);
      }
      for (const LoaderCacheEntry& entry : cache_) {
        if (entry.hwcap != 0 && !cached_.contains(entry.name)) cached_.emplace(entry.name, &entry);
      }
    }
  }
  if (!has_cache_) conf_folders_ = loader_conf_folders(reader_);
}

/// Takes the file where it is there and fits; glibc passes over one that does not.
bool Loader::add(Process& process, const std::string& path, std::size_t loader, std::string by, std::string_view name) {
  auto known = looked_up_.find(path);
  if (known == looked_up_.end()) {
    if (looked_up_.size() > max_looked_up) return false;
    const Lookup found = reader_.root().lookup(path);
    known = looked_up_.emplace(path, found ? found.node : std::nullopt).first;
  }
  if (!known->second || known->second->type != EntryType::file) return false;
  const Node& node = *known->second;
  const auto key = std::pair(node.layer, node.entry);
  if (const auto same = process.nodes.find(key); same != process.nodes.end()) {
    process.names.emplace(name, same->second);
    return true;
  }
  bool is_known = true;
  const Elf* elf = elfs_.find(node, &is_known);
  if (!is_known && process.set.open.empty()) process.set.open = "what " + path + " needs could not be read";
  if (elf == nullptr && is_known) return false;
  if (elf != nullptr && !process.set.files.empty() &&
      (elf->bits != process.like.bits || elf->machine != process.like.machine ||
       elf->big_endian != process.like.big_endian))
    return false;
  if (elf != nullptr && elf->dynamic && !elf->dynamic_readable && process.set.open.empty())
    process.set.open = "the dynamic section of " + path + " could not be read";
  const std::size_t index = process.set.files.size();
  process.set.files.push_back({path, node, elf, index == 0 ? 0 : loader, std::move(by)});
  process.nodes.emplace(key, index);
  process.names.emplace(name, index);
  if (elf != nullptr && !elf->soname.empty()) process.names.emplace(elf->soname, index);
  return true;
}

bool Loader::try_folders(Process& process, std::string_view list, std::size_t origin, std::size_t needed_by,
                         const std::string& name, const std::string& by) {
  if (list.empty()) return false;
  const bool of_variable = by == "LD_LIBRARY_PATH";
  const std::string folder(folder_of(process.set.files[origin].path));
  for (const std::string& one :
       expand_loader_list(list, of_variable, folder, process.lib, process.platform, reader_.working_directory())) {
    if (add(process, one + "/" + name, needed_by, by, name)) return true;
  }
  return false;
}

std::optional<std::size_t> Loader::search(Process& process, std::size_t needed_by, const std::string& name) {
  if (const auto loaded = process.names.find(name); loaded != process.names.end()) return loaded->second;
  const auto found = [&]() -> std::optional<std::size_t> {
    const auto loaded = process.names.find(name);
    return loaded == process.names.end() ? std::nullopt : std::optional(loaded->second);
  };
  if (name.find('/') != std::string::npos) {
    const std::string path = name.starts_with('/') ? name : reader_.working_directory() + "/" + name;
    add(process, path, needed_by, "its own path", name);
    return found();
  }
  if (!process.interpreter.empty() && name == name_of(process.interpreter)) {
    if (add(process, process.interpreter, needed_by, "the program's interpreter", name)) return found();
  }
  const auto file = [&](std::size_t index) -> const LoadedFile& { return process.set.files[index]; };
  const Elf* elf = file(needed_by).elf;
  if (process.musl) {
    if (try_folders(process, library_path_, needed_by, needed_by, name, "LD_LIBRARY_PATH")) return found();
    std::size_t at = needed_by;
    for (std::size_t i = 0; i < max_chain; ++i) {
      if (const Elf* one = file(at).elf) {
        const bool run = !one->runpath.empty();
        const std::string by = (run ? "DT_RUNPATH of " : "DT_RPATH of ") + file(at).path;
        if (try_folders(process, run ? one->runpath : one->rpath, at, needed_by, name, by)) return found();
      }
      if (file(at).loader == at) break;
      at = file(at).loader;
    }
    for (const std::string& folder : process.defaults) {
      if (add(process, folder + "/" + name, needed_by, "the default folders", name)) return found();
    }
    return std::nullopt;
  }
  if (elf != nullptr && elf->runpath.empty()) {
    std::size_t at = needed_by;
    bool did_first = false;
    for (std::size_t i = 0; i < max_chain; ++i) {
      const Elf* one = file(at).elf;
      did_first = did_first || at == 0;
      if (one != nullptr && one->runpath.empty() &&
          try_folders(process, one->rpath, at, needed_by, name, "DT_RPATH of " + file(at).path))
        return found();
      if (file(at).loader == at) break;
      at = file(at).loader;
    }
    const Elf* first = file(0).elf;
    if (!did_first && first != nullptr && !first->interpreter.empty() && first->runpath.empty() &&
        try_folders(process, first->rpath, 0, needed_by, name, "DT_RPATH of " + file(0).path))
      return found();
  }
  if (try_folders(process, library_path_, 0, needed_by, name, "LD_LIBRARY_PATH")) return found();
  if (elf != nullptr &&
      try_folders(process, elf->runpath, needed_by, needed_by, name, "DT_RUNPATH of " + file(needed_by).path))
    return found();
  // The cache may be stale: what it names and is gone is looked for further on.
  const auto [begin, end] = cached_.equal_range(name);
  for (auto entry = begin; entry != end; ++entry) {
    if (add(process, entry->second->path, needed_by, "ld.so.cache", name)) return found();
  }
  for (const std::string& folder : conf_folders_) {
    if (add(process, folder + "/" + name, needed_by, "ld.so.conf", name)) return found();
  }
  for (const std::string& folder : process.defaults) {
    if (add(process, folder + "/" + name, needed_by, "the default folders", name)) return found();
  }
  return std::nullopt;
}

LoadedSet Loader::load(const std::vector<std::string>& roots, const std::set<std::string, std::less<>>& from_outside) {
  read_configuration();
  Process process;
  for (const std::string& root : roots) {
    const Lookup found = reader_.root().lookup(root);
    if (!found) {
      process.set.open = root + " is not there";
      continue;
    }
    const std::size_t before = process.set.files.size();
    if (!add(process, found.node->path, before, "itself", root)) continue;
    if (before == 0 && !process.set.files.empty() && process.set.files[0].elf != nullptr) {
      process.like = *process.set.files[0].elf;
      process.interpreter = process.like.interpreter;
      process.musl = loads_with_musl(reader_, process.like);
      process.defaults =
          process.musl ? musl_default_folders(reader_, process.like) : glibc_default_folders(reader_, process.like);
      process.lib = loader_lib(reader_, process.like);
      process.platform = loader_platform(process.like);
    }
  }
  LoadedSet& set = process.set;
  for (std::size_t i = 0; i < set.files.size(); ++i) {
    const Elf* elf = set.files[i].elf;
    if (elf == nullptr) continue;
    for (const std::string& name : elf->needed) {
      if (from_outside.contains(name) || (process.musl && is_musl_own(name))) continue;
      if (set.files.size() >= max_files || set.steps.size() >= max_steps) {
        set.open = "it loads more files than are followed";
        break;
      }
      const auto file = search(process, i, name);
      set.steps.push_back({i, name, file});
    }
  }
  if (process.musl) return std::move(process.set);  // musl knows no versions
  for (std::size_t i = 0; i < set.files.size(); ++i) {
    const Elf* elf = set.files[i].elf;
    if (elf == nullptr) continue;
    for (const ElfNeed& need : elf->version_needs) {
      const auto file = process.names.find(need.library);
      if (file == process.names.end()) continue;
      const Elf* other = set.files[file->second].elf;
      // glibc elf/dl-version.c: a library without any definition is only warned of.
      if (other == nullptr || !other->dynamic_readable || other->version_definitions.empty()) continue;
      for (const std::string& version : need.versions) {
        const auto& defined = other->version_definitions;
        if (set.versions.size() < max_steps && std::find(defined.begin(), defined.end(), version) == defined.end())
          set.versions.push_back({i, need.library, version, file->second});
      }
    }
  }
  return std::move(process.set);
}

}  // namespace imgforge
