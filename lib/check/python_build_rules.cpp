// python/* rules that judge the steps of a build: what apt and pip are asked for, and whether that Python has it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/wheel_tags.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

// pypa/get-pip @08b6e1d28284: the unversioned script refuses older Pythons and names pip/X.Y/get-pip.py instead.
constexpr PythonMinor get_pip_from{3, 10};
// The last Python with distutils in its library, PEP 632.
constexpr PythonMinor last_distutils{3, 11};

struct PythonPackage {
  PythonMinor minor;
  std::string rest;  // "-venv" of "python3.11-venv"
};

/// "python3.11-venv", "libpython3.11-dev"; nothing of any other package, nor of Python 2.
std::optional<PythonPackage> python_package(std::string_view name) {
  if (name.starts_with("lib")) name.remove_prefix(3);
  if (!name.starts_with("python3.")) return std::nullopt;
  name.remove_prefix(std::string_view("python").size());
  const std::size_t end = name.find_first_not_of("0123456789.");
  const auto minor = PythonMinor::parse(name.substr(0, end));
  if (!minor) return std::nullopt;
  std::string rest(end == std::string_view::npos ? std::string_view() : name.substr(end));
  if (!rest.empty() && rest.front() != '-') return std::nullopt;
  return PythonPackage{*minor, std::move(rest)};
}

/// Repositories that add no Python.
bool brings_no_python(std::string_view repository) {
  static constexpr std::array<std::string_view, 8> known = {"cuda",
                                                            "developer.download.nvidia.com",
                                                            "packages.cloud.google.com",
                                                            "download.docker.com",
                                                            "nodesource",
                                                            "packages.microsoft.com",
                                                            "apt.llvm.org",
                                                            "cli.github.com"};
  return std::any_of(known.begin(), known.end(),
                     [&](std::string_view one) { return repository.find(one) != std::string_view::npos; });
}

bool is_deadsnakes(std::string_view repository) { return repository.find("deadsnakes") != std::string_view::npos; }

bool of_debian(const AptInstall& install) {
  return install.program != "apk" && install.program != "yum" && install.program != "dnf" &&
         install.program != "microdnf";
}

bool contains(const std::vector<PythonMinor>& minors, const PythonMinor& minor) {
  return std::find(minors.begin(), minors.end(), minor) != minors.end();
}

Answer not_in_distro(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const AptInstall& install : build->apt) {
    if (!of_debian(install)) continue;
    std::set<PythonMinor> seen;
    for (const PackageRequest& request : install.packages) {
      const std::optional<PythonPackage> package = python_package(request.name);
      // python/distutils-missing names a package that no repository has.
      if (!package || (package->rest == "-distutils" && package->minor > last_distutils) ||
          !seen.insert(package->minor).second)
        continue;
      asked = true;
      const std::string minor = package->minor.to_string();
      const LinuxRelease* release = subject.knowledge.linux_release(install.os);
      if (release == nullptr || !release->python) {
        open = fmt::format("which Pythons apt has for {}",
                           install.os.empty() ? "this base" : escape_for_display(install.os));
        continue;
      }
      if (*release->python == package->minor || contains(release->universe, package->minor)) continue;
      const bool ppa = std::any_of(install.repositories.begin(), install.repositories.end(), is_deadsnakes);
      const bool ubuntu = release->id.starts_with("ubuntu");
      if (ppa && ubuntu && contains(release->deadsnakes, package->minor)) continue;
      const auto other =
          std::find_if(install.repositories.begin(), install.repositories.end(),
                       [](const std::string& one) { return !is_deadsnakes(one) && !brings_no_python(one); });
      if (other != install.repositories.end()) {
        open = fmt::format("whether {} has Python {}", escape_for_display(*other), minor);
        continue;
      }
      // The PPA no longer builds it, but what it built once may still be served.
      const bool perhaps_left =
          ppa && ubuntu && (release->deadsnakes.empty() || package->minor < release->deadsnakes.back());
      std::string fix;
      if (subject.kind == SubjectKind::recipe) {
        fix = contains(release->deadsnakes, package->minor)
                  ? fmt::format("python: {{version: \"{}\", from: deadsnakes}}", minor)
                  : fmt::format("python: {{version: \"{}\", from: uv}}", minor);
      } else if (!ppa && contains(release->deadsnakes, package->minor)) {
        fix =
            "RUN apt-get update && apt-get install -y software-properties-common && add-apt-repository -y "
            "ppa:deadsnakes/ppa  (before this step)";
      } else {
        fix = fmt::format("install python{}, or start FROM docker.io/library/python:{}-slim-bookworm",
                          release->python->to_string(), minor);
      }
      const std::string where = ppa && ubuntu ? fmt::format("neither {} nor deadsnakes has", release->id)
                                              : fmt::format("{} has no", release->id);
      found.push_back(
          {perhaps_left || release->unverified ? std::optional(Level::warning) : std::nullopt,
           fmt::format("{} python{}: apt's Python there is {}{}", where, minor, release->python->to_string(),
                       ppa && !ubuntu ? " (the deadsnakes PPA is for Ubuntu)" : ""),
           std::move(fix),
           {Evidence::at(request.place.line != 0 ? request.place : install.at.place)}});
    }
  }
  return answer_of(std::move(found), open, asked);
}

