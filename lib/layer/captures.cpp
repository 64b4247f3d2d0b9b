#include "layer/captures.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t operator""_KiB(unsigned long long value) { return value << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long value) { return value << 20; }

struct Row {
  std::string_view pattern;  // glob over the layer's path
  std::uint64_t limit;       // bytes
  bool prefix = false;       // of a larger file, the start is kept
};

constexpr std::array table = {
    // What is installed in Python.
    Row{"**/*.dist-info/METADATA", 1_MiB, true},
    Row{"**/*.dist-info/WHEEL", 64_KiB},
    Row{"**/*.dist-info/INSTALLER", 4_KiB},
    Row{"**/*.dist-info/direct_url.json", 16_KiB},
    Row{"**/*.egg-link", 16_KiB},
    Row{"**/*.dist-info/RECORD", 4_MiB},
    Row{"**/*.egg-info/PKG-INFO", 1_MiB, true},
    Row{"**/EGG-INFO/PKG-INFO", 1_MiB, true},
    Row{"**/*.egg-info/requires.txt", 64_KiB},
    Row{"**/EGG-INFO/requires.txt", 64_KiB},
    Row{"**/*.egg-info", 1_MiB, true},
    Row{"**/*.pth", 64_KiB},
    Row{"**/pyvenv.cfg", 64_KiB},
    // Which Python.
    Row{"**/include/python*/patchlevel.h", 64_KiB},
    Row{"**/conda-meta/python-*.json", 1_MiB},
    // The system.
    Row{"etc/os-release", 64_KiB},
    Row{"usr/lib/os-release", 64_KiB},
    Row{"etc/passwd", 1_MiB},
    Row{"etc/group", 1_MiB},
    Row{"etc/ld.so.conf", 64_KiB},
    Row{"etc/ld.so.conf.d/*.conf", 64_KiB},
    Row{"etc/ld.so.cache", 4_MiB},
    Row{"var/lib/dpkg/status", 16_MiB},
    Row{"var/lib/dpkg/status.d/*", 64_KiB},
    Row{"var/lib/dpkg/info/*.list", 8_MiB},
    Row{"lib/apk/db/installed", 16_MiB},
    // What computes on GPUs, as builds wrote it down.
    Row{"**/cuda*/version.json", 64_KiB},
    Row{"**/cuda*/version.txt", 64_KiB},
    Row{"**/include/**/cudnn_version*.h", 64_KiB},
    Row{"**/tensorflow/python/platform/build_info.py", 64_KiB},
    Row{"**/torch/version.py", 64_KiB},
    // The SDK. Of programs and libraries the parts that a loader reads are kept, elf_parts.hpp.
    Row{"opt/apache/beam/tars/apache-beam.tar.gz", 64_MiB},
};

constexpr std::string_view licenses_pattern = "usr/share/doc/*/copyright";

std::string_view last_component(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Where programs lie that an entrypoint may run: folders of programs, and the root, where many images keep theirs.
bool in_folder_of_programs(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view folder = last_component(path.substr(0, slash));
  return folder == "bin" || folder == "sbin";
}

/// What starts a worker may be a script, and so may what that runs.
bool may_be_start_script(const Entry& entry) {
  return (entry.mode & 0111) != 0 && (in_folder_of_programs(entry.path) || entry.path.ends_with(".sh"));
}

/// Cheap: tells most files from most rows by the ends of their names.
bool may_match(std::string_view pattern, std::string_view name) {
  const std::string_view last = last_component(pattern);
  const std::size_t star = last.find('*');
  if (star == std::string_view::npos) return last == name;
  return name.starts_with(last.substr(0, star)) && name.ends_with(last.substr(last.rfind('*') + 1));
}

}  // namespace

std::uint64_t capture_set() {
  constexpr std::uint64_t rules = 5;  // of the code below; to be raised with it
  static const std::uint64_t number = [] {
    // FNV-1a
    std::uint64_t hash = 0xcbf29ce484222325 + rules;
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
    add(secret_rules);
    for (const Row& row : table) {
      for (const char c : row.pattern) add(static_cast<unsigned char>(c));
      add(row.limit);
      add(row.prefix ? 1 : 0);
    }
    return hash;
  }();
  return number;
}

CapturePolicy standard_captures(std::vector<std::string> paths) {
  std::set<std::string, std::less<>> named;
  for (const std::string& path : paths) named.insert(clean_path(path));
  // The one pattern that may be asked for: tests of licenses read every package's.
  const bool licenses = named.contains(licenses_pattern);
  return [named = std::move(named), licenses](const Entry& entry, std::size_t) -> Capture {
    const std::string_view name = last_component(entry.path);
    const bool judge = secret_candidate(entry.path, entry.size) != SecretCandidate::no;
    for (const Row& row : table) {
      if (may_match(row.pattern, name) && glob_match(row.pattern, entry.path))
        return {.limit = row.limit, .prefix = row.prefix, .elf = true, .judge = judge};
    }
    if (licenses && name == "copyright" && glob_match(licenses_pattern, entry.path)) return {.limit = 4_MiB, .elf = true, .judge = judge};
    // Of a program that is no script, the start tells what it is.
    if (named.contains(entry.path)) return {.limit = 64_KiB, .prefix = true, .elf = true, .judge = judge};
    if (may_be_start_script(entry)) return {.limit = 64_KiB, .script = true, .elf = true, .judge = judge};
    return {.elf = true, .judge = judge};
  };
}

}  // namespace imgforge
