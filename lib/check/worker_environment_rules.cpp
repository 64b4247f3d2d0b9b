// Variables, user, working directory and libc that a worker starts with.
#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view boot_source = "https://github.com/apache/beam/blob/master/sdks/python/container/boot.go";

Answer workdir_not_writable(const Case& subject) {
  if (!is_python_worker(subject) || subject.judged_as.on_dataflow()) return Answer::not_applicable();  // there the service's user is root
  const Fact<Version>& release = beam_release(subject);
  if (!release.is_known()) return release.is_absent() ? Answer::not_applicable() : undecided_for("the Beam release", release);
  if (!subject.knowledge.beam_has(BeamBehaviour::options_file, release.value())) return Answer::not_applicable();
  const Fact<User>& user = subject.facts.user();
  if (user.is_unknown()) return undecided_for("the user", user);
  if (!user.is_known() || user->is_root()) return Answer::not_applicable();
  const Fact<WorkingDirectory>& workdir = subject.facts.workdir();
  if (!workdir.is_known()) return undecided_for("the working directory", workdir);
  if (workdir->is_directory && workdir->writable) return Answer::pass();
  const std::string path = escape_for_display(workdir->path);
  const std::string word = shell_argument(workdir->path);
  return Answer::finding(fmt::format("WORKDIR {} {}: boot of Beam {} writes pipeline_options.json there", path,
                                     !workdir->exists ? "does not exist, and the user cannot make it"
                                     : workdir->is_directory ? fmt::format("cannot be written by user {}", escape_for_display(user->written)) : std::string("is no folder"),
                                     release->to_string()),
                         fmt::format("RUN mkdir -p {0} && chown {1}:{2} {0}  (before USER)", word, user->uid, user->gid),
                         join_evidence({workdir.evidence(), user.evidence()}));
}

// boot.go: what it sets for the SDK process.
constexpr std::array<std::string_view, 11> variables_of_boot = {
    "WORKER_ID", "PIPELINE_OPTIONS", "PIPELINE_OPTIONS_FILE", "SEMI_PERSISTENT_DIRECTORY", "LOGGING_API_SERVICE_DESCRIPTOR", "CONTROL_API_SERVICE_DESCRIPTOR",
    "STATUS_API_SERVICE_DESCRIPTOR", "ARTIFACT_API_SERVICE_DESCRIPTOR", "RUNNER_CAPABILITIES", "JOB_NAME", "JOB_ID"};

Answer preset_worker_environment(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  if (!subject.facts.env().is_known()) return undecided_for("the environment", subject.facts.env());
  std::vector<std::string> names;
  std::vector<Evidence> evidence;
  for (const std::string_view name : variables_of_boot) {
    if (!subject.facts.variable(name) && !subject.facts.env_unknown.contains(name)) continue;
    names.emplace_back(name);
    evidence.push_back(subject.facts.variable_evidence(name));
  }
  if (names.empty() && !subject.facts.env_open.empty()) return Answer::undecided("the environment: " + subject.facts.env_open);
  if (names.empty()) return Answer::pass();
  return Answer::finding(fmt::format("the image presets {}, which boot itself sets for every worker", join_words(names)),
                         fmt::format("remove {} from the image's ENV", join_words(names)), evidence);
}

Answer pip_no_deps(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  if (!subject.facts.env().is_known()) return undecided_for("the environment", subject.facts.env());
  if (const std::string open = variable_open(subject, "PIP_NO_DEPS"); !open.empty()) return Answer::undecided(open);
  const std::string value = lower(subject.facts.variable("PIP_NO_DEPS").value_or(""));
  // pip's strtobool: what it takes for false.
  if (value.empty() || value == "0" || value == "n" || value == "no" || value == "f" || value == "false" || value == "off") return Answer::pass();
  return Answer::finding("PIP_NO_DEPS is set in the worker's environment: what --requirements_file or extra packages need is silently not installed",
                         "keep it out of ENV; in one step of the build: RUN PIP_NO_DEPS=1 pip install ...", {subject.facts.variable_evidence("PIP_NO_DEPS")});
}