Answer externally_managed(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const PipInstall& install : build->pip) {
    if (install.break_system_packages || install.elsewhere || install.empty || install.interpreter.missing) continue;
    asked = true;
    const StepInterpreter& python = install.interpreter;
    if (!python.externally_managed) {
      if (!python.not_known.empty())
        open = fmt::format("the Python that {} installs into: {}", escape_for_display(python.program),
                           escape_for_display(python.not_known));
      continue;
    }
    const std::string version = python.minor ? " " + python.minor->to_string() : std::string();
    found.push_back(found_at(install.at,
                             fmt::format("{} installs into the system's Python{}, which is externally managed (PEP "
                                         "668): \"error: externally-managed-environment\"",
                                         escape_for_display(python.program.empty() ? "pip" : python.program), version),
                             subject.kind == SubjectKind::recipe
                                 ? "env: {PIP_BREAK_SYSTEM_PACKAGES: \"1\"}"
                                 : "ENV PIP_BREAK_SYSTEM_PACKAGES=1  (before this step)"));
  }
  // One variable mends them all: the first step tells.
  if (found.size() > 1) {
    for (std::size_t i = 1; i < found.size(); ++i)
      found[0].evidence.insert(found[0].evidence.end(), found[i].evidence.begin(), found[i].evidence.end());
    found.resize(1);
  }
  return answer_of(std::move(found), open, asked);
}

/// The oldest Python that a get-pip.py runs on; nothing of any other script.
std::optional<PythonMinor> get_pip_needs(std::string_view url) {
  const std::size_t host = url.find("bootstrap.pypa.io/");
  if (host == std::string_view::npos) return std::nullopt;
  std::string_view path = url.substr(host + std::string_view("bootstrap.pypa.io/").size());
  path = path.substr(0, path.find_first_of("?#"));
  if (path == "get-pip.py" || path == "pip/get-pip.py") return get_pip_from;
  if (!path.starts_with("pip/") || !path.ends_with("/get-pip.py")) return std::nullopt;
  path.remove_prefix(4);
  return PythonMinor::parse(path.substr(0, path.size() - std::string_view("/get-pip.py").size()));
}

