#include "render/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "render/planner.hpp"

namespace imgforge {

namespace {

/// Nothing where the version is too long to be a tag.
std::optional<Reference> sdk_image(const PythonMinor& python, const Version& beam, const BeamRelease* release) {
  // Tags are full versions ("2.48" is 2.48.0). The "+" and "!" of PEP 440, which no release ever had, are not for tags.
  const bool is_release = release != nullptr && release->version == beam;
  std::string tag = is_release ? release->version.to_string() : beam.public_part().to_string();
  std::replace(tag.begin(), tag.end(), '!', '-');
  return Reference::parse(fmt::format("docker.io/apache/beam_python{}_sdk:{}", python.to_string(), tag));
}

std::string list_of(const std::vector<PythonMinor>& minors) {
  std::vector<std::string> words;
  for (const PythonMinor& minor : minors) words.push_back(minor.to_string());
  return join_words(words);
}

bool has(const std::vector<PythonMinor>& minors, const PythonMinor& minor) {
  return std::find(minors.begin(), minors.end(), minor) != minors.end();
}

int days(const Date& date) { return date.year() * 366 + date.month() * 31 + date.day(); }

}  // namespace

Planner::Planner(const Recipe& recipe, const Knowledge& knowledge)
    : knowledge_(knowledge), plan_{recipe, recipe}, recipe_(plan_.recipe) {
  plan_.knowledge_version = knowledge.version();
}

PlanResult Planner::run() {
  target();
  const std::size_t of_the_target = diagnostics_.size();
  base_and_versions();
  // Without these there is nothing to go on with.
  if (recipe_.base_image && recipe_.python_version && plan_.sdk_image) {
    python_source();
    check_beam();
    check_launch();
    boot();
    gpu();
    tpu();
    framework("tensorflow", recipe_.frameworks.tensorflow);
    framework("torch", recipe_.frameworks.torch);
    framework("jax", recipe_.frameworks.jax);
    interpreter_packages();
    beam_requirements();
    environment();
  }
  // What is not rendered at all is sketched, and its further faults would be about something that nobody gets.
  if (of_the_target > 0) diagnostics_.resize(of_the_target);
  const auto by_place = [](const Diagnostic& a, const Diagnostic& b) {
    const auto key = [](const Diagnostic& item) {
      return std::pair(item.place.line == 0 ? SIZE_MAX : item.place.line, item.place.column);
    };
    return key(a) < key(b);
  };
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(), by_place);
  PlanResult result;
  if (!has_errors(diagnostics_)) result.plan = plan_;
  result.sketch = std::move(plan_);
  result.diagnostics = std::move(diagnostics_);
  return result;
}

void Planner::derive(std::string path, std::string value, std::string because, std::string source) {
  plan_.derivations.push_back({std::move(path), std::move(value), std::move(because), std::move(source)});
}

void Planner::error(std::string_view path, std::string message, std::string hint) {
  diagnostics_.push_back({recipe_.place_of(path), std::move(message), std::move(hint), {}});
}

void Planner::warning(std::string_view path, std::string message, std::string hint) {
  diagnostics_.push_back({recipe_.place_of(path), std::move(message), std::move(hint), {}, Diagnostic::Level::warning});
}

void Planner::by_row(const Row& row, std::string_view path, std::string message, std::string hint) {
  if (row.unverified)
    warning(path, message + " (as far as is known)", std::move(hint));
  else
    error(path, std::move(message), std::move(hint));
}

void Planner::target() {
  const Target& wanted = recipe_.target;
  if (wanted.runner == Runner::dataflow_flex || wanted.runner == Runner::spark_serverless) {
    error("target.runner", fmt::format("images for {} are not rendered yet", to_string(wanted.runner)),
          "dataflow and portable are");
  }
  if (wanted.role != Role::worker) {
    error("target.role", fmt::format("the role {} is not rendered yet", to_string(wanted.role)), "write worker");
  }
}

