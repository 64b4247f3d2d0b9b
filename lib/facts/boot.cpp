#include "facts/boot.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>

#include <algorithm>
#include <memory>
#include <set>

#include "facts/entrypoint.hpp"
#include "facts/python_metadata.hpp"
#include "facts/system.hpp"

namespace imgforge {
namespace {

constexpr std::size_t boot_prefix = 64 << 10;
constexpr std::uint64_t max_sdist = 64 << 20;
constexpr std::int64_t max_inflated = 256 << 20;
constexpr std::size_t max_entries = 20'000;
constexpr std::size_t max_package_info = 256 << 10;
constexpr const char* sdist_path = "/opt/apache/beam/tars/apache-beam.tar.gz";

struct ArchiveCloser {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

void read_dynamic(ImageReader& reader, const Node& node, Boot& boot) {
  const Elf* elf = reader.elfs().find(node);
  if (elf == nullptr) return;
  boot.interpreter = elf->interpreter;
  boot.dynamic = !elf->interpreter.empty() || !elf->needed.empty();
  std::set<std::string> seen;
  for (const ElfNeed& need : elf->version_needs) {
    for (const std::string& version : need.versions) {
      if (version.starts_with("GLIBC_") && seen.insert(version).second) boot.glibc_versions.push_back(version);
    }
  }
  if (boot.glibc_versions.empty()) return;
  const auto libc = find_libc(reader);
  const Elf* libc_elf = libc ? reader.elfs().find(*libc) : nullptr;
  if (libc && (libc_elf == nullptr || !libc_elf->dynamic_readable)) return;  // not known, so nothing is said to be missing
  for (const std::string& version : boot.glibc_versions) {
    const bool there = libc_elf != nullptr && std::find(libc_elf->version_definitions.begin(), libc_elf->version_definitions.end(),
                                             version) != libc_elf->version_definitions.end();
    if (!there) boot.missing_versions.push_back(version);
  }
}

}  // namespace

Fact<Boot> read_boot(ImageReader& reader) {
  RootView& root = reader.root();
  const std::string path(boot_path);
  const Lookup found = root.lookup(path);
  std::vector<Evidence> evidence;
  // The link that stands at the path itself, else the last one on the way.
  Lookup link = root.lookup_link(path);
  if (!link && !found.links.empty()) link = root.lookup_link(found.links.back());
  const bool linked = link && link.node->type == EntryType::symlink;
  if (linked) evidence.push_back(reader.evidence(*link.node));
  if (found.status == Lookup::Status::dangling || found.status == Lookup::Status::loop) {
    Boot boot;
    boot.path = linked ? link.node->path : path;
    boot.broken_link = found.status == Lookup::Status::loop ? "a circle of links" : found.missing;
    return Fact<Boot>::known(std::move(boot), std::move(evidence));
  }
  if (!found) {
    // Its folder comes from the layer that changed it last: the one that took boot away.
    const Lookup folder = root.lookup(std::string_view(path).substr(0, path.rfind('/')));
    if (folder) evidence.push_back(reader.evidence(*folder.node));
    return Fact<Boot>::absent(std::move(evidence));
  }

  const Node& node = *found.node;
  evidence.push_back(reader.evidence(node));
  Boot boot;
  boot.path = node.path;
  boot.regular = node.type == EntryType::file;
  boot.executable = boot.regular && (node.mode & 0111) != 0;
  if (!boot.regular) return Fact<Boot>::known(std::move(boot), std::move(evidence));
  const auto start = root.read_prefix(node, boot_prefix);
  const auto elf = start ? read_elf(*start) : std::nullopt;
  boot.elf = elf.has_value();
  if (elf) {
    boot.machine = elf->machine;
    // A static-pie has a dynamic section and neither interpreter nor needed libraries.
    boot.dynamic = !elf->interpreter.empty();
    boot.interpreter = elf->interpreter;
    if (elf->dynamic || !elf->headers_readable) read_dynamic(reader, node, boot);
    if (!boot.interpreter.empty()) {
      const Lookup loader = root.lookup(boot.interpreter);
      boot.interpreter_found = loader && loader.node->type == EntryType::file;
    }
  }
  return Fact<Boot>::known(std::move(boot), std::move(evidence));
}

std::optional<std::string> package_info_of_sdist(std::string_view tar_gz) {
  const std::unique_ptr<archive, ArchiveCloser> handle(archive_read_new());
  if (!handle) return std::nullopt;
  archive_read_support_format_tar(handle.get());
  archive_read_support_filter_gzip(handle.get());
  if (archive_read_open_memory(handle.get(), tar_gz.data(), tar_gz.size()) != ARCHIVE_OK) return std::nullopt;
  std::int64_t inflated = 0;
  for (std::size_t count = 0; count < max_entries; ++count) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle.get(), &entry);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return std::nullopt;
    // What the next header would have to inflate is bounded before it does.
    inflated += std::max<std::int64_t>(archive_entry_size(entry), 0);
    if (inflated > max_inflated || archive_entry_size(entry) > max_inflated) return std::nullopt;
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) continue;
    std::string_view path = name;
    if (path.starts_with("./")) path.remove_prefix(2);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || path.substr(slash + 1) != "PKG-INFO") continue;
    std::string text(max_package_info, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
      const la_ssize_t got = archive_read_data(handle.get(), text.data() + size, text.size() - size);
      if (got < 0) return std::nullopt;
      if (got == 0) break;
      size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    return text;
  }
  return std::nullopt;
}

Fact<Version> read_boot_version(ImageReader& reader) {
  const Lookup found = reader.root().lookup(sdist_path);
  if (!found || found.node->type != EntryType::file) return Fact<Version>::absent();
  const auto bytes = reader.root().read(*found.node, max_sdist);
  if (!bytes) return Fact<Version>::unknown(std::string(sdist_path) + " is too large to be read");
  const auto text = package_info_of_sdist(*bytes);
  const auto metadata = text ? parse_python_metadata(*text, text->size() == max_package_info) : std::nullopt;
  const auto version = metadata ? Version::parse(metadata->version) : std::nullopt;
  if (!version) return Fact<Version>::unknown(std::string(sdist_path) + " holds no PKG-INFO with a version");
  return Fact<Version>::known(*version, {reader.evidence(*found.node)});
}

}  // namespace imgforge