Answer get_pip_too_new(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const ScriptDownload& script : build->scripts) {
    const auto needs = get_pip_needs(script.url);
    if (!needs || !script.run_by || script.run_by->missing) continue;
    asked = true;
    if (!script.run_by->minor) {
      open = fmt::format("the Python that runs get-pip.py: {}", escape_for_display(script.run_by->not_known));
      continue;
    }
    const PythonMinor minor = *script.run_by->minor;
    if (minor >= *needs) continue;
    const std::string url = fmt::format("https://bootstrap.pypa.io/pip/{}/get-pip.py", minor.to_string());
    found.push_back(found_at(script.at,
                             fmt::format("this get-pip.py needs Python {} or later and is run by Python {}: it refuses",
                                         needs->to_string(), minor.to_string()),
                             with_replaced(script.at.line, script.url, url).value_or(url)));
  }
  return answer_of(std::move(found), open, asked);
}

Answer distutils_missing(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  bool asked = false;
  for (const AptInstall& install : build->apt) {
    if (!of_debian(install)) continue;
    for (const PackageRequest& request : install.packages) {
      const std::optional<PythonPackage> package = python_package(request.name);
      const bool general = request.name == "python3-distutils";
      if (!general && !(package && package->rest == "-distutils")) continue;
      asked = true;
      const std::string name = escape_for_display(request.name);
      const std::vector<Evidence> evidence = {Evidence::at(request.place.line != 0 ? request.place : install.at.place)};
      const std::string fix =
          subject.kind == SubjectKind::recipe
              ? "drop it from packages.apt, and add setuptools to packages.pip where something imports distutils"
              : fmt::format(
                    "drop {} from the list; where something imports distutils: RUN python3 -m pip install "
                    "--no-cache-dir setuptools",
                    name);
      if (!general) {
        if (package->minor > last_distutils)
          found.push_back(
              {std::nullopt,
               fmt::format("there is no {}: distutils left Python with 3.12, and apt finds no such package", name), fix,
               evidence});
        continue;
      }
      const LinuxRelease* release = subject.knowledge.linux_release(install.os);
      if (release == nullptr) {
        open = fmt::format("whether {} has python3-distutils",
                           install.os.empty() ? "this base" : escape_for_display(install.os));
      } else if (!release->has_distutils) {
        found.push_back({release->unverified ? std::optional(Level::warning) : std::nullopt,
                         fmt::format("{} has no package python3-distutils{}", release->id,
                                     release->python && *release->python > last_distutils
                                         ? fmt::format(" (its Python is {}, and distutils left Python with 3.12)",
                                                       release->python->to_string())
                                         : std::string()),
                         fix, evidence});
      }
    }
  }
  return answer_of(std::move(found), open, asked);
}

/// A package of the tables in one exact version, and the interpreter that it is asked for.
struct Wanted {
  std::string name;       // of the distribution
  std::string framework;  // "tensorflow", "torch", "jax"; empty of apache-beam
  Version version;
  PythonMinor minor;
  std::optional<Version> python;
  Evidence evidence;
  bool is_file = false;  // a wheel's path or URL
};

std::string framework_of(std::string_view distribution) {
  if (distribution == "tensorflow" || distribution == "tensorflow-cpu") return "tensorflow";
  if (distribution == "torch" || distribution == "jax") return std::string(distribution);
  return {};
}

/// What pip is asked for in this build. `open` says what could not be told.
std::vector<Wanted> wanted_packages(const Build& build, std::string& open) {
  std::vector<Wanted> wanted;
  for (const PipInstall& install : build.pip) {
    if (install.elsewhere) continue;
    for (const PackageRequest& request : install.requests) {
      const std::string framework = framework_of(request.name);
      if ((framework.empty() && request.name != "apache-beam") || !request.requirement) continue;
      const std::optional<Version> version = request.requirement->specifiers().pinned();
      if (!version) continue;
      if (!install.interpreter.minor) {
        if (!install.interpreter.missing)
          open = fmt::format("the Python that {} is installed for: {}", request.name,
                             escape_for_display(install.interpreter.not_known));
        continue;
      }
      wanted.push_back({request.name, framework, *version, *install.interpreter.minor, install.interpreter.version,
                        Evidence::at(request.place.line != 0 ? request.place : install.at.place),
                        wheel_file_name(request.written).has_value()});
    }
  }
  return wanted;
}

