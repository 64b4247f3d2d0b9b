// What a Python project's own files ask for: pyproject.toml (PEP 621, PEP 735, poetry), lock files, conda's
// environment.yml.
//
// Bounds: 4 MiB of TOML or JSON, 1 MiB of YAML, nesting of 64, 20,000 packages.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"
#include "base/requirement.hpp"
#include "facts/commands_conda.hpp"

namespace imgforge {

struct ProjectRequirement {
  std::string written;
  std::optional<Requirement> requirement;  // nothing where it does not parse
  Place place;
};

struct ProjectFile {
  std::string name;             // [project] name, or [tool.poetry] name
  std::string requires_python;  // ">=3.9,<3.12", poetry's "^3.9" rewritten
  std::vector<ProjectRequirement> dependencies;
  std::map<std::string, std::vector<ProjectRequirement>, std::less<>> extras;  // optional-dependencies
  std::map<std::string, std::vector<ProjectRequirement>, std::less<>> groups;  // dependency-groups, poetry's groups
  std::vector<std::string> build_requires;
  bool poetry = false;                // dependencies come from [tool.poetry]
  bool dynamic_dependencies = false;  // the build backend tells them: `dependencies` may lack some
};

/// Nothing where the text is no TOML, with `why` set. `file` is how places call it.
std::optional<ProjectFile> read_pyproject(std::string_view text, const std::string& file, std::string& why);

/// One package of a lock file.
struct LockedPackage {
  std::string name;  // normalised
  std::string version;
  std::string source;        // registry URL, git URL or path; empty where the file does not say
  std::string marker;        // Pipfile.lock: "python_version >= '3.9'"; poetry.lock 2.1: markers
  bool development = false;  // Pipfile.lock's "develop"; poetry's groups without "main"
  bool local = false;        // the project itself: uv's source editable or virtual
  Place place;
};

struct LockFile {
  enum class Kind { uv, poetry, pipenv, pdm, pylock };  // pylock: PEP 751
  Kind kind = Kind::uv;
  std::string requires_python;
  std::vector<LockedPackage> packages;  // the same name several times where markers or resolutions fork
};

/// By the file's name: uv.lock, poetry.lock, Pipfile.lock, pdm.lock, pylock.toml, pylock.*.toml.
std::optional<LockFile::Kind> lock_file_kind(std::string_view file_name);
std::optional<LockFile> read_lock_file(LockFile::Kind kind, std::string_view text, const std::string& file,
                                       std::string& why);

/// conda's environment.yml.
struct CondaEnvironmentFile {
  std::string name;
  std::string prefix;
  std::vector<std::string> channels;
  struct Package {
    CondaSpec spec;
    Place place;
  };
  std::vector<Package> packages;
  struct PipLine {
    std::string text;  // a line of a requirements file: "numpy==1.2", "-r requirements.txt"
    Place place;
  };
  std::vector<PipLine> pip;
  std::vector<std::string> not_known;  // entries that are no specification
};

std::optional<CondaEnvironmentFile> read_conda_environment(std::string_view text, const std::string& file,
                                                           std::string& why);

}  // namespace imgforge
