// What pip and its kin install into an interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/build_requests.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

/// Projects that install apache-beam as a dependency of theirs.
bool brings_beam(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {"tfx",
                                                           "tfx-bsl",
                                                           "tensorflow-transform",
                                                           "tensorflow-data-validation",
                                                           "tensorflow-model-analysis",
                                                           "ml-metadata",
                                                           "beam-nuggets",
                                                           "pangeo-forge-recipes",
                                                           "klio",
                                                           "klio-exec",
                                                           "weather-dl",
                                                           "weather-mv",
                                                           "xarray-beam",
                                                           "tensorflow-datasets"};
  return names.contains(name);
}

/// Projects whose wheels are built from CUDA sources where pip finds none.
bool builds_cuda(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {
      "flash-attn",         "apex",         "deepspeed",     "mamba-ssm", "causal-conv1d",    "xformers",
      "detectron2",         "pytorch3d",    "horovod",       "pycuda",    "llama-cpp-python", "tinycudann",
      "torch-scatter",      "torch-sparse", "torch-cluster", "spconv",    "gsplat",           "auto-gptq",
      "transformer-engine", "vllm"};
  return names.contains(name);
}

bool is_true(std::string_view text) {
  const std::string word = lower(trim(text));
  return word == "1" || word == "true" || word == "yes" || word == "on" || word == "y" || word == "t";
}

/// What pip puts another version in the place of: a package of the base image that what is installed now shuts out.
/// Which version it takes only the run tells.
void replace_dependencies(const Knowledge& knowledge, BuildPython& python, std::string_view name,
                          const Version& version, const Evidence& evidence) {
  const std::string_view framework = name == "tensorflow-cpu" ? std::string_view("tensorflow") : name;
  const BeamRelease* beam = name == "apache-beam" ? knowledge.beam_release(version) : nullptr;
  const FrameworkBuild* build = knowledge.framework_build(framework, version);
  if (beam == nullptr && build == nullptr) return;
  for (const auto& [required, specifiers] : beam != nullptr ? beam->requires_dist : build->requires_dist) {
    const auto set = SpecifierSet::parse(specifiers);
    if (!set) continue;
    for (BuildDistribution& one : python.distributions) {
      Distribution& there = one.distribution;
      if (one.by != BuildDistribution::By::base || there.name != required) continue;
      if (!there.version || set->contains(*there.version)) continue;
      one.by = BuildDistribution::By::pip;
      there.version = set->pinned();
      there.version_text = specifiers;
      there.installer = "pip";
      there.evidence = evidence;
    }
  }
}

}  // namespace

