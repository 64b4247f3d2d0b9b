// pip, "python -m pip", "uv pip", and the project installers (poetry, pipenv, pdm, uv sync): what a command line asks
// for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

struct PipCommand {
  enum class Action { install, download, wheel, uninstall, sync, other };  // sync: uv pip sync FILE...

  Action action = Action::other;
  std::string subcommand;  // "install", "list", "cache"; empty for "pip --version"
  std::string program;     // "pip", "python3.11 -m pip", "uv pip"
  std::string pip;         // the program's word: "/opt/venv/bin/pip3"; empty where python -m or uv runs it
  std::string python;      // the interpreter's word: of "python3.11 -m pip", or --python; else empty
  std::size_t offset = 0;  // of the program
  bool uses_uv = false;

  std::vector<Argument> packages;            // as given: "numpy>=1.2", "./dist/x.whl", "git+https://...", "."
  std::vector<Argument> editables;           // -e
  std::vector<Argument> requirements_files;  // -r, and the files of sync
  std::vector<Argument> constraint_files;    // -c; PIP_CONSTRAINT before the command, too
  std::vector<std::string> index_urls;       // --index-url, --extra-index-url; PIP_* and UV_* before the command, too
  bool replaces_index = false;               // --index-url is there: PyPI is not asked, or --no-index
  std::vector<std::string> find_links;
  bool no_index = false;
  bool break_system_packages = false;  // the option, or PIP_BREAK_SYSTEM_PACKAGES=1 before the command
  bool no_deps = false;
  bool user = false;
  bool upgrade = false;
  bool force_reinstall = false;
  bool pre = false;
  bool system = false;    // uv pip --system
  bool no_cache = false;  // --no-cache-dir, --no-cache
  bool dry_run = false;
  bool no_binary = false;   // --no-binary :all: or a name
  std::string only_binary;  // its value
  std::string target;       // --target, as given
  std::string prefix;
  std::string root;
  std::string python_version;  // --python-version: wheels for another interpreter
  std::string platform;
  std::string not_known;  // why packages or files may be missing

  /// Not into the interpreter's own site-packages.
  bool elsewhere() const {
    return action == Action::download || action == Action::wheel || !target.empty() || !prefix.empty() ||
           !root.empty() || dry_run;
  }
  bool empty() const {
    return packages.empty() && editables.empty() && requirements_files.empty() && not_known.empty();
  }
};

/// Nothing where the command is none of pip's.
std::optional<PipCommand> read_pip(const RunCommand& command);

/// A tool that installs what pyproject.toml and a lock file say.
struct ProjectInstall {
  enum class Tool { poetry, pipenv, pdm, uv };
  Tool tool = Tool::poetry;
  std::string subcommand;          // "install", "sync", "add"
  std::vector<Argument> packages;  // of add
  bool system = false;             // into the interpreter, no environment of its own: pipenv --system
  bool locked = false;             // the lock file alone counts: --frozen, --locked, --deploy
  std::vector<std::string> extras;
  std::vector<std::string> with_groups;
  std::vector<std::string> without_groups;
  bool all_extras = false;
  bool no_dev = false;  // --no-dev, --only main, --no-group dev
  std::string folder;   // --directory, --project; empty where it is the current one
  std::string not_known;
};

std::optional<ProjectInstall> read_project_install(const RunCommand& command);

}  // namespace imgforge
