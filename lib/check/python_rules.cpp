// The interpreter itself: there, the promised one, and still supported.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

/// A Python is meant: by the recipe, or because a Python SDK is there. Java, Go and plain images need none.
bool python_is_meant(const Case& subject) {
  return is_python_worker(subject) || (subject.recipe != nullptr && subject.recipe->python_version.has_value());
}

/// The name of a program without its folder.
std::string_view base_name(std::string_view program) { return program.substr(program.rfind('/') + 1); }

/// A step runs a Python, or the base is a Python image: whoever reads the Dockerfile knows that one is meant.
bool python_is_used(const Case& subject) {
  if (python_is_meant(subject)) return true;
  const Build* build = build_of(subject);
  if (build == nullptr) return false;
  if (std::any_of(build->pip.begin(), build->pip.end(), [](const PipInstall& install) { return install.at.in_image; })) return true;
  // apt-get install python3.9: somebody wants that one.
  for (const AptInstall& install : build->apt) {
    if (install.at.in_image && std::any_of(install.packages.begin(), install.packages.end(), [](const PackageRequest& one) {
          return one.name.starts_with("python3.") && PythonMinor::parse(std::string_view(one.name).substr(6)).has_value();
        }))
      return true;
  }
  return std::any_of(build->programs.begin(), build->programs.end(),
                     [](const ProgramUse& use) { return use.at.in_image && base_name(use.name).starts_with("python"); });
}

std::optional<Answer> no_interpreter(const Case& subject) {
  const auto& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return undecided_for("the interpreters", interpreters);
  // Another one must not be judged in its place.
  const auto& worker = subject.facts.worker_python();
  if (is_python_worker(subject) && worker.is_unknown()) return undecided_for("the interpreter that boot picks", worker);
  if (interpreter_of(subject) == nullptr) return Answer::not_applicable();
  return std::nullopt;
}

/// The checks of the interpreter that a Dockerfile makes itself.
Answer own_checks(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr || build->minor_checks.empty()) return Answer::not_applicable();
  std::vector<Answer::Found> found;
  std::string open;
  for (const MinorCheck& check : build->minor_checks) {
    if (check.interpreter.missing) continue;  // python/not-found names it
    if (!check.interpreter.minor) {
      open = fmt::format("the Python that the check of Python {} asks: {}", check.wanted.to_string(), escape_for_display(check.interpreter.not_known));
      continue;
    }
    if (*check.interpreter.minor == check.wanted) continue;
    found.push_back(found_at(check.at, fmt::format("this step checks for Python {}, and {} is Python {} there: the build stops here", check.wanted.to_string(),
                                                   escape_for_display(check.interpreter.program.empty() ? "python" : check.interpreter.program),
                                                   check.interpreter.minor->to_string()),
                             fmt::format("start FROM an image of Python {}, or check for {}", check.wanted.to_string(), check.interpreter.minor->to_string())));
  }
  if (found.empty() && !open.empty()) return Answer::undecided(open);
  return Answer::findings(std::move(found));
}

Answer minor_mismatch(const Case& subject) {
  if (subject.recipe == nullptr) {
    if (!subject.recipe_problem.empty()) return Answer::undecided("the recipe: " + subject.recipe_problem);
    return own_checks(subject);
  }
  if (!subject.recipe->python_version) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  const PythonMinor promised = *subject.recipe->python_version;
  if (interpreter.minor == promised) return Answer::pass();
  const std::vector<Evidence> evidence = join_evidence({{Evidence::at(subject.recipe->place_of("python.version"))}, interpreter.evidence});
  if (subject.kind == SubjectKind::recipe) {
    return Answer::finding(fmt::format("python.version says {}, and the Python of the base image is {}", promised.to_string(), interpreter.minor.to_string()),
                           fmt::format("python: {{version: \"{}\", from: base}}, or a base image of Python {}", interpreter.minor.to_string(), promised.to_string()), evidence);
  }
  std::string promised_path;
  for (const Interpreter& other : subject.facts.interpreters().value()) {
    if (other.minor == promised) promised_path = other.path;
  }
  const std::string where = promised_path.empty() ? std::string() : fmt::format(" (Python {} is at {})", promised.to_string(), escape_for_display(promised_path));
  return Answer::finding(fmt::format("the recipe promises Python {}, the interpreter that starts is Python {} at {}{}", promised.to_string(),
                                     interpreter.minor.to_string(), escape_for_display(interpreter.path), where),
                         promised_path.empty() ? fmt::format("rebuild from the recipe, or write python.version: \"{}\"", interpreter.minor.to_string())
                                               : fmt::format("let PATH find it first: RUN ln -sf {} /usr/local/bin/python", shell_argument(promised_path)),
                         evidence);
}