void BuildReader::install(BuildState& state, std::size_t index, const Wanted& wanted, const Running& running) {
  BuildPython& python = state.pythons[index];
  if (!wanted.not_known.empty() && python.open.empty()) python.open = wanted.not_known;
  const std::string site =
      python.interpreter.site_packages.empty() ? std::string() : python.interpreter.site_packages.front();
  for (const PackageRequest& request : wanted.requests) {
    if (!request.requirement) {
      if (python.open.empty())
        python.open = fmt::format("what {} brings", escape_for_display(request.written.substr(0, 120)));
      continue;
    }
    const Requirement& requirement = *request.requirement;
    const std::string& name = request.name;
    if (brings_beam(name) && !wanted.no_deps && python.open.empty())
      python.open = fmt::format("which apache-beam {} brings", escape_for_display(name));
    if (!running.command->certain) {
      if (python.open.empty()) python.open = fmt::format("whether {} is installed", escape_for_display(name));
      continue;
    }
    if (name == "pip") python.interpreter.has_pip = true;
    std::optional<Version> version = requirement.specifiers().pinned();
    std::string specifiers = requirement.specifiers().to_string();
    for (const PackageRequest& constraint : wanted.constraints) {
      if (constraint.name != name || !constraint.requirement) continue;
      if (!version) version = constraint.requirement->specifiers().pinned();
      if (specifiers.empty()) specifiers = constraint.requirement->specifiers().to_string();
    }
    const auto old = std::find_if(python.distributions.begin(), python.distributions.end(),
                                  [&](const BuildDistribution& one) { return one.distribution.name == name; });
    if (old != python.distributions.end()) {
      // What satisfies the request stays.
      const bool stays = !wanted.upgrade && old->distribution.version &&
                         requirement.specifiers().contains(*old->distribution.version) &&
                         (!version || *version == *old->distribution.version);
      if (stays) {
        for (const std::string& extra : requirement.extras()) {
          if (std::find(old->distribution.extras.begin(), old->distribution.extras.end(), extra) ==
              old->distribution.extras.end())
            old->distribution.extras.push_back(extra);
        }
        if (old->by != BuildDistribution::By::base) {
          old->indexes.insert(old->indexes.end(), wanted.indexes.begin(), wanted.indexes.end());
        }
        continue;
      }
      python.distributions.erase(old);
    }
    if (python.distributions.size() >= max_distributions) break;
    BuildDistribution made;
    made.by = wanted.by;
    made.indexes = wanted.indexes;
    made.find_links = wanted.find_links;
    Distribution& distribution = made.distribution;
    distribution.name = name;
    distribution.version = version;
    distribution.version_text = version && requirement.specifiers().pinned() ? version->to_string() : specifiers;
    distribution.site = site;
    distribution.installer = wanted.by == BuildDistribution::By::conda ? "conda" : "pip";
    distribution.extras = requirement.extras();
    distribution.evidence = Evidence::at(request.place);
    if (wanted.by == BuildDistribution::By::pip && !wanted.no_deps && version)
      replace_dependencies(knowledge_, python, name, *version, made.distribution.evidence);
    python.distributions.push_back(std::move(made));
    // Its scripts: which they are is not known, one of its own name is likely.
    const auto known = state.programs.find(name);
    if (known == state.programs.end() || known->second == ProgramUse::There::no)
      state.programs[name] = ProgramUse::There::unknown;
    static const std::set<std::string, std::less<>> scripts = {"uv",     "poetry", "pipenv",  "pdm", "virtualenv",
                                                               "cmake",  "ninja",  "conda",   "tox", "pip-tools",
                                                               "gsutil", "awscli", "jupyter", "dvc", "gdown"};
    if (scripts.contains(name)) {
      const std::string folder =
          python.interpreter.prefix == "/usr" ? "/usr/local/bin" : python.interpreter.prefix + "/bin";
      BuildFile program;
      program.kind = BuildFile::Kind::program;
      program.evidence = running.evidence;
      state.files.put(folder + "/" + name, std::move(program));
      state.programs[name] = ProgramUse::There::yes;
    }
  }
  if (std::any_of(wanted.requests.begin(), wanted.requests.end(),
                  [](const PackageRequest& one) { return one.name == "pip"; }) &&
      running.command->certain) {
    const std::string folder =
        python.interpreter.prefix == "/usr" ? "/usr/local/bin" : python.interpreter.prefix + "/bin";
    add_pip(state, index, folder, true, running.evidence);
  }
}

bool BuildReader::still_managed(const BuildState& state, const Running& running, std::size_t python) const {
  const Interpreter& interpreter = state.pythons[python].interpreter;
  if (!interpreter.externally_managed) return false;
  // An EXTERNALLY-MANAGED file that a step took away.
  const std::string marker = interpreter.prefix + "/lib/python" + interpreter.minor.to_string() + "/EXTERNALLY-MANAGED";
  if (state.files.proven_absent(marker)) return false;
  if (const auto file = running.command->variable("PIP_CONFIG_FILE"); file && !file->empty()) return false;
  for (const char* file : {"/etc/pip.conf", "/root/.config/pip/pip.conf", "/root/.pip/pip.conf"}) {
    if (state.files.there(file)) return false;
  }
  return true;
}