void Planner::base_and_versions() {
  if (!recipe_.base_image && recipe_.target.runner == Runner::spark_serverless) {
    recipe_.base_image = Reference::parse("docker.io/library/debian:12-slim");
    derive("base.image", recipe_.base_image->to_full_string(), "what the service's own example starts from");
  }
  if (recipe_.base_image) look_up_base();
  if (recipe_.target.runner == Runner::spark_serverless) return;  // Spark's image has no Beam
  if (!recipe_.python_version && recipe_.target.launch.python) {
    recipe_.python_version = recipe_.target.launch.python;
    derive("python.version", python().to_string(), "target.launch.python: worker and launcher have to agree");
  }
  const bool from_base = !recipe_.python_from || recipe_.python_from == PythonFrom::base;
  if (!recipe_.python_version && plan_.base && plan_.base->python && from_base) {
    recipe_.python_version = plan_.base->python;
    derive("python.version", python().to_string(), "what the base image brings", plan_.base->source);
  }
  if (!recipe_.python_version && recipe_.python_from == PythonFrom::apt && plan_.os && plan_.os->python) {
    recipe_.python_version = plan_.os->python;
    derive("python.version", python().to_string(), fmt::format("apt's python3 on {}", plan_.os->id), plan_.os->source);
  }
  if (!recipe_.python_version && recipe_.base_image && !plan_.base && from_base) {
    error("base.image", fmt::format("nothing is known of {}, so python.version cannot be left out", base_text()),
          "write python: {version: \"3.11\"} with the interpreter that the image brings");
    return;
  }
  if (!recipe_.beam_version) default_beam();
  if (!recipe_.beam_version) return;
  if (!recipe_.python_version) default_python();
  if (!recipe_.python_version) return;
  plan_.sdk_image = sdk_image(python(), *recipe_.beam_version, knowledge_.beam_release(*recipe_.beam_version));
  if (!plan_.sdk_image) {
    error("beam.version", "no image can be tagged with such a version", "take a release that PyPI lists");
    return;
  }
  if (recipe_.base_image) return;
  recipe_.base_image = plan_.sdk_image;
  derive("base.image", recipe_.base_image->to_full_string(), "the SDK image of the Python and Beam versions");
  look_up_base();
}

void Planner::look_up_base() {
  const Reference& image = *recipe_.base_image;
  const std::string tag = image.tag().empty() && !image.digest() ? "latest" : image.tag();
  plan_.base = knowledge_.base_image(image.host() + "/" + image.repository(), tag);
  if (plan_.base && !plan_.base->os.empty()) {
    if (const LinuxRelease* os = knowledge_.linux_release(plan_.base->os)) plan_.os = *os;
  }
  if (plan_.os && plan_.os->id.starts_with("alpine")) {
    error("base.image",
          fmt::format("{} stands on Alpine: apache-beam and the frameworks have no wheels for musl", base_text()),
          "take an image that stands on Debian or Ubuntu");
  }
  if (image.repository().ends_with("_distroless")) {
    error("base.image", fmt::format("{} has no shell, so nothing can be installed on it", base_text()),
          "take the image without _distroless");
  }
}

void Planner::default_beam() {
  if (recipe_.target.launch.beam) {
    recipe_.beam_version = recipe_.target.launch.beam;
    derive("beam.version", recipe_.beam_version->to_string(), "target.launch.beam: worker and launcher have to agree");
    return;
  }
  if (base_is("beam-sdk")) {
    if (auto version = Version::parse(recipe_.base_image->tag())) {
      recipe_.beam_version = std::move(version);
      derive("beam.version", recipe_.beam_version->to_string(), "what the base image is the SDK image of");
      return;
    }
  }
  const auto& releases = knowledge_.beam_releases();
  for (auto release = releases.rbegin(); release != releases.rend(); ++release) {
    if (release->unverified) continue;
    if (recipe_.python_version && !has(release->pythons, python())) continue;
    recipe_.beam_version = release->version;
    derive("beam.version", release->version.to_string(),
           recipe_.python_version ? fmt::format("the newest known release for Python {}", python().to_string())
                                  : "the newest known release",
           release->source);
    return;
  }
  error("python.version",
        recipe_.python_version ? fmt::format("no known release of Beam supports Python {}", python().to_string())
                               : "no release of Beam is known",
        "write beam.version");
}

