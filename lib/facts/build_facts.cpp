// The final stage as facts.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/entrypoint.hpp"
#include "facts/wheel_software.hpp"

namespace imgforge {
namespace {

using Seen = BuildFiles::Seen;

constexpr std::string_view opt_out = "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT";
constexpr std::string_view launcher_folder = "/opt/google/dataflow";
constexpr std::string_view launcher_ending = "_template_launcher";

/// The files of a stage, for the entrypoint.
class StateFiles final : public StartFiles {
 public:
  explicit StateFiles(const BuildState& state) : state_(state) {}

  Found at(const std::string& path) override { return found_of(find_program(state_, path), state_.files.look(path)); }
  Found find(std::string_view name, std::string_view path, std::string_view) override {
    const FoundProgram program = find_program(state_, name, std::string(path));
    if (program.seen == Seen::no || program.seen == Seen::yes) {
      // A program that a base is known to have, or pip brought, lies somewhere on PATH.
      if (program.seen == Seen::no && !program.dangles) {
        const auto known = state_.programs.find(name);
        if (known != state_.programs.end() && known->second != ProgramUse::There::no)
          return {std::nullopt, where(name)};
        if (!state_.programs_open.empty()) return {std::nullopt, state_.programs_open};
      }
      return found_of(program, {});
    }
    return {std::nullopt, program.reason.empty() ? where(name) : program.reason};
  }

  bool reaches_boot(const std::string& path, const std::optional<Command>& command) override {
    if (path == boot_path) return true;
    if (!command) return false;
    const BuildFiles::Look boot = state_.files.look(std::string(boot_path));
    if (boot.seen == Seen::yes && command->canonical == boot.canonical) return true;
    const BuildFiles::Look look = state_.files.look(path);
    return look.canonical == boot_path ||
           std::find(look.links.begin(), look.links.end(), boot_path) != look.links.end();
  }

  Content start_of(const std::string& canonical) override { return content(canonical); }
  Content all_of(const std::string& canonical) override { return content(canonical); }
  std::optional<Evidence> evidence(const std::string& path) override {
    const BuildFiles::Look look = state_.files.look(path);
    if (look.seen != Seen::yes || look.file->evidence == state_.base_evidence) return std::nullopt;
    return look.file->evidence;
  }

 private:
  static std::string where(std::string_view name) {
    return fmt::format("where {} is", escape_for_display(std::string(name)));
  }

  Found found_of(const FoundProgram& program, const BuildFiles::Look& look) const {
    if (program.seen == Seen::yes) return {Command{program.found_at, program.canonical, false, true}, {}};
    if (program.dangles) return {Command{program.found_at, {}, true, false}, {}};
    if (look.seen == Seen::yes && look.file->kind != BuildFile::Kind::link)
      return {Command{look.canonical, look.canonical, false,
                      look.file->executable && look.file->kind != BuildFile::Kind::folder},
              {}};
    if (program.seen == Seen::no) return {};
    return {std::nullopt, program.reason.empty() ? "whether it is there" : program.reason};
  }

  Content content(const std::string& canonical) const {
    const BuildFiles::Look look = state_.files.look(canonical);
    if (look.seen == Seen::no) return {};
    if (look.seen == Seen::unknown) return {Content::Kind::unknown, {}, look.reason};
    if (look.file->kind == BuildFile::Kind::folder) return {};
    if (look.file->kind == BuildFile::Kind::program) return {Content::Kind::program, {}, {}};
    if (look.file->text) return {Content::Kind::text, *look.file->text, {}};
    return {Content::Kind::unknown, {}, fmt::format("what {} holds", escape_for_display(canonical))};
  }