void BuildReader::pip_command(Step& step, const Running& running, const PipCommand& pip) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  if (pip.action == PipCommand::Action::other && pip.subcommand.empty()) return;

  // Which interpreter.
  FoundPython python;
  if (!pip.uses_uv) {
    python = find_python(state, running, pip.python.empty() ? pip.pip : pip.python, pip.program);
    if (python.index && !pip.python.empty() && !state.pythons[*python.index].interpreter.has_pip &&
        !state.pythons[*python.index].interpreter.pip && state.pythons[*python.index].open.empty() &&
        state.pythons_open.empty()) {
      // "No module named pip": the step fails.
      python.interpreter.not_known = "it has no pip";
    }
  } else {
    std::string word = pip.python;
    const std::string environment = command.variable("VIRTUAL_ENV").value_or("");
    const std::string project = command.variable("UV_PROJECT_ENVIRONMENT").value_or("");
    const bool system = pip.system || is_true(command.variable("UV_SYSTEM_PYTHON").value_or(""));
    if (word.empty() && !command.variable("UV_PYTHON").value_or("").empty()) word = *command.variable("UV_PYTHON");
    if (word.empty() && system) word = "python3";
    if (word.empty() && !environment.empty())
      word = absolute_path("bin/python", absolute_path(environment, command.folder.value_or("/")));
    if (word.empty() && command.folder) {
      const std::string local = absolute_path(".venv/bin/python", *command.folder);
      if (state.files.there(local)) word = local;
    }
    if (!word.empty() && word.find('/') != std::string::npos &&
        state.files.there(absolute_path("bin/python", absolute_path(word, command.folder.value_or("/"))))) {
      word = absolute_path("bin/python", absolute_path(word, command.folder.value_or("/")));
    }
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos) word = "python" + word;
    if (word.empty()) {
      python.interpreter.program = pip.program;
      python.interpreter.not_known = "which environment uv installs into";
      if (const FoundPython found = find_python(state, running, "python3", pip.program);
          found.index && state.pythons[*found.index].interpreter.kind != Interpreter::Kind::system)
        python = found;
    } else {
      python = find_python(state, running, word, pip.program);
      if (!python.index && word == "python3" && python.interpreter.missing)
        python = find_python(state, running, "python", pip.program);
      // uv fetches an interpreter that is not there.
      if (python.interpreter.missing) {
        python.interpreter.missing = false;
        python.interpreter.not_known = "which interpreter uv takes";
      }
    }
  }
  if (pip.action == PipCommand::Action::uninstall) {
    if (!python.index || !command.certain) return;
    for (const Argument& one : pip.packages) {
      const std::string name = normalise_name(one.text);
      std::erase_if(state.pythons[*python.index].distributions,
                    [&](const BuildDistribution& old) { return old.distribution.name == name; });
      if (name == "pip") {
        // It takes its programs along.
        Interpreter& interpreter = state.pythons[*python.index].interpreter;
        interpreter.has_pip = false;
        for (const std::string& folder : {interpreter.prefix + "/bin", std::string("/usr/local/bin")}) {
          for (const std::string& program :
               {std::string("pip"), std::string("pip3"), "pip" + interpreter.minor.to_string()}) {
            const BuildFiles::Look look = state.files.look(folder + "/" + program);
            if (look.seen == BuildFiles::Seen::yes && look.file->runs_python == interpreter.path)
              state.files.remove(folder + "/" + program, running.evidence);
          }
        }
      }
    }
    return;
  }
  // pip config set global.break-system-packages true: as good as the file that it writes.
  if (pip.subcommand == "config" && pip.packages.size() > 1 && pip.packages[0].text == "set" &&
      pip.packages[1].text.ends_with(".break-system-packages")) {
    BuildFile file;
    file.evidence = running.evidence;
    state.files.put("/root/.config/pip/pip.conf", std::move(file));
  }
  if (pip.action == PipCommand::Action::other) return;

  Wanted wanted;
  wanted.indexes = pip.index_urls;
  wanted.find_links = pip.find_links;
  wanted.upgrade = pip.upgrade || pip.force_reinstall;
  wanted.no_deps = pip.no_deps;
  wanted.not_known = pip.not_known;
  for (const char* name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"}) {
    if (pip.uses_uv != std::string_view(name).starts_with("UV_")) continue;
    const auto value = command.variable(name);
    if (!value) continue;
    for (const std::string_view url : split(*value, ' ')) {
      if (!url.empty() && std::find(wanted.indexes.begin(), wanted.indexes.end(), url) == wanted.indexes.end())
        wanted.indexes.emplace_back(url);
    }
  }
  const auto place = [&](const Argument& one) {
    return running.at.place.file.empty() ? running.at.place : place_in(step, one.offset);
  };
  for (const Argument& one : pip.packages) add_argument(state, running, one.text, place(one), wanted);
  for (const Argument& one : pip.editables) add_argument(state, running, one.text, place(one), wanted);
  for (const Argument& one : pip.requirements_files) add_requirements_file(state, running, one.text, false, wanted);
  for (const Argument& one : pip.constraint_files) add_requirements_file(state, running, one.text, true, wanted);
  if (const auto constraint = command.variable("PIP_CONSTRAINT"); constraint && !constraint->empty() && !pip.uses_uv) {
    for (const std::string_view one : split(*constraint, ' ')) {
      if (!one.empty()) add_requirements_file(state, running, std::string(one), true, wanted);
    }
  }
  drop_by_marker(python, wanted);

  PipInstall record;
  record.at = running.at;
  record.interpreter = python.interpreter;
  record.requests = wanted.requests;
  record.constraints = wanted.constraints;
  record.indexes = wanted.indexes;
  record.find_links = wanted.find_links;
  record.uses_uv = pip.uses_uv;
  record.break_system_packages =
      pip.break_system_packages ||
      is_true(command.variable(pip.uses_uv ? "UV_BREAK_SYSTEM_PACKAGES" : "PIP_BREAK_SYSTEM_PACKAGES").value_or(""));
  if (python.index) record.interpreter.externally_managed = still_managed(state, running, *python.index);
  record.no_deps = pip.no_deps;
  record.elsewhere = pip.elsewhere();
  record.empty = pip.action == PipCommand::Action::install && pip.empty();
  record.not_known = wanted.not_known;
  if (build_->pip.size() < max_uses) build_->pip.push_back(std::move(record));
  for (const PackageRequest& request : wanted.requests) {
    const bool source = pip.no_binary || (request.requirement ? builds_cuda(request.name) : true) ||
                        request.written.starts_with("git+") || request.written.find("@ git+") != std::string::npos;
    if (source && build_->compiles.size() < max_uses) build_->compiles.push_back(running.at);
  }
  if (!wanted.not_known.empty() && build_->compiles.size() < max_uses) build_->compiles.push_back(running.at);

  if (pip.elsewhere()) {
    // pip install --target: a folder that PYTHONPATH may name.
    if (!pip.target.empty() || !pip.prefix.empty() || !pip.root.empty()) {
      for (BuildPython& one : state.pythons) {
        if (one.open.empty()) one.open = "what pip installs into a folder of its own";
      }
    }
    return;
  }
  if (!python.index) {
    const std::string reason =
        python.interpreter.missing
            ? fmt::format("what {} would install: it is not there", escape_for_display(pip.program))
            : fmt::format("into which Python {} installs", escape_for_display(pip.program));
    for (BuildPython& one : state.pythons) {
      if (one.open.empty()) one.open = reason;
    }
    if (!python.interpreter.missing && state.pythons_open.empty() && state.pythons.empty()) state.pythons_open = reason;
    return;
  }
  install(state, *python.index, wanted, running);
}

