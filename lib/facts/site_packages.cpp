#include "facts/site_packages.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "facts/commands.hpp"

namespace imgforge {
namespace {

// Python searches folder by folder; with the eggs of old that is hundreds. Beyond it the rest is not left out, as what
// is looked for would then seem to be missing, or seem not to be there.
constexpr std::size_t max_folders = 4096;
constexpr std::uint64_t max_path_file = 1 << 20;

class Folders {
 public:
  explicit Folders(ImageReader& reader) : reader_(reader) {}

  /// Adds a folder that exists, and tells its canonical name; empty where it is not there.
  std::string add(const std::string& path) {
    const Lookup found = reader_.root().lookup(path);
    if (!found || found.node->type != EntryType::directory) return {};
    if (seen_.insert(found.node->path).second) folders_.push_back(found.node->path);
    if (folders_.size() > max_folders) {
      throw Error(ErrorKind::image_limit,
                  fmt::format("a Python of the image searches more than {} folders", max_folders));
    }
    return found.node->path;
  }

  /// A site folder: what its *.pth files name comes behind it.
  void add_site(const std::string& path) {
    const std::string site = add(path);
    if (site.empty()) return;
    const auto& all = reader_.survey().path_files;
    const auto files = all.find(site);
    if (files == all.end()) return;
    for (const Node& node : files->second) {
      if (node.type == EntryType::file && node.size > max_path_file) {
        throw Error(ErrorKind::image_limit,
                    fmt::format("{} has more than {}", escape_for_display(node.path), human_size(max_path_file)));
      }
      const auto text = reader_.root().read(node, max_path_file);
      if (!text) continue;
      for (const std::string_view raw : lines(*text)) {
        const std::string_view line = trim(raw);
        if (line.empty() || line.front() == '#' || line.starts_with("import ") || line.starts_with("import\t") ||
            line.size() > 4096)
          continue;
        add(absolute_path(line, site));
      }
    }
  }

  std::vector<std::string> take() { return std::move(folders_); }

 private:
  ImageReader& reader_;
  std::vector<std::string> folders_;
  std::set<std::string> seen_;
};

void add_python_path(ImageReader& reader, Folders& folders) {
  const auto value = reader.config().variable("PYTHONPATH");
  if (!value) return;
  for (const std::string_view part : split(*value, ':')) {
    if (!part.empty()) folders.add(absolute_path(part, reader.working_directory()));
  }
}

void add_user_site(ImageReader& reader, const PythonMinor& minor, Folders& folders) {
  if (!reader.config().variable("PYTHONNOUSERSITE").value_or("").empty()) return;
  auto base = reader.config().variable("PYTHONUSERBASE").value_or("");
  if (base.empty()) {
    std::string home = reader.config().variable("HOME").value_or("");
    if (home.empty() && reader.user().is_known()) home = reader.user()->home;
    if (home.empty()) return;
    base = home + "/.local";
  }
  folders.add_site(absolute_path(base + "/lib/python" + minor.to_string() + "/site-packages", "/"));
}

bool is_debian(ImageReader& reader) {
  const auto& system = reader.os_release();
  if (!system.is_known()) return false;
  return system->id == "debian" || system->id == "ubuntu" || system->id_like.find("debian") != std::string::npos ||
         system->id_like.find("ubuntu") != std::string::npos;
}

}  // namespace

VenvConfig parse_venv_config(std::string_view text) {
  VenvConfig config;
  for (const std::string_view line : lines(text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string key = lower(trim(line.substr(0, equals)));
    const std::string value(trim(line.substr(equals + 1)).substr(0, 4096));
    if (key == "home") config.home = value;
    if (key == "include-system-site-packages") config.system_site = lower(value) == "true";
    if (key == "version" || (key == "version_info" && config.version.empty())) config.version = value;
  }
  return config;
}

std::vector<std::string> base_site_packages(ImageReader& reader, const std::string& prefix, const PythonMinor& minor) {
  Folders folders(reader);
  add_python_path(reader, folders);
  add_user_site(reader, minor, folders);
  const std::string name = "python" + minor.to_string();
  const std::string base = prefix == "/" ? "" : prefix;
  if (prefix == "/usr" && is_debian(reader)) {
    folders.add_site("/usr/local/lib/" + name + "/dist-packages");
    folders.add_site(minor.major == 3 ? "/usr/lib/python3/dist-packages" : "/usr/lib/" + name + "/dist-packages");
    folders.add_site("/usr/lib/" + name + "/dist-packages");
  } else {
    folders.add_site(base + "/lib64/" + name + "/site-packages");
    folders.add_site(base + "/lib/" + name + "/site-packages");
  }
  return folders.take();
}

std::vector<std::string> venv_site_packages(ImageReader& reader, const std::string& prefix, const PythonMinor& minor,
                                            const VenvConfig& config, const Interpreter* base) {
  Folders folders(reader);
  add_python_path(reader, folders);
  const std::string name = "python" + minor.to_string();
  folders.add_site(prefix + "/lib64/" + name + "/site-packages");
  folders.add_site(prefix + "/lib/" + name + "/site-packages");
  if (config.system_site && base != nullptr) {  // the user's site among them
    for (const std::string& site : base->site_packages) folders.add(site);
  }
  return folders.take();
}

}  // namespace imgforge
