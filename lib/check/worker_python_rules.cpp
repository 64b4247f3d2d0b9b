// How boot comes to its interpreter and to pip, and whether its venv can work. boot.go and piputil.go by release:
// knowledge/beam_behaviour.yaml.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view boot_source = "https://github.com/apache/beam/blob/master/sdks/python/container/boot.go";
constexpr std::string_view pip_source = "https://github.com/apache/beam/blob/master/sdks/python/container/piputil.go";

const Command* command(const Facts& facts, const std::string& name) {
  const auto& commands = facts.commands();
  if (!commands.is_known()) return nullptr;
  const auto found = commands->find(name);
  return found == commands->end() ? nullptr : &found->second;
}

bool works(const Command* found) { return found != nullptr && !found->dangles && found->executable; }

/// What every rule here asks first: a Python worker of a known release. An answer where that ends it.
std::optional<Answer> not_asked(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<Version>& release = beam_release(subject);
  if (release.is_absent()) return Answer::not_applicable();
  if (!release.is_known()) return undecided_for("the Beam release", release);
  return std::nullopt;
}

/// Likewise, and with an interpreter.
std::optional<Answer> no_interpreter(const Case& subject) {
  if (const auto answer = not_asked(subject)) return answer;
  const Fact<WorkerPython>& python = subject.facts.worker_python();
  if (python.is_unknown()) return undecided_for("the interpreter that boot picks", python);
  if (subject.facts.worker_interpreter() == nullptr) return Answer::not_applicable();
  return std::nullopt;
}

Answer venv_unavailable(const Case& subject) {
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Version& release = beam_release(subject).value();
  if (!makes_venv(subject, release)) return Answer::not_applicable();
  const Interpreter& interpreter = *subject.facts.worker_interpreter();
  if (interpreter.has_venv && interpreter.has_ensurepip) return Answer::pass();
  if (const std::string open = opt_out_open(subject, release); !open.empty()) return Answer::undecided(open);
  const std::string lacks = !interpreter.has_venv ? "no venv module" : "no ensurepip with a pip wheel";
  const Fact<OsRelease>& os = subject.facts.os_release();
  const bool debian = os.is_known() && (os->id == "debian" || os->id == "ubuntu") && interpreter.kind == Interpreter::Kind::system && interpreter.prefix == "/usr";
  std::string fix = debian ? fmt::format("RUN apt-get update && apt-get install -y --no-install-recommends python{}-venv && rm -rf /var/lib/apt/lists/*",
                                         interpreter.minor.to_string())
                           : "install the interpreter with its venv and ensurepip modules";
  if (subject.knowledge.beam_has(BeamBehaviour::default_environment, release)) {
    fix += fmt::format("  (or ENV {}=1, which makes boot do without the venv)", default_environment_variable);
  }
  return Answer::finding(fmt::format("{} has {}: boot of Beam {} cannot make its environment (\"Failed to initialize Python venv\")",
                                     escape_for_display(interpreter.path), lacks, release.to_string()),
                         fix, interpreter.evidence);
}

/// Whether a distribution that matters lies in the interpreter's own tree: pip and its kin are in every venv.
bool has_packages(const Case& subject, const Interpreter& interpreter) {
  const auto& distributions = subject.facts.distributions();
  if (!distributions.is_known()) return false;
  return std::any_of(distributions->begin(), distributions->end(), [&](const Distribution& distribution) {
    return distribution.site.starts_with(interpreter.prefix + "/") && distribution.name != "pip" && distribution.name != "setuptools" && distribution.name != "wheel";
  });
}

Answer author_venv_ignored(const Case& subject) {
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Version& release = beam_release(subject).value();
  if (!makes_venv(subject, release)) return Answer::not_applicable();
  const Interpreter& interpreter = *subject.facts.worker_interpreter();
  if (interpreter.kind != Interpreter::Kind::venv || !has_packages(subject, interpreter)) return Answer::pass();
  if (const std::string open = opt_out_open(subject, release); !open.empty()) return Answer::undecided(open);
  const bool opt_out = subject.knowledge.beam_has(BeamBehaviour::default_environment, release);
  return Answer::finding(fmt::format("the packages are in the venv {}, but boot of Beam {} makes a venv of its own over the base interpreter{}: it does not see them "
                                     "(ModuleNotFoundError)",
                                     escape_for_display(interpreter.prefix), release.to_string(),
                                     interpreter.home.empty() ? std::string() : " in " + escape_for_display(interpreter.home)),
                         opt_out ? fmt::format("ENV {}=1  (boot then uses the environment on PATH), or install into the base interpreter", default_environment_variable)
                                 : "install into the base interpreter instead of a venv",
                         interpreter.evidence);
}

