// What a stage of a build is at one of its steps: config, files, interpreters and what is installed in them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/accounts.hpp"
#include "facts/build_files.hpp"
#include "facts/facts.hpp"
#include "facts/run_step.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

/// A variable: its value, or why that is not known.
struct BuildVariable {
  std::optional<std::string> value;
  std::string not_known;
  Evidence evidence;
};

struct BuildDistribution {
  enum class By { pip, conda, base, system };
  Distribution distribution;
  By by = By::pip;
  std::vector<std::string> indexes;  // --index-url, --extra-index-url of the command that asked for it
  std::vector<std::string> find_links;
};

/// An interpreter and what is installed in it.
struct BuildPython {
  Interpreter interpreter;
  bool minor_known = true;
  std::string not_known;  // why the minor is not
  std::vector<BuildDistribution> distributions;
  std::string open;                   // why more may be installed than these; empty: what was asked for is all
  std::string base_path;              // of a venv: the interpreter that it was made with
  bool system_site_packages = false;  // of a venv
  bool in_base = false;
};

struct BuildState {
  // The image's config.
  std::vector<std::pair<std::string, BuildVariable>> env;  // in order
  std::string env_open;                                    // why more may be set; empty: env is all
  std::map<std::string, BuildVariable, std::less<>> labels;
  std::optional<std::vector<std::string>> entrypoint = std::vector<std::string>();  // nothing: not known
  std::optional<std::vector<std::string>> cmd = std::vector<std::string>();
  std::string entrypoint_not_known;
  Evidence entrypoint_evidence;
  Evidence cmd_evidence;
  bool cmd_set = false;  // by this stage
  std::optional<std::string> user = "";
  std::string user_not_known;
  Evidence user_evidence;
  std::optional<Place> user_place;
  std::optional<std::string> workdir = "/";
  Evidence workdir_evidence;

  // The build's own.
  std::map<std::string, BuildVariable, std::less<>> arguments;
  RunShell shell;
  std::vector<std::string> shell_words = {"/bin/sh", "-c"};

  // The base.
  std::string base;  // as written; empty of scratch
  Evidence base_evidence;
  std::optional<BaseImage> row;
  std::string base_not_known;  // why nothing is known of it
  std::string os;              // id of a LinuxRelease; empty where it is not known
  std::string os_family;       // "debian", "ubuntu", "alpine"; empty where it is not known
  std::optional<Libc::Family> libc;
  bool scratch = false;

  // The file system.
  BuildFiles files;
  std::map<std::string, ProgramUse::There, std::less<>> programs;  // names on PATH, where `files` does not list them
  std::string programs_open;  // why programs that are not known of may be there, beyond what a base leaves open
  std::vector<Account> accounts;
  std::vector<Group> groups;
  std::map<std::string, Evidence, std::less<>> account_evidence;
  std::string accounts_open;  // why there may be others

  // Packages.
  std::map<std::string, Evidence, std::less<>> packages;  // of apt and its kin, by name
  std::vector<std::string> repositories;
  bool nvidia_key_renewed = false;
  std::vector<BuildPython> pythons;
  std::string pythons_open;  // why there may be other interpreters
  std::vector<CudaToolkit> cuda;
  std::vector<Cudnn> cudnn;
  std::vector<Framework> frameworks;  // that the base brings
  std::string cuda_open;              // why there may be others
  std::optional<Evidence> spark;      // a Spark distribution was unpacked
  std::optional<Evidence> java;
  std::map<std::string, std::string, std::less<>> downloads;                      // by file: the URL that it came from
  std::map<std::string, std::pair<std::string, long>, std::less<>> alternatives;  // by name: the link, and its priority
  bool poetry_without_environment = false;  // "poetry config virtualenvs.create false"

  const BuildVariable* variable(std::string_view name) const;  // of env
  void set_variable(const std::string& name, BuildVariable value);
  /// PATH, or the one that runtimes set; nothing where it is not known.
  std::optional<std::string> search_path() const;
  std::string folder() const { return workdir.value_or("/"); }
  /// The release's id, else the family alone.
  const std::string& os_name() const { return os.empty() ? os_family : os; }
};

/// What a name or path leads to.
struct FoundProgram {
  BuildFiles::Seen seen = BuildFiles::Seen::unknown;
  std::string found_at;  // of yes: the first name on PATH
  std::string canonical;
  std::optional<BuildFile> file;
  bool dangles = false;  // a link to what is proven not to be there
  std::string reason;    // of unknown
};

/// `path`: the PATH to look in; that of the state where it is nothing.
FoundProgram find_program(const BuildState& state, std::string_view name,
                          const std::optional<std::string>& path = std::nullopt);
/// Of There, with what is known of names alone.
ProgramUse::There program_there(const BuildState& state, std::string_view name,
                                const std::optional<std::string>& path = std::nullopt);

/// The interpreter of a canonical path; nothing where it is none.
std::optional<std::size_t> python_at(const BuildState& state, std::string_view canonical);
/// The interpreter that a program starts: python itself, or a script such as pip that runs it.
std::optional<std::size_t> python_of(const BuildState& state, const FoundProgram& program);

/// Adds an interpreter with its files: path (".../bin/python3.11"), and links with `names` to it beside it. Its
/// site_packages, prefix and kind are those of `python`. An interpreter of the same path is replaced.
std::size_t add_python(BuildState& state, BuildPython python, const std::vector<std::string>& names,
                       const Evidence& evidence);
/// The programs pip, pip3, pipX.Y in `folder`, for that interpreter.
void add_pip(BuildState& state, std::size_t python, const std::string& folder, bool plain_name,
             const Evidence& evidence);

/// The variables and folder that a RUN step starts with.
ShellContext shell_context(const BuildState& state);

/// What the base `written` brings: a state to start a stage with, or to copy from.
BuildState base_state(const std::string& written, const std::string& expanded, const std::string& not_known,
                      const Evidence& evidence, const Knowledge& knowledge);

}  // namespace imgforge
