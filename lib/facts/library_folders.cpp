#include "facts/library_folders.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/gpu_files.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_folders = 1'000;
constexpr std::size_t max_includes = 200;
constexpr unsigned max_include_depth = 8;
constexpr std::uint64_t max_conf = 64 << 10;
constexpr std::uint64_t max_cache = 4 << 20;
constexpr std::string_view conf = "/etc/ld.so.conf";

/// Looks a folder up and fills in what is known of it.
void look(ImageReader& reader, LibraryFolder& folder) {
  if (folder.path.empty()) return;
  const Lookup found = reader.root().lookup(folder.path);
  if (!found || found.node->type != EntryType::directory) return;
  folder.exists = true;
  folder.path = found.node->path;
  folder.evidence.push_back(reader.evidence(*found.node));
  folder.holds_libcuda = static_cast<bool>(reader.root().lookup(folder.path + "/libcuda.so.1"));
}

class ConfReader {
 public:
  ConfReader(ImageReader& reader, std::vector<LibraryFolder>& folders) : reader_(reader), folders_(folders) {}

  void read(const std::string& path, unsigned depth) {
    if (depth > max_include_depth || done_.size() >= max_includes || !done_.insert(path).second) return;
    const Lookup found = reader_.root().lookup(path);
    if (!found || found.node->type != EntryType::file) return;
    const auto text = reader_.root().read(*found.node, max_conf);
    if (!text) return;
    const Evidence evidence = reader_.evidence(*found.node);
    for (const LoaderLine& line : parse_loader_conf(*text)) {
      if (folders_.size() >= max_folders) return;
      if (line.include) {
        include(absolute_path(line.text, std::string(folder_of(path))), depth);
        continue;
      }
      LibraryFolder folder;
      folder.by = LibraryFolder::By::ld_so_conf;
      folder.written = line.text;
      folder.path = absolute_path(line.text, "/");
      folder.evidence = {evidence};
      look(reader_, folder);
      folders_.push_back(std::move(folder));
    }
  }

 private:
  void include(const std::string& pattern, unsigned depth) {
    if (pattern.find_first_of("*?[") == std::string::npos) return read(pattern, depth + 1);
    if (reader_.depth() == Depth::contract) {
      // Which files are in a folder takes every layer: of a named one, its own.
      for (const char* named : {"/etc/ld.so.conf.d/nvidia.conf", "/etc/ld.so.conf.d/gds-12.conf"}) {
        if (glob_match(pattern, named)) read(named, depth + 1);
      }
      return;
    }
    for (const Node& node : reader_.root().list(folder_of(pattern))) {
      const std::string path = std::string(folder_of(pattern)) + "/" + std::string(name_of(node.path));
      if (glob_match(pattern, path)) read(path, depth + 1);
    }
  }

  ImageReader& reader_;
  std::vector<LibraryFolder>& folders_;
  std::set<std::string> done_;
};

}  // namespace

std::vector<LoaderLine> parse_loader_conf(std::string_view text) {
  std::vector<LoaderLine> parsed;
  for (std::string_view line : lines(text)) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty() || line.starts_with("hwcap ")) continue;
    const bool include = line.starts_with("include ") || line.starts_with("include\t");
    if (include) line.remove_prefix(8);
    // ldconfig takes white space, colons and commas between folders; a "=TYPE" behind one is of old.
    std::size_t start = 0;
    while (start < line.size() && parsed.size() < max_folders) {
      const std::string_view separators = include ? " \t" : " \t:,";
      const std::size_t end = std::min(line.find_first_of(separators, start), line.size());
      std::string_view word = line.substr(start, end - start);
      if (!include) word = word.substr(0, word.find('='));
      if (include ? !word.empty() : word.starts_with('/')) parsed.push_back({include, std::string(word)});
      start = end + 1;
    }
  }
  return parsed;
}

Fact<std::vector<LibraryFolder>> read_library_folders(ImageReader& reader) {
  std::vector<LibraryFolder> folders;
  std::vector<Evidence> evidence;
  const std::string value = reader.config().variable("LD_LIBRARY_PATH").value_or("");
  if (!value.empty()) {
    evidence.push_back(Evidence::in_config("Env.LD_LIBRARY_PATH"));
    std::string elements = value;
    std::replace(elements.begin(), elements.end(), ';', ':');  // ld.so(8): either separates
    for (const std::string_view part : split(elements, ':')) {
      if (folders.size() >= max_folders) break;
      LibraryFolder folder;
      folder.written = part;
      if (part.empty()) {
        folder.path = reader.working_directory();
      } else if (part.starts_with('/') && part.find('$') == std::string_view::npos) {
        folder.path = absolute_path(part, "/");
      }
      folder.evidence = {Evidence::in_config("Env.LD_LIBRARY_PATH")};
      look(reader, folder);
      folders.push_back(std::move(folder));
    }
  }
  ConfReader(reader, folders).read(std::string(conf), 0);
  return Fact<std::vector<LibraryFolder>>::known(std::move(folders), std::move(evidence));
}

Fact<std::vector<std::string>> read_missing_library_folders(const Fact<std::vector<LibraryFolder>>& folders) {
  std::vector<std::string> missing;
  if (folders.is_unknown()) return Fact<std::vector<std::string>>::unknown(folders.reason());
  if (folders.is_absent()) return Fact<std::vector<std::string>>::known({});
  for (const LibraryFolder& folder : folders.value()) {
    if (folder.by != LibraryFolder::By::ld_library_path || folder.exists) continue;
    if (folder.written.empty() || folder.path.empty()) continue;
    if (folder.path == "/usr/local/nvidia" || folder.path.starts_with("/usr/local/nvidia/")) continue;
    std::string_view written = folder.written;
    while (written.size() > 1 && written.ends_with('/')) written.remove_suffix(1);
    missing.emplace_back(written);
  }
  return Fact<std::vector<std::string>>::known(std::move(missing), folders.evidence());
}

std::vector<std::string> parse_loader_cache_folders(std::string_view content) {
  // Both formats end in a table of strings, each with a NUL behind it (glibc, elf/cache.h): names, and absolute paths.
  std::vector<std::string> folders;
  std::set<std::string_view> seen;
  std::size_t start = 0;
  while (start < content.size() && seen.size() < max_folders) {
    const std::size_t end = std::min(content.find('\0', start), content.size());
    const std::string_view word = content.substr(start, end - start);
    if (word.starts_with('/') && word.size() <= 4096) {
      const std::string_view folder = folder_of(word);
      if (seen.insert(folder).second) folders.emplace_back(folder);
    }
    start = end + 1;
  }
  return folders;
}

std::vector<std::string> loader_cache_folders(ImageReader& reader) {
  const auto content = reader.root().read("/etc/ld.so.cache", max_cache);
  return content ? parse_loader_cache_folders(*content) : std::vector<std::string>();
}

}  // namespace imgforge