Answer default_environment_ignored(const Case& subject) {
  if (const auto answer = not_asked(subject)) return *answer;
  const std::optional<std::string> value = subject.facts.variable(default_environment_variable);
  const Version& release = beam_release(subject).value();
  if (!value || value->empty()) {
    const bool read = subject.knowledge.beam_has(BeamBehaviour::default_environment, release);
    const std::string open = read ? std::string() : variable_open(subject, default_environment_variable);
    return open.empty() ? Answer::not_applicable() : Answer::undecided(open);
  }
  const Version& since = subject.knowledge.beam_since(BeamBehaviour::default_environment);
  if (subject.knowledge.beam_has(BeamBehaviour::default_environment, release)) return Answer::pass();
  return Answer::finding(fmt::format("{} is set, but Beam {} does not read it (from {} on)", default_environment_variable, release.to_string(), since.to_string()),
                         fmt::format("use Beam {} or later, or remove the variable and install into the base interpreter", since.to_string()),
                         join_evidence({{subject.facts.variable_evidence(default_environment_variable)}, beam_release(subject).evidence()}));
}

Answer python_not_on_path(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const auto& commands = subject.facts.commands();
  if (commands.is_unknown()) return undecided_for("what PATH finds", commands);
  const Command* python = command(subject.facts, "python");
  if (works(python)) return Answer::pass();
  const auto& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return undecided_for("the interpreters", interpreters);
  if (interpreters.is_absent() || interpreters->empty()) return Answer::not_applicable();  // python/not-found names it
  const Command* python3 = command(subject.facts, "python3");
  const Fact<Version>& known_release = beam_release(subject);
  if (!known_release.is_known()) {
    // Releases differ in what they take instead of `python`, but each wants one of the two.
    if (works(python3) || subject.facts.variable("PYTHON_PATH")) return undecided_for("the Beam release", known_release);
    return Answer::finding("neither `python` nor `python3` is on PATH, and boot starts one of them",
                           fmt::format("RUN ln -s {} /usr/local/bin/python, and a PATH with /usr/local/bin in it", shell_argument(interpreters->front().path)),
                           join_evidence({{subject.facts.variable_evidence("PATH")}, interpreters->front().evidence}));
  }
  // From 2.51, in its venv, boot takes PYTHON_PATH, python or python3; else it runs the word "python".
  const Version& release = known_release.value();
  const bool fallback = subject.knowledge.beam_has(BeamBehaviour::python_fallback, release);
  const bool opted_out = runs_in_default_environment(subject, release);
  const auto value = subject.facts.variable("PYTHON_PATH");
  if (fallback && !opted_out && (works(python3) || (value && !value->empty()))) {
    const std::string open = opt_out_open(subject, release);
    return open.empty() ? Answer::pass() : Answer::undecided(open);
  }
  if (fallback && !opted_out) {
    if (const std::string open = variable_open(subject, "PYTHON_PATH"); !open.empty()) return Answer::undecided(open);
  }
  const std::string target = works(python3) ? python3->found_at : interpreters->front().path;
  const std::string state = python != nullptr && python->dangles ? fmt::format("`python` at {} dangles", escape_for_display(python->found_at)) : "there is no `python` on PATH";
  return Answer::finding(fmt::format("{}, and boot of Beam {} runs exactly that{}", state, release.to_string(),
                                     opted_out && fallback ? fmt::format(" ({} is set)", default_environment_variable) : std::string()),
                         fmt::format("RUN ln -s {} /usr/local/bin/python", shell_argument(target)),
                         join_evidence({{subject.facts.variable_evidence("PATH")}, interpreters->front().evidence}));
}

