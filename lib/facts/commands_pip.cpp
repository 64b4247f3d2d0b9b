#include "facts/commands_pip.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "facts/commands_python.hpp"

namespace imgforge {
namespace {

/// pip's options that take a value, of all its subcommands.
const OptionTable& pip_options() {
  static const OptionTable table = {"rceitfC",
                                    {"requirement",
                                     "constraint",
                                     "editable",
                                     "index-url",
                                     "extra-index-url",
                                     "pypi-url",
                                     "find-links",
                                     "target",
                                     "prefix",
                                     "root",
                                     "src",
                                     "platform",
                                     "python-version",
                                     "implementation",
                                     "abi",
                                     "upgrade-strategy",
                                     "no-binary",
                                     "only-binary",
                                     "progress-bar",
                                     "root-user-action",
                                     "report",
                                     "python",
                                     "log",
                                     "log-file",
                                     "proxy",
                                     "retries",
                                     "timeout",
                                     "exists-action",
                                     "trusted-host",
                                     "cert",
                                     "client-cert",
                                     "cache-dir",
                                     "use-feature",
                                     "use-deprecated",
                                     "config-settings",
                                     "config-setting",
                                     "global-option",
                                     "install-option",
                                     "build-option",
                                     "dest",
                                     "wheel-dir",
                                     "build",
                                     "hash",
                                     "keyring-provider",
                                     "group",
                                     "requirements-from-script",
                                     "uploaded-prior-to",
                                     "build-constraint",
                                     "path",
                                     "exclude",
                                     "format"},
                                    false,
                                    false};
  return table;
}

const OptionTable& uv_options() {
  static const OptionTable table = {"rceifpCPob",
                                    {"requirement",
                                     "requirements",
                                     "constraint",
                                     "constraints",
                                     "override",
                                     "overrides",
                                     "editable",
                                     "index-url",
                                     "extra-index-url",
                                     "index",
                                     "default-index",
                                     "find-links",
                                     "target",
                                     "prefix",
                                     "root",
                                     "python",
                                     "python-version",
                                     "python-platform",
                                     "no-binary",
                                     "only-binary",
                                     "build-constraint",
                                     "build-constraints",
                                     "exclude-newer",
                                     "resolution",
                                     "prerelease",
                                     "index-strategy",
                                     "keyring-provider",
                                     "link-mode",
                                     "config-setting",
                                     "config-settings",
                                     "cache-dir",
                                     "refresh-package",
                                     "upgrade-package",
                                     "reinstall-package",
                                     "extra",
                                     "group",
                                     "torch-backend",
                                     "allow-insecure-host",
                                     "trusted-host",
                                     "directory",
                                     "project",
                                     "config-file",
                                     "color",
                                     "python-preference",
                                     "no-build-isolation-package",
                                     "no-build-package",
                                     "excludes",
                                     "exclude"},
                                    false,
                                    false};
  return table;
}

bool is_true(const std::string& text) {
  static constexpr std::string_view yes[] = {"1", "true", "yes", "on", "t", "y"};
  return std::find(std::begin(yes), std::end(yes), lower(text)) != std::end(yes);
}

bool is_pip_name(std::string_view name) {
  if (!name.starts_with("pip")) return false;
  const std::string_view rest = name.substr(3);
  return std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; }) &&
         !rest.starts_with(".");
}

void add_words(std::vector<std::string>& to, std::string_view text) {
  for (const std::string_view part : split(text, ' ')) {
    if (!trim(part).empty()) to.emplace_back(trim(part));
  }
}

/// Where the words of a pip command begin: behind pip's own name; and what is known of who runs it.
std::optional<std::size_t> behind_pip(const RunCommand& command, PipCommand& pip) {
  const CommandLine& words = command.words;
  const auto text = [&](std::size_t i) {
    return i < words.size() && words[i].kind == CommandWord::Kind::text ? words[i].text : std::string();
  };
  const std::string name = program_name(command);
  if (is_pip_name(name)) {
    pip.program = pip.pip = words.front().text;
    return 1;
  }
  if (name == "uv" || name == "uvx") {
    std::size_t i = 1;
    static constexpr std::string_view with_value[] = {"--directory", "--project", "--cache-dir", "--config-file",
                                                      "--color"};
    for (; text(i).starts_with("-"); ++i) {
      if (std::find(std::begin(with_value), std::end(with_value), text(i)) != std::end(with_value)) ++i;
    }
    if (text(i) != "pip" || name != "uv") return std::nullopt;
    pip.program = "uv pip";
    pip.uses_uv = true;
    return i + 1;
  }
  if (!names_python(name)) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string option = text(i);
    if (!option.starts_with("-")) return std::nullopt;
    if (option == "-X" || option == "-W") {
      ++i;
      continue;
    }
    // "-m pip", "-Im pip", "-mpip"
    const std::size_t m = option.find('m');
    if (option.starts_with("--") || m == std::string::npos) continue;
    const bool apart = m + 1 == option.size();
    const std::string module = apart ? text(i + 1) : option.substr(m + 1);
    if (module != "pip" && module != "pip.__main__") {
      // "python -m uv pip install"
      if (module != "uv" || text(i + (apart ? 2 : 1)) != "pip") return std::nullopt;
      pip.program = words.front().text + " -m uv pip";
      pip.python = words.front().text;
      pip.uses_uv = true;
      return i + (apart ? 3 : 2);
    }
    pip.program = words.front().text + " -m pip";
    pip.python = words.front().text;
    return i + (apart ? 2 : 1);
  }
  return std::nullopt;
}

