#include "facts/system.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "facts/accounts.hpp"
#include "facts/commands.hpp"
#include "facts/os_release.hpp"
#include "facts/package_databases.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_accounts = 4 << 20;  // bytes of passwd and group

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// The text of a small file; empty where it is not there. Nothing where it is there and cannot be read.
std::optional<std::string> text_of(ImageReader& reader, const std::string& path, std::uint64_t limit) {
  const Lookup found = reader.root().lookup(path);
  if (!found || found.node->type != EntryType::file) return "";
  return reader.root().read(*found.node, limit);
}

std::string_view triplet_of(std::string_view architecture) {
  if (architecture == "amd64") return "x86_64-linux-gnu";
  if (architecture == "arm64") return "aarch64-linux-gnu";
  if (architecture == "arm") return "arm-linux-gnueabihf";
  if (architecture == "386") return "i386-linux-gnu";
  if (architecture == "ppc64le") return "powerpc64le-linux-gnu";
  if (architecture == "s390x") return "s390x-linux-gnu";
  if (architecture == "riscv64") return "riscv64-linux-gnu";
  return {};
}

std::string_view musl_name_of(std::string_view architecture) {
  if (architecture == "arm64") return "aarch64";
  if (architecture == "386") return "i386";
  if (architecture == "arm") return "armhf";
  if (architecture == "ppc64le") return "powerpc64le";
  if (architecture == "amd64") return "x86_64";
  return architecture;
}

/// "GLIBC_2.36" → 2.36; nothing for GLIBC_PRIVATE and GLIBC_ABI_*.
std::optional<Version> glibc_version(std::string_view name) {
  if (!name.starts_with("GLIBC_2.")) return std::nullopt;
  return Version::parse(name.substr(6));
}

/// The version of a glibc by what proves it cheapest: the file's name, the package, the symbol versions it defines.
std::string version_of_glibc(ImageReader& reader, const Node& libc) {
  const std::string_view name = std::string_view(libc.path).substr(libc.path.rfind('/') + 1);
  if (name.starts_with("libc-") && name.ends_with(".so")) {
    const auto version = Version::parse(name.substr(5, name.size() - 8));
    if (version) return version->to_string();
  }
  const auto& packages = reader.packages();
  if (const auto package = packages.find("libc6"); package != packages.end()) {
    const auto version = upstream_version(package->second);
    if (version) return version->to_string();
  }
  const Elf* elf = reader.elfs().find(libc);
  if (elf == nullptr) return {};
  std::optional<Version> highest;
  for (const std::string& definition : elf->version_definitions) {
    const auto version = glibc_version(definition);
    if (version && (!highest || *highest < *version)) highest = version;
  }
  return highest ? highest->to_string() : std::string();
}

}  // namespace

Fact<OsRelease> read_os_release(ImageReader& reader) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const Lookup found = reader.root().lookup(path);
    if (!found || found.node->type != EntryType::file) continue;
    const auto text = reader.root().read(*found.node, 64 << 10);
    if (!text) return Fact<OsRelease>::unknown(std::string(path) + " is too large to be read");
    return Fact<OsRelease>::known(parse_os_release(*text), {reader.evidence(*found.node)});
  }
  return Fact<OsRelease>::absent();
}

Fact<User> read_user(ImageReader& reader) {
  const std::string& written = reader.config().user;
  // Root needs no files, so that an image that says nothing of a user costs nothing.
  if (written.empty() || written == "0" || written == "root" || written == "0:0" || written == "root:root") {
    User root;
    root.written = written;
    root.home = "/root";
    return Fact<User>::known(root, {Evidence::in_config("User")});
  }
  const auto accounts = text_of(reader, "/etc/passwd", max_accounts);
  const auto groups = text_of(reader, "/etc/group", max_accounts);
  if (!accounts || !groups) {
    const std::size_t colon = written.find(':');
    const bool numbers = to_number(std::string_view(written).substr(0, colon)) &&
                         (colon == std::string::npos || to_number(std::string_view(written).substr(colon + 1)));
    if (!numbers) return Fact<User>::unknown("/etc/passwd or /etc/group is too large to be read");
  }
  return resolve_user(written, parse_passwd(accounts.value_or("")), parse_group(groups.value_or("")));
}