void Planner::default_python() {
  const BeamRelease* release = knowledge_.beam_release(*recipe_.beam_version);
  if (release == nullptr) {
    error("beam.version",
          fmt::format("Beam {} is not known, so python.version cannot be left out", recipe_.beam_version->to_string()),
          "write python: {version: \"3.11\"}");
    return;
  }
  // The newest that Beam has supported for a year: the frameworks have wheels for it by then.
  const auto supported_for_a_year = [&](const PythonMinor& minor) {
    const auto& releases = knowledge_.beam_releases();
    return std::all_of(releases.begin(), releases.end(), [&](const BeamRelease& other) {
      const bool in_the_year =
          other.version <= release->version && days(release->released) - days(other.released) < 366;
      return !in_the_year || has(other.pythons, minor);
    });
  };
  PythonMinor chosen = *std::max_element(release->pythons.begin(), release->pythons.end());
  bool found = false;
  for (const PythonMinor& minor : release->pythons) {
    if (!supported_for_a_year(minor) || (found && minor < chosen)) continue;
    chosen = minor;
    found = true;
  }
  recipe_.python_version = chosen;
  derive("python.version", chosen.to_string(),
         "the newest that Beam has supported for a year, so that frameworks have wheels for it", release->source);
}

void Planner::python_source() {
  if (recipe_.python_from) {
    check_python_source();
    return;
  }
  const auto choose = [&](PythonFrom from, std::string because, std::string source) {
    recipe_.python_from = from;
    derive("python.from", to_string(from), std::move(because), std::move(source));
  };
  if (!plan_.base) {
    choose(PythonFrom::base, "nothing else is known of the base image", {});
  } else if (base_is("beam-sdk") && plan_.base->python && *plan_.base->python != python()) {
    recipe_.python_from = PythonFrom::base;  // for what comes after; this is not what anybody meant
    by_row(*plan_.base, "base.image",
           fmt::format("{} is the SDK image of Python {}, and the recipe asks for {}", base_text(),
                       plan_.base->python->to_string(), python().to_string()),
           fmt::format("write {}, or leave base out", plan_.sdk_image->to_string()));
  } else if (plan_.base->python == python() || (!plan_.base->python && !plan_.base->python_path.empty())) {
    choose(PythonFrom::base, fmt::format("the base image brings it at {}", plan_.base->python_path),
           plan_.base->source);
  } else if (plan_.os && plan_.os->python == python()) {
    choose(PythonFrom::apt, fmt::format("it is the python3 of {}", plan_.os->id), plan_.os->source);
  } else if (plan_.os && has(plan_.os->deadsnakes, python())) {
    choose(PythonFrom::deadsnakes, fmt::format("it has Python {} for {}", python().to_string(), plan_.os->id),
           plan_.os->source);
  } else {
    choose(PythonFrom::conda, "neither the base image nor an archive for its distribution has it", {});
  }
}

void Planner::check_python_source() {
  const std::string wanted = python().to_string();
  switch (*recipe_.python_from) {
    case PythonFrom::base:
      if (!plan_.base) return;
      if (plan_.base->python && *plan_.base->python != python()) {
        by_row(*plan_.base, "python.version",
               fmt::format("{} brings Python {}, not {}", base_text(), plan_.base->python->to_string(), wanted),
               fmt::format("write \"{}\", or get {} with python.from: conda", plan_.base->python->to_string(), wanted));
      } else if (plan_.base->python_path.empty()) {
        by_row(*plan_.base, "python.from", fmt::format("{} brings no Python", base_text()),
               "leave python.from out: the way that fits the image is taken");
      }
      return;
    case PythonFrom::apt:
      if (plan_.os && plan_.os->python && *plan_.os->python != python()) {
        by_row(*plan_.os, "python.version",
               fmt::format("apt's python3 on {} is {}, not {}", plan_.os->id, plan_.os->python->to_string(), wanted),
               fmt::format("write \"{}\", or get {} with python.from: {}", plan_.os->python->to_string(), wanted,
                           has(plan_.os->deadsnakes, python()) ? "deadsnakes" : "conda"));
      }
      return;
    case PythonFrom::deadsnakes:
      if (!plan_.os) {
        if (plan_.base)
          warning("python.from",
                  fmt::format("deadsnakes is for Ubuntu, and which release {} stands on is not known", base_text()));
      } else if (!plan_.os->id.starts_with("ubuntu")) {
        error("python.from", fmt::format("deadsnakes is for Ubuntu, and {} stands on {}", base_text(), plan_.os->id),
              plan_.os->python == python() ? "write from: apt" : "write from: conda");
      } else if (!has(plan_.os->deadsnakes, python())) {
        const std::string known = plan_.os->deadsnakes.empty() ? "it has none for this release (any more)"
                                                               : "it has " + list_of(plan_.os->deadsnakes);
        by_row(*plan_.os, "python.version",
               fmt::format("deadsnakes has no Python {} for {}: {}", wanted, plan_.os->id, known),
               plan_.os->python == python() ? fmt::format("{} is the release's own: write from: apt", wanted)
                                            : "write from: conda");
      }
      return;
    case PythonFrom::conda:
    case PythonFrom::uv: return;
  }
}

