// Which Beam is installed, which one boot came from, and what this release goes with.
#include <fmt/format.h>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view build_page = "https://cloud.google.com/dataflow/docs/guides/build-container-image";

std::string pip_line(const Version& version) { return fmt::format("RUN pip install --no-cache-dir 'apache-beam[gcp]=={}'", version.to_string()); }

/// A release candidate's SDK image reports the base version (apache/beam#28084), so a candidate equals its release.
bool same_release(const Version& one, const Version& other) {
  if (one == other) return true;
  return (one.is_prerelease() || other.is_prerelease()) && one.base() == other.base();
}

Answer not_installed(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<WorkerPython>& python = subject.facts.worker_python();
  if (python.is_unknown()) return undecided_for("the interpreter that boot picks", python);
  if (python.is_absent()) return Answer::not_applicable();  // python/not-found or beam/python-not-on-path names it
  const Fact<Distribution>& beam = subject.facts.beam();
  if (beam.is_known()) return Answer::pass();
  if (beam.is_unknown()) return undecided_for("the distributions of the interpreter that boot picks", beam);
  const Fact<Version>& boot_version = subject.facts.boot_version();
  if (!boot_version.is_known()) return Answer::undecided("apache-beam is not installed; whether boot requires it depends on its release, which is not known");
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  const std::string path = interpreter != nullptr ? escape_for_display(interpreter->path) : "the interpreter";
  std::string elsewhere;
  if (subject.facts.distributions().is_known()) {
    for (const Distribution& distribution : subject.facts.distributions().value()) {
      if (distribution.name == "apache-beam") elsewhere = " (it is in " + escape_for_display(distribution.site) + ", which that interpreter does not read)";
    }
  }
  const bool required = subject.knowledge.beam_has(BeamBehaviour::beam_required, boot_version.value());
  const std::string message =
      required ? fmt::format("{}, which boot starts, has no apache-beam{}: since Beam 2.50 boot refuses to run without it", path, elsewhere)
               : fmt::format("{}, which boot starts, has no apache-beam{}: the runner may stage it at start, at the cost of every worker's start-up", path, elsewhere);
  return Answer::finding(required ? Level::error : Level::warning, message, pip_line(boot_version->base()), join_evidence({beam.evidence(), python.evidence()}));
}

Answer sdk_version_mismatch(const Case& subject) {
  if (!is_python_worker(subject) || subject.facts.boot().is_absent()) return Answer::not_applicable();
  const Fact<Distribution>& beam = subject.facts.beam();
  if (beam.is_absent()) return Answer::not_applicable();  // beam/not-installed names it
  if (!beam.is_known()) return undecided_for("the installed apache-beam", beam);
  const Fact<Version>& boot = subject.facts.boot_version();
  if (!beam->version) {
    // apache-beam<2.60 beside an SDK image of 2.61: whatever pip takes, it is another release.
    const auto asked = SpecifierSet::parse(beam->version_text);
    if (asked && boot.is_known() && !asked->contains(boot.value()) && !asked->contains(boot->base())) {
      return Answer::finding(
          fmt::format("apache-beam{} is asked for, but boot comes from the SDK image of {}: they have to be the same release (pipelines stall or lose their options)",
                      escape_for_display(beam->version_text), boot->to_string()),
          pip_line(boot->base()), join_evidence({beam.evidence(), boot.evidence()}));
    }
    return Answer::undecided(version_open(beam.value()));
  }
  if (!boot.is_known()) return undecided_for("the SDK that boot came from (/opt/apache/beam/tars/apache-beam.tar.gz)", boot);
  if (same_release(*beam->version, boot.value())) return Answer::pass();
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  return Answer::finding(
      fmt::format("apache-beam {} is installed, but boot comes from the SDK image of {}: they have to be the same release (pipelines stall or lose their options)",
                  beam->version->to_string(), boot->to_string()),
      fmt::format("COPY --from=docker.io/apache/beam_python{}_sdk:{} /opt/apache/beam /opt/apache/beam  (or install apache-beam=={})",
                  interpreter != nullptr ? interpreter->minor.to_string() : "3.X", beam->version->base().to_string(), boot->to_string()),
      join_evidence({beam.evidence(), boot.evidence()}));
}

