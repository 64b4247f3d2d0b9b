// Interpreters as steps find and make them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

/// Where pip that an interpreter installs for itself puts its programs: Debian's goes to /usr/local.
std::string pip_folder(const Interpreter& interpreter) {
  return interpreter.prefix == "/usr" ? "/usr/local/bin" : interpreter.prefix + "/bin";
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
      add_pip(state, *found.index, pip_folder(state.pythons[*found.index].interpreter), false, running.evidence);
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
      add_pip(state, *found.index, pip_folder(state.pythons[*found.index].interpreter), true, running.evidence);
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
        add_pip(state, *found.index, pip_folder(state.pythons[*found.index].interpreter), true, running.evidence);
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

}  // namespace imgforge
