// What a build does on its way to the image, for the rules that judge steps: of a Dockerfile, or of what a recipe asks
// for. Built images do not have it.
//
// It says what is seen, never whether that is right. What could not be followed is marked unknown, with the reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/place.hpp"
#include "base/reference.hpp"
#include "base/requirement.hpp"
#include "base/version.hpp"
#include "facts/fact.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

/// Where a step stands.
struct StepPlace {
  Place place;            // of the word that matters, else of the command
  std::string stage;      // its name, else its number from 0
  bool in_image = true;   // its stage is the one that is built, or a base of it; false: only files are copied out of it, or
                          // nothing at all
  std::string line;       // the instruction or command as written, shortened to 200 bytes, secrets taken out
};

/// An image that the build names.
struct ImageUse {
  enum class Role { base, copy, mount };  // FROM, COPY --from, RUN --mount=from
  Role role = Role::base;
  StepPlace at;
  std::string written;                  // "apache/beam_python${PY}_sdk:2.66.0"
  std::string expanded;                 // with its variables replaced; empty where they are not known
  std::optional<Reference> reference;   // nothing where `expanded` is none, or not known
  std::string not_known;                // why, where a variable has no value
  std::string wrong;                    // why `expanded` can be no reference, as BuildKit words it
  bool has_variable = false;            // a "$" in COPY --from: never expanded there
  std::optional<BaseImage> row;         // what the knowledge holds of it
  bool runs_steps = false;              // of a base: a RUN follows in its stage, or in one built upon it
  std::vector<std::string> copied;      // of a copy: the absolute source paths
};

/// What a step's shell is.
enum class StepShell { posix, bash, other, none };  // none: exec form

/// One package that an install command was given.
struct PackageRequest {
  std::string written;                     // "apache-beam[gcp]==2.66.0", "python3.11-venv", "numpy>=1.2"
  std::string name;                        // normalised (PEP 503) of pip's; Debian's name of apt's; empty where it is none (a path, a URL)
  std::string version;                     // of apt's "name=version", conda's "name=version"
  std::optional<Requirement> requirement;  // of pip's
  Place place;                             // where it stands: the command, or the requirements file
};

/// An interpreter as a step finds it.
struct StepInterpreter {
  std::string program;                 // "pip", "python3.11 -m pip"
  std::optional<PythonMinor> minor;
  std::optional<Version> version;      // where a tag or recipe says more than the minor
  Interpreter::Kind kind = Interpreter::Kind::system;
  std::string path;                    // "/usr/bin/python3.11", "/opt/venv/bin/python"; empty where not known
  bool externally_managed = false;     // PEP 668 holds for it
  bool missing = false;                // proven: nothing has installed it yet
  std::string not_known;               // why, where it is not
};

struct PipInstall {
  StepPlace at;
  StepInterpreter interpreter;
  std::vector<PackageRequest> requests;     // requirements files read in, with markers that do not hold left out
  std::vector<PackageRequest> constraints;
  std::vector<std::string> indexes;         // --index-url, --extra-index-url, PIP_*_INDEX_URL
  std::vector<std::string> find_links;
  bool uses_uv = false;
  bool break_system_packages = false;       // option, or PIP_BREAK_SYSTEM_PACKAGES (any true word)
  bool no_deps = false;
  bool elsewhere = false;                   // --target, --prefix, --root, --dry-run, "pip download": not into the interpreter
  bool empty = false;                       // no package, file or path at all
  std::string not_known;                    // why `requests` may lack some: a requirements file that is not beside the Dockerfile
};

struct AptInstall {
  StepPlace at;
  std::string program;                      // "apt-get", "apt", "apk", "yum", "dnf"
  std::vector<PackageRequest> packages;
  std::string os;                           // LinuxRelease id as it is at that step; empty where not known
  std::vector<std::string> repositories;    // added before: "deadsnakes", "cuda", else the URL or PPA as written
  bool empty = false;
  std::string not_known;
};

/// apt-get update and its kin.
struct AptUpdate {
  StepPlace at;
  bool fails_harmlessly = false;            // "|| true"
  bool nvidia_key_renewed = false;          // before it: cuda-keyring, key 3bf863cc, or the lists of NVIDIA taken away
};

