// Conda: its installers, its environments and what it installs into them.
#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/build_requests.hpp"
#include "facts/commands.hpp"

namespace imgforge {

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

void BuildReader::conda_packages(BuildState& state, const std::string& prefix, const std::vector<CondaSpec>& packages,
                                 bool complete, const Running& running) {
  std::optional<std::size_t> index;
  for (std::size_t i = 0; i < state.pythons.size(); ++i) {
    if (state.pythons[i].interpreter.prefix == prefix) index = i;
  }
  const CondaSpec* asked = nullptr;
  for (const CondaSpec& spec : packages) {
    if (spec.name == "python") asked = &spec;
  }
  // The interpreter: that which is asked for; without a version any.
  if (!index || (asked != nullptr && !asked->version.empty())) {
    std::optional<PythonMinor> minor;
    if (asked != nullptr) {
      const std::string pinned = asked->pinned();
      if (const auto version = Version::parse(pinned); version && version->release().size() >= 2)
        minor = PythonMinor::of(*version);
    }
    BuildPython python;
    if (index) python = state.pythons[*index];
    Interpreter& interpreter = python.interpreter;
    interpreter.kind = Interpreter::Kind::conda;
    interpreter.prefix = prefix;
    interpreter.has_venv = interpreter.has_ensurepip = true;
    interpreter.evidence = {running.evidence};
    interpreter.version.reset();
    python.in_base = false;
    python.minor_known = minor.has_value();
    if (minor) {
      interpreter.minor = *minor;
      interpreter.path = prefix + "/bin/python" + minor->to_string();
      interpreter.site_packages = {prefix + "/lib/python" + minor->to_string() + "/site-packages"};
    } else {
      python.not_known = fmt::format("which Python conda puts into {}", escape_for_display(prefix));
      interpreter.path = prefix + "/bin/python";
      interpreter.site_packages = {prefix + "/lib/site-packages"};
    }
    for (BuildDistribution& one : python.distributions) one.distribution.site = interpreter.site_packages.front();
    if (index) {
      state.files.remove(state.pythons[*index].interpreter.path, running.evidence);
      state.pythons.erase(state.pythons.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    if (python.minor_known || asked != nullptr || !complete || !packages.empty()) {
      if (!python.minor_known) interpreter.path = prefix + "/bin/python";
      index = add_python(state, std::move(python), {"python", "python3"}, running.evidence);
      add_pip(state, *index, prefix + "/bin", true, running.evidence);
    }
  }
  if (!index) return;
  BuildPython& python = state.pythons[*index];
  if (!complete && python.open.empty()) python.open = "what conda installs";
  Wanted wanted;
  wanted.by = BuildDistribution::By::conda;
  for (const CondaSpec& spec : packages) {
    const std::string pinned = spec.pinned();
    const auto version = Version::parse(pinned);
    if (spec.name == "python" || spec.name == "pip") continue;
    if (spec.name == "cudatoolkit" || spec.name == "cuda-toolkit" || spec.name == "cuda-runtime" ||
        spec.name == "pytorch-cuda" || spec.name == "cuda-version" || spec.name == "cuda") {
      CudaToolkit toolkit;
      toolkit.from = CudaToolkit::From::conda;
      toolkit.version = version;
      toolkit.folder = prefix + "/lib";
      toolkit.evidence = {running.evidence};
      state.cuda.push_back(std::move(toolkit));
      continue;
    }
    if (spec.name == "cudnn") {
      Cudnn cudnn;
      cudnn.from = CudaToolkit::From::conda;
      if (version) {
        cudnn.major = static_cast<unsigned>(version->major());
        if (version->release().size() > 1) cudnn.version = version;
        cudnn.folder = prefix + "/lib";
        cudnn.evidence = {running.evidence};
        state.cudnn.push_back(std::move(cudnn));
      } else if (state.cuda_open.empty()) {
        state.cuda_open = "which cuDNN conda brings";
      }
      continue;
    }
    std::string name = spec.name;
    if (name == "pytorch" || name == "pytorch-gpu" || name == "pytorch-cpu") name = "torch";
    if (name == "tensorflow-gpu" || name == "tensorflow-base") name = "tensorflow";
    std::string text = name;
    if (version) {
      text += "==" + version->to_string();
    } else if (!spec.version.empty() && spec.version.find_first_of("<>!") != std::string::npos) {
      text += spec.version;
    }
    auto requirement = Requirement::parse(text);
    if (!requirement) requirement = Requirement::parse(name);
    if (!requirement) continue;
    wanted.requests.push_back(request_of(spec.written, std::move(requirement), running.at.place));
  }
  install(state, *index, wanted, running);
}

void BuildReader::conda_command(Step& step, const Running& running, const CondaCommand& conda) {
  BuildState& state = *step.state;
  using Action = CondaCommand::Action;
  if (conda.action == Action::other || conda.action == Action::clean || conda.action == Action::config) return;
  const RunCommand& command = *running.command;
  std::string root = conda_prefix(state, running);
  std::string prefix = conda.prefix.empty() ? std::string() : absolute_path(conda.prefix, command.folder.value_or("/"));
  std::vector<CondaSpec> packages = conda.packages;
  std::string not_known = conda.not_known;
  std::string environment = conda.environment;
  std::vector<std::string> pip_lines;
  std::vector<Place> pip_places;
  for (const Argument& file : conda.files) {
    const bool yaml = file.text.ends_with(".yml") || file.text.ends_with(".yaml");
    const auto text = file.text.starts_with('/') || command.folder
                          ? file_text(state, absolute_path(file.text, command.folder.value_or("/")))
                          : std::nullopt;
    if (!text) {
      not_known = fmt::format("what {} holds", escape_for_display(file.text));
      continue;
    }
    if (!yaml) {
      for (const std::string_view line : lines(*text)) {
        const std::string_view plain = trim(line.substr(0, line.find('#')));
        if (plain.empty() || plain.starts_with('@')) continue;
        if (auto spec = parse_conda_spec(plain)) packages.push_back(std::move(*spec));
        if (packages.size() > 10'000) break;
      }
      continue;
    }
    std::string why;
    const auto read = read_conda_environment(*text, std::string(base_name(file.text)), why);
    if (!read) {
      not_known = why;
      continue;
    }
    if (environment.empty() && prefix.empty()) environment = read->name;
    if (environment.empty() && prefix.empty()) prefix = read->prefix;
    for (const auto& package : read->packages) packages.push_back(package.spec);
    for (const auto& line : read->pip) {
      pip_lines.push_back(line.text);
      pip_places.push_back(line.place);
    }
    if (!read->not_known.empty()) not_known = read->not_known.front();
  }
  if (prefix.empty() && !environment.empty() && environment != "base" && !root.empty())
    prefix = root + "/envs/" + environment;
  if (prefix.empty() && (environment.empty() || environment == "base")) {
    prefix = command.variable("CONDA_PREFIX").value_or("");
    const std::string active = command.variable("CONDA_DEFAULT_ENV").value_or("");
    if (prefix.empty() && !active.empty() && active != "base" && !root.empty()) prefix = root + "/envs/" + active;
    if (prefix.empty()) prefix = root;
  }

  CondaInstall record;
  record.at = running.at;
  record.program = conda.program;
  record.prefix = prefix;
  record.not_known = not_known;
  record.empty = conda.empty() && conda.action != Action::create && conda.action != Action::update;
  for (const CondaSpec& spec : packages) {
    PackageRequest request;
    request.written = spec.written;
    request.name = spec.name;
    request.version = spec.version;
    request.place = place_in(step, spec.offset);
    record.packages.push_back(std::move(request));
  }
  const bool installs = conda.action == Action::create || conda.action == Action::install ||
                        conda.action == Action::update || conda.action == Action::environment_create ||
                        conda.action == Action::environment_update;
  if (!installs) return;
  if (build_->conda.size() < max_uses) build_->conda.push_back(std::move(record));
  if (conda.dry_run) return;
  for (const CondaSpec& spec : packages) {
    if (!state.programs.contains(spec.name) || state.programs[spec.name] == ProgramUse::There::no)
      state.programs[spec.name] = ProgramUse::There::unknown;
  }
  if (prefix.empty() || !command.certain) {
    const std::string reason = "into which environment conda installs";
    if (state.pythons_open.empty()) state.pythons_open = reason;
    for (BuildPython& one : state.pythons) {
      if (one.open.empty()) one.open = reason;
    }
    return;
  }
  state.files.mark(prefix, BuildFiles::Mark::base, "which files the environment holds", running.evidence);
  conda_packages(state, prefix, packages, not_known.empty() && conda.urls.empty() && conda.clone.empty(), running);
  if (pip_lines.empty()) return;
  for (std::size_t i = 0; i < state.pythons.size(); ++i) {
    if (state.pythons[i].interpreter.prefix != prefix) continue;
    Wanted wanted;
    for (std::size_t k = 0; k < pip_lines.size(); ++k) {
      if (pip_lines[k].starts_with("-r ")) {
        add_requirements_file(state, running, std::string(trim(std::string_view(pip_lines[k]).substr(3))), false,
                              wanted);
      } else if (pip_lines[k].starts_with("--")) {
        const std::size_t sign = pip_lines[k].find_first_of(" =");
        if (sign != std::string::npos && pip_lines[k].find("index-url") != std::string::npos)
          wanted.indexes.emplace_back(trim(std::string_view(pip_lines[k]).substr(sign + 1)));
      } else if (auto requirement = Requirement::parse(pip_lines[k])) {
        wanted.requests.push_back(request_of(pip_lines[k], std::move(requirement), pip_places[k]));
      } else {
        add_argument(state, running, pip_lines[k], pip_places[k], wanted);
      }
    }
    const FoundPython python = describe(state, i, "pip");
    drop_by_marker(python, wanted);
    PipInstall pip;
    pip.at = running.at;
    pip.interpreter = python.interpreter;
    pip.requests = wanted.requests;
    pip.indexes = wanted.indexes;
    pip.not_known = wanted.not_known;
    if (build_->pip.size() < max_uses) build_->pip.push_back(std::move(pip));
    install(state, i, wanted, running);
    return;
  }
}

void BuildReader::conda_installer(Step& step, const Running& running, const CondaInstaller& installer) {
  BuildState& state = *step.state;
  if (!running.command->certain || (installer.prefix.empty() && !installer.not_known.empty())) {
    if (state.pythons_open.empty()) state.pythons_open = "where conda is installed";
    return;
  }
  std::string prefix = installer.prefix;
  if (prefix.empty()) {
    const std::string name = lower(installer.script);
    prefix = name.find("miniforge") != std::string::npos   ? "/root/miniforge3"
             : name.find("miniconda") != std::string::npos ? "/root/miniconda3"
                                                           : "/root/anaconda3";
  }
  prefix = absolute_path(prefix, running.command->folder.value_or("/"));
  state.files.mark(prefix, BuildFiles::Mark::base, "which files conda's folder holds", running.evidence);
  BuildPython python;
  python.minor_known = false;
  python.not_known = fmt::format("which Python {} has", escape_for_display(installer.script));
  // Miniconda3-py311_23.5.2-0-Linux-x86_64.sh says which.
  std::string script = installer.script;
  if (const auto origin = state.downloads.find(absolute_path(script, running.command->folder.value_or("/")));
      origin != state.downloads.end())
    script = origin->second;
  Interpreter& interpreter = python.interpreter;
  if (const std::size_t at = script.find("-py3"); at != std::string::npos) {
    const std::size_t end = script.find_first_not_of("0123456789", at + 4);
    if (end != std::string::npos && end > at + 4) {
      if (const auto minor = PythonMinor::parse("3." + script.substr(at + 4, end - at - 4))) {
        interpreter.minor = *minor;
        python.minor_known = true;
      }
    }
  }
  interpreter.kind = Interpreter::Kind::conda;
  interpreter.prefix = prefix;
  interpreter.has_venv = interpreter.has_ensurepip = true;
  interpreter.path =
      python.minor_known ? prefix + "/bin/python" + interpreter.minor.to_string() : prefix + "/bin/python";
  interpreter.site_packages = {
      prefix + (python.minor_known ? "/lib/python" + interpreter.minor.to_string() : std::string("/lib")) +
      "/site-packages"};
  const std::size_t index = add_python(state, std::move(python), {"python", "python3"}, running.evidence);
  add_pip(state, index, prefix + "/bin", true, running.evidence);
  state.files.put(prefix + "/bin/conda", program_file(running.evidence));
  if (lower(script).find("forge") != std::string::npos)
    state.files.put(prefix + "/bin/mamba", program_file(running.evidence));
}

}  // namespace imgforge