PipCommand::Action action_of(const std::string& subcommand, bool uv) {
  if (subcommand == "install") return PipCommand::Action::install;
  if (subcommand == "uninstall") return PipCommand::Action::uninstall;
  if (subcommand == "sync" && uv) return PipCommand::Action::sync;
  if (subcommand == "download" && !uv) return PipCommand::Action::download;
  if (subcommand == "wheel" && !uv) return PipCommand::Action::wheel;
  return PipCommand::Action::other;
}

void read_environment(const RunCommand& command, PipCommand& pip) {
  for (const auto& [name, value] : command.environment) {
    if (!value) {
      if ((name == "PIP_INDEX_URL" || name == "PIP_EXTRA_INDEX_URL") && pip.not_known.empty())
        pip.not_known = name + " is not known";
      continue;
    }
    if (value->empty()) continue;
    if (name == "PIP_INDEX_URL" || name == "UV_INDEX_URL" || name == "UV_DEFAULT_INDEX") {
      pip.index_urls.push_back(*value);
      pip.replaces_index = true;
    } else if (name == "PIP_EXTRA_INDEX_URL" || name == "UV_EXTRA_INDEX_URL" || name == "UV_INDEX") {
      add_words(pip.index_urls, *value);
    } else if (name == "PIP_FIND_LINKS" || name == "UV_FIND_LINKS") {
      add_words(pip.find_links, *value);
    } else if (name == "PIP_CONSTRAINT" || name == "UV_CONSTRAINT") {
      for (const std::string_view file : split(*value, ' ')) {
        if (!file.empty()) pip.constraint_files.push_back({std::string(file), command.offset});
      }
    } else if (name == "PIP_BREAK_SYSTEM_PACKAGES" || name == "UV_BREAK_SYSTEM_PACKAGES") {
      pip.break_system_packages = is_true(*value);
    } else if (name == "PIP_NO_DEPS") {
      pip.no_deps = is_true(*value);
    } else if (name == "PIP_TARGET") {
      pip.target = *value;
    } else if (name == "PIP_PREFIX") {
      pip.prefix = *value;
    } else if (name == "PIP_USER") {
      pip.user = is_true(*value);
    } else if (name == "UV_SYSTEM_PYTHON") {
      pip.system = is_true(*value);
    } else if (name == "UV_PYTHON" && pip.uses_uv) {
      pip.python = *value;
    }
  }
}

void read_options(const GivenArguments& given, PipCommand& pip) {
  for (const GivenOption& option : given.options) {
    const std::string& name = option.name;
    const std::string value = option.value ? option.value->text : std::string();
    const bool uv = pip.uses_uv;
    if ((name == "-r" || name == "--requirement" || name == "--requirements") && option.value) {
      pip.requirements_files.push_back(*option.value);
    } else if ((name == "-c" || name == "--constraint" || name == "--constraints") && option.value) {
      pip.constraint_files.push_back(*option.value);
    } else if ((name == "-e" || name == "--editable") && option.value) {
      pip.editables.push_back(*option.value);
    } else if (name == "-i" || name == "--index-url" || name == "--pypi-url" || name == "--default-index") {
      if (option.value) pip.index_urls.push_back(value);
      pip.replaces_index = true;
    } else if (name == "--extra-index-url" || name == "--index") {
      // uv: "--index name=https://..."
      const std::size_t url = uv ? value.find("=http") : std::string::npos;
      if (option.value) pip.index_urls.push_back(url == std::string::npos ? value : value.substr(url + 1));
    } else if (name == "-f" || name == "--find-links") {
      if (option.value) pip.find_links.push_back(value);
    } else if (name == "--no-index") {
      pip.no_index = pip.replaces_index = true;
    } else if (name == "--break-system-packages") {
      pip.break_system_packages = true;
    } else if (name == "--no-deps") {
      pip.no_deps = true;
    } else if (name == "--user") {
      pip.user = true;
    } else if (name == "-U" || name == "--upgrade") {
      pip.upgrade = true;
    } else if (name == "--force-reinstall" || name == "--reinstall") {
      pip.force_reinstall = true;
    } else if (name == "--pre" || (name == "--prerelease" && value == "allow")) {
      pip.pre = true;
    } else if (name == "--system") {
      pip.system = true;
    } else if (name == "--no-cache-dir" || name == "--no-cache" || (uv && name == "-n")) {
      pip.no_cache = true;
    } else if (name == "--dry-run") {
      pip.dry_run = true;
    } else if (name == "--no-binary") {
      pip.no_binary = value != ":none:";
    } else if (name == "--only-binary") {
      pip.only_binary = value;
    } else if (name == "-t" || name == "--target") {
      pip.target = option.value ? value : "?";
    } else if (name == "--prefix") {
      pip.prefix = option.value ? value : "?";
    } else if (name == "--root") {
      pip.root = option.value ? value : "?";
    } else if (name == "--python-version") {
      pip.python_version = value;
    } else if (name == "--platform" || name == "--python-platform") {
      pip.platform = value;
    } else if (name == "--python" || (uv && name == "-p")) {
      pip.python = value;
      if (!option.value && pip.not_known.empty()) pip.not_known = "cannot tell which interpreter --python names";
    }
  }
}

}  // namespace

