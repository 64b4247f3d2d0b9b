#include "facts/build_interpreters.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/build_start.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

using Seen = BuildFiles::Seen;

constexpr std::string_view opt_out = "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT";

}  // namespace

StateInterpreters::StateInterpreters(const BuildState& state, const Knowledge& knowledge)
    : state_(state), knowledge_(knowledge), boot_version_(boot_version_of(state)) {
  find_worker();
}

Fact<std::vector<Interpreter>> StateInterpreters::interpreters() const {
  for (const BuildPython& python : state_.pythons) {
    if (!python.minor_known) return Fact<std::vector<Interpreter>>::unknown(python.not_known);
  }
  if (state_.pythons.empty() && !state_.pythons_open.empty())
    return Fact<std::vector<Interpreter>>::unknown(state_.pythons_open);
  std::vector<Interpreter> found;
  std::vector<Evidence> evidence;
  for (const BuildPython& python : state_.pythons) {
    Interpreter interpreter = python.interpreter;
    for (const char* name : {"python", "python3"}) {
      if (python_named(name) == std::optional<std::size_t>(found.size())) interpreter.on_path_as.emplace_back(name);
    }
    const std::string own = "python" + interpreter.minor.to_string();
    if (python_named(own) == std::optional<std::size_t>(found.size())) interpreter.on_path_as.push_back(own);
    evidence.insert(evidence.end(), interpreter.evidence.begin(), interpreter.evidence.end());
    found.push_back(std::move(interpreter));
  }
  if (found.empty() && state_.base_evidence.place.line != 0) evidence.push_back(state_.base_evidence);
  return Fact<std::vector<Interpreter>>::known(std::move(found), std::move(evidence));
}

Fact<std::vector<Distribution>> StateInterpreters::distributions() const {
  std::vector<Distribution> found;
  std::string open = state_.pythons.empty() ? state_.pythons_open : "";
  for (const BuildPython& python : state_.pythons) {
    for (const BuildDistribution& one : python.distributions) found.push_back(one.distribution);
  }
  // What is known is told even where more may be there: that something is missing, `beam` and its kin tell.
  if (found.empty() && !open.empty()) return Fact<std::vector<Distribution>>::unknown(open);
  return Fact<std::vector<Distribution>>::known(std::move(found));
}

Fact<std::map<std::string, Command>> StateInterpreters::commands() const {
  std::map<std::string, Command> found;
  std::vector<Evidence> evidence;
  if (const BuildVariable* path = state_.variable("PATH")) evidence.push_back(path->evidence);
  for (const char* name : {"python", "python3", "pip"}) {
    const FoundProgram program = find_program(state_, name);
    if (program.seen == Seen::unknown) {
      if (std::string_view(name) == "pip") continue;
      return Fact<std::map<std::string, Command>>::unknown(
          program.reason.empty() ? fmt::format("whether PATH finds {}", name) : program.reason);
    }
    if (program.seen == Seen::yes) {
      found.emplace(name, Command{program.found_at, program.canonical, false, true});
      if (program.file) evidence.push_back(program.file->evidence);
    } else if (program.dangles) {
      found.emplace(name, Command{program.found_at, {}, true, false});
    } else if (!state_.pythons_open.empty() && std::string_view(name) != "pip") {
      return Fact<std::map<std::string, Command>>::unknown(state_.pythons_open);
    }
  }
  return Fact<std::map<std::string, Command>>::known(std::move(found), std::move(evidence));
}

Fact<Command> StateInterpreters::usr_local_pip() const { return command_fact("/usr/local/bin/pip"); }

Fact<Command> StateInterpreters::python_path() const {
  const BuildVariable* variable = state_.variable("PYTHON_PATH");
  if (variable == nullptr || (variable->value && variable->value->empty())) return Fact<Command>::absent();
  if (!variable->value) return Fact<Command>::unknown(variable->not_known);
  return command_fact(*variable->value);
}

Fact<Distribution> StateInterpreters::beam() const {
  if (worker_.is_unknown()) return Fact<Distribution>::unknown(worker_.reason());
  if (worker_.is_absent()) return Fact<Distribution>::absent(worker_.evidence());
  return beam_of(worker_->interpreter);
}

Fact<Version> StateInterpreters::beam_version() const {
  const Fact<Distribution> installed = beam();
  if (installed.is_known() && installed->version)
    return Fact<Version>::known(*installed->version, installed.evidence());
  if (boot_version_.is_known()) return boot_version_;
  if (installed.is_known()) return Fact<Version>::unknown("apache-beam is installed without an exact version");
  if (installed.is_absent()) {
    for (const char* name : {"python", "python3"}) {
      const auto index = python_named(name);
      if (!index) continue;
      const Fact<Distribution> other = beam_of(*index);
      if (other.is_known() && other->version) return Fact<Version>::known(*other->version, other.evidence());
    }
    for (std::size_t i = 0; i < state_.pythons.size(); ++i) {
      const Fact<Distribution> other = beam_of(i);
      if (other.is_known() && other->version) return Fact<Version>::known(*other->version, other.evidence());
    }
    return boot_version_;
  }
  return Fact<Version>::unknown(installed.reason());
}

