// A healthy worker as facts, for tests that change one of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "check/checker.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge::test {

template <class T>
LazyFact<T> known(T value, std::vector<Evidence> evidence = {}) {
  return LazyFact<T>(Fact<T>::known(std::move(value), std::move(evidence)));
}
template <class T>
LazyFact<T> absent() {
  return LazyFact<T>(Fact<T>::absent());
}
template <class T>
LazyFact<T> unknown(const std::string& reason) {
  return LazyFact<T>(Fact<T>::unknown(reason));
}

/// What a test changes; facts() makes the facts of it, with the derived ones following.
struct Worker {
  std::string beam = "2.66.0";      // installed; empty: not installed
  std::string boot_sdk = "2.66.0";  // of the SDK that boot came from; empty: no tarball
  std::string python = "3.11.9";    // empty: no interpreter
  Platform platform{};
  std::vector<std::pair<std::string, std::string>> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  std::optional<Boot> boot = Boot{.path = "/opt/apache/beam/boot", .regular = true, .executable = true, .elf = true, .machine = 62};
  Entrypoint entrypoint = Entrypoint{.entrypoint = {"/opt/apache/beam/boot"}, .chain = {"/opt/apache/beam/boot"}, .ends_in = Program::boot, .last = "/opt/apache/beam/boot"};
  User user{};
  WorkingDirectory workdir{"/", true, true, true};
  Libc libc{Libc::Family::glibc, "2.36"};
  bool has_venv = true;
  bool has_ensurepip = true;
  bool has_pip = true;
  bool python_on_path = true;
  bool python3_on_path = true;
  bool usr_local_pip = true;
  bool venv_folder_writable = true;
  Interpreter::Kind kind = Interpreter::Kind::system;
  std::vector<std::pair<std::string, std::string>> packages = {{"setuptools", "75.0.0"}, {"wheel", "0.43.0"}, {"numpy", "2.2.6"}};
  std::vector<std::string> beam_requires = {};  // of apache-beam
  std::vector<ForeignModules> foreign_modules = {};
  std::map<unsigned, std::size_t> site_machines = {{62, 40}};

  Facts facts() const {
    Facts facts;
    facts.platform = known(platform, {Evidence::in_config("architecture")});
    facts.os_release = known(OsRelease{"debian", "12", "bookworm", "Debian GNU/Linux 12 (bookworm)"});
    facts.libc = known(libc);
    facts.env = known(env);
    facts.labels = known(std::map<std::string, std::string>{});
    facts.user = known(user, {Evidence::in_config("User")});
    facts.workdir = known(workdir);
    facts.entrypoint = known(entrypoint, {Evidence::in_config("Entrypoint")});
    facts.boot = boot ? known(*boot, {Evidence::in_layer("sha256:aa", "/opt/apache/beam/boot")}) : absent<Boot>();
    facts.boot_version = boot_sdk.empty() ? absent<Version>() : known(*Version::parse(boot_sdk));
    const std::string site = kind == Interpreter::Kind::venv ? "/opt/venv/lib/python3.11/site-packages" : "/usr/local/lib/python3.11/site-packages";
    std::vector<Interpreter> interpreters;
    if (!python.empty()) {
      Interpreter interpreter;
      interpreter.version = Version::parse(python);
      interpreter.minor = PythonMinor::of(*interpreter.version);
      interpreter.kind = kind;
      interpreter.prefix = kind == Interpreter::Kind::venv ? "/opt/venv" : "/usr/local";
      interpreter.path = interpreter.prefix + "/bin/python" + interpreter.minor.to_string();
      if (python_on_path) interpreter.on_path_as.push_back("python");
      if (python3_on_path) interpreter.on_path_as.push_back("python3");
      interpreter.site_packages = {site};
      interpreter.has_venv = has_venv;
      interpreter.has_ensurepip = has_ensurepip;
      if (has_pip) interpreter.pip = Version::parse("24.0");
      interpreter.evidence = {Evidence::in_layer("sha256:bb", interpreter.path)};
      interpreters.push_back(interpreter);
    }
    facts.interpreters = known(interpreters);
    facts.worker_python = interpreters.empty() ? absent<WorkerPython>() : known(WorkerPython{0, "python"});
    std::vector<Distribution> distributions;
    const auto add = [&](const std::string& name, const std::string& version, std::vector<std::string> requires_dist = {}) {
      distributions.push_back({name, version, Version::parse(version), site, site + "/" + name + ".dist-info/METADATA", std::move(requires_dist), "", "pip", {}});
    };
    if (!beam.empty() && !python.empty()) add("apache-beam", beam, beam_requires);
    for (const auto& [name, version] : packages) add(name, version);
    facts.beam = !beam.empty() && !python.empty() ? known(distributions.front()) : absent<Distribution>();
    facts.distributions = known(distributions);
    facts.beam_version = !beam.empty() && !python.empty() ? known(*Version::parse(beam)) : facts.boot_version;
    std::map<std::string, Command> commands;
    if (python_on_path && !python.empty()) commands["python"] = {"/usr/local/bin/python", "/usr/local/bin/python3.11", false, true};
    if (python3_on_path && !python.empty()) commands["python3"] = {"/usr/local/bin/python3", "/usr/local/bin/python3.11", false, true};
    if (has_pip && !python.empty()) commands["pip"] = {usr_local_pip ? "/usr/local/bin/pip" : "/usr/bin/pip", "/usr/bin/pip", false, true};
    facts.commands = known(commands);
    facts.usr_local_pip = usr_local_pip ? known(Command{"/usr/local/bin/pip", "/usr/local/bin/pip", false, true}) : absent<Command>();
    facts.python_path = absent<Command>();
    facts.venv_folder_writable = known(venv_folder_writable);
    facts.site_machines = known(SiteMachines{site_machines, {}});
    facts.secrets = known(std::vector<Secret>{});
    facts.waste = known(Waste{});
    facts.foreign_modules = known(foreign_modules);
    return facts;
  }
};

inline const Knowledge& knowledge() {
  static const Knowledge tables = Knowledge::embedded();
  return tables;
}

struct Judging {
  const Recipe* recipe = nullptr;
  std::optional<Runner> target;
  std::optional<Platform> platform;
  std::string today = "2026-11-30";
  std::string recipe_problem;
};

inline Outcome judge(const Facts& facts, const Judging& judging = {}) {
  Case input{facts, knowledge(), judging.recipe, false, judging.recipe_problem, judge_target(facts, judging.recipe, judging.target), judging.platform, *Date::parse(judging.today)};
  return check(input);
}

inline std::optional<Level> level_of(const Outcome& outcome, std::string_view rule) {
  for (const Finding& finding : outcome.findings) {
    if (finding.rule == rule) return finding.level;
  }
  return std::nullopt;
}

inline std::string message_of(const Outcome& outcome, std::string_view rule) {
  for (const Finding& finding : outcome.findings) {
    if (finding.rule == rule) return finding.message + " | " + finding.fix;
  }
  return {};
}

inline bool is_undecided(const Outcome& outcome, std::string_view rule) {
  for (const Undecided& undecided : outcome.undecided) {
    if (undecided.rule == rule) return true;
  }
  return false;
}

/// The only finding, or a list of what there is.
inline std::string only(const Outcome& outcome) {
  std::string rules;
  for (const Finding& finding : outcome.findings) rules += (rules.empty() ? "" : " ") + finding.rule;
  return rules;
}

}  // namespace imgforge::test