Answer python_path_misused(const Case& subject) {
  if (const auto answer = not_asked(subject)) return *answer;
  const auto value = subject.facts.variable("PYTHON_PATH");
  const Version& release = beam_release(subject).value();
  if (!subject.knowledge.beam_has(BeamBehaviour::python_fallback, release)) return Answer::not_applicable();
  if (!value || value->empty()) {
    const std::string open = variable_open(subject, "PYTHON_PATH");
    return open.empty() ? Answer::not_applicable() : Answer::undecided(open);
  }
  const Fact<Command>& program = subject.facts.python_path();
  const bool list = value->find(':') != std::string::npos || value->ends_with('/') || value->find("-packages") != std::string::npos;
  if (!list && program.is_unknown()) return undecided_for("the program that PYTHON_PATH names", program);
  if (!list && program.is_known() && program->executable) return Answer::pass();
  return Answer::finding(fmt::format("PYTHON_PATH is \"{}\": boot of Beam {} executes its value as the interpreter", escape_for_display(*value), release.to_string()),
                         fmt::format("ENV PYTHONPATH=\"{}\"  (without the underscore), if a search path was meant", escape_for_display(*value)), {subject.facts.variable_evidence("PYTHON_PATH")});
}

Answer pip_location(const Case& subject) {
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Version& release = beam_release(subject).value();
  // 2.29 looks along PATH already; Google's pages still name it, so a missing file there is worth a warning.
  const bool documented_only = release.base() == *Version::parse("2.29.0");
  if (subject.knowledge.beam_has(BeamBehaviour::pip_on_path, release) && !documented_only) return Answer::not_applicable();
  if (const auto named = subject.facts.variable("pip"); named && !named->empty()) return Answer::pass();
  const Fact<Command>& pip = subject.facts.usr_local_pip();
  if (pip.is_unknown()) return undecided_for("/usr/local/bin/pip", pip);
  if (pip.is_known() && !pip->dangles) return Answer::pass();
  if (const std::string open = variable_open(subject, "pip"); !open.empty()) return Answer::undecided(open);
  const Command* elsewhere = command(subject.facts, "pip");
  return Answer::finding(documented_only ? Level::warning : Level::error,
                         fmt::format("there is no pip at /usr/local/bin/pip, where {} looks for it{}",
                                     documented_only ? "Google's documentation wants it up to 2.29" : "boot of " + beam_name(release),
                                     works(elsewhere) ? " (pip is at " + escape_for_display(elsewhere->found_at) + ")" : std::string()),
                         fmt::format("RUN ln -s {} /usr/local/bin/pip", works(elsewhere) ? shell_argument(elsewhere->found_at) : std::string("\"$(command -v pip)\"")),
                         join_evidence({pip.evidence(), beam_release(subject).evidence()}));
}

Answer pip_missing(const Case& subject) {
  if (const auto answer = no_interpreter(subject)) return *answer;
  const Version& release = beam_release(subject).value();
  // Later releases use the pip that ensurepip puts into their venv.
  if (makes_venv(subject, release)) {
    const Interpreter& one = *subject.facts.worker_interpreter();
    const std::string open = one.pip || one.has_pip ? std::string() : opt_out_open(subject, release);
    return open.empty() ? Answer::not_applicable() : Answer::undecided(open);
  }
  if (!subject.knowledge.beam_has(BeamBehaviour::pip_as_module, release)) {
    if (const auto named = subject.facts.variable("pip"); named && !named->empty()) return Answer::not_applicable();
    if (!subject.knowledge.beam_has(BeamBehaviour::pip_on_path, release) && !subject.facts.usr_local_pip().is_known()) {
      return Answer::not_applicable();  // beam/pip-location names it
    }
  }
  const Interpreter& interpreter = *subject.facts.worker_interpreter();
  if (interpreter.pip || interpreter.has_pip) return Answer::pass();
  return Answer::finding(fmt::format("{}, which boot starts, has no pip: nothing can be installed at start, and boot fails", escape_for_display(interpreter.path)),
                         fmt::format("RUN {} -m ensurepip --upgrade  (on Debian and Ubuntu: apt-get install python3-pip)", shell_argument(interpreter.path)),
                         interpreter.evidence);
}