std::vector<std::string> loader_folders(std::string_view architecture) {
  std::vector<std::string> folders;
  const std::string triplet(triplet_of(architecture));
  if (!triplet.empty()) folders = {"/lib/" + triplet, "/usr/lib/" + triplet};
  for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) folders.emplace_back(folder);
  return folders;
}

std::optional<Node> find_libc(ImageReader& reader) {
  const std::string& architecture = reader.config().platform.architecture;
  const auto machine = elf_machine_of(architecture);
  for (const std::string& folder : loader_folders(architecture)) {
    const Lookup found = reader.root().lookup(folder + "/libc.so.6");
    if (!found || found.node->type != EntryType::file) continue;
    if (machine && found.node->elf_machine != 0 && found.node->elf_machine != *machine) continue;
    if (found.node->path.find("musl") != std::string::npos) continue;
    return found.node;
  }
  return std::nullopt;
}

Fact<Libc> read_libc(ImageReader& reader) {
  Libc libc;
  const auto glibc = find_libc(reader);
  const std::string name(musl_name_of(reader.config().platform.architecture));
  const Lookup musl = reader.root().lookup("/lib/ld-musl-" + name + ".so.1");
  // Debian has musl as a package beside glibc, and Alpine glibc beside musl: then the distribution decides.
  const auto& system = reader.os_release();
  if (musl && (!glibc || (system.is_known() && system->id == "alpine"))) {
    libc.family = Libc::Family::musl;
    const auto& packages = reader.packages();
    if (const auto package = packages.find("musl"); package != packages.end()) {
      libc.version = package->second.substr(0, package->second.find_first_of("_-"));
    }
    return Fact<Libc>::known(libc, {reader.evidence(*musl.node)});
  }
  if (!glibc) return Fact<Libc>::absent();
  libc.version = version_of_glibc(reader, *glibc);
  return Fact<Libc>::known(libc, {reader.evidence(*glibc)});
}

bool may_write(const Node& folder, const User& user) {
  if (user.is_root()) return true;
  if (folder.uid == user.uid) return (folder.mode & 0300) == 0300;
  const bool grouped =
      folder.gid == user.gid || std::find(user.groups.begin(), user.groups.end(), folder.gid) != user.groups.end();
  return grouped ? (folder.mode & 030) == 030 : (folder.mode & 03) == 03;
}

bool can_create(RootView& root, const std::string& path, const User& user) {
  std::string at = path;
  for (;;) {
    const Lookup found = root.lookup(at);
    if (found) return found.node->type == EntryType::directory && may_write(*found.node, user);
    if (found.status != Lookup::Status::absent || at == "/") return false;
    at = parent_of(at);
  }
}

Fact<WorkingDirectory> read_workdir(ImageReader& reader) {
  WorkingDirectory workdir;
  workdir.path = reader.working_directory();
  std::vector<Evidence> evidence = {Evidence::in_config("WorkingDir")};
  const auto& user = reader.user();
  if (user.is_unknown()) return Fact<WorkingDirectory>::unknown(user.reason());
  const Lookup found = reader.root().lookup(workdir.path);
  if (found) {
    workdir.exists = true;
    workdir.is_directory = found.node->type == EntryType::directory;
    workdir.writable = workdir.is_directory && may_write(*found.node, user.value());
    evidence.push_back(reader.evidence(*found.node));
  } else {
    // The runtime makes it, as root.
    workdir.writable = user->is_root();
  }
  return Fact<WorkingDirectory>::known(std::move(workdir), std::move(evidence));
}

Fact<bool> read_venv_folder_writable(ImageReader& reader) {
  const auto& user = reader.user();
  if (user.is_unknown()) return Fact<bool>::unknown(user.reason());
  std::vector<Evidence> evidence = {Evidence::in_config("User")};
  const std::string folder = "/opt/apache/beam-venv";
  if (user->is_root()) return Fact<bool>::known(true, std::move(evidence));
  for (const std::string& at : {folder, parent_of(folder), parent_of(parent_of(folder)), std::string("/")}) {
    const Lookup found = reader.root().lookup(at);
    if (!found) continue;
    evidence.push_back(reader.evidence(*found.node));
    break;
  }
  return Fact<bool>::known(can_create(reader.root(), folder, user.value()), std::move(evidence));
}

}  // namespace imgforge
