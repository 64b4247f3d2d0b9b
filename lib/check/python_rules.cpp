// The interpreter itself: there, the promised one, and still supported.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

bool on_path_as(const Interpreter& interpreter, std::string_view name) {
  return std::find(interpreter.on_path_as.begin(), interpreter.on_path_as.end(), name) != interpreter.on_path_as.end();
}

/// The interpreter that the image is about: boot's for a worker, else the one that PATH finds, else the only one.
const Interpreter* interpreter_of(const Case& subject) {
  if (subject.judged_as.is_beam_worker()) {
    if (const Interpreter* interpreter = subject.facts.worker_interpreter()) return interpreter;
  }
  const auto& interpreters = subject.facts.interpreters();
  if (!interpreters.is_known()) return nullptr;
  for (const std::string_view name : {"python", "python3"}) {
    for (const Interpreter& interpreter : interpreters.value()) {
      if (on_path_as(interpreter, name)) return &interpreter;
    }
  }
  return interpreters->size() == 1 ? &interpreters->front() : nullptr;
}

/// A Python is meant: by the recipe, or because a Python SDK is there. Java, Go and plain images need none.
bool python_is_meant(const Case& subject) {
  return is_python_worker(subject) || (subject.recipe != nullptr && subject.recipe->python_version.has_value());
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

Answer minor_mismatch(const Case& subject) {
  if (subject.recipe == nullptr) {
    return subject.recipe_problem.empty() ? Answer::not_applicable() : Answer::undecided("the recipe: " + subject.recipe_problem);
  }
  if (!subject.recipe->python_version) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  const PythonMinor promised = *subject.recipe->python_version;
  if (interpreter.minor == promised) return Answer::pass();
  std::string promised_path;
  for (const Interpreter& other : subject.facts.interpreters().value()) {
    if (other.minor == promised) promised_path = other.path;
  }
  const std::string where = promised_path.empty() ? std::string() : fmt::format(" (Python {} is at {})", promised.to_string(), escape_for_display(promised_path));
  return Answer::finding(fmt::format("the recipe promises Python {}, the interpreter that starts is Python {} at {}{}", promised.to_string(),
                                     interpreter.minor.to_string(), escape_for_display(interpreter.path), where),
                         promised_path.empty() ? fmt::format("rebuild from the recipe, or write python.version: \"{}\"", interpreter.minor.to_string())
                                               : fmt::format("let PATH find it first: RUN ln -sf {} /usr/local/bin/python", shell_argument(promised_path)),
                         join_evidence({{Evidence::at(subject.recipe->place_of("python.version"))}, interpreter.evidence}));
}

Answer not_found(const Case& subject) {
  if (!python_is_meant(subject)) return Answer::not_applicable();
  const auto& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return undecided_for("the interpreters", interpreters);
  if (interpreters.is_known() && !interpreters->empty()) return Answer::pass();
  return Answer::finding("the image has no Python interpreter", "start from an image that has one (FROM docker.io/library/python:3.X-slim-bookworm), or install it",
                         interpreters.evidence());
}

Answer end_of_life(const Case& subject) {
  if (!python_is_meant(subject)) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  const PythonRelease* row = subject.knowledge.python_release(interpreter.minor);
  if (row == nullptr || !row->end_of_life) return Answer::undecided(fmt::format("when Python {} ends", interpreter.minor.to_string()));
  if (subject.today < *row->end_of_life) return Answer::pass();
  return Answer::finding(fmt::format("Python {} had its end of life on {}: no security fixes any more", interpreter.minor.to_string(), row->end_of_life->to_string()),
                         "move to a Python that is still supported, together with the environment that submits the job", interpreter.evidence);
}

Answer pre_release(const Case& subject) {
  if (!python_is_meant(subject)) return Answer::not_applicable();
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Interpreter& interpreter = *interpreter_of(subject);
  if (!interpreter.version) return Answer::undecided(fmt::format("the exact version of {}", escape_for_display(interpreter.path)));
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