Answer release_candidate(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<Version>& release = beam_release(subject);
  if (!release.is_known()) return undecided_for("the Beam release", release);
  if (!release->is_prerelease()) return Answer::pass();
  return Answer::finding(fmt::format("apache-beam {} is a pre-release: workers report the base version, and it is not supported", release->to_string()),
                         pip_line(release->base()), release.evidence());
}

Answer launch_mismatch(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return Answer::not_applicable();
  LaunchEnvironment launch = subject.launch;
  if (subject.recipe != nullptr) {
    if (!launch.python) launch.python = subject.recipe->target.launch.python;
    if (!launch.beam) launch.beam = subject.recipe->target.launch.beam;
  }
  if (!launch.python && !launch.beam) return Answer::not_applicable();
  std::vector<std::string> differences;
  std::vector<std::string> fixes;
  std::vector<Evidence> evidence;
  std::string open;
  const auto add_place = [&](std::string_view path, bool of_recipe) {
    if (of_recipe) evidence.push_back(Evidence::at(subject.recipe->place_of(path)));
  };
  // What to build instead, in the words of whoever builds.
  const bool recipe = subject.kind != SubjectKind::dockerfile;
  if (launch.python) {
    const Interpreter* interpreter = subject.facts.worker_interpreter();
    if (interpreter == nullptr) {
      open = "the interpreter that boot picks";
    } else if (interpreter->minor != *launch.python) {
      differences.push_back(fmt::format("the job is submitted from Python {}, the image runs Python {}", launch.python->to_string(), interpreter->minor.to_string()));
      fixes.push_back(fmt::format("submit with Python {}, or build {}", interpreter->minor.to_string(), fmt::format(fmt::runtime(recipe ? "with python.version: \"{}\"" : "on Python {}"), launch.python->to_string())));
      add_place("target.launch.python", subject.recipe != nullptr && subject.recipe->target.launch.python == launch.python);
      evidence.insert(evidence.end(), interpreter->evidence.begin(), interpreter->evidence.end());
    }
  }
  if (launch.beam) {
    const Fact<Version>& release = beam_release(subject);
    if (!release.is_known()) {
      open = "the Beam release of the image";
    } else if (!same_release(*launch.beam, release.value())) {
      differences.push_back(fmt::format("the job is submitted with Beam {}, the image has Beam {}", launch.beam->to_string(), release->to_string()));
      fixes.push_back(fmt::format("submit with apache-beam=={}, or {}", release->to_string(), fmt::format(fmt::runtime(recipe ? "build with beam.version: {}" : "install apache-beam=={} and take boot from its SDK image"), launch.beam->to_string())));
      add_place("target.launch.beam", subject.recipe != nullptr && subject.recipe->target.launch.beam == launch.beam);
      evidence.insert(evidence.end(), release.evidence().begin(), release.evidence().end());
    }
  }
  if (!differences.empty()) {
    return Answer::finding(join(differences, "; ") + ": pickled code does not survive that (unknown opcode), and from 2.46 the worker refuses it",
                           join(fixes, "; "), evidence);
  }
  return open.empty() ? Answer::pass() : Answer::undecided(open);
}

