// conda, mamba, micromamba: what a command line asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/command_arguments.hpp"

namespace imgforge {

/// A match specification: "conda-forge::numpy>=1.2", "python=3.11", "pytorch=2.1=py3.11_cuda*", "python 3.11.*".
struct CondaSpec {
  std::string channel;
  std::string name;     // lower case
  std::string version;  // "3.11" of "=3.11" (a prefix match), "==3.11.4", ">=1.2,<2": as written, a lone '=' taken off
  std::string build;
  std::string written;
  std::size_t offset = 0;
  /// The version where it is one: of "=3.11", "==3.11.4", "3.11.*"; without "*".
  std::string pinned() const;
};

/// Nothing where it is none (a URL, a path, an empty text).
std::optional<CondaSpec> parse_conda_spec(std::string_view text);

struct CondaCommand {
  enum class Action { create, install, update, remove, environment_create, environment_update, clean, config, other };
  Action action = Action::other;  // environment_*: "conda env create", "micromamba create -f FILE.yml"
  std::string program;            // "conda"
  std::string word;               // as given: "/opt/conda/bin/conda"
  std::string subcommand;         // "install", "env create"
  std::size_t offset = 0;
  std::string environment;  // -n NAME
  std::string prefix;       // -p PATH, as given
  std::string clone;        // --clone NAME
  std::vector<CondaSpec> packages;
  std::vector<Argument>
      files;  // --file, -f, of env create: the environment file ("environment.yml" where none is given)
  std::vector<Argument> urls;         // packages by URL or path
  std::vector<std::string> channels;  // -c, in order
  bool override_channels = false;
  bool assume_yes = false;
  bool dry_run = false;
  bool no_deps = false;
  std::string not_known;  // why packages may be missing

  bool empty() const { return packages.empty() && files.empty() && urls.empty() && clone.empty() && not_known.empty(); }
};

/// Nothing where the command is none of these. "conda run ... COMMAND" is followed by read_run_step() already.
std::optional<CondaCommand> read_conda(const RunCommand& command);

/// Miniforge, Miniconda, Anaconda: "bash Miniforge3-Linux-x86_64.sh -b -p /opt/conda".
struct CondaInstaller {
  std::string script;  // as given
  std::string prefix;  // -p; empty where it is not given
  bool batch = false;  // -b
  std::string not_known;
};

/// Nothing where the command does not run a file that is named like a conda installer and gets "-b" or "-p".
std::optional<CondaInstaller> read_conda_installer(const RunCommand& command);

}  // namespace imgforge
