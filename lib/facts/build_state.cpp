#include "facts/build_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/commands.hpp"

namespace imgforge {

const BuildVariable* BuildState::variable(std::string_view name) const {
  for (const auto& [key, value] : env) {
    if (key == name) return &value;
  }
  return nullptr;
}

void BuildState::set_variable(const std::string& name, BuildVariable value) {
  for (auto& [key, old] : env) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  env.emplace_back(name, std::move(value));
}

std::optional<std::string> BuildState::search_path() const {
  if (const BuildVariable* path = variable("PATH")) return path->value;
  if (!env_open.empty()) return std::nullopt;
  return std::string(default_path);
}

FoundProgram find_program(const BuildState& state, std::string_view name, const std::optional<std::string>& path) {
  FoundProgram found;
  const auto at = [&](const std::string& file) {
    const BuildFiles::Look link = state.files.look(file, false);
    const BuildFiles::Look look = state.files.look(file);
    if (link.seen != BuildFiles::Seen::no && look.seen == BuildFiles::Seen::unknown) {
      if (found.reason.empty()) found.reason = look.reason;
      return false;
    }
    if (link.seen != BuildFiles::Seen::yes) return false;
    if (look.seen == BuildFiles::Seen::no) {
      if (!found.dangles) {
        found.dangles = true;
        found.found_at = file;
      }
      return false;
    }
    if (look.file->kind == BuildFile::Kind::folder || !look.file->executable) return false;
    found.seen = BuildFiles::Seen::yes;
    found.dangles = false;
    found.found_at = file;
    found.canonical = look.canonical;
    found.file = look.file;
    return true;
  };
  if (name.find('/') != std::string_view::npos) {
    if (!name.starts_with('/') && !state.workdir) {
      found.reason = "the folder from which it is run is not known";
      return found;
    }
    if (!at(absolute_path(name, state.folder())) && found.reason.empty()) found.seen = BuildFiles::Seen::no;
    return found;
  }
  const std::optional<std::string> search = path ? path : state.search_path();
  if (!search) {
    found.reason = "the PATH is not known";
    return found;
  }
  for (const std::string& folder :
       path_folders(search->empty() ? std::string(default_path) : *search, state.folder())) {
    if (at((folder == "/" ? "" : folder) + "/" + std::string(name))) return found;
  }
  if (found.reason.empty()) found.seen = BuildFiles::Seen::no;
  return found;
}

ProgramUse::There program_there(const BuildState& state, std::string_view name,
                                const std::optional<std::string>& path) {
  using There = ProgramUse::There;
  const FoundProgram found = find_program(state, name, path);
  if (found.seen == BuildFiles::Seen::yes) return There::yes;
  if (name.find('/') != std::string_view::npos) return found.seen == BuildFiles::Seen::no ? There::no : There::unknown;
  if (const auto known = state.programs.find(name); known != state.programs.end()) {
    if (known->second == There::no && !state.programs_open.empty()) return There::unknown;
    // What the base lacks is certain in the base's own folders; here a later step opened a folder of the PATH.
    if (known->second == There::no && found.seen == BuildFiles::Seen::unknown) return There::unknown;
    return known->second;
  }
  return found.seen == BuildFiles::Seen::no && state.programs_open.empty() ? There::no : There::unknown;
}

std::optional<std::size_t> python_at(const BuildState& state, std::string_view canonical) {
  for (std::size_t i = 0; i < state.pythons.size(); ++i) {
    if (state.pythons[i].interpreter.path == canonical) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> python_of(const BuildState& state, const FoundProgram& program) {
  if (program.seen != BuildFiles::Seen::yes) return std::nullopt;
  if (const auto index = python_at(state, program.canonical)) return index;
  if (program.file->runs_python.empty()) return std::nullopt;
  const BuildFiles::Look look = state.files.look(program.file->runs_python);
  return look.seen == BuildFiles::Seen::yes ? python_at(state, look.canonical) : std::nullopt;
}

std::size_t add_python(BuildState& state, BuildPython python, const std::vector<std::string>& names,
                       const Evidence& evidence) {
  Interpreter& interpreter = python.interpreter;
  if (interpreter.evidence.empty()) interpreter.evidence = {evidence};
  BuildFile program;
  program.kind = BuildFile::Kind::program;
  program.evidence = evidence;
  state.files.put(interpreter.path, program);
  const BuildFiles::Look look = state.files.look(interpreter.path);
  if (look.seen == BuildFiles::Seen::yes) interpreter.path = look.canonical;
  const std::size_t slash = interpreter.path.rfind('/');
  const std::string folder = interpreter.path.substr(0, slash);
  const std::string own = interpreter.path.substr(slash + 1);
  for (const std::string& name : names) {
    if (name == own) continue;
    BuildFile link;
    link.kind = BuildFile::Kind::link;
    link.link = own;
    link.evidence = evidence;
    state.files.put(folder + "/" + name, link);
  }
  for (const std::string& site : interpreter.site_packages) state.files.make_folder(site, evidence);
  if (const auto old = python_at(state, interpreter.path)) {
    state.pythons[*old] = std::move(python);
    return *old;
  }
  if (state.pythons.size() >= 200) {
    if (state.pythons_open.empty()) state.pythons_open = "the build makes too many interpreters to follow";
    state.pythons.pop_back();
  }
  state.pythons.push_back(std::move(python));
  return state.pythons.size() - 1;
}

void add_pip(BuildState& state, std::size_t index, const std::string& folder, bool plain_name,
             const Evidence& evidence) {
  BuildPython& python = state.pythons[index];
  python.interpreter.has_pip = true;
  BuildFile program;
  program.kind = BuildFile::Kind::program;
  program.evidence = evidence;
  program.runs_python = python.interpreter.path;
  std::vector<std::string> names = {"pip3"};
  if (plain_name) names.emplace_back("pip");
  if (python.minor_known) names.push_back("pip" + python.interpreter.minor.to_string());
  for (const std::string& name : names) state.files.put(folder + "/" + name, program);
}

ShellContext shell_context(const BuildState& state) {
  ShellContext context;
  const auto set = [&](const std::string& name, const BuildVariable& value) {
    context.variables[name] =
        value.value ? std::optional<CommandLine>(CommandLine{CommandWord::of(*value.value)}) : std::nullopt;
  };
  for (const auto& [name, value] : state.arguments) set(name, value);
  for (const auto& [name, value] : state.env) set(name, value);
  // What an unknown base sets is not unset.
  if (!state.env_open.empty()) {
    if (!context.variables.contains("PATH")) context.variables["PATH"] = std::nullopt;
  }
  if (!context.variables.contains("HOME") && state.env_open.empty() && state.user &&
      (state.user->empty() || *state.user == "root" || *state.user == "0")) {
    context.variables["HOME"] = CommandLine{CommandWord::of("/root")};
  }
  context.folder = state.workdir;
  return context;
}

}  // namespace imgforge
