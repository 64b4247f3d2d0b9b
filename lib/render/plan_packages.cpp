#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "render/planner.hpp"

namespace imgforge {

namespace {

std::string package_name(std::string_view package) { return std::string(package.substr(0, package.find('='))); }

/// Debian packages distutils apart from the interpreter up to here; Python 3.12 has none any more.
constexpr PythonMinor last_with_distutils{3, 11};

}  // namespace

bool Planner::whole_interpreter() const {
  const PythonFrom from = *recipe_.python_from;
  if (from == PythonFrom::conda || from == PythonFrom::uv) return true;
  return from == PythonFrom::base &&
         (base_is("python") || base_is("beam-sdk") || base_is("conda") || base_is("pytorch"));
}

void Planner::add_apt(const std::string& package) {
  const auto same = std::find_if(plan_.apt.begin(), plan_.apt.end(), [&](const std::string& other) {
    return package_name(other) == package_name(package);
  });
  if (same == plan_.apt.end()) plan_.apt.push_back(package);
}

void Planner::interpreter_packages() {
  const Version& beam = *recipe_.beam_version;
  const std::string minor = python().to_string();
  plan_.needs_venv = knowledge_.beam_has(BeamBehaviour::boot_venv, beam);
  // Added first, so that a version that the author wants wins over a bare name of ours.
  std::vector<std::string> ours = std::move(plan_.apt);
  plan_.apt.clear();
  for (const std::string& package : recipe_.packages.apt) add_apt(package);
  for (const std::string& package : ours) add_apt(package);

  const auto venv_because = [&] {
    return fmt::format("boot of Beam {} makes an environment for every worker", beam.to_string());
  };
  switch (*recipe_.python_from) {
    case PythonFrom::base:
      if (whole_interpreter() || !plan_.needs_venv) break;
      if (!plan_.base) {
        warning("base.image",
                fmt::format("whether the interpreter of {} can make environments, as boot has to, is not known; the "
                            "build checks it",
                            base_text()),
                fmt::format("where it cannot, write packages: {{apt: [python{}-venv]}}", minor));
        break;
      }
      add_apt(fmt::format("python{}-venv", minor));
      derive("packages.apt", fmt::format("python{}-venv", minor), venv_because(),
             knowledge_.beam_source(BeamBehaviour::boot_venv));
      break;
    case PythonFrom::apt:
      for (const char* package : {"python3", "python3-pip", "python3-venv"}) add_apt(package);
      break;
    case PythonFrom::deadsnakes:
      for (const char* package : {"ca-certificates", "curl", "gpg"}) add_apt(package);
      plan_.deadsnakes = {"python" + minor, "python" + minor + "-venv"};
      if (python() <= last_with_distutils) plan_.deadsnakes.push_back("python" + minor + "-distutils");
      std::sort(plan_.deadsnakes.begin(), plan_.deadsnakes.end());
      break;
    case PythonFrom::conda:
      for (const char* package : {"ca-certificates", "curl"}) add_apt(package);
      miniforge();
      break;
    case PythonFrom::uv: break;
  }
  std::sort(plan_.apt.begin(), plan_.apt.end());

  plan_.link_python = *recipe_.python_from == PythonFrom::base && !whole_interpreter();
  const bool of_the_system = !whole_interpreter();
  plan_.externally_managed =
      *recipe_.python_from == PythonFrom::uv || (of_the_system && (!plan_.os || plan_.os->externally_managed));
}

void Planner::miniforge() {
  const Installer* row = knowledge_.installer("miniforge");
  if (row == nullptr) {
    error("python.from", "no Miniforge installer is known", "lay a table installers over with --knowledge");
    return;
  }
  plan_.miniforge = Download{row->url, {}, row->sha256};
  derive("MINIFORGE_URL", row->url, "the newest Miniforge installer whose sum is known", row->source);
}

void Planner::beam_requirements() {
  const Version& beam = *recipe_.beam_version;
  // An empty list that somebody wrote means none.
  const bool left_out = recipe_.beam_extras.empty() && recipe_.places.count("beam.extras") == 0;
  if (left_out && recipe_.target.runner == Runner::dataflow) {
    recipe_.beam_extras = {"gcp"};
    derive("beam.extras", "gcp", "Dataflow needs Google Cloud's client libraries");
  }
  std::set<std::string> extras(recipe_.beam_extras.begin(), recipe_.beam_extras.end());
  const std::string in_brackets = extras.empty() ? "" : "[" + join({extras.begin(), extras.end()}, ",") + "]";
  plan_.beam = {fmt::format("apache-beam{}=={}", in_brackets, beam.to_string())};
  if (knowledge_.beam_has(BeamBehaviour::no_build_isolation, beam) && !base_is("beam-sdk")) {
    // boot builds what a pipeline brings as source with what the image has.
    plan_.beam.insert(plan_.beam.end(), {"setuptools", "wheel"});
    derive("packages.pip", "setuptools, wheel",
           fmt::format("boot of Beam {} builds sdists with what the image has", beam.to_string()),
           knowledge_.beam_source(BeamBehaviour::no_build_isolation));
  }
  std::sort(plan_.frameworks.begin(), plan_.frameworks.end());

  // NVIDIA's images do not pass pip check as they are shipped.
  plan_.pip_check = !plan_.base || !plan_.base->kind.starts_with("ngc-");

  // The source says that 2.29.0 looks on PATH, Google's pages say that it does not; a link does no harm.
  const Version& on_path = knowledge_.beam_since(BeamBehaviour::pip_on_path);
  plan_.pip_location = beam.base() < on_path || beam.base() == on_path;
}

void Planner::environment() {
  const auto set = [&](std::string_view name) {
    return std::any_of(recipe_.env.begin(), recipe_.env.end(),
                       [&](const auto& variable) { return variable.first == name; });
  };
  // Where boot installs into the interpreter itself, its pip has to be told at run time, too.
  const bool in_place = !plan_.needs_venv || set("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT");
  if (plan_.externally_managed && in_place && !set("PIP_BREAK_SYSTEM_PACKAGES")) {
    recipe_.env.emplace_back("PIP_BREAK_SYSTEM_PACKAGES", "1");
    derive("env.PIP_BREAK_SYSTEM_PACKAGES", "1",
           "boot installs into an interpreter that is marked as managed by its distribution (PEP 668)");
  }
  plan_.environment = recipe_.env;
  std::sort(plan_.environment.begin(), plan_.environment.end());
  for (const auto& [name, value] : recipe_.env) {
    if (value.find('$') == std::string::npos) continue;
    warning("env." + name,
            fmt::format("the value of {} has a $, which stays one: values are taken as they stand", name),
            "write the value out");
  }
  // COPY reads its sources as patterns, and builders do not agree on how to quote them.
  const auto refuse = [&](const std::string& path, const std::string& text, std::string_view characters) {
    const std::size_t at = text.find_first_of(characters);
    if (at == std::string::npos) return;
    error(path, fmt::format("COPY cannot be given a path with {}", text[at]),
          "rename it, or copy the folder that it is in");
  };
  constexpr std::string_view pattern = "\\*?[";
  refuse("packages.requirements", recipe_.packages.requirements, pattern);
  refuse("packages.constraints", recipe_.packages.constraints, pattern);
  if (recipe_.gpu) refuse("accelerator.gpu.cudnn.file", recipe_.gpu->cudnn.file, pattern);
  for (std::size_t i = 0; i < recipe_.files.size(); ++i) {
    refuse(fmt::format("files[{}].from", i), recipe_.files[i].from, pattern);
    refuse(fmt::format("files[{}].to", i), recipe_.files[i].to, "\\");
  }
}

}  // namespace imgforge