/// What a row says of Requires-Python; empty where there is none.
std::string requires_python_of(const Case& subject, const Wanted& one, bool& unverified) {
  if (one.framework.empty()) {
    const BeamRelease* row = subject.knowledge.beam_release(one.version);
    if (row == nullptr) return {};
    // beam/python-unsupported names it for a worker.
    if (subject.judged_as.is_beam_worker() && !contains(row->pythons, one.minor)) return {};
    unverified = row->unverified;
    return row->requires_python;
  }
  const FrameworkBuild* row = subject.knowledge.framework_build(one.framework, one.version);
  if (row == nullptr) return {};
  unverified = row->unverified;
  return row->requires_python;
}

/// Whether Requires-Python shuts this Python out.
bool excluded(const Case& subject, const Wanted& one, std::string* specifiers_text = nullptr,
              bool* unverified = nullptr) {
  bool from_memory = false;
  const std::string text = requires_python_of(subject, one, from_memory);
  const auto specifiers = text.empty() ? std::nullopt : SpecifierSet::parse(text);
  if (!specifiers || allows(*specifiers, one.minor, one.python).value_or(true)) return false;
  if (specifiers_text != nullptr) *specifiers_text = text;
  if (unverified != nullptr) *unverified = from_memory;
  return true;
}

/// The newest release of a framework with a wheel for this Python, and that its Requires-Python lets in.
std::string newest_for(const Case& subject, const Wanted& one, bool arm) {
  std::string newest;
  for (const FrameworkBuild& build : subject.knowledge.framework_builds()) {
    if (build.framework != one.framework || build.version.is_prerelease() ||
        !contains(arm ? build.wheels_arm64 : build.wheels, one.minor))
      continue;
    newest = build.version.to_string();
  }
  return newest;
}

/// Whether this interpreter is shut out by a distribution.
bool shuts_out(const Distribution& distribution, const Interpreter& interpreter) {
  const auto specifiers = SpecifierSet::parse(distribution.requires_python);
  return specifiers && !allows(*specifiers, interpreter.minor, interpreter.version).value_or(true);
}

Answer requires_python_of_image(const Case& subject) {
  const auto& worker = subject.facts.worker_python();
  if (is_python_worker(subject) && worker.is_unknown())
    return undecided_for("the interpreter that boot picks", worker);
  const Interpreter* interpreter = interpreter_of(subject);
  if (interpreter == nullptr) return Answer::not_applicable();
  // That another Python comes first is python/minor-mismatch, and what follows from it is no fault of its own.
  if (subject.recipe != nullptr && subject.recipe->python_version &&
      *subject.recipe->python_version != interpreter->minor)
    return Answer::not_applicable();
  if (!subject.facts.distributions().is_known())
    return undecided_for("the distributions", subject.facts.distributions());
  std::map<std::string_view, std::map<std::string_view, std::vector<const Distribution*>>> by_site;
  for (const Distribution& one : subject.facts.distributions().value()) by_site[one.site][one.name].push_back(&one);
  std::vector<Answer::Found> found;
  std::set<std::string_view> nearer;  // names that an earlier folder has: they hide later ones
  for (const std::string& site : interpreter->site_packages) {
    for (const auto& [key, same] : by_site[site]) {
      // apt's packages share this folder between all interpreters of the system.
      if (!nearer.insert(key).second || site == "/usr/lib/python3/dist-packages") continue;
      // Of what is there twice in one folder, nothing tells which is imported.
      if (!std::all_of(same.begin(), same.end(), [&](const auto* one) { return shuts_out(*one, *interpreter); }))
        continue;
      const Distribution& distribution = *same.front();
      // beam/python-unsupported names it.
      if (subject.judged_as.is_beam_worker() && distribution.name == "apache-beam" && distribution.version &&
          subject.knowledge.beam_release(*distribution.version) != nullptr)
        continue;
      const std::string name = escape_for_display(distribution.name);
      found.push_back(
          {std::nullopt,
           fmt::format("{} {} requires Python {}, and {} is Python {}", name,
                       escape_for_display(distribution.version_text), escape_for_display(distribution.requires_python),
                       escape_for_display(interpreter->path), interpreter->minor.to_string()),
           fmt::format("install a release of {} that is made for Python {}: RUN {} -m pip install --no-cache-dir {}",
                       name, interpreter->minor.to_string(), shell_argument(interpreter->path),
                       shell_argument(distribution.name)),
           join_evidence({{distribution.evidence}, interpreter->evidence})});
    }
  }
  return Answer::findings(std::move(found));
}

