#include "facts/worker.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/distributions.hpp"
#include "facts/interpreters.hpp"

namespace imgforge {
namespace {

constexpr std::string_view opt_out = "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT";

std::optional<Version> installed_beam(ImageReader& reader, std::string_view name) {
  const auto& interpreters = reader.interpreters();
  const auto& distributions = reader.distributions();
  if (!interpreters.is_known() || !distributions.is_known()) return std::nullopt;
  const auto command = reader.find(name);
  const auto index = command ? interpreter_of(reader, interpreters.value(), *command) : std::nullopt;
  if (!index) return std::nullopt;
  const Distribution* beam = find_distribution(distributions.value(), interpreters.value()[*index], "apache-beam");
  return beam == nullptr ? std::nullopt : beam->version;
}

/// The release whose boot this is: by the SDK beside boot, else by the package that is installed.
std::optional<Version> release_of_boot(ImageReader& reader) {
  if (reader.boot_version().is_known()) return reader.boot_version().value();
  for (const char* name : {"python", "python3"}) {
    if (const auto version = installed_beam(reader, name)) return version;
  }
  return std::nullopt;
}

}  // namespace

Fact<WorkerPython> read_worker_python(ImageReader& reader) {
  const auto& interpreters = reader.interpreters();
  if (interpreters.is_unknown()) return Fact<WorkerPython>::unknown(interpreters.reason());
  const auto release = release_of_boot(reader);
  const auto has = [&](BeamBehaviour behaviour) { return release && reader.knowledge().beam_has(behaviour, *release); };
  const bool in_default_environment =
      has(BeamBehaviour::default_environment) && !reader.config().variable(opt_out).value_or("").empty();

  struct Try {
    std::string by;
    std::string program;
  };
  std::vector<Try> tries;
  std::vector<Evidence> evidence = {Evidence::in_config("Env.PATH")};
  // Without a release, both ways of old and new boots are tried: they differ only where there is no "python".
  if (!release || (has(BeamBehaviour::python_fallback) && !in_default_environment)) {
    const std::string named = release ? reader.config().variable("PYTHON_PATH").value_or("") : "";
    if (!named.empty()) {
      tries = {{"PYTHON_PATH", named}};
      evidence = {Evidence::in_config("Env.PYTHON_PATH")};
    } else {
      tries = {{"python", "python"}, {"python3", "python3"}};
    }
  } else {
    tries = {{"python", "python"}};
  }

  for (const Try& one : tries) {
    const auto command = one.program.find('/') == std::string::npos
                             ? reader.find(one.program)
                             : command_at(reader.root(), absolute_path(one.program, reader.working_directory()));
    if (!command || !command->executable) continue;
    const auto index = interpreters.is_known() ? interpreter_of(reader, interpreters.value(), *command) : std::nullopt;
    if (!index) {
      return Fact<WorkerPython>::unknown(fmt::format("{} is {}, which is no Python interpreter that can be read",
                                                     one.by, escape_for_display(command->found_at)));
    }
    const Lookup found = reader.root().lookup(command->canonical);
    if (found) evidence.push_back(reader.evidence(*found.node));
    return Fact<WorkerPython>::known({*index, one.by}, std::move(evidence));
  }
  return Fact<WorkerPython>::absent(std::move(evidence));
}

Fact<Distribution> read_beam(ImageReader& reader) {
  const auto& worker = reader.worker_python();
  if (worker.is_unknown()) return Fact<Distribution>::unknown(worker.reason());
  if (worker.is_absent()) return Fact<Distribution>::absent(worker.evidence());
  const auto& distributions = reader.distributions();
  if (!distributions.is_known())
    return Fact<Distribution>::unknown("the Python distributions of the image are not known");
  const Interpreter& interpreter = reader.interpreters().value()[worker->interpreter];
  const Distribution* beam = find_distribution(distributions.value(), interpreter, "apache-beam");
  if (beam == nullptr) return Fact<Distribution>::absent(interpreter.evidence);
  // Which of two in one folder is imported, no order of names tells.
  for (const Distribution& other : distributions.value()) {
    if (other.name == beam->name && other.site == beam->site && other.version_text != beam->version_text) {
      return Fact<Distribution>::unknown(fmt::format("{} holds apache-beam both as {} and as {}", escape_for_display(beam->site),
                                                     escape_for_display(beam->version_text), escape_for_display(other.version_text)));
    }
  }
  return Fact<Distribution>::known(*beam, {beam->evidence});
}

Fact<Version> read_beam_version(ImageReader& reader) {
  const auto& beam = reader.beam();
  if (beam.is_known() && beam->version) return Fact<Version>::known(*beam->version, beam.evidence());
  const auto& boot = reader.boot_version();
  if (boot.is_known()) return boot;
  // Without an interpreter that boot finds, another one may still say which release is meant.
  if (beam.is_absent()) {
    for (const char* name : {"python", "python3"}) {
      if (const auto version = installed_beam(reader, name)) return Fact<Version>::known(*version);
    }
  }
  if (beam.is_known())
    return Fact<Version>::unknown(
        fmt::format("apache-beam's version \"{}\" is none", escape_for_display(beam->version_text)));
  if (beam.is_unknown()) return Fact<Version>::unknown(beam.reason());
  return boot;
}

}  // namespace imgforge