Answer python_unsupported(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<Version>& release = beam_release(subject);
  if (release.is_absent()) return Answer::not_applicable();
  if (!release.is_known()) return undecided_for("the Beam release", release);
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (interpreter == nullptr) {
    return subject.facts.worker_python().is_absent() ? Answer::not_applicable() : undecided_for("the interpreter that boot picks", subject.facts.worker_python());
  }
  const BeamRelease* row = subject.knowledge.beam_release(release.value());
  if (row == nullptr) {
    const auto& complete = subject.knowledge.beam_complete();
    if (complete && complete->covers(release->base())) {
      return Answer::undecided(fmt::format("which Pythons {} supports: there is no such release", beam_name(release.value())));
    }
    return Answer::undecided(fmt::format("which Pythons {} supports: the tables hold {}", beam_name(release.value()),
                                         complete ? "Beam " + complete->from.to_string() + " to " + complete->through.to_string() : std::string("other releases")));
  }
  std::vector<std::string> supported;
  for (const PythonMinor& minor : row->pythons) {
    if (minor == interpreter->minor) return Answer::pass();
    supported.push_back(minor.to_string());
  }
  std::string fits;
  for (const BeamRelease& other : subject.knowledge.beam_releases()) {
    for (const PythonMinor& minor : other.pythons) {
      if (minor == interpreter->minor) fits = other.version.to_string();
    }
  }
  return Answer::finding(row->unverified ? Level::warning : Level::error,
                         fmt::format("Beam {} supports Python {}, the image runs Python {}", release->to_string(), join_words(supported), interpreter->minor.to_string()),
                         fmt::format("use Python {}{}", supported.empty() ? "of another release" : supported.back(),
                                     fits.empty() ? std::string() : fmt::format(", or apache-beam=={} for Python {}", fits, interpreter->minor.to_string())),
                         join_evidence({release.evidence(), interpreter->evidence}));
}

const Distribution* find(const std::vector<const Distribution*>& distributions, std::string_view name) {
  for (const Distribution* distribution : distributions) {
    if (distribution->name == name) return distribution;
  }
  return nullptr;
}

Answer python_pins_conflict(const Case& subject) {
  if (!is_python_worker(subject)) return Answer::not_applicable();
  const Fact<Distribution>& beam = subject.facts.beam();
  if (beam.is_absent()) return Answer::not_applicable();
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (!beam.is_known()) return undecided_for("the installed apache-beam", beam);
  if (!beam->version) return Answer::undecided(version_open(beam.value()));
  if (interpreter == nullptr) return undecided_for("the interpreter that boot picks", subject.facts.worker_python());
  const std::vector<const Distribution*> installed = subject.facts.worker_distributions();
  const Fact<Platform>& platform = subject.facts.platform();
  const std::string machine = platform.is_known() && platform->architecture == "arm64" ? "aarch64" : "x86_64";
  const Version python = interpreter->version ? *interpreter->version : *Version::parse(interpreter->minor.to_string());
  const MarkerEnvironment environment = linux_markers(python, machine);

  std::vector<std::string> conflicts;
  std::vector<std::string> fixes;
  std::vector<Evidence> evidence = beam.evidence();
  // What Beam itself asks for: only the three that break serialisation or the SDK when they differ.
  for (const std::string& text : beam->requires_dist) {
    const std::optional<Requirement> requirement = Requirement::parse(text);
    if (!requirement || !requirement->applies(environment)) continue;
    const std::string name = requirement->normalised();
    if (name != "numpy" && name != "protobuf" && name != "dill") continue;
    const Distribution* other = find(installed, name);
    if (other == nullptr || !other->version || requirement->specifiers().contains(*other->version)) continue;
    conflicts.push_back(fmt::format("{} {} is installed, apache-beam {} requires {}{}", name, other->version->to_string(), beam->version->to_string(), name,
                                    requirement->specifiers().to_string()));
    fixes.push_back(fmt::format("'{}{}'", name, requirement->specifiers().to_string()));
    evidence.push_back(other->evidence);
  }
  // What the SDK image of the release ships: another major of numpy or protobuf, or another dill.
  if (conflicts.empty()) {
    if (const BeamImagePins* pins = subject.knowledge.beam_pins(*beam->version, interpreter->minor)) {
      for (const auto& [name, pinned] : pins->packages) {
        if (name != "numpy" && name != "protobuf" && name != "dill") continue;
        const Distribution* other = find(installed, name);
        if (other == nullptr) continue;
        if (!other->version) {
          // numpy>=2 where the image has 1.26: no release of that major fits.
          const auto asked = SpecifierSet::parse(other->version_text);
          const auto first = Version::parse(std::to_string(pinned.major()) + ".0");
          const auto last = Version::parse(std::to_string(pinned.major()) + ".9999");
          if (name == "dill" || other->version_text.empty() || !asked || !first || !last || asked->contains(pinned) ||
              asked->contains(*first) || asked->contains(*last))
            continue;
          conflicts.push_back(fmt::format("{}{} is asked for, the SDK image of Beam {} ships {}", name, escape_for_display(other->version_text),
                                          beam->version->base().to_string(), pinned.to_string()));
          fixes.push_back(fmt::format("'{}=={}'", name, pinned.to_string()));
          evidence.push_back(other->evidence);
          continue;
        }
        const bool differs = name == "dill" ? *other->version != pinned : other->version->major() != pinned.major();
        if (!differs) continue;
        conflicts.push_back(fmt::format("{} {} is installed, the SDK image of Beam {} ships {}", name, other->version->to_string(),
                                        beam->version->base().to_string(), pinned.to_string()));
        fixes.push_back(fmt::format("'{}=={}'", name, pinned.to_string()));
        evidence.push_back(other->evidence);
      }
    }
  }
  if (conflicts.empty()) return Answer::pass();
  return Answer::finding(join(conflicts, "; "), "RUN pip install --no-cache-dir " + join(fixes, " "), evidence);
}