struct CondaInstall {
  StepPlace at;
  std::string program;                      // "conda", "mamba", "micromamba"
  std::string prefix;                       // "/opt/conda", "/opt/conda/envs/x"; empty where not known
  std::vector<PackageRequest> packages;
  bool empty = false;
  std::string not_known;
};

/// A program that a step starts.
struct ProgramUse {
  enum class There { yes, no, unknown };    // no: proven, nothing on this base or before this step brings it
  StepPlace at;
  std::string name;                         // "curl", "python3.11", "/opt/x"
  There there = There::unknown;
  bool guarded = false;                     // behind "command -v", "|| true", in an if: its failing is expected
};

/// A python script fetched by URL and given to an interpreter: get-pip.py.
struct ScriptDownload {
  StepPlace at;
  std::string url;
  std::optional<StepInterpreter> run_by;    // that ran it, in the same build
};

/// Something bash has and POSIX shells do not: "[[", "source", "pipefail", "<<<", "function", arrays, "{1..3}".
struct ShellConstruct {
  StepPlace at;
  std::string what;
  StepShell shell = StepShell::posix;       // that runs it; rules know which /bin/sh is dash by the os
  std::string os;
};

/// A redirection whose target looks like the rest of a version clause: pkg>=1.2.
struct VersionRedirect {
  StepPlace at;
  std::string written;                      // "scikit-learn>=0.24"
};

struct VariableUse {
  StepPlace at;
  std::string name;
  std::string instruction;                  // "ENV", "RUN", "FROM"
  bool global_arg = false;                  // an ARG before FROM declares it, and the stage does not
  std::string result;                       // of the word: empty, or broken ("apache-beam[gcp]==")
  bool breaks = false;                      // the word is empty, or ends or starts in what needs a value
};

/// A value that looks like a credential, never kept itself.
struct SecretUse {
  StepPlace at;                             // its `line` does not show the value
  std::string name;                         // of the variable or option; empty where the value's shape alone tells
  std::string where;                        // "ENV", "ARG", "RUN", "LABEL", "env"
};

/// Files copied from a stage or an image of another C library.
struct LibcCopy {
  StepPlace at;
  std::string from;                         // stage or image
  Libc::Family from_libc = Libc::Family::musl;
  std::vector<std::string> paths;
};

/// A check of the interpreter that the file itself makes: `python --version | grep 3.12`, sys.version_info == (3, 12).
struct MinorCheck {
  StepPlace at;
  PythonMinor wanted;
  StepInterpreter interpreter;              // that it asks
};

struct StageContract {
  std::string stage;
  Place place;                              // of FROM
  bool last = false;
  Fact<bool> has_boot = Fact<bool>::unknown("not read");
  Fact<Entrypoint> entrypoint = Fact<Entrypoint>::unknown("not read");
};

struct Build {
  std::string file;                         // the Dockerfile or recipe
  std::vector<Diagnostic> syntax;           // errors of the parser; then everything else is empty
  std::string stage;                        // that is built
  std::vector<StageContract> stages;
  std::vector<ImageUse> images;
  std::vector<PipInstall> pip;
  std::vector<AptInstall> apt;
  std::vector<AptUpdate> apt_updates;
  std::vector<CondaInstall> conda;
  std::vector<ProgramUse> programs;
  std::vector<ScriptDownload> scripts;
  std::vector<ShellConstruct> constructs;
  std::vector<VersionRedirect> redirects;
  std::vector<VariableUse> undeclared;
  std::vector<SecretUse> secrets;
  std::vector<LibcCopy> libc_copies;
  std::vector<MinorCheck> minor_checks;
  std::vector<StepPlace> env_comments;      // "#" behind an ENV value
  std::vector<StepPlace> compiles;          // in the final stage: gcc, nvcc, make, pip building a source with CUDA
  std::vector<StepPlace> driver_installs;   // the runfile with --driver, apt's cuda, cuda-drivers or nvidia-driver-*
  std::optional<Place> user_place;          // of the last USER
};

}  // namespace imgforge