std::optional<PipCommand> read_pip(const RunCommand& command) {
  PipCommand pip;
  pip.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  auto at = behind_pip(command, pip);
  if (!at) return std::nullopt;
  read_environment(command, pip);
  const GivenArguments given = sort_arguments(command, *at, pip.uses_uv ? uv_options() : pip_options());
  read_options(given, pip);
  if (pip.not_known.empty()) pip.not_known = given.not_known;
  if (given.operands.empty()) return pip;
  pip.subcommand = given.operands.front().text;
  pip.action = action_of(pip.subcommand, pip.uses_uv);
  if (pip.action == PipCommand::Action::other && pip.subcommand != "config") return pip;
  const std::vector<Argument> rest(given.operands.begin() + 1, given.operands.end());
  (pip.action == PipCommand::Action::sync ? pip.requirements_files : pip.packages) = rest;
  return pip;
}

std::optional<ProjectInstall> read_project_install(const RunCommand& command) {
  const std::string name = program_name(command);
  ProjectInstall project;
  std::size_t at = 1;
  std::string tool = name;
  if (names_python(name) && command.words.size() > 2 && command.words[1].text == "-m") {
    tool = command.words[2].text;
    at = 3;
  }
  if (tool == "poetry") {
    project.tool = ProjectInstall::Tool::poetry;
  } else if (tool == "pipenv") {
    project.tool = ProjectInstall::Tool::pipenv;
  } else if (tool == "pdm") {
    project.tool = ProjectInstall::Tool::pdm;
  } else if (tool == "uv") {
    project.tool = ProjectInstall::Tool::uv;
  } else {
    return std::nullopt;
  }
  OptionTable table;
  table.short_with_value = project.tool == ProjectInstall::Tool::pdm  ? "GpL"
                           : project.tool == ProjectInstall::Tool::uv ? "pCP"
                                                                      : "ECPGr";
  table.long_with_value = {"extras",     "with",          "without",
                           "only",       "extra",         "group",
                           "no-group",   "only-group",    "directory",
                           "project",    "python",        "categories",
                           "lockfile",   "index-url",     "extra-index-url",
                           "find-links", "requirements",  "python-preference",
                           "link-mode",  "cache-dir",     "no-install-package",
                           "no-binary",  "default-index", "index",
                           "package",    "config-file"};
  const GivenArguments given = sort_arguments(command, at, table);
  if (given.operands.empty()) return std::nullopt;
  project.subcommand = given.operands.front().text;
  if (project.subcommand != "install" && project.subcommand != "sync" && project.subcommand != "add")
    return std::nullopt;
  // uv has no "install" of its own but "uv pip install" and "uv python install".
  if (project.tool == ProjectInstall::Tool::uv && project.subcommand == "install") return std::nullopt;
  if (given.operands.size() > 1) project.packages.assign(given.operands.begin() + 1, given.operands.end());
  const auto add = [](std::vector<std::string>& to, const std::string& text) {
    std::string plain = text;
    std::replace(plain.begin(), plain.end(), ',', ' ');
    add_words(to, plain);
  };
  for (const GivenOption& option : given.options) {
    const std::string value = option.value ? option.value->text : std::string();
    const std::string& one = option.name;
    if (one == "--system") project.system = true;
    if (one == "--frozen" || one == "--locked" || one == "--deploy" || one == "--frozen-lockfile" ||
        one == "--ignore-pipfile")
      project.locked = true;
    if (one == "--extras" || one == "-E" || one == "--extra") add(project.extras, value);
    if (one == "--with" || one == "--group" || one == "-G") add(project.with_groups, value);
    if (one == "--without" || one == "--no-group") add(project.without_groups, value);
    if (one == "--all-extras") project.all_extras = true;
    if (one == "--no-dev" || one == "--prod" || one == "--production" || (one == "--only" && value == "main"))
      project.no_dev = true;
    if (one == "--directory" || one == "--project" || (one == "-C" && project.tool == ProjectInstall::Tool::poetry))
      project.folder = value;
  }
  const auto& without = project.without_groups;
  if (std::find(without.begin(), without.end(), "dev") != without.end()) project.no_dev = true;
  project.not_known = given.not_known;
  return project;
}

}  // namespace imgforge