  const BuildState& state_;
};

Fact<Entrypoint> read_entrypoint(const BuildState& state) {
  if (!state.entrypoint) return Fact<Entrypoint>::unknown(state.entrypoint_not_known);
  StartCommand start;
  start.entrypoint = *state.entrypoint;
  start.cmd = state.cmd.value_or(std::vector<std::string>());
  start.entrypoint_evidence = state.entrypoint_evidence;
  start.cmd_evidence = state.cmd_evidence;
  for (const auto& [name, value] : state.env) {
    start.context.variables[name] =
        value.value ? std::optional<CommandLine>(CommandLine{CommandWord::of(*value.value)}) : std::nullopt;
  }
  if (!state.env_open.empty() && !start.context.variables.contains("PATH"))
    start.context.variables["PATH"] = std::nullopt;
  start.context.folder = state.workdir;
  StateFiles files(state);
  return follow_entrypoint(start, files);
}

Fact<Boot> read_boot(const BuildState& state) {
  const std::string path(boot_path);
  const BuildFiles::Look look = state.files.look(path);
  if (look.seen == Seen::unknown)
    return Fact<Boot>::unknown(look.reason.empty() ? "whether /opt/apache/beam/boot is there" : look.reason);
  if (look.seen == Seen::no) {
    const BuildFiles::Look link = state.files.look(path, false);
    if (link.seen == Seen::yes) {
      Boot boot;
      boot.path = link.canonical;
      boot.broken_link = link.file->link;
      return Fact<Boot>::known(std::move(boot), {link.file->evidence});
    }
    std::vector<Evidence> evidence;
    if (look.removed_by.place.line != 0) evidence.push_back(look.removed_by);
    if (evidence.empty() && state.base_evidence.place.line != 0) evidence.push_back(state.base_evidence);
    return Fact<Boot>::absent(std::move(evidence));
  }
  Boot boot;
  boot.path = look.canonical;
  boot.regular = look.file->kind != BuildFile::Kind::folder;
  boot.executable = look.file->executable;
  boot.elf = look.file->kind == BuildFile::Kind::program;
  return Fact<Boot>::known(std::move(boot), {look.file->evidence});
}

Fact<Version> read_boot_version(const BuildState& state) {
  for (const char* path : {"/opt/apache/beam/boot", "/opt/apache/beam/tars/apache-beam.tar.gz"}) {
    const BuildFiles::Look look = state.files.look(path);
    if (look.seen == Seen::yes && look.file->sdk && !look.file->sdk->beam.release().empty())
      return Fact<Version>::known(look.file->sdk->beam, {look.file->evidence});
  }
  const Fact<Boot> boot = read_boot(state);
  if (boot.is_absent()) return Fact<Version>::absent(boot.evidence());
  if (boot.is_known()) return Fact<Version>::unknown("of which SDK boot is");
  return Fact<Version>::unknown(boot.reason());
}

class FactsOfState {
 public:
  FactsOfState(const BuildState& state, const BuildOptions& options, const Knowledge& knowledge)
      : state_(state), options_(options), knowledge_(knowledge) {
    boot_version_ = read_boot_version(state_);
    find_worker();
    collect_software();
  }

