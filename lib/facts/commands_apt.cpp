#include "facts/commands_apt.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "facts/commands_download.hpp"
#include "facts/commands_files.hpp"

namespace imgforge {
namespace {

using Manager = SystemPackageCommand::Manager;
using Action = SystemPackageCommand::Action;

struct Verb {
  std::string_view name;
  Action action;
};

constexpr Verb apt_verbs[] = {{"install", Action::install},      {"reinstall", Action::install},
                              {"update", Action::update},        {"upgrade", Action::upgrade},
                              {"dist-upgrade", Action::upgrade}, {"full-upgrade", Action::upgrade},
                              {"safe-upgrade", Action::upgrade}, {"remove", Action::remove},
                              {"purge", Action::remove},         {"autoremove", Action::remove},
                              {"autopurge", Action::remove},     {"clean", Action::clean},
                              {"autoclean", Action::clean},      {"build-dep", Action::build_dependencies},
                              {"download", Action::download}};
constexpr Verb apk_verbs[] = {{"add", Action::install},
                              {"update", Action::update},
                              {"upgrade", Action::upgrade},
                              {"del", Action::remove},
                              {"fetch", Action::download}};
constexpr Verb rpm_verbs[] = {{"install", Action::install},     {"localinstall", Action::install},
                              {"reinstall", Action::install},   {"groupinstall", Action::install},
                              {"in", Action::install},          {"update", Action::upgrade},
                              {"upgrade", Action::upgrade},     {"makecache", Action::update},
                              {"check-update", Action::update}, {"refresh", Action::update},
                              {"ref", Action::update},          {"remove", Action::remove},
                              {"erase", Action::remove},        {"autoremove", Action::remove},
                              {"clean", Action::clean},         {"builddep", Action::build_dependencies},
                              {"download", Action::download}};

template <std::size_t N>
Action action_of(const Verb (&verbs)[N], std::string_view name) {
  const auto found =
      std::find_if(std::begin(verbs), std::end(verbs), [&](const Verb& one) { return one.name == name; });
  return found == std::end(verbs) ? Action::other : found->action;
}

const OptionTable& table_of(Manager manager) {
  static const OptionTable apt = {
      "otcaP",
      {"option", "target-release", "default-release", "config-file", "host-architecture", "build-profiles", "solver"},
      false,
      false};
  static const OptionTable apk = {"Xpt",
                                  {"repository", "root", "virtual", "keys-dir", "repositories-file", "cache-dir",
                                   "arch", "wait", "progress-fd", "cache-max-age", "output"},
                                  false,
                                  false};
  static const OptionTable rpm = {
      "cdexRp",
      {"config",     "enablerepo",    "disablerepo",  "enable",      "disable", "setopt",
       "releasever", "installroot",   "exclude",      "repo",        "repoid",  "repofrompath",
       "forcearch",  "disableplugin", "enableplugin", "downloaddir", "destdir", "advisory",
       "root",       "debuglevel",    "errorlevel",   "from"},
      false,
      false};
  return manager == Manager::apt ? apt : manager == Manager::apk ? apk : rpm;
}

bool is_file(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.starts_with("/") || text.starts_with(".");
}

SystemPackage package_of(const Argument& word, Manager manager) {
  SystemPackage package;
  package.written = word.text;
  package.offset = word.offset;
  std::string text = word.text;
  if (is_file(text) || (manager != Manager::apk && (text.ends_with(".deb") || text.ends_with(".rpm")))) return package;
  if (manager == Manager::apk) {
    // name=1.2, name~=1.2, name>1, name@edge
    const std::size_t end = text.find_first_of("=<>~@");
    package.name = text.substr(0, end);
    if (package.name.starts_with("!")) {
      package.remove = true;
      package.name.erase(0, 1);
    }
    if (end != std::string::npos) {
      const bool tag = text[end] == '@';
      const std::size_t value = text.find_first_not_of("=<>~@", end);
      if (value != std::string::npos) (tag ? package.release : package.version) = text.substr(value);
    }
    return package;
  }
  if (manager == Manager::rpm) {
    package.name = text;  // a name-version-release is told apart by whoever knows the names
    return package;
  }
  if (const std::size_t slash = text.find('/'); slash != std::string::npos) {
    package.release = text.substr(slash + 1);
    text.resize(slash);
  }
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    package.version = text.substr(equals + 1);
    text.resize(equals);
  } else if (text.ends_with("-") || text.ends_with("+")) {
    // "name-" removes; names like "g++" end in '+' themselves.
    if (text.ends_with("-")) {
      package.remove = true;
      text.pop_back();
    }
  }
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) text.resize(colon);  // name:amd64
  package.name = text;
  return package;
}