std::optional<std::size_t> StateInterpreters::counting() const {
  std::optional<std::size_t> index;
  if (worker_.is_known()) index = worker_->interpreter;
  for (const char* name : {"python", "python3"}) {
    if (!index) index = python_named(name);
  }
  if (!index && state_.pythons.size() == 1) index = 0;
  return index;
}

Fact<Command> StateInterpreters::command_fact(const std::string& name) const {
  const FoundProgram program = find_program(state_, name);
  if (program.seen == Seen::yes)
    return Fact<Command>::known({program.found_at, program.canonical, false, true}, {program.file->evidence});
  if (program.dangles) return Fact<Command>::known({program.found_at, {}, true, false});
  if (program.seen == Seen::no) {
    // A folder or a file that cannot be run.
    const BuildFiles::Look look =
        name.starts_with('/') ? state_.files.look(absolute_path(name, "/")) : BuildFiles::Look{};
    if (look.seen == Seen::yes) return Fact<Command>::known({look.canonical, look.canonical, false, false});
    return Fact<Command>::absent();
  }
  return Fact<Command>::unknown(program.reason.empty() ? fmt::format("whether {} is there", escape_for_display(name))
                                                       : program.reason);
}

std::optional<std::size_t> StateInterpreters::python_named(std::string_view name) const {
  return python_of(state_, find_program(state_, name));
}

Fact<Distribution> StateInterpreters::beam_of(std::size_t index) const {
  const BuildPython& python = state_.pythons[index];
  const auto in = [](const BuildPython& one) -> const BuildDistribution* {
    for (const BuildDistribution& distribution : one.distributions) {
      if (distribution.distribution.name == "apache-beam") return &distribution;
    }
    return nullptr;
  };
  if (const BuildDistribution* found = in(python))
    return Fact<Distribution>::known(found->distribution, {found->distribution.evidence});
  std::string open = python.open;
  if (python.system_site_packages) {
    if (const auto base = python_at(state_, python.base_path)) {
      if (const BuildDistribution* found = in(state_.pythons[*base]))
        return Fact<Distribution>::known(found->distribution, {found->distribution.evidence});
      if (open.empty()) open = state_.pythons[*base].open;
    }
  }
  if (!open.empty()) return Fact<Distribution>::unknown(open);
  return Fact<Distribution>::absent(python.interpreter.evidence);
}

void StateInterpreters::find_worker() {
  std::optional<Version> release;
  if (boot_version_.is_known()) release = boot_version_.value();
  for (const char* name : {"python", "python3"}) {
    if (release) break;
    const auto index = python_named(name);
    if (!index) continue;
    const Fact<Distribution> installed = beam_of(*index);
    if (installed.is_known()) release = installed->version;
  }
  const auto has = [&](BeamBehaviour behaviour) { return release && knowledge_.beam_has(behaviour, *release); };
  const auto value = [&](std::string_view name) {
    const BuildVariable* variable = state_.variable(name);
    return variable != nullptr ? variable->value.value_or("") : std::string();
  };
  const bool in_default_environment = has(BeamBehaviour::default_environment) && !value(opt_out).empty();
  std::vector<std::pair<std::string, std::string>> tries = {{"python", "python"}};
  std::vector<Evidence> evidence;
  if (const BuildVariable* path = state_.variable("PATH")) evidence.push_back(path->evidence);
  if (!release || (has(BeamBehaviour::python_fallback) && !in_default_environment)) {
    const std::string named = release ? value("PYTHON_PATH") : "";
    if (!named.empty()) {
      tries = {{"PYTHON_PATH", named}};
      evidence = {state_.variable("PYTHON_PATH")->evidence};
    } else {
      tries = {{"python", "python"}, {"python3", "python3"}};
    }
  }
  for (const auto& [by, program] : tries) {
    const FoundProgram found = find_program(state_, program);
    if (found.seen == Seen::unknown) {
      worker_ = Fact<WorkerPython>::unknown(
          found.reason.empty() ? fmt::format("whether PATH finds {}", escape_for_display(program)) : found.reason);
      return;
    }
    if (found.seen == Seen::no) {
      if (!found.dangles && !state_.pythons_open.empty()) {
        worker_ = Fact<WorkerPython>::unknown(state_.pythons_open);
        return;
      }
      continue;
    }
    const auto index = python_of(state_, found);
    if (!index) {
      worker_ = Fact<WorkerPython>::unknown(fmt::format("{} is {}, which is no Python interpreter that is known", by,
                                                        escape_for_display(found.found_at)));
      return;
    }
    const BuildPython& python = state_.pythons[*index];
    if (!python.minor_known) {
      worker_ = Fact<WorkerPython>::unknown(python.not_known);
      return;
    }
    // Positions are those of interpreters(), which lists all.
    for (const BuildPython& one : state_.pythons) {
      if (one.minor_known) continue;
      worker_ = Fact<WorkerPython>::unknown(one.not_known);
      return;
    }
    evidence.insert(evidence.end(), python.interpreter.evidence.begin(), python.interpreter.evidence.end());
    worker_ = Fact<WorkerPython>::known({*index, by}, std::move(evidence));
    return;
  }
  worker_ = Fact<WorkerPython>::absent(std::move(evidence));
}

}  // namespace imgforge