Answer requires_python(const Case& subject) {
  if (subject.kind == SubjectKind::image) return requires_python_of_image(subject);
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::string open;
  std::vector<Answer::Found> found;
  const std::vector<Wanted> wanted = wanted_packages(*build, open);
  for (const Wanted& one : wanted) {
    std::string specifiers;
    bool unverified = false;
    if (!excluded(subject, one, &specifiers, &unverified)) continue;
    const std::string newest = one.framework.empty() ? std::string() : newest_for(subject, one, false);
    found.push_back(
        {unverified ? std::optional(Level::warning) : std::nullopt,
         fmt::format("{} {} requires Python {}, and is installed for Python {}: pip finds no such version", one.name,
                     one.version.to_string(), escape_for_display(specifiers), one.minor.to_string()),
         newest.empty() ? fmt::format("use a Python that fits {}, or another release of {}",
                                      escape_for_display(specifiers), one.name)
                        : fmt::format("{}=={}, the newest for Python {}; or use a Python that fits {}", one.name,
                                      newest, one.minor.to_string(), escape_for_display(specifiers)),
         {one.evidence}});
  }
  return answer_of(std::move(found), open, !wanted.empty());
}

/// Wheels by their own names, whoever made them.
std::vector<Answer::Found> foreign_wheels(const Build& build, bool& asked) {
  std::vector<Answer::Found> found;
  for (const PipInstall& install : build.pip) {
    if (install.elsewhere || !install.interpreter.minor) continue;
    for (const PackageRequest& request : install.requests) {
      const auto file = wheel_file_name(request.written);
      if (!file) continue;
      asked = true;
      if (wheel_is_for(*file, *install.interpreter.minor).value_or(true)) continue;
      const std::string minor = install.interpreter.minor->to_string();
      found.push_back({std::nullopt,
                       fmt::format("{} is a wheel for {}, and is installed for Python {}: pip refuses it (\"is not a "
                                   "supported wheel on this platform\")",
                                   escape_for_display(*file), escape_for_display(wheel_python_tags(*file)), minor),
                       fmt::format("take the wheel for Python {} (cp{}{}), or the Python that it was built for", minor,
                                   install.interpreter.minor->major, install.interpreter.minor->minor),
                       {Evidence::at(request.place.line != 0 ? request.place : install.at.place)}});
    }
  }
  return found;
}