void read_options(const GivenArguments& given, SystemPackageCommand& made) {
  for (const GivenOption& option : given.options) {
    const std::string& name = option.name;
    const std::string value = option.value ? option.value->text : std::string();
    if (name == "-y" || name == "--yes" || name == "--assume-yes" || name == "--assumeyes" || name == "-qq" ||
        name == "--noconfirm" || name == "--non-interactive" || name == "-n")
      made.assume_yes = true;
    if (name == "--no-install-recommends" || name == "--no-recommends") made.no_recommends = true;
    if (name == "-o" || name == "--option" || name == "--setopt") {
      made.options.push_back(value);
      const std::string plain = lower(value);
      if (plain == "apt::install-recommends=0" || plain == "apt::install-recommends=false" ||
          plain == "apt::install-recommends=no" || plain == "install_weak_deps=0" || plain == "install_weak_deps=false")
        made.no_recommends = true;
    }
    if (name == "--allow-unauthenticated" || name == "--nogpgcheck" || name == "--allow-untrusted")
      made.allow_unauthenticated = true;
    if (name == "--ignore-missing" || name == "--skip-broken") made.ignores_missing = true;
    if (name == "-d" || name == "--download-only" || name == "--downloadonly") {
      if (made.manager == Manager::apt || name != "-d") made.download_only = true;
    }
    if (name == "-s" || name == "--simulate" || name == "--dry-run" || name == "--just-print") made.simulated = true;
    if (made.manager == Manager::apt && (name == "-t" || name == "--target-release" || name == "--default-release"))
      made.target_release = value;
    if (name == "-X" || name == "--repository" || name == "--enablerepo" || name == "--repofrompath")
      made.repositories.push_back(value);
    if (made.manager == Manager::apk && (name == "-t" || name == "--virtual")) made.virtual_name = value;
    if (made.manager == Manager::apk &&
        (name == "--no-cache" || name == "-U" || name == "--update-cache" || name == "--update"))
      made.updates_first = true;
  }
}

/// dpkg -i FILE..., rpm -i FILE...
std::optional<SystemPackageCommand> from_files(const RunCommand& command, SystemPackageCommand made) {
  OptionTable table;
  table.long_with_value = {"root", "admindir", "instdir", "prefix", "dbpath", "import"};
  const GivenArguments given = sort_arguments(command, 1, table);
  const bool dpkg = made.program == "dpkg";
  const bool removes = given.has("--remove") || given.has("--purge") || given.has("--erase") ||
                       (dpkg && (given.has("-r") || given.has("-P"))) || (!dpkg && given.has("-e"));
  const bool installs = given.has("-i") || given.has("--install") || given.has("-U") || given.has("--upgrade");
  if (!removes && (!installs || (!dpkg && given.has("-q")))) return made;
  made.action = removes ? Action::remove : Action::install;
  for (const Argument& one : given.operands)
    made.packages.push_back(package_of(one, removes ? made.manager : Manager::apt));
  for (SystemPackage& one : made.packages) {
    if (!removes) one.name.clear();
  }
  made.not_known = given.not_known;
  return made;
}

}  // namespace