void Planner::check_beam() {
  const Version& beam = *recipe_.beam_version;
  const BeamRelease* release = knowledge_.beam_release(beam);
  if (release == nullptr) {
    const auto& complete = knowledge_.beam_complete();
    const auto& releases = knowledge_.beam_releases();
    const std::string newest = releases.empty() ? "none" : releases.back().version.to_string();
    if (complete && complete->covers(beam.base())) {
      std::vector<std::string> known;
      for (const BeamRelease& row : releases) known.push_back(row.version.to_string());
      const auto near = nearest(beam.base().to_string(), known);
      error("beam.version", fmt::format("there is no release {} of Beam", beam.to_string()),
            near ? fmt::format("did you mean {}?", *near) : fmt::format("the newest known is {}", newest));
    } else {
      warning("beam.version",
              fmt::format("Beam {} is not known here, the newest known is {}", beam.to_string(), newest),
              "newer tables can be laid over with --knowledge");
    }
    return;
  }
  if (has(release->pythons, python())) return;
  const std::string path = recipe_.places.count("python.version") != 0 ? "python.version" : "beam.version";
  std::string hint = fmt::format("it supports {}", list_of(release->pythons));
  const auto& releases = knowledge_.beam_releases();
  const auto newer = std::find_if(releases.begin(), releases.end(), [&](const BeamRelease& row) {
    return row.version > release->version && has(row.pythons, python());
  });
  if (newer != releases.end())
    hint +=
        fmt::format("; {} is the first after it that supports {}", newer->version.to_string(), python().to_string());
  by_row(*release, path, fmt::format("Beam {} does not support Python {}", beam.to_string(), python().to_string()),
         hint);
}

void Planner::check_launch() {
  // A warning, since the launching environment may well be the one that is going to change; `verify` holds to it.
  const LaunchEnvironment& launch = recipe_.target.launch;
  const auto differ = [&](const char* path, const char* what, const std::string& launched, const std::string& here) {
    warning(path, fmt::format("the job is launched with {} {}, and the worker has {}", what, launched, here),
            "worker and launching environment have to agree: let target.launch say the same");
  };
  if (launch.python && *launch.python != python())
    differ("python.version", "Python", launch.python->to_string(), python().to_string());
  if (launch.beam && *launch.beam != *recipe_.beam_version)
    differ("beam.version", "Beam", launch.beam->to_string(), recipe_.beam_version->to_string());
}

void Planner::boot() {
  const Reference& image = *recipe_.base_image;
  const auto version = Version::parse(image.tag());
  const bool same_release = base_is("beam-sdk") && version && *version == *recipe_.beam_version;
  plan_.base_is_sdk = same_release && base_interpreter();
  if (same_release && recipe_.boot == BootFrom::copy) {
    recipe_.boot = BootFrom::inherit;
    derive("beam.boot", "inherit", "the base image is the SDK image of this Beam release, boot is in it");
  } else if (base_is("beam-sdk") && version && recipe_.boot == BootFrom::inherit && !same_release) {
    error("beam.boot",
          fmt::format("boot of {} is Beam {}'s, and the recipe asks for {}", base_text(), version->to_string(),
                      recipe_.beam_version->to_string()),
          "leave beam.boot out, or let base.image and beam.version agree");
  } else if (plan_.base && !base_is("beam-sdk") && recipe_.boot == BootFrom::inherit) {
    error("beam.boot", fmt::format("{} has no boot to inherit", base_text()),
          "leave beam.boot out: boot is copied from the SDK image");
  }
}

PlanResult make_plan(const Recipe& recipe, const Knowledge& knowledge) { return Planner(recipe, knowledge).run(); }

std::string to_string(const std::vector<Derivation>& derivations) {
  std::string text;
  for (const Derivation& derivation : derivations) {
    text += fmt::format("{} = {}\n    {}\n", derivation.path, escape_for_display(derivation.value), derivation.because);
    if (!derivation.source.empty()) text += fmt::format("    source: {}\n", display_safe(derivation.source));
  }
  return text;
}

}  // namespace imgforge
