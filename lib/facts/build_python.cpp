// Interpreters as steps find and make them, and what pip and its kin install into them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_uses = 5'000;
constexpr std::size_t max_distributions = 20'000;

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

/// What pip puts another version in the place of: a package of the base image that what is installed now shuts out. Which
/// version it takes only the run tells.
void replace_dependencies(const Knowledge& knowledge, BuildPython& python, std::string_view name, const Version& version,
                          const Evidence& evidence) {
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

/// "2.66.0" of "apache_beam-2.66.0-cp311-cp311-manylinux_2_17_x86_64.whl".
std::optional<Requirement> wheel_requirement(std::string_view path) {
  std::string_view name = path.substr(0, path.find_first_of("?#"));
  name = name.substr(name.rfind('/') + 1);
  std::string_view rest;
  if (name.ends_with(".whl")) {
    const std::size_t dash = name.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    rest = name.substr(dash + 1);
    const std::size_t end = rest.find('-');
    if (end == std::string_view::npos) return std::nullopt;
    std::string version(rest.substr(0, end));
    const std::size_t plus = version.find("%2B");
    if (plus != std::string::npos) version.replace(plus, 3, "+");
    return Requirement::parse(std::string(name.substr(0, dash)) + "==" + version);
  }
  if (name.ends_with(".tar.gz")) {
    name.remove_suffix(7);
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    return Requirement::parse(std::string(name.substr(0, dash)) + "==" + std::string(name.substr(dash + 1)));
  }
  return std::nullopt;
}

PackageRequest request_of(const std::string& written, std::optional<Requirement> requirement, const Place& place) {
  PackageRequest request;
  request.written = written;
  request.place = place;
  if (requirement) request.name = requirement->normalised();
  request.requirement = std::move(requirement);
  return request;
}

}  // namespace

BuildReader::FoundPython BuildReader::describe(const BuildState& state, std::size_t index,
                                               const std::string& program) const {
  const BuildPython& python = state.pythons[index];
  FoundPython found;
  found.index = index;
  found.interpreter.program = program;
  if (python.minor_known) {
    found.interpreter.minor = python.interpreter.minor;
  } else {
    found.interpreter.not_known = python.not_known;
  }
  found.interpreter.version = python.interpreter.version;
  found.interpreter.kind = python.interpreter.kind;
  found.interpreter.path = python.interpreter.path;
  found.interpreter.externally_managed = python.interpreter.externally_managed;
  return found;
}

std::string BuildReader::conda_prefix(const BuildState& state, const Running& running) const {
  for (const BuildPython& python : state.pythons) {
    const std::string& prefix = python.interpreter.prefix;
    if (python.interpreter.kind == Interpreter::Kind::conda && prefix.find("/envs/") == std::string::npos)
      return prefix;
  }
  for (const char* name : {"CONDA_DIR", "MAMBA_ROOT_PREFIX", "CONDA_ROOT"}) {
    if (const auto value = running.command->variable(name); value && value->starts_with('/')) return *value;
  }
  const FoundProgram conda = find_program(state, "conda", running.path);
  if (conda.seen == BuildFiles::Seen::yes) {
    for (const char* end : {"/bin/conda", "/condabin/conda"}) {
      if (conda.canonical.ends_with(end))
        return conda.canonical.substr(0, conda.canonical.size() - std::string_view(end).size());
    }
  }
  return {};
}

