// The final stage as facts.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_interpreters.hpp"
#include "facts/build_reader.hpp"
#include "facts/build_software.hpp"
#include "facts/build_start.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

using Seen = BuildFiles::Seen;

constexpr std::string_view launcher_folder = "/opt/google/dataflow";
constexpr std::string_view launcher_ending = "_template_launcher";

Fact<User> read_user(const BuildState& state) {
  if (!state.user) return Fact<User>::unknown(state.user_not_known);
  Fact<User> resolved = resolve_user(*state.user, state.accounts, state.groups);
  if (resolved.is_unknown() && !state.accounts_open.empty()) return Fact<User>::unknown(state.accounts_open);
  if (!resolved.is_known()) return resolved;
  return Fact<User>::known(resolved.value(), {state.user_evidence});
}

Fact<bool> read_venv_folder_writable(const BuildState& state) {
  const Fact<User> who = read_user(state);
  if (!who.is_known()) return Fact<bool>::unknown(who.is_unknown() ? who.reason() : "who the user is");
  if (who->is_root()) return Fact<bool>::known(true);
  for (std::string path = "/opt/apache/beam-venv";; path = path.substr(0, path.rfind('/'))) {
    if (path.empty()) return Fact<bool>::known(false);
    const BuildFiles::Look look = state.files.look(path);
    if (look.seen == Seen::unknown) return Fact<bool>::unknown(look.reason.empty() ? "who owns " + path : look.reason);
    if (look.seen == Seen::no) continue;
    // An owner that a step may have set by a pattern or a script is not seen; a folder made without one is root's.
    if (look.file->kind == BuildFile::Kind::any) return Fact<bool>::unknown("what " + path + " is");
    const bool own = (look.file->uid && *look.file->uid == who->uid) || look.file->writable_by_all;
    return Fact<bool>::known(own, {look.file->evidence});
  }
}

Fact<WorkingDirectory> read_workdir(const BuildState& state) {
  if (!state.workdir) return Fact<WorkingDirectory>::unknown("the working directory");
  WorkingDirectory folder;
  folder.path = *state.workdir;
  const BuildFiles::Look look = state.files.look(folder.path);
  if (look.seen == Seen::unknown) return Fact<WorkingDirectory>::unknown(look.reason);
  folder.exists = look.seen == Seen::yes;
  folder.is_directory = folder.exists && look.file->kind == BuildFile::Kind::folder;
  const Fact<User> who = read_user(state);
  if (!who.is_known()) return Fact<WorkingDirectory>::unknown(who.is_unknown() ? who.reason() : "who the user is");
  folder.writable = who->is_root() ||
                    (folder.exists && ((look.file->uid && *look.file->uid == who->uid) || look.file->writable_by_all ||
                                       folder.path == "/tmp" || (!who->home.empty() && folder.path == who->home)));
  return Fact<WorkingDirectory>::known(std::move(folder), {state.workdir_evidence});
}

Fact<FlexLauncher> read_flex_launcher(const BuildState& state, const Build& build) {
  const auto found = state.files.list(std::string(launcher_folder),
                                      [](std::string_view name) { return name.ends_with(launcher_ending); });
  if (found.empty()) {
    const BuildFiles::Look look = state.files.look(std::string(launcher_folder) + "/python_template_launcher");
    if (look.seen == Seen::unknown) return Fact<FlexLauncher>::unknown(look.reason);
    return Fact<FlexLauncher>::absent();
  }
  FlexLauncher launcher;
  launcher.path = found.front();
  const BuildFiles::Look look = state.files.look(found.front());
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

Fact<SparkNeeds> read_spark(const BuildState& state) {
  SparkNeeds needs;
  const auto program = [&](const char* name) {
    switch (program_there(state, name)) {
      case ProgramUse::There::yes: return Fact<bool>::known(true);
      case ProgramUse::There::no: return Fact<bool>::known(false, {state.base_evidence});
      case ProgramUse::There::unknown: break;
    }
    return Fact<bool>::unknown(fmt::format("whether {} is in the image", name));
  };
  needs.procps = program("ps");
  needs.tini = program("tini");
  needs.java = state.java ? Fact<bool>::known(true, {*state.java}) : program("java");
  needs.spark = Fact<bool>::known(false);
  if (state.spark) needs.spark = Fact<bool>::known(true, {*state.spark});
  for (const BuildPython& python : state.pythons) {
    for (const BuildDistribution& one : python.distributions) {
      if (one.distribution.name == "pyspark") needs.spark = Fact<bool>::known(true, {one.distribution.evidence});
    }
  }
  if (!needs.spark.value() && !state.base_not_known.empty()) needs.spark = Fact<bool>::unknown(state.base_not_known);
  const auto account = std::find_if(state.accounts.begin(), state.accounts.end(),
                                    [](const Account& one) { return one.name == "spark"; });
  if (account == state.accounts.end()) {
    needs.user_spark = state.accounts_open.empty() ? Fact<User>::absent() : Fact<User>::unknown(state.accounts_open);
    return Fact<SparkNeeds>::known(std::move(needs));
  }
  User spark_user;
  spark_user.written = "spark";
  spark_user.uid = account->uid;
  spark_user.gid = account->gid;
  spark_user.home = account->home;
  std::vector<Evidence> evidence;
  if (const auto place = state.account_evidence.find("spark"); place != state.account_evidence.end())
    evidence.push_back(place->second);
  needs.home_exists = !account->home.empty() && state.files.look(absolute_path(account->home, "/")).seen != Seen::no;
  needs.user_spark = Fact<User>::known(std::move(spark_user), std::move(evidence));
  return Fact<SparkNeeds>::known(std::move(needs));
}

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
  const StateInterpreters interpreters(state, knowledge);
  const StateSoftware software(state, interpreters, knowledge);
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
  facts.user = now(read_user(state));
  facts.workdir = now(read_workdir(state));
  facts.entrypoint = now(entrypoint_of(state));
  facts.boot = now(boot_of(state));
  facts.boot_version = now(interpreters.boot_version());
  facts.interpreters = now(interpreters.interpreters());
  facts.distributions = now(interpreters.distributions());
  facts.commands = now(interpreters.commands());
  facts.usr_local_pip = now(interpreters.usr_local_pip());
  facts.python_path = now(interpreters.python_path());
  facts.worker_python = now(interpreters.worker_python());
  facts.beam = now(interpreters.beam());
  facts.beam_version = now(interpreters.beam_version());
  facts.venv_folder_writable = now(read_venv_folder_writable(state));
  facts.site_machines = now(Fact<SiteMachines>::unknown("only a built image tells"));
  facts.cuda = now(software.cuda());
  facts.cudnn = now(software.cudnn());
  facts.frameworks = now(software.frameworks());
  facts.flex_launcher = now(read_flex_launcher(state, build));
  facts.spark = now(read_spark(state));
  facts.missing_library_folders = now(software.missing_library_folders());
  facts.libtpu = now(software.libtpu());
  facts.tpu_library = now(software.tpu_library());

  build.user_place = state.user_place;
  std::erase_if(build.compiles, [](const StepPlace& step) { return !step.in_image; });
  for (std::size_t i = 0; i < build.stages.size() && i < reader->states().size(); ++i) {
    const BuildState& one = reader->states()[i];
    const Fact<Boot> boot = boot_of(one);
    build.stages[i].has_boot =
        boot.is_unknown() ? Fact<bool>::unknown(boot.reason()) : Fact<bool>::known(boot.is_known(), boot.evidence());
    build.stages[i].entrypoint = entrypoint_of(one);
  }
  facts.build = reader->build();
  return facts;
}

}  // namespace imgforge