constexpr Rule rules[] = {
    {"beam/not-installed", Level::error, Reach::tree, D | I, "the interpreter that boot will pick cannot import apache-beam",
     "From 2.50 boot checks `python -m pip show apache-beam` and refuses to run; before, the runner may stage the SDK. A warning before 2.50.",
     "Install apache-beam at the version of the SDK image, into the interpreter that PATH finds.",
     "https://github.com/apache/beam/blob/master/CHANGES.md (2.50.0)", not_installed},
    {"beam/sdk-version-mismatch", Level::error, Reach::tree, R | D | I, "pip's apache-beam differs from the SDK that boot came from",
     "boot and the SDK exchange flags and files that change between releases: pipelines stall (2.46) or lose their options (2.73).",
     "COPY --from the SDK image of the very version that pip installs.", build_page, sdk_version_mismatch},
    {"beam/release-candidate", Level::warning, Reach::tree, R | D | I, "an rc of the SDK is installed",
     "Workers report the base version, the runner treats it as unsupported.", "Install the release.", "https://github.com/apache/beam/issues/28084", release_candidate},
    {"beam/launch-mismatch", Level::error, Reach::paths, R | D | I, "the declared launch environment differs from the image's",
     "Pipelines are pickled where they are submitted and unpickled in the image: another Python minor gives `unknown opcode`, another Beam is refused from 2.46.",
     "Submit with the Python minor and the Beam version of the image.", "https://cloud.google.com/dataflow/docs/guides/troubleshoot-custom-container", launch_mismatch},
    {"beam/python-unsupported", Level::error, Reach::paths, R | D | I, "this Beam release does not support this Python minor",
     "pip installs it all the same (from source), and it fails later.", "Use a Python that the release supports.", "https://github.com/apache/beam/blob/master/CHANGES.md", python_unsupported},
    {"beam/python-pins-conflict", Level::warning, Reach::tree, R | D | I, "the numpy, protobuf or dill that this Beam release goes with was replaced",
     "Another major of numpy or protobuf breaks pickles and generated code; another dill cannot read what the launcher pickled.",
     "Install the versions that the SDK image of the release ships.", "https://github.com/apache/beam/tree/master/sdks/python/container", python_pins_conflict},
};

}  // namespace

std::span<const Rule> beam_version_rules() { return rules; }

}  // namespace imgforge