BuildReader::FoundPython BuildReader::find_python(const BuildState& state, const Running& running,
                                                  const std::string& word, const std::string& program) const {
  FoundPython none;
  none.interpreter.program = program;
  std::string wanted = word;
  // "conda run -n NAME": the environment's bin comes first.
  std::optional<std::string> path = running.path;
  if (!path) {
    std::string prefix = running.command->variable("CONDA_PREFIX").value_or("");
    const std::string name = running.command->variable("CONDA_DEFAULT_ENV").value_or("");
    if (prefix.empty() && !name.empty()) {
      const std::string root = conda_prefix(state, running);
      if (!root.empty()) prefix = name == "base" ? root : name.starts_with('/') ? name : root + "/envs/" + name;
    }
    if (!prefix.empty()) path = prefix + "/bin";
  }
  if (wanted.find('/') != std::string::npos && !wanted.starts_with('/')) {
    if (!running.command->folder) {
      none.interpreter.not_known = "the folder from which " + escape_for_display(wanted) + " is run is not known";
      return none;
    }
    wanted = absolute_path(wanted, *running.command->folder);
  }
  if (wanted.find('/') == std::string::npos && !path) {
    none.interpreter.not_known = "the PATH is not known";
    return none;
  }
  const FoundProgram found = find_program(state, wanted, path);
  if (const auto index = python_of(state, found)) return describe(state, *index, program);
  if (found.seen == BuildFiles::Seen::no) {
    // A program that pip or a package may have brought is not proven to be missing.
    const auto known = state.programs.find(wanted);
    if (known != state.programs.end() && known->second == ProgramUse::There::yes) {
      none.interpreter.not_known = fmt::format("where {} is", escape_for_display(wanted));
    } else if (!state.pythons_open.empty()) {
      none.interpreter.not_known = state.pythons_open;
    } else {
      none.interpreter.missing = true;
      if (const auto minor = minor_of_program(base_name(wanted))) none.interpreter.minor = minor;
    }
    return none;
  }
  none.interpreter.not_known =
      found.reason.empty() ? fmt::format("which Python {} is", escape_for_display(wanted)) : found.reason;
  if (const auto minor = minor_of_program(base_name(wanted))) none.interpreter.minor = minor;
  return none;
}

void BuildReader::add_argument(const BuildState& state, const Running& running, const std::string& text,
                               const Place& place, Wanted& wanted) const {
  const bool url = text.find("://") != std::string::npos;
  const bool named_url = url && text.find('@') != std::string::npos && text.find('@') < text.find("://");
  const std::string plain = text.substr(0, text.find('['));
  const bool path = !url && (text.starts_with('.') || text.starts_with('/') || text.ends_with(".whl") ||
                             text.ends_with(".tar.gz") || text.ends_with(".zip"));
  if (path) {
    if (auto wheel = wheel_requirement(text)) {
      wanted.requests.push_back(request_of(text, std::move(wheel), place));
      return;
    }
    const std::size_t bracket = text.find('[');
    std::vector<std::string> extras;
    if (bracket != std::string::npos) {
      for (const std::string_view extra :
           split(std::string_view(text).substr(bracket + 1, text.find(']') - bracket - 1), ','))
        extras.emplace_back(trim(extra));
    }
    wanted.requests.push_back(request_of(text, std::nullopt, place));
    if (!plain.starts_with('/') && !running.command->folder) {
      wanted.not_known = fmt::format("where {} is", escape_for_display(text));
      return;
    }
    add_project(state, absolute_path(plain, running.command->folder.value_or("/")), extras, wanted);
    return;
  }
  if (url && !named_url) {
    auto wheel = wheel_requirement(text);
    if (!wheel) wanted.not_known = fmt::format("what {} asks for", escape_for_display(text.substr(0, 120)));
    wanted.requests.push_back(request_of(text, std::move(wheel), place));
    return;
  }
  auto requirement = Requirement::parse(text);
  if (!requirement) {
    wanted.not_known = fmt::format("what \"{}\" asks for", escape_for_display(text.substr(0, 120)));
    wanted.requests.push_back(request_of(text, std::nullopt, place));
    return;
  }
  if (named_url) {
    if (auto wheel = wheel_requirement(requirement->url()); wheel && wheel->normalised() == requirement->normalised())
      requirement = std::move(wheel);
  }
  wanted.requests.push_back(request_of(text, std::move(requirement), place));
}