  Fact<std::vector<Interpreter>> interpreters() const {
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

  Fact<std::vector<Distribution>> distributions() const {
    std::vector<Distribution> found;
    std::string open = state_.pythons.empty() ? state_.pythons_open : "";
    for (const BuildPython& python : state_.pythons) {
      for (const BuildDistribution& one : python.distributions) found.push_back(one.distribution);
    }
    // What is known is told even where more may be there: that something is missing, `beam` and its kin tell.
    if (found.empty() && !open.empty()) return Fact<std::vector<Distribution>>::unknown(open);
    return Fact<std::vector<Distribution>>::known(std::move(found));
  }

  Fact<WorkerPython> worker_python() const { return worker_; }

  Fact<std::map<std::string, Command>> commands() const {
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

  Fact<Command> usr_local_pip() const { return command_fact("/usr/local/bin/pip"); }

  Fact<Command> python_path() const {
    const BuildVariable* variable = state_.variable("PYTHON_PATH");
    if (variable == nullptr || (variable->value && variable->value->empty())) return Fact<Command>::absent();
    if (!variable->value) return Fact<Command>::unknown(variable->not_known);
    return command_fact(*variable->value);
  }

  Fact<Distribution> beam() const {
    if (worker_.is_unknown()) return Fact<Distribution>::unknown(worker_.reason());
    if (worker_.is_absent()) return Fact<Distribution>::absent(worker_.evidence());
    return beam_of(worker_->interpreter);
  }

  Fact<Version> beam_version() const {
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

  Fact<User> user() const {
    if (!state_.user) return Fact<User>::unknown(state_.user_not_known);
    Fact<User> resolved = resolve_user(*state_.user, state_.accounts, state_.groups);
    if (resolved.is_unknown() && !state_.accounts_open.empty()) return Fact<User>::unknown(state_.accounts_open);
    if (!resolved.is_known()) return resolved;
    return Fact<User>::known(resolved.value(), {state_.user_evidence});
  }

  Fact<bool> venv_folder_writable() const {
    const Fact<User> who = user();
    if (!who.is_known()) return Fact<bool>::unknown(who.is_unknown() ? who.reason() : "who the user is");
    if (who->is_root()) return Fact<bool>::known(true);
    for (std::string path = "/opt/apache/beam-venv";; path = path.substr(0, path.rfind('/'))) {
      if (path.empty()) return Fact<bool>::known(false);
      const BuildFiles::Look look = state_.files.look(path);
      if (look.seen == Seen::unknown)
        return Fact<bool>::unknown(look.reason.empty() ? "who owns " + path : look.reason);
      if (look.seen == Seen::no) continue;
      // An owner that a step may have set by a pattern or a script is not seen; a folder made without one is root's.
      if (look.file->kind == BuildFile::Kind::any) return Fact<bool>::unknown("what " + path + " is");
      const bool own = (look.file->uid && *look.file->uid == who->uid) || look.file->writable_by_all;
      return Fact<bool>::known(own, {look.file->evidence});
    }
  }

  Fact<WorkingDirectory> workdir() const {
    if (!state_.workdir) return Fact<WorkingDirectory>::unknown("the working directory");
    WorkingDirectory folder;
    folder.path = *state_.workdir;
    const BuildFiles::Look look = state_.files.look(folder.path);
    if (look.seen == Seen::unknown) return Fact<WorkingDirectory>::unknown(look.reason);
    folder.exists = look.seen == Seen::yes;
    folder.is_directory = folder.exists && look.file->kind == BuildFile::Kind::folder;
    const Fact<User> who = user();
    if (!who.is_known()) return Fact<WorkingDirectory>::unknown(who.is_unknown() ? who.reason() : "who the user is");
    folder.writable = who->is_root() || (folder.exists && ((look.file->uid && *look.file->uid == who->uid) ||
                                                           look.file->writable_by_all || folder.path == "/tmp" ||
                                                           (!who->home.empty() && folder.path == who->home)));
    return Fact<WorkingDirectory>::known(std::move(folder), {state_.workdir_evidence});
  }

  Fact<std::vector<CudaToolkit>> cuda() const {
    std::vector<CudaToolkit> all = state_.cuda;
    all.insert(all.end(), software_.cuda.begin(), software_.cuda.end());
    if (all.empty() && !state_.cuda_open.empty()) return Fact<std::vector<CudaToolkit>>::unknown(state_.cuda_open);
    return known_list(std::move(all));
  }
  Fact<std::vector<Cudnn>> cudnn() const {
    std::vector<Cudnn> all = state_.cudnn;
    all.insert(all.end(), software_.cudnn.begin(), software_.cudnn.end());
    if (all.empty() && !state_.cuda_open.empty()) return Fact<std::vector<Cudnn>>::unknown(state_.cuda_open);
    return known_list(std::move(all));
  }
  Fact<std::vector<Framework>> frameworks() const {
    if (software_.frameworks.empty() && !software_open_.empty())
      return Fact<std::vector<Framework>>::unknown(software_open_);
    return known_list(software_.frameworks);
  }
  Fact<bool> libtpu() const {
    if (software_.libtpu) return Fact<bool>::known(true);
    if (!software_open_.empty()) return Fact<bool>::unknown(software_open_);
    return Fact<bool>::known(false);
  }

  Fact<FlexLauncher> flex_launcher(const Build& build) const {
    const auto found = state_.files.list(std::string(launcher_folder),
                                         [](std::string_view name) { return name.ends_with(launcher_ending); });
    if (found.empty()) {
      const BuildFiles::Look look = state_.files.look(std::string(launcher_folder) + "/python_template_launcher");
      if (look.seen == Seen::unknown) return Fact<FlexLauncher>::unknown(look.reason);
      return Fact<FlexLauncher>::absent();
    }
    FlexLauncher launcher;
    launcher.path = found.front();
    const BuildFiles::Look look = state_.files.look(found.front());
    if (look.seen == Seen::yes) launcher.evidence = {look.file->evidence};
    // python311-template-launcher-base
    for (const ImageUse& use : build.images) {
      if (!use.reference || use.role == ImageUse::Role::mount) continue;
      const std::string& repository = use.reference->repository();
      const std::size_t at = repository.find("/python3");
      if (at == std::string::npos || repository.find("template-launcher") == std::string::npos) continue;
      const std::size_t end = repository.find('-', at);
      const auto minor =
          PythonMinor::parse("3." + repository.substr(at + 8, end == std::string::npos ? end : end - at - 8));
      if (minor) launcher.python = minor;
    }
    auto evidence = launcher.evidence;
    return Fact<FlexLauncher>::known(std::move(launcher), std::move(evidence));
  }

  Fact<SparkNeeds> spark() const {
    SparkNeeds needs;
    const auto program = [&](const char* name) {
      switch (program_there(state_, name)) {
        case ProgramUse::There::yes: return Fact<bool>::known(true);
        case ProgramUse::There::no: return Fact<bool>::known(false, {state_.base_evidence});
        case ProgramUse::There::unknown: break;
      }
      return Fact<bool>::unknown(fmt::format("whether {} is in the image", name));
    };
    needs.procps = program("ps");
    needs.tini = program("tini");
    needs.java = state_.java ? Fact<bool>::known(true, {*state_.java}) : program("java");
    needs.spark = Fact<bool>::known(false);
    if (state_.spark) needs.spark = Fact<bool>::known(true, {*state_.spark});
    for (const BuildPython& python : state_.pythons) {
      for (const BuildDistribution& one : python.distributions) {
        if (one.distribution.name == "pyspark") needs.spark = Fact<bool>::known(true, {one.distribution.evidence});
      }
    }
    if (!needs.spark.value() && !state_.base_not_known.empty())
      needs.spark = Fact<bool>::unknown(state_.base_not_known);
    const auto account = std::find_if(state_.accounts.begin(), state_.accounts.end(),
                                      [](const Account& one) { return one.name == "spark"; });
    if (account == state_.accounts.end()) {
      needs.user_spark =
          state_.accounts_open.empty() ? Fact<User>::absent() : Fact<User>::unknown(state_.accounts_open);
      return Fact<SparkNeeds>::known(std::move(needs));
    }
    User spark_user;
    spark_user.written = "spark";
    spark_user.uid = account->uid;
    spark_user.gid = account->gid;
    spark_user.home = account->home;
    std::vector<Evidence> evidence;
    if (const auto place = state_.account_evidence.find("spark"); place != state_.account_evidence.end())
      evidence.push_back(place->second);
    needs.home_exists = !account->home.empty() && state_.files.look(absolute_path(account->home, "/")).seen != Seen::no;
    needs.user_spark = Fact<User>::known(std::move(spark_user), std::move(evidence));
    return Fact<SparkNeeds>::known(std::move(needs));
  }

  Fact<std::vector<std::string>> missing_library_folders() const {
    const BuildVariable* variable = state_.variable("LD_LIBRARY_PATH");
    if (variable == nullptr) return Fact<std::vector<std::string>>::known({});
    if (!variable->value) return Fact<std::vector<std::string>>::unknown(variable->not_known);
    std::vector<std::string> missing;
    for (const std::string_view part : split(*variable->value, ':')) {
      if (!part.starts_with('/') || missing.size() > 200) continue;
      const std::string path = absolute_path(part, "/");
      if (path.starts_with("/usr/local/nvidia")) continue;
      if (state_.files.look(path).seen == Seen::no) missing.emplace_back(part);
    }
    return Fact<std::vector<std::string>>::known(std::move(missing), {variable->evidence});
  }

  Fact<bool> tpu_library() const {
    const BuildVariable* variable = state_.variable("TPU_LIBRARY_PATH");
    if (variable == nullptr || !variable->value || !variable->value->starts_with('/'))
      return Fact<bool>::unknown("TPU_LIBRARY_PATH");
    const BuildFiles::Look look = state_.files.look(absolute_path(*variable->value, "/"));
    if (look.seen == Seen::unknown) return Fact<bool>::unknown(look.reason);
    return Fact<bool>::known(look.seen == Seen::yes, {variable->evidence});
  }

  const Fact<Version>& boot_version() const { return boot_version_; }

 private:
  template <class T>
  static Fact<std::vector<T>> known_list(std::vector<T> all) {
    std::vector<Evidence> evidence;
    for (const T& one : all) evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
    return Fact<std::vector<T>>::known(std::move(all), std::move(evidence));
  }

  Fact<Command> command_fact(const std::string& name) const {
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

  std::optional<std::size_t> python_named(std::string_view name) const {
    return python_of(state_, find_program(state_, name));
  }

  Fact<Distribution> beam_of(std::size_t index) const {
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

  void find_worker() {
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

  /// Frameworks of the interpreter that counts: the worker's, else the one on PATH, else the only one.
  void collect_software() {
    std::optional<std::size_t> index;
    if (worker_.is_known()) index = worker_->interpreter;
    for (const char* name : {"python", "python3"}) {
      if (!index) index = python_named(name);
    }
    if (!index && state_.pythons.size() == 1) index = 0;
    if (!index) {
      software_open_ = !state_.pythons_open.empty() ? state_.pythons_open
                       : worker_.is_unknown()       ? worker_.reason()
                                                    : "";
      return;
    }
    std::vector<const BuildPython*> all = {&state_.pythons[*index]};
    if (all.front()->system_site_packages) {
      if (const auto base = python_at(state_, all.front()->base_path)) all.push_back(&state_.pythons[*base]);
    }
    for (const BuildPython* python : all) {
      if (software_open_.empty()) software_open_ = python->open;
      for (const BuildDistribution& one : python->distributions) {
        const Distribution& distribution = one.distribution;
        if (one.by == BuildDistribution::By::base) {
          for (const Framework& framework : state_.frameworks) {
            if (framework.package == distribution.name || framework.name == distribution.name)
              software_.frameworks.push_back(framework);
          }
          continue;
        }
        if (one.by == BuildDistribution::By::conda) {
          if (distribution.name != "torch" && distribution.name != "tensorflow" && distribution.name != "jax") continue;
          Framework framework;
          framework.name = framework.package = distribution.name;
          framework.version = distribution.version;
          framework.build = Framework::Build::conda;
          framework.evidence = {distribution.evidence};
          software_.frameworks.push_back(std::move(framework));
          continue;
        }
        std::string text = distribution.name;
        if (!distribution.extras.empty()) text += "[" + join(distribution.extras, ",") + "]";
        if (distribution.version) {
          text += "==" + distribution.version->to_string();
        } else {
          text += distribution.version_text;
        }
        auto requirement = Requirement::parse(text);
        if (!requirement) requirement = Requirement::parse(distribution.name);
        if (!requirement) continue;
        PackageRequest request;
        request.written = text;
        request.name = distribution.name;
        request.requirement = std::move(requirement);
        request.place = distribution.evidence.place;
        std::vector<std::string> indexes = one.indexes;
        indexes.insert(indexes.end(), one.find_links.begin(), one.find_links.end());
        add_wheel(software_, request, indexes, knowledge_);
      }
    }
  }

  const BuildState& state_;
  const BuildOptions& options_;
  const Knowledge& knowledge_;
  Fact<Version> boot_version_ = Fact<Version>::unknown("not read");
  Fact<WorkerPython> worker_ = Fact<WorkerPython>::unknown("not read");
  WheelSoftware software_;
  std::string software_open_;
};

Fact<OsRelease> read_os(const BuildState& state, const Knowledge& knowledge) {
  if (state.scratch) return Fact<OsRelease>::absent({state.base_evidence});
  if (state.os_family.empty()) {
    return Fact<OsRelease>::unknown(!state.base_not_known.empty()
                                        ? state.base_not_known
                                        : fmt::format("the distribution of {}", escape_for_display(state.base)));
  }
  OsRelease os;
  os.id = state.os_family;
  if (!state.os.empty()) os.version_id = state.os.substr(state.os_family.size());
  if (const LinuxRelease* row = knowledge.linux_release(state.os)) os.code_name = row->code_name;
  os.id_like = os.id == "ubuntu" ? "debian" : "";
  os.pretty_name = os.id + (os.version_id.empty() ? "" : " " + os.version_id);
  return Fact<OsRelease>::known(std::move(os), {state.base_evidence});
}

template <class T>
LazyFact<T> now(Fact<T> fact) {
  return LazyFact<T>(std::move(fact));
}

}  // namespace

Facts facts_of_build(const std::shared_ptr<BuildReader>& reader, const BuildOptions& options,
                     const Knowledge& knowledge) {
  const BuildState& state = reader->final_state();
  Build& build = *reader->build();
  const FactsOfState of(state, options, knowledge);
  Facts facts;
  facts.platform = now(Fact<Platform>::known(Platform{"linux", options.architecture, {}}));
  facts.os_release = now(read_os(state, knowledge));
  facts.libc =
      now(state.libc ? Fact<Libc>::known(Libc{*state.libc, {}}, {state.base_evidence})
                     : Fact<Libc>::unknown(!state.base_not_known.empty()
                                               ? state.base_not_known
                                               : fmt::format("the C library of {}", escape_for_display(state.base))));
  std::vector<std::pair<std::string, std::string>> env;
  for (const auto& [name, variable] : state.env) {
    if (variable.value) {
      env.emplace_back(name, *variable.value);
    } else {
      facts.env_unknown[name] = variable.not_known;
    }
    if (variable.evidence.place.line != 0) facts.env_places[name] = variable.evidence;
  }
  facts.env_open = state.env_open;
  facts.env = now(Fact<std::vector<std::pair<std::string, std::string>>>::known(std::move(env)));
  std::map<std::string, std::string> labels;
  std::vector<Evidence> labelled;
  for (const auto& [name, variable] : state.labels) {
    if (!variable.value) continue;
    labels[name] = *variable.value;
    labelled.push_back(variable.evidence);
  }
  facts.labels = now(Fact<std::map<std::string, std::string>>::known(std::move(labels), std::move(labelled)));
  facts.user = now(of.user());
  facts.workdir = now(of.workdir());
  facts.entrypoint = now(read_entrypoint(state));
  facts.boot = now(read_boot(state));
  facts.boot_version = now(of.boot_version());
  facts.interpreters = now(of.interpreters());
  facts.distributions = now(of.distributions());
  facts.commands = now(of.commands());
  facts.usr_local_pip = now(of.usr_local_pip());
  facts.python_path = now(of.python_path());
  facts.worker_python = now(of.worker_python());
  facts.beam = now(of.beam());
  facts.beam_version = now(of.beam_version());
  facts.venv_folder_writable = now(of.venv_folder_writable());
  facts.site_machines = now(Fact<SiteMachines>::unknown("only a built image tells"));
  facts.cuda = now(of.cuda());
  facts.cudnn = now(of.cudnn());
  facts.frameworks = now(of.frameworks());
  facts.flex_launcher = now(of.flex_launcher(build));
  facts.spark = now(of.spark());
  facts.missing_library_folders = now(of.missing_library_folders());
  facts.libtpu = now(of.libtpu());
  facts.tpu_library = now(of.tpu_library());

  build.user_place = state.user_place;
  std::erase_if(build.compiles, [](const StepPlace& step) { return !step.in_image; });
  for (std::size_t i = 0; i < build.stages.size() && i < reader->states().size(); ++i) {
    const BuildState& one = reader->states()[i];
    const Fact<Boot> boot = read_boot(one);
    build.stages[i].has_boot =
        boot.is_unknown() ? Fact<bool>::unknown(boot.reason()) : Fact<bool>::known(boot.is_known(), boot.evidence());
    build.stages[i].entrypoint = read_entrypoint(one);
  }
  facts.build = reader->build();
  return facts;
}

}  // namespace imgforge