void BuildReader::project_install(Step& step, const Running& running, const ProjectInstall& project) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  if (project.subcommand != "install" && project.subcommand != "sync" && project.subcommand != "add") return;
  const auto lost = [&](const std::string& reason) {
    for (BuildPython& one : state.pythons) {
      if (one.open.empty()) one.open = reason;
    }
  };
  const std::string folder =
      !project.folder.empty() && project.folder.starts_with('/') ? project.folder : command.folder.value_or("");
  FoundPython python;
  python.interpreter.program = running.name;
  const std::string environment = command.variable("VIRTUAL_ENV").value_or("");
  if (project.tool == ProjectInstall::Tool::uv) {
    std::string place = command.variable("UV_PROJECT_ENVIRONMENT").value_or("");
    if (place.empty() && !folder.empty()) place = absolute_path(".venv", folder);
    if (place.empty()) return lost("which environment uv installs into");
    place = absolute_path(place, folder.empty() ? "/" : folder);
    const FoundProgram there = find_program(state, place + "/bin/python");
    if (const auto index = python_of(state, there)) {
      python = describe(state, *index, "uv");
    } else {
      const auto base = find_python(state, running, "python3", "uv");
      python = describe(state, make_environment(state, place, base.index, nullptr, running.evidence), "uv");
    }
  } else if ((project.tool == ProjectInstall::Tool::poetry &&
              (state.poetry_without_environment ||
               lower(command.variable("POETRY_VIRTUALENVS_CREATE").value_or("")) == "false")) ||
             project.system) {
    python = find_python(state, running, "python", running.name);
    if (!python.index) python = find_python(state, running, "python3", running.name);
  } else if (!environment.empty()) {
    python = find_python(state, running, absolute_path("bin/python", environment), running.name);
  }
  Wanted wanted;
  wanted.not_known = project.not_known;
  if (folder.empty()) {
    wanted.not_known = "in which folder the project is";
  } else {
    static constexpr const char* locks[] = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock"};
    const std::size_t tool = project.tool == ProjectInstall::Tool::uv       ? 0
                             : project.tool == ProjectInstall::Tool::poetry ? 1
                             : project.tool == ProjectInstall::Tool::pipenv ? 2
                                                                            : 3;
    const std::string path = absolute_path(locks[tool], folder);
    const auto text = file_text(state, path);
    const auto kind = lock_file_kind(locks[tool]);
    std::string why;
    const auto lock = text && kind ? read_lock_file(*kind, *text, locks[tool], why) : std::nullopt;
    if (lock) {
      for (const LockedPackage& package : lock->packages) {
        if (package.local || package.development || wanted.requests.size() >= max_distributions) continue;
        // Which extras and groups a package belongs to, the lock does not always say.
        auto requirement = Requirement::parse(package.name + "==" + package.version +
                                              (package.marker.empty() ? "" : " ; " + package.marker));
        if (!requirement) requirement = Requirement::parse(package.name + "==" + package.version);
        wanted.requests.push_back(
            request_of(package.name + "==" + package.version, std::move(requirement), package.place));
      }
    } else {
      wanted.not_known = text ? why : fmt::format("{} is not beside the Dockerfile", locks[tool]);
    }
  }
  drop_by_marker(python, wanted);
  if (!python.index) return lost(fmt::format("into which Python {} installs", escape_for_display(running.name)));
  install(state, *python.index, wanted, running);
}

}  // namespace imgforge