/// Steps that use a Python which nothing has installed yet.
std::vector<Answer::Found> missing_in_steps(const Case& subject) {
  std::vector<Answer::Found> found;
  const Build* build = build_of(subject);
  if (build == nullptr) return found;
  std::set<std::string> named;
  const auto add = [&](const StepPlace& step, std::string_view program) {
    const std::string name(base_name(program.substr(0, program.find(' '))));
    const bool python = name.starts_with("python");
    // A pip that is not there beside a Python that is: dockerfile/command-not-installed.
    const auto& interpreters = subject.facts.interpreters();
    if (!python && !(name.starts_with("pip") && interpreters.is_known() && interpreters->empty())) return;
    // apt was asked for it in vain: python/not-in-distro says so.
    const bool asked = std::any_of(build->apt.begin(), build->apt.end(), [&](const AptInstall& install) {
      if (install.at.place.file == step.place.file && install.at.place.line > step.place.line) return false;
      return std::any_of(install.packages.begin(), install.packages.end(), [&](const PackageRequest& package) { return package.name == name; });
    });
    if (asked || !named.insert(name).second) return;
    const std::string minor = python && name.size() > 7 && name.find('.') != std::string::npos ? name.substr(6) : std::string("3.X");
    found.push_back(found_at(step, fmt::format("this step runs {}, which neither the base image nor a step before it brings", escape_for_display(name)),
                             fmt::format("install it before this step, or start FROM docker.io/library/python:{}-slim-bookworm", escape_for_display(minor))));
  };
  for (const ProgramUse& use : build->programs) {
    if (use.there == ProgramUse::There::no && !use.guarded) add(use.at, use.name);
  }
  for (const PipInstall& install : build->pip) {
    if (install.interpreter.missing) add(install.at, install.interpreter.program);
  }
  for (const ScriptDownload& script : build->scripts) {
    if (script.run_by && script.run_by->missing) add(script.at, script.run_by->program);
  }
  for (const MinorCheck& check : build->minor_checks) {
    if (check.interpreter.missing) add(check.at, check.interpreter.program);
  }
  return found;
}

Answer not_found(const Case& subject) {
  if (std::vector<Answer::Found> found = missing_in_steps(subject); !found.empty()) return Answer::findings(std::move(found));
  if (!python_is_meant(subject)) return python_is_used(subject) ? Answer::pass() : Answer::not_applicable();
  const auto& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return undecided_for("the interpreters", interpreters);
  if (interpreters.is_known() && !interpreters->empty()) return Answer::pass();
  return Answer::finding("the image has no Python interpreter", "start from an image that has one (FROM docker.io/library/python:3.X-slim-bookworm), or install it",
                         interpreters.evidence());
}

Answer end_of_life(const Case& subject) {
  if (!python_is_used(subject)) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  const PythonRelease* row = subject.knowledge.python_release(interpreter.minor);
  if (row == nullptr || !row->end_of_life) return Answer::undecided(fmt::format("when Python {} ends", interpreter.minor.to_string()));
  if (subject.today < *row->end_of_life) return Answer::pass();
  return Answer::finding(fmt::format("Python {} had its end of life on {}: no security fixes any more", interpreter.minor.to_string(), row->end_of_life->to_string()),
                         "move to a Python that is still supported, together with the environment that submits the job", interpreter.evidence);
}

Answer pre_release(const Case& subject) {
  if (!python_is_used(subject)) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  if (!interpreter.version) {
    // A tag or a package names the minor alone: that is its newest release, once there is one.
    const PythonRelease* row = subject.knowledge.python_release(interpreter.minor);
    if (subject.kind != SubjectKind::image && row != nullptr && row->released && !row->unverified && *row->released <= subject.today) return Answer::pass();
    return Answer::undecided(fmt::format("the exact version of {}", escape_for_display(interpreter.path)));
  }
  if (!interpreter.version->is_prerelease()) return Answer::pass();
  return Answer::finding(fmt::format("{} is Python {}, a pre-release", escape_for_display(interpreter.path), interpreter.version->to_string()),
                         fmt::format("use a release of Python {}", interpreter.minor.to_string()), interpreter.evidence);
}

constexpr Rule rules[] = {
    {"python/minor-mismatch", Level::error, Reach::tree, R | D | I, "the interpreter found is not the one that the recipe declares",
     "Wheels, pickles and paths are those of another Python.", "Make python and python3 on PATH the declared one.", "https://peps.python.org/pep-0425/", minor_mismatch},
    {"python/not-found", Level::error, Reach::tree, D | I, "no interpreter at all where a Python is meant", "boot finds no python and ends.", "Install one.",
     "https://github.com/apache/beam/blob/master/sdks/python/container/boot.go", not_found},
    {"python/end-of-life", Level::warning, Reach::tree, R | D | I, "the interpreter is past its end of life", "No security fixes, and packages drop it.", "Move on.",
     "https://devguide.python.org/versions/", end_of_life},
    {"python/pre-release", Level::warning, Reach::tree, R | D | I, "an alpha, beta or release candidate of the interpreter", "Its ABI may differ from the release's.", "Use a release.",
     "https://peps.python.org/pep-0101/", pre_release},
};

}  // namespace

std::span<const Rule> python_rules() { return rules; }

}  // namespace imgforge
