// The package managers of distributions: apt-get, apt, aptitude, dpkg -i, apk, yum, dnf, microdnf, rpm -i; and where
// their packages come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct SystemPackage {
  std::string name;     // "python3.11-venv"; empty where `written` is a file or a URL
  std::string version;  // of "name=version" (apk: "name=1.2", "name~1.2"); may hold '*'
  std::string release;  // of "name/bookworm-backports"
  bool remove = false;  // "name-" of apt-get install
  std::string written;
  std::size_t offset = 0;
};

struct SystemPackageCommand {
  enum class Manager { apt, apk, rpm };  // rpm: yum, dnf, microdnf, zypper, rpm
  enum class Action { install, update, upgrade, remove, clean, build_dependencies, download, add_repository, other };
  // update: the lists alone (apt-get update, apk update, yum makecache); upgrade: the packages (yum update, too)

  Manager manager = Manager::apt;
  Action action = Action::other;
  std::string program;  // "apt-get"
  std::string subcommand;
  std::size_t offset = 0;               // of the program
  std::vector<SystemPackage> packages;  // of install, upgrade, remove, download
  bool no_recommends = false;  // --no-install-recommends, -o APT::Install-Recommends=0, --setopt=install_weak_deps=0
  bool assume_yes = false;
  bool allow_unauthenticated = false;
  bool updates_first = false;    // apk add --no-cache, --update; yum and dnf always
  bool ignores_missing = false;  // --ignore-missing, --skip-broken
  bool download_only = false;
  bool simulated = false;
  std::vector<std::string> options;       // -o and --setopt, as given
  std::string target_release;             // -t bookworm-backports
  std::vector<std::string> repositories;  // apk -X URL; yum --enablerepo; --repofrompath
  std::string virtual_name;               // apk --virtual
  std::string not_known;                  // why packages may be missing

  bool empty() const { return packages.empty() && not_known.empty(); }
};

/// Nothing where the command is none of these. add-apt-repository is none: repository_changes() has it.
std::optional<SystemPackageCommand> read_system_packages(const RunCommand& command);

/// A change of where packages come from.
struct RepositoryChange {
  enum class Kind {
    ppa,      // "ppa:deadsnakes/ppa"
    line,     // "deb [signed-by=...] https://... jammy main"; all of a deb822 file's text
    list,     // a .list, .sources or .repo file that was downloaded: its URL
    key,      // apt-key, a keyring that was downloaded or written: URL or key id ("3bf863cc")
    removed,  // a file below /etc/apt that was removed
  };
  Kind kind = Kind::line;
  std::string text;         // empty where it is not known
  std::string file;         // that was written or removed, absolute; empty where there is none
  std::size_t command = 0;  // position in RunStep::commands
  std::string not_known;    // why `text` is not
};

/// In order. Seen: add-apt-repository, apt-key, yum-config-manager and dnf config-manager --add-repo, and files below
/// /etc/apt, /etc/yum.repos.d, /etc/apk/repositories and /usr/share/keyrings written by redirection, tee, curl, wget,
/// gpg -o, or removed by rm.
std::vector<RepositoryChange> repository_changes(const RunStep& step);

}  // namespace imgforge