void BuildReader::add_project(const BuildState& state, const std::string& folder,
                              const std::vector<std::string>& extras, Wanted& wanted) const {
  const std::string file = absolute_path("pyproject.toml", folder);
  const auto text = file_text(state, file);
  if (!text) {
    const bool no_file = state.files.look(file).seen == BuildFiles::Seen::no;
    // Without pyproject.toml it is setup.py, which only the run tells.
    wanted.not_known = fmt::format("what the project in {} needs{}", escape_for_display(folder),
                                   no_file ? " (it has no pyproject.toml)" : "");
    return;
  }
  std::string why;
  const BuildFiles::Look look = state.files.look(file);
  const auto project = read_pyproject(
      *text, look.file->evidence.place.file.empty() ? "pyproject.toml" : look.file->evidence.place.file, why);
  if (!project || project->dynamic_dependencies) {
    wanted.not_known =
        project ? fmt::format("the build of the project in {} tells what it needs", escape_for_display(folder)) : why;
    if (!project) return;
  }
  const auto add = [&](const std::vector<ProjectRequirement>& list) {
    for (const ProjectRequirement& one : list) {
      if (wanted.requests.size() < max_distributions)
        wanted.requests.push_back(request_of(one.written, one.requirement, one.place));
    }
  };
  add(project->dependencies);
  for (const std::string& extra : extras) {
    if (const auto found = project->extras.find(extra); found != project->extras.end()) add(found->second);
  }
}

void BuildReader::add_requirements_file(const BuildState& state, const Running& running, const std::string& path,
                                        bool constraints, Wanted& wanted) const {
  if (path.find("://") != std::string::npos) {
    if (!constraints) wanted.not_known = fmt::format("what {} asks for", escape_for_display(path.substr(0, 200)));
    return;
  }
  if (!path.starts_with('/') && !running.command->folder) {
    wanted.not_known = fmt::format("where {} is", escape_for_display(path));
    return;
  }
  // Places name the file beside the Dockerfile where it came from there.
  std::map<std::string, std::string, std::less<>> names;
  const IncludedFile file = [&](const std::string& name) -> std::optional<std::string> {
    const std::string at = absolute_path(name, running.command->folder.value_or("/"));
    auto text = file_text(state, at);
    if (!text) return std::nullopt;
    const BuildFiles::Look look = state.files.look(at);
    std::string shown = look.file->evidence.place.file;
    if (shown == dockerfile_.file || shown.empty()) {
      // Copied file by file: its name in the context is the part of the path that is there.
      std::string_view rest = at;
      while (!rest.empty()) {
        rest.remove_prefix(std::min(rest.find('/') + 1, rest.size()));
        if (context_(std::string(rest)) == text) {
          shown = std::string(rest);
          break;
        }
        if (rest.find('/') == std::string_view::npos) break;
      }
    }
    if (!shown.empty() && shown != dockerfile_.file) names[name] = shown;
    return text;
  };
  const RequirementVariable variable = [&](std::string_view name) { return running.command->variable(name); };
  const RequirementsFile read = read_requirements_file(path, file, variable, constraints);
  const auto place_of = [&](Place place) {
    if (const auto known = names.find(place.file); known != names.end()) place.file = known->second;
    return place;
  };
  for (const RequirementLine& line : read.requirements) {
    if (wanted.requests.size() >= max_distributions) break;
    if (!line.requirement && !line.location.empty()) {
      Running inner = running;
      add_argument(state, inner, line.location, place_of(line.place), wanted);
    } else {
      wanted.requests.push_back(request_of(line.written, line.requirement, place_of(line.place)));
    }
  }
  for (const RequirementLine& line : read.constraints) {
    if (wanted.constraints.size() < max_distributions)
      wanted.constraints.push_back(request_of(line.written, line.requirement, place_of(line.place)));
  }
  wanted.indexes.insert(wanted.indexes.end(), read.index_urls.begin(), read.index_urls.end());
  wanted.find_links.insert(wanted.find_links.end(), read.find_links.begin(), read.find_links.end());
  if (!read.not_known.empty() && !constraints) wanted.not_known = read.not_known.front();
}

void BuildReader::drop_by_marker(const FoundPython& python, Wanted& wanted) const {
  const std::string machine = options_.architecture == "arm64" ? "aarch64" : "x86_64";
  const auto drop = [&](std::vector<PackageRequest>& list) {
    if (!python.interpreter.minor) return;
    // Of the interpreter the minor may be all that is known: markers rarely ask for more.
    const Version version =
        python.interpreter.version.value_or(*Version::parse(python.interpreter.minor->to_string() + ".99"));
    const MarkerEnvironment environment = linux_markers(version, machine);
    std::erase_if(list, [&](const PackageRequest& one) {
      return one.requirement && one.requirement->has_marker() && !one.requirement->applies(environment);
    });
  };
  drop(wanted.requests);
  drop(wanted.constraints);
}

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