Answer venv_not_creatable(const Case& subject) {
  if (const auto answer = not_asked(subject)) return *answer;
  const Version& release = beam_release(subject).value();
  if (!makes_venv(subject, release)) return Answer::not_applicable();
  const Fact<User>& user = subject.facts.user();
  if (user.is_unknown()) return undecided_for("the user", user);
  if (!user.is_known() || user->is_root()) return Answer::not_applicable();
  const Fact<bool>& writable = subject.facts.venv_folder_writable();
  if (!writable.is_known()) return undecided_for("who may write below /opt/apache", writable);
  if (writable.value()) return Answer::pass();
  if (const std::string open = opt_out_open(subject, release); !open.empty()) return Answer::undecided(open);
  const bool dataflow = subject.judged_as.on_dataflow();
  return Answer::finding(dataflow ? Level::note : Level::error,
                         fmt::format("user {} cannot create /opt/apache/beam-venv, which boot of Beam {} makes at start{}", escape_for_display(user->written),
                                     release.to_string(), dataflow ? " (Dataflow picks the user itself, other runners do not)" : ""),
                         fmt::format("RUN mkdir -p /opt/apache/beam-venv && chown {}:{} /opt/apache/beam-venv  (before USER)", user->uid, user->gid),
                         join_evidence({user.evidence(), writable.evidence()}));
}

constexpr Rule rules[] = {
    {"beam/venv-unavailable", Level::error, Reach::tree, D | I, "Beam 2.44 or later, no opt-out, and the interpreter has no working venv and ensurepip",
     "boot runs `python -m venv` for every worker and ends where that fails. Debian and Ubuntu split it into pythonX.Y-venv.",
     "Install pythonX.Y-venv, or set RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT (2.48 or later).", boot_source, venv_unavailable},
    {"beam/author-venv-ignored", Level::error, Reach::tree, D | I, "Beam 2.44 or later, no opt-out, and the packages are in a venv of the author's",
     "boot's venv looks through to the base interpreter's packages only; conda environments are base interpreters and fine.",
     "Install into the base interpreter, or set RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT (2.48 or later).", "https://github.com/apache/beam/issues/25085", author_venv_ignored},
    {"beam/default-environment-ignored", Level::warning, Reach::paths, R | D | I, "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT is set with Beam before 2.48",
     "The variable has no effect there.", "Use a later Beam.", boot_source, default_environment_ignored},
    {"beam/python-not-on-path", Level::error, Reach::paths, D | I, "`python` is not on PATH, or dangles, where this Beam needs it",
     "Up to 2.50, and with the opt-out, boot runs the word `python`; from 2.51 `python3` is enough.", "Link python to the interpreter.", boot_source, python_not_on_path},
    {"beam/python-path-misused", Level::error, Reach::paths, D | I, "PYTHON_PATH looks like a search path",
     "From 2.51 boot executes the value of PYTHON_PATH as the interpreter; PYTHONPATH was meant.", "Rename it to PYTHONPATH.", boot_source, python_path_misused},
    {"beam/pip-location", Level::error, Reach::paths, D | I, "Beam up to 2.28 and no pip at /usr/local/bin/pip (and no `pip` variable)",
     "boot has that path built in. (2.29 looks along PATH; Google's pages say otherwise: a warning there.)", "Link it: ln -s \"$(command -v pip)\" /usr/local/bin/pip.",
     pip_source, pip_location},
    {"beam/pip-missing", Level::error, Reach::paths, D | I, "the interpreter that boot picks has no pip (up to 2.43, or with the opt-out)",
     "boot installs staged packages with it and checks apache-beam through it.", "Install pip for that interpreter.", pip_source, pip_missing},
    {"beam/venv-not-creatable", Level::error, Reach::paths, D | I, "the image's non-root USER cannot create /opt/apache/beam-venv",
     "boot makes it at start. On Dataflow the service picks the user, so it is a note there.", "Give the folder to that user.", boot_source, venv_not_creatable},
};

}  // namespace

std::span<const Rule> worker_python_rules() { return rules; }

}  // namespace imgforge
