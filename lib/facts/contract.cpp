#include "facts/contract.hpp"

#include <string>
#include <string_view>

#include "facts/commands.hpp"
#include "facts/python_version.hpp"
#include "facts/system.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t most_version_file = 16 << 10;
constexpr std::string_view opt_out = "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string below(const std::string& folder, std::string_view rest) {
  return (folder == "/" ? "" : folder) + std::string(rest);
}

/// The minor by the program's name; else by the standard library beside it, the newest first.
std::optional<PythonMinor> minor_of(ImageReader& reader, const std::string& program) {
  if (const auto minor = minor_in_name(program.substr(program.rfind('/') + 1))) return minor;
  const std::string prefix = folder_of(folder_of(program));
  for (const PythonRelease& release : reader.knowledge().python_releases()) {
    if (reader.exists(below(prefix, "/lib/python" + release.minor.to_string() + "/os.py"))) return release.minor;
  }
  return std::nullopt;
}

/// The prefix of a venv, where the command lies in one. A program beside its own folder's link is in the same prefix
/// either way, so nothing is looked up for it.
std::optional<std::string> venv_of(ImageReader& reader, const Command& command) {
  const Lookup folder = reader.root().lookup(folder_of(command.found_at));
  if (!folder || folder.node->path == folder_of(command.canonical)) return std::nullopt;
  for (const std::string& one : {folder.node->path, folder_of(folder.node->path)}) {
    if (reader.is_file(below(one, "/pyvenv.cfg"))) return one;
  }
  return std::nullopt;
}

/// Whether boot calls the interpreter's own pip: before it made venvs, and where it is told not to.
bool wants_pip(ImageReader& reader) {
  const auto& release = reader.boot_version();
  if (!release.is_known()) return true;
  return !reader.knowledge().beam_has(BeamBehaviour::boot_venv, release.value()) ||
         !reader.config().variable(opt_out).value_or("").empty();
}

std::string own_site_packages(const Interpreter& interpreter) {
  // Debian's own interpreter has its packages elsewhere, those of pip in /usr/local.
  return below(interpreter.prefix, "/lib/python" + interpreter.minor.to_string() + "/site-packages");
}

std::vector<std::string> site_packages_of(const Interpreter& interpreter) {
  std::vector<std::string> folders = {own_site_packages(interpreter)};
  if (interpreter.prefix == "/usr") {
    folders = {"/usr/local/lib/python" + interpreter.minor.to_string() + "/dist-packages",
               "/usr/lib/python3/dist-packages"};
  }
  return folders;
}

std::optional<std::string> find_in_site_packages(ImageReader& reader, const Interpreter& interpreter,
                                                 std::string_view name) {
  for (const std::string& folder : site_packages_of(interpreter)) {
    if (reader.is_file(folder + "/" + std::string(name))) return folder + "/" + std::string(name);
  }
  return std::nullopt;
}

/// "__version__ = '2.66.0'" of apache_beam/version.py.
std::optional<Version> version_of_module(std::string_view text) {
  constexpr std::string_view sign = "__version__ = '";
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + sign.size());
  return Version::parse(text.substr(0, text.find('\'')));
}

}  // namespace

Fact<std::vector<Interpreter>> read_named_interpreters(ImageReader& reader) {
  std::vector<Interpreter> interpreters;
  std::vector<Evidence> evidence;
  const auto take = [&](const Command& command, const std::string& name) {
    if (const auto known = named_interpreter_of(interpreters, command)) {
      interpreters[*known].on_path_as.push_back(name);
      return;
    }
    const Lookup found = reader.root().lookup(command.canonical);
    const auto minor = minor_of(reader, command.canonical);
    if (!found || !minor) return;
    Interpreter one;
    one.path = command.canonical;
    one.minor = *minor;
    one.prefix = folder_of(folder_of(one.path));
    if (const auto venv = venv_of(reader, command)) {
      one.path = command.found_at;
      one.kind = Interpreter::Kind::venv;
      one.prefix = *venv;
    }
    one.on_path_as = {name};
    one.evidence = {reader.evidence(*found.node)};
    one.has_pip = wants_pip(reader) && find_in_site_packages(reader, one, "pip/__init__.py").has_value();
    evidence.push_back(one.evidence.front());
    interpreters.push_back(std::move(one));
  };
  for (const char* name : {"python", "python3"}) {
    const auto command = reader.find(name);
    if (!command || !command->executable) continue;
    take(*command, name);
    if (!interpreters.empty()) break;  // boot takes the first
  }
  const std::string named = reader.config().variable("PYTHON_PATH").value_or("");
  if (!named.empty()) {
    const auto command = named.find('/') == std::string::npos
                             ? reader.find(named)
                             : command_at(reader.root(), absolute_path(named, reader.working_directory()));
    if (command && command->executable) take(*command, named);
  }
  if (interpreters.empty()) {
    return Fact<std::vector<Interpreter>>::unknown(
        "PATH leads to no Python, and whether there is one elsewhere --depth contract does not ask");
  }
  return Fact<std::vector<Interpreter>>::known(std::move(interpreters), std::move(evidence));
}

std::optional<std::size_t> named_interpreter_of(const std::vector<Interpreter>& interpreters, const Command& command) {
  for (std::size_t i = 0; i < interpreters.size(); ++i) {
    const bool venv = interpreters[i].kind == Interpreter::Kind::venv;
    if (interpreters[i].path == (venv ? command.found_at : command.canonical)) return i;
  }
  return std::nullopt;
}

Fact<Version> read_named_beam_version(ImageReader& reader) {
  const auto& boot = reader.boot_version();
  if (boot.is_known()) return boot;
  const auto& worker = reader.worker_python();
  if (worker.is_known()) {
    const Interpreter& interpreter = reader.interpreters().value()[worker->interpreter];
    if (const auto file = find_in_site_packages(reader, interpreter, "apache_beam/version.py")) {
      const Lookup found = reader.root().lookup(*file);
      const auto version = version_of_module(reader.root().read(*found.node, most_version_file).value_or(""));
      if (version) return Fact<Version>::known(*version, {reader.evidence(*found.node)});
    }
  }
  return Fact<Version>::unknown(
      "neither boot's SDK nor a package in its usual place tells the release, and --depth "
      "contract looks no further");
}

Fact<Libc> read_libc_of_interpreter(ImageReader& reader) {
  const auto& interpreters = reader.interpreters();
  for (std::size_t i = 0; interpreters.is_known() && i < interpreters->size(); ++i) {
    const Lookup program = reader.root().lookup(interpreters->at(i).path);
    if (!program) continue;
    const Elf* elf = reader.elfs().find(*program.node);
    if (elf == nullptr || elf->interpreter.empty()) continue;
    Libc libc;
    if (elf->interpreter.find("/ld-musl-") != std::string::npos)
      libc.family = Libc::Family::musl;
    else if (elf->interpreter.find("/ld-linux") == std::string::npos)
      continue;
    return Fact<Libc>::known(libc, {reader.evidence(*program.node)});
  }
  return read_libc(reader);
}

}  // namespace imgforge