Answer no_wheel(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  std::string open;
  bool asked = false;
  std::vector<Answer::Found> found = foreign_wheels(*build, asked);
  const Fact<Platform>& platform = subject.facts.platform();
  const bool arm = platform.is_known() && platform->architecture == "arm64";
  for (const Wanted& one : wanted_packages(*build, open)) {
    // python/requires-python names it; a file is judged by its name, and may be no wheel of upstream's.
    if (one.framework.empty() || one.is_file || excluded(subject, one)) continue;
    asked = true;
    const FrameworkBuild* row = subject.knowledge.framework_build(one.framework, one.version);
    const auto& complete = subject.knowledge.framework_complete(one.framework);
    const bool covered = complete && complete->covers(one.version.base());
    if (row == nullptr || !covered) {
      open = fmt::format("the wheels of {} {}: {}", one.name, one.version.to_string(),
                         covered ? "the tables hold no such release"
                         : complete
                             ? "the tables hold " + complete->from.to_string() + " to " + complete->through.to_string()
                             : std::string("not in the tables"));
      continue;
    }
    const std::vector<PythonMinor>& wheels = arm ? row->wheels_arm64 : row->wheels;
    if (wheels.empty()) {  // a row without that column
      open = fmt::format("the wheels of {} {}", one.name, one.version.to_string());
      continue;
    }
    if (contains(wheels, one.minor)) continue;
    std::vector<std::string> minors;
    for (const PythonMinor& minor : wheels) minors.push_back(minor.to_string());
    const std::string newest = newest_for(subject, one, arm);
    found.push_back(
        {row->unverified ? std::optional(Level::warning) : std::nullopt,
         fmt::format("{} {} has no wheel for Python {} on {}{}", one.name, one.version.to_string(),
                     one.minor.to_string(), arm ? "arm64" : "amd64",
                     minors.empty() ? std::string() : fmt::format(" (it has them for {})", join_words(minors))),
         (newest.empty() ? std::string()
                         : fmt::format("{}=={}, the newest with a wheel for Python {}; or ", one.name, newest,
                                       one.minor.to_string())) +
             (minors.empty() ? std::string("another release") : fmt::format("Python {}", minors.back())),
         {one.evidence}});
  }
  return answer_of(std::move(found), open, asked);
}

constexpr Rule rules[] = {
    {"python/not-in-distro", Level::error, Reach::config, R | D,
     "apt is asked for a pythonX.Y that this distribution and its configured repositories do not have",
     "A release of Debian or Ubuntu has one Python; apt-get ends with \"Unable to locate package\".",
     "Add deadsnakes (Ubuntu), or start from an image of that Python.",
     "https://launchpad.net/~deadsnakes/+archive/ubuntu/ppa", not_in_distro},
    {"python/externally-managed", Level::error, Reach::config, R | D,
     "pip installs into a PEP 668 system interpreter without the override",
     "Debian 12, Ubuntu 23.04 and later mark their Python; pip refuses to install into it.",
     "Set PIP_BREAK_SYSTEM_PACKAGES=1 (an image is not a workstation), or use an interpreter of your own.",
     "https://peps.python.org/pep-0668/", externally_managed},
    {"python/get-pip-too-new", Level::error, Reach::config, R | D,
     "the default get-pip.py is run by a Python that it refuses",
     "The unversioned script follows pip's own oldest Python and refuses older ones.",
     "Take https://bootstrap.pypa.io/pip/X.Y/get-pip.py.", "https://github.com/pypa/get-pip", get_pip_too_new},
    {"python/distutils-missing", Level::error, Reach::config, R | D,
     "a distutils package is asked for where it no longer exists",
     "distutils left Python with 3.12; releases with a later Python have no package of it.",
     "Drop the package; setuptools brings a copy for what still imports distutils.",
     "https://peps.python.org/pep-0632/", distutils_missing},
    {"python/requires-python", Level::error, Reach::tree, R | D | I,
     "a package's Requires-Python excludes the interpreter",
     "pip finds no matching version; where it was forced in, it fails when it is imported.",
     "Use a release for this Python, or the Python that the release wants.",
     "https://packaging.python.org/en/latest/specifications/core-metadata/#requires-python", requires_python},
    {"python/no-wheel", Level::error, Reach::config, R | D, "a framework has no wheel for this Python and platform",
     "pip finds no version, or builds for hours from source where there is one.",
     "Use a release with a wheel for this Python, or the Python that has one.", "https://pypi.org/", no_wheel},
};

}  // namespace

std::span<const Rule> python_build_rules() { return rules; }

}  // namespace imgforge