std::optional<SystemPackageCommand> read_system_packages(const RunCommand& command) {
  SystemPackageCommand made;
  made.program = program_name(command);
  made.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  const std::string& name = made.program;
  if (name == "dpkg") return from_files(command, std::move(made));
  if (name == "rpm") {
    made.manager = Manager::rpm;
    return from_files(command, std::move(made));
  }
  if (name == "apt-get" || name == "apt" || name == "aptitude" || name == "apt-fast") {
    made.manager = Manager::apt;
  } else if (name == "apk") {
    made.manager = Manager::apk;
  } else if (name == "yum" || name == "dnf" || name == "dnf5" || name == "microdnf" || name == "zypper" ||
             name == "tdnf") {
    made.manager = Manager::rpm;
    made.updates_first = true;
  } else {
    return std::nullopt;
  }
  const GivenArguments given = sort_arguments(command, 1, table_of(made.manager));
  read_options(given, made);
  made.not_known = given.not_known;
  if (given.operands.empty()) return made;
  made.subcommand = given.operands.front().text;
  made.action = made.manager == Manager::apt   ? action_of(apt_verbs, made.subcommand)
                : made.manager == Manager::apk ? action_of(apk_verbs, made.subcommand)
                                               : action_of(rpm_verbs, made.subcommand);
  if (made.subcommand == "groupinstall" || made.action == Action::other || made.action == Action::clean) return made;
  for (std::size_t i = 1; i < given.operands.size(); ++i)
    made.packages.push_back(package_of(given.operands[i], made.manager));
  return made;
}

namespace {

bool is_source_file(std::string_view path) {
  return path.starts_with("/etc/apt/sources.list") || path.starts_with("/etc/yum.repos.d/") ||
         path == "/etc/apk/repositories";
}

bool is_key_file(std::string_view path) {
  return path.starts_with("/etc/apt/trusted.gpg") || path.starts_with("/etc/apt/keyrings/") ||
         path.starts_with("/usr/share/keyrings/") || path.starts_with("/etc/apk/keys/") ||
         path.starts_with("/etc/pki/rpm-gpg/");
}

/// What a command reads: URLs of a curl that is piped into it.
std::string url_piped_into(const RunStep& step, std::size_t at) {
  std::string url;
  // Through filters: curl | gpg --dearmor | tee FILE.
  for (int hops = 0; hops < 4; ++hops) {
    std::optional<std::size_t> from;
    for (std::size_t i = 0; i < at; ++i) {
      if (step.commands[i].piped_into == at) from = i;
    }
    if (!from) return url;
    if (const auto download = read_download(step.commands[*from])) {
      if (!download->items.empty()) url = download->items.front().url.text;
      return url;
    }
    at = *from;
  }
  return url;
}

void apt_key(const RunStep& step, std::size_t at, std::vector<RepositoryChange>& changes) {
  const RunCommand& command = step.commands[at];
  OptionTable table;
  table.long_with_value = {"keyserver", "keyring", "keyserver-options", "homedir"};
  const GivenArguments given = sort_arguments(command, 1, table);
  if (given.operands.empty()) return;
  const std::string& verb = given.operands.front().text;
  RepositoryChange change;
  change.command = at;
  change.kind = RepositoryChange::Kind::key;
  change.not_known = given.not_known;
  if (verb == "del") {
    // The old key's removal is no source.
    return;
  }
  if (verb == "add") {
    change.text =
        given.operands.size() > 1 && given.operands[1].text != "-" ? given.operands[1].text : url_piped_into(step, at);
    if (change.text.empty() && change.not_known.empty()) change.not_known = "cannot tell which key is added";
    changes.push_back(std::move(change));
    return;
  }
  for (std::size_t i = 1; i < given.operands.size(); ++i) {
    change.text = given.operands[i].text;
    changes.push_back(change);
  }
  if (given.operands.size() == 1 && !given.not_known.empty()) changes.push_back(std::move(change));
}

void add_repository(const RunCommand& command, std::size_t at, std::vector<RepositoryChange>& changes) {
  OptionTable table;
  table.short_with_value = "pcsUP";
  table.long_with_value = {"pocket", "component", "sourceslist", "uri", "ppa", "cloud", "keyserver"};
  GivenArguments given = sort_arguments(command, 1, table);
  for (const char* option : {"--ppa", "-P", "--sourceslist", "-S", "--uri", "-U"}) {
    for (const Argument& value : given.values(option)) given.operands.push_back(value);
  }
  const bool removes = given.has("--remove") || given.has("-r");
  if (removes) return;
  RepositoryChange change;
  change.command = at;
  for (const Argument& one : given.operands) {
    if (one.text == "main" || one.text == "universe" || one.text == "multiverse" || one.text == "restricted" ||
        one.text == "contrib" || one.text == "non-free")
      continue;
    change.text = one.text;
    change.kind = one.text.starts_with("ppa:") ? RepositoryChange::Kind::ppa : RepositoryChange::Kind::line;
    changes.push_back(change);
  }
  if (given.operands.empty() && !given.not_known.empty()) {
    change.not_known = given.not_known;
    changes.push_back(std::move(change));
  }
}

void config_manager(const RunCommand& command, std::size_t at, std::vector<RepositoryChange>& changes) {
  OptionTable table;
  table.long_with_value = {"add-repo", "from-repofile"};
  const GivenArguments given = sort_arguments(command, 1, table);
  RepositoryChange change;
  change.command = at;
  change.kind = RepositoryChange::Kind::list;
  for (const Argument& url : given.values("--add-repo", "--from-repofile")) {
    change.text = url.text;
    changes.push_back(change);
  }
  if (changes.empty() && !given.not_known.empty() && given.has("--add-repo")) {
    change.not_known = given.not_known;
    changes.push_back(std::move(change));
  }
}

}  // namespace