void BuildReader::note_get_pip(const BuildState& state, const Running& running, const PythonCommand& python,
                               const FoundPython& found) {
  // It installs pip with pip: a Python that is externally managed refuses that, too.
  if (!found.index || python.break_system_packages || !still_managed(state, running, *found.index) ||
      build_->pip.size() >= max_uses)
    return;
  PipInstall record;
  record.at = running.at;
  record.interpreter = found.interpreter;
  record.interpreter.program = "get-pip.py";
  build_->pip.push_back(std::move(record));
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
          for (const std::string& program : {std::string("pip"), std::string("pip3"), "pip" + interpreter.minor.to_string()}) {
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

std::size_t BuildReader::make_environment(BuildState& state, const std::string& folder,
                                          const std::optional<std::size_t>& base, const PythonMinor* minor,
                                          const Evidence& evidence) {
  BuildPython python;
  Interpreter& interpreter = python.interpreter;
  interpreter.kind = Interpreter::Kind::venv;
  interpreter.prefix = folder;
  interpreter.path = folder + "/bin/python";
  interpreter.has_venv = interpreter.has_ensurepip = true;
  interpreter.evidence = {evidence};
  if (base) {
    const BuildPython& from = state.pythons[*base];
    interpreter.minor = from.interpreter.minor;
    interpreter.version = from.interpreter.version;
    interpreter.has_venv = from.interpreter.has_venv;
    interpreter.has_ensurepip = from.interpreter.has_ensurepip;
    python.minor_known = from.minor_known;
    python.not_known = from.not_known;
    python.base_path = from.interpreter.path;
    interpreter.home = from.interpreter.path.substr(0, from.interpreter.path.rfind('/'));
  } else if (minor != nullptr) {
    interpreter.minor = *minor;
  } else {
    python.minor_known = false;
    python.not_known = fmt::format("with which Python {} is made", escape_for_display(folder));
  }
  const std::string library =
      python.minor_known ? "/lib/python" + interpreter.minor.to_string() : std::string("/lib/python3");
  interpreter.site_packages = {folder + library + "/site-packages"};
  std::vector<std::string> names = {"python3"};
  if (python.minor_known) names.push_back("python" + interpreter.minor.to_string());
  const std::size_t index = add_python(state, std::move(python), names, evidence);
  BuildFile activate;
  activate.evidence = evidence;
  activate.executable = false;
  state.files.put(folder + "/bin/activate", std::move(activate));
  return index;
}

void BuildReader::python_command(Step& step, const Running& running, const PythonCommand& python) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  using Action = PythonCommand::Action;
  const std::string word = !python.python.empty() ? python.python : python.program;
  switch (python.action) {
    case Action::environment: {
      if (!python.folder.starts_with('/')) {
        if (state.pythons_open.empty()) state.pythons_open = "where an environment is made";
        return;
      }
      std::optional<std::size_t> base;
      std::optional<PythonMinor> minor;
      std::string by = word;
      const bool tool = base_name(by) == "virtualenv" || base_name(by) == "uv";
      if (tool) by = "python3";
      if (by.find_first_not_of("0123456789.") == std::string::npos) {
        minor = PythonMinor::parse(by);
        by = "python" + by;
      }
      const FoundPython found = find_python(state, running, by, python.program);
      base = found.index;
      if (!base && tool) base = find_python(state, running, "python", python.program).index;
      if (!minor) minor = found.interpreter.minor;
      if (found.interpreter.missing && !tool && base_name(python.program) != "uv") return;  // the step fails
      // A venv of a venv stands on the same base.
      std::size_t hops = 0;
      while (base && state.pythons[*base].interpreter.kind == Interpreter::Kind::venv && hops++ < 8) {
        const auto above = python_at(state, state.pythons[*base].base_path);
        if (!above) break;
        base = above;
      }
      const std::size_t index =
          make_environment(state, python.folder, base, minor ? &*minor : nullptr, running.evidence);
      BuildPython& made = state.pythons[index];
      made.system_site_packages = python.system_site_packages;
      if (python.system_site_packages && base) {
        const auto& sites = state.pythons[*base].interpreter.site_packages;
        made.interpreter.site_packages.insert(made.interpreter.site_packages.end(), sites.begin(), sites.end());
      }
      if (!python.without_pip) add_pip(state, index, python.folder + "/bin", true, running.evidence);
      if (!command.certain && state.pythons_open.empty()) state.pythons_open = "whether an environment is made";
      return;
    }
    case Action::ensurepip: {
      const FoundPython found = find_python(state, running, word, python.program);
      if (!found.index) return;
      const Interpreter& interpreter = state.pythons[*found.index].interpreter;
      add_pip(state, *found.index, interpreter.prefix == "/usr" ? "/usr/local/bin" : interpreter.prefix + "/bin", false,
              running.evidence);
      return;
    }
    case Action::get_pip: {
      const FoundPython found = find_python(state, running, word, python.program);
      note_get_pip(state, running, python, found);
      // The script that was fetched last under that name.
      const std::string path = command.folder || python.what.text.starts_with('/')
                                   ? absolute_path(python.what.text, command.folder.value_or("/"))
                                   : "";
      const auto origin = state.downloads.find(path);
      for (auto script = build_->scripts.rbegin(); script != build_->scripts.rend(); ++script) {
        if (script->run_by || (origin != state.downloads.end() && script->url != origin->second)) continue;
        script->run_by = found.interpreter;
        break;
      }
      if (!found.index) return;
      const Interpreter& interpreter = state.pythons[*found.index].interpreter;
      add_pip(state, *found.index, interpreter.prefix == "/usr" ? "/usr/local/bin" : interpreter.prefix + "/bin", true,
              running.evidence);
      return;
    }
    case Action::standard_input: {
      const FoundPython found = find_python(state, running, word, python.program);
      for (std::size_t i = 0; i < running.position; ++i) {
        const RunCommand& before = step.run.commands[i];
        if (before.piped_into != running.position) continue;
        const auto fetched = read_download(before);
        if (!fetched || fetched->items.empty() ||
            fetched->items.front().url.text.find("get-pip") == std::string::npos || !found.index)
          continue;
        note_get_pip(state, running, python, found);
        const Interpreter& interpreter = state.pythons[*found.index].interpreter;
        add_pip(state, *found.index, interpreter.prefix == "/usr" ? "/usr/local/bin" : interpreter.prefix + "/bin",
                true, running.evidence);
        return;
      }
      return;
    }
    case Action::interpreter: {
      // uv python install: below a folder of its own, and ~/.local/bin/python3.11; pyenv: below its root.
      if (state.pythons_open.empty())
        state.pythons_open =
            fmt::format("where {} puts the interpreters that it installs", escape_for_display(python.program));
      return;
    }
    case Action::script: {
      const std::string script = python.what.text;
      if (script.ends_with("setup.py")) {
        const FoundPython found = find_python(state, running, word, python.program);
        const bool installs = std::any_of(python.arguments.begin(), python.arguments.end(), [](const Argument& one) {
          return one.text == "install" || one.text == "develop";
        });
        if (build_->compiles.size() < max_uses) build_->compiles.push_back(running.at);
        if (!installs) return;
        if (found.index) {
          if (state.pythons[*found.index].open.empty()) state.pythons[*found.index].open = "what setup.py installs";
        }
        return;
      }
      // A script of the author's may install what it likes; that it does is rare, and pip would be its means.
      const auto text = script.starts_with('/') || command.folder
                            ? file_text(state, absolute_path(script, command.folder.value_or("/")))
                            : std::nullopt;
      if (!text || text->find("pip") != std::string::npos || text->find("subprocess") != std::string::npos) {
        for (BuildPython& one : state.pythons) {
          if (one.open.empty()) one.open = fmt::format("what {} installs", escape_for_display(script));
        }
      }
      return;
    }
    case Action::text:
    case Action::module:
    case Action::version: return;
  }
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