Answer build_backend_missing(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<Version>& release = beam_release(subject);
  if (!release.is_known()) return release.is_absent() ? Answer::not_applicable() : undecided_for("the Beam release", release);
  if (!subject.knowledge.beam_has(BeamBehaviour::no_build_isolation, release.value())) return Answer::not_applicable();
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (interpreter == nullptr) return Answer::not_applicable();
  if (!subject.facts.distributions().is_known()) return undecided_for("the distributions", subject.facts.distributions());
  const Distribution* setuptools = nullptr;
  const Distribution* wheel = nullptr;
  for (const Distribution* distribution : subject.facts.worker_distributions()) {
    if (setuptools == nullptr && distribution->name == "setuptools") setuptools = distribution;
    if (wheel == nullptr && distribution->name == "wheel") wheel = distribution;
  }
  // venv brings setuptools of its own up to Python 3.11.
  const bool from_venv = makes_venv(subject, release.value()) && interpreter->minor < PythonMinor{3, 12};
  // setuptools 70.1 makes wheels without the wheel package; the venv's own is older, and hides the image's.
  const bool makes_wheels = wheel != nullptr || (!from_venv && setuptools != nullptr && setuptools->version && *setuptools->version >= *Version::parse("70.1"));
  if ((setuptools != nullptr || from_venv) && makes_wheels) return Answer::pass();
  return Answer::finding(fmt::format("{} has no {}: boot of Beam {} installs packages without build isolation, so sdists and --setup_file need it in the image",
                                     escape_for_display(interpreter->path), setuptools == nullptr && !from_venv ? "setuptools" : "wheel (and no setuptools of 70.1 or later)",
                                     release->to_string()),
                         "RUN pip install --no-cache-dir setuptools wheel", interpreter->evidence);
}

Answer unsupported_libc(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  const Fact<Libc>& libc = subject.facts.libc();
  if (libc.is_unknown()) return undecided_for("the C library", libc);
  if (libc.is_absent() || libc->family != Libc::Family::musl) return Answer::pass();
  const Fact<OsRelease>& os = subject.facts.os_release();
  return Answer::finding(fmt::format("the image is built on musl{}: Beam workers support glibc (Debian, Ubuntu) only, and no wheel of Beam or a framework fits",
                                     os.is_known() ? " (" + escape_for_display(os->pretty_name.empty() ? os->id : os->pretty_name) + ")" : std::string()),
                         "build on a Debian base: FROM docker.io/library/python:3.X-slim-bookworm", libc.evidence());
}

Answer user_ignored(const Case& subject) {
  if (!subject.judged_as.is_beam_worker() || !subject.judged_as.on_dataflow()) return Answer::not_applicable();
  const Fact<User>& user = subject.facts.user();
  if (user.is_unknown()) return undecided_for("the user", user);
  if (!user.is_known() || user->written.empty() || user->is_root()) return Answer::not_applicable();
  return Answer::finding(fmt::format("USER {} has no effect: Dataflow chooses the user of its containers itself", escape_for_display(user->written)),
                         "drop USER, or keep it for other runners", user.evidence());
}

constexpr Rule rules[] = {
    {"beam/workdir-not-writable", Level::warning, Reach::paths, D | I, "Beam 2.73 or later and WORKDIR does not exist or is not writable by the user",
     "boot writes pipeline_options.json into the working directory.", "Make it and give it to the user, or keep WORKDIR unset.",
     "https://github.com/apache/beam/blob/master/CHANGES.md (2.73.0)", workdir_not_writable},
    {"beam/preset-worker-environment", Level::warning, Reach::config, D | I, "the image presets a variable that boot itself sets",
     "Harmless today at best; a baked PIPELINE_OPTIONS is read by whatever runs before boot.", "Remove it.", boot_source, preset_worker_environment},
    {"beam/pip-no-deps", Level::warning, Reach::config, D | I, "PIP_NO_DEPS in a worker's environment",
     "boot's pip obeys it, so requirements are installed without their dependencies.", "Set it for single build steps only.", "https://pip.pypa.io/en/stable/topics/configuration/", pip_no_deps},
    {"beam/build-backend-missing", Level::warning, Reach::tree, I, "Beam 2.75 or later and no setuptools or wheel for sdists",
     "From 2.75 boot passes --no-build-isolation; Python 3.12 and later bring no setuptools.", "Install setuptools and wheel.", "https://github.com/apache/beam/pull/38700", build_backend_missing},
    {"beam/unsupported-libc", Level::error, Reach::paths, R | D | I, "an Alpine or musl base", "Beam's wheels and the frameworks' are manylinux (glibc).", "Use a Debian base.",
     "https://cloud.google.com/dataflow/docs/guides/build-container-image", unsupported_libc},
    {"beam/user-ignored", Level::note, Reach::config, D | I, "USER is set, Dataflow ignores it", "The service picks the user.", "Drop it.",
     "https://cloud.google.com/dataflow/docs/guides/troubleshoot-custom-container", user_ignored},
};

}  // namespace

std::span<const Rule> worker_environment_rules() { return rules; }

}  // namespace imgforge