std::vector<RepositoryChange> repository_changes(const RunStep& step) {
  std::vector<RepositoryChange> changes;
  const std::vector<FileWrite> writes = file_writes(step);
  for (std::size_t at = 0; at < step.commands.size(); ++at) {
    const RunCommand& command = step.commands[at];
    const std::string name = program_name(command);
    if (name == "apt-key") apt_key(step, at, changes);
    if (name == "add-apt-repository" || name == "apt-add-repository") add_repository(command, at, changes);
    if (name == "yum-config-manager" || ((name == "dnf" || name == "yum" || name == "dnf5") &&
                                         command.words.size() > 1 && command.words[1].text == "config-manager"))
      config_manager(command, at, changes);
    for (const FileWrite& write : writes) {
      if (write.command != at || (!is_source_file(write.path.text) && !is_key_file(write.path.text))) continue;
      RepositoryChange change;
      change.command = at;
      change.file = write.path.text;
      change.kind = is_key_file(write.path.text) ? RepositoryChange::Kind::key : RepositoryChange::Kind::line;
      change.text = write.text.value_or("");
      if (!write.text) {
        change.text = url_piped_into(step, at);
        if (!change.text.empty() && change.kind == RepositoryChange::Kind::line)
          change.kind = RepositoryChange::Kind::list;
        if (change.text.empty()) change.not_known = "cannot tell what is written to " + write.path.text;
      }
      changes.push_back(std::move(change));
    }
    if (const auto download = read_download(command)) {
      for (const DownloadCommand::Item& item : download->items) {
        if (!is_source_file(item.file) && !is_key_file(item.file)) continue;
        RepositoryChange change;
        change.command = at;
        change.file = item.file;
        change.kind = is_key_file(item.file) ? RepositoryChange::Kind::key : RepositoryChange::Kind::list;
        change.text = item.url.text;
        change.not_known = item.not_known;
        // A redirection was seen as a write already.
        std::erase_if(changes, [&](const RepositoryChange& one) { return one.command == at && one.file == item.file; });
        changes.push_back(std::move(change));
      }
    }
    if (name == "gpg" || name == "gpg2") {
      OptionTable table;
      table.short_with_value = "o";
      table.long_with_value = {"output", "keyserver", "recv-keys", "homedir", "keyring"};
      const GivenArguments given = sort_arguments(command, 1, table);
      const auto output = given.value("-o", "--output");
      if (output && is_key_file(path_from(command.folder, output->text))) {
        RepositoryChange change;
        change.command = at;
        change.kind = RepositoryChange::Kind::key;
        change.file = path_from(command.folder, output->text);
        change.text = given.operands.empty() ? url_piped_into(step, at) : given.operands.front().text;
        if (change.text.empty()) change.not_known = "cannot tell which key it is";
        changes.push_back(std::move(change));
      }
    }
    if (const auto file = read_file_command(command); file && file->action == FileCommand::Action::remove) {
      for (const Argument& path : file->paths) {
        if (!is_source_file(path.text) && !is_key_file(path.text)) continue;
        RepositoryChange change;
        change.command = at;
        change.kind = RepositoryChange::Kind::removed;
        change.text = change.file = path.text;
        changes.push_back(std::move(change));
      }
    }
  }
  return changes;
}

}  // namespace imgforge
