#include "facts/interpreters.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/requirement.hpp"
#include "base/text.hpp"
#include "facts/commands.hpp"
#include "facts/contract.hpp"
#include "facts/python_metadata.hpp"
#include "facts/python_version.hpp"
#include "facts/site_packages.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_interpreters = 256;
constexpr std::uint64_t max_config = 64 << 10;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string below(const std::string& prefix, std::string_view rest) {
  return (prefix == "/" ? "" : prefix) + std::string(rest);
}

/// A base interpreter: one program, under however many names.
struct Base {
  Node program;
  std::vector<std::string> names;  // of the links to it, too
};

struct Venv {
  std::vector<Node> programs;  // files and links in its bin folder
};

/// The prefix of a venv that a program in `bin` belongs to: where pyvenv.cfg is, in that folder or the one above.
std::optional<std::string> venv_of(ImageReader& reader, const std::string& bin) {
  for (const std::string& folder : {bin, folder_of(bin)}) {
    if (reader.is_file(below(folder, "/pyvenv.cfg"))) return folder;
  }
  return std::nullopt;
}

/// A folder of conda's package cache: the interpreter in it is a part of a package, not of an environment.
bool in_conda_cache(ImageReader& reader, const std::string& program) {
  const std::string prefix = folder_of(folder_of(program));
  return prefix.find("/pkgs/") != std::string::npos && reader.exists(below(prefix, "/info/index.json")) &&
         !reader.exists(below(prefix, "/conda-meta"));
}

std::optional<std::string> prefix_with(ImageReader& reader, const std::string& program, const PythonMinor& minor) {
  const std::string library = "python" + minor.to_string() + "/os.py";
  std::string folder = folder_of(program);
  for (;;) {
    if (reader.exists(below(folder, "/lib/" + library)) || reader.exists(below(folder, "/lib64/" + library)) ||
        reader.exists(below(folder, "/lib/" + library + "c"))) {
      return folder;
    }
    if (folder == "/") return std::nullopt;
    folder = folder_of(folder);
  }
}

std::optional<PythonMinor> minor_of_library(ImageReader& reader, const std::string& prefix) {
  std::optional<PythonMinor> found;
  for (const Node& node : reader.root().list(below(prefix, "/lib"))) {
    const std::string_view name = name_of(node.path);
    if (node.type != EntryType::directory || !is_python_name(name)) continue;
    const auto minor = minor_in_name(name);
    if (!minor || !reader.exists(node.path + "/os.py")) continue;
    if (found) return std::nullopt;  // several: which one the program uses, nothing says
    found = minor;
  }
  return found;
}

std::optional<PythonMinor> minor_of(ImageReader& reader, const Base& base) {
  if (const auto minor = minor_in_name(name_of(base.program.path))) return minor;
  if (const auto minor = minor_of_library(reader, folder_of(folder_of(base.program.path)))) return minor;
  for (const std::string& name : base.names) {
    if (const auto minor = minor_in_name(name)) return minor;
  }
  return std::nullopt;
}

/// The folder of the standard library.
std::string library_of(ImageReader& reader, const Interpreter& interpreter) {
  const std::string name = "python" + interpreter.minor.to_string();
  const std::string wide = below(interpreter.prefix, "/lib64/" + name);
  if (reader.exists(wide + "/os.py")) return wide;
  return below(interpreter.prefix, "/lib/" + name);
}

bool holds_pip_wheel(ImageReader& reader, const std::string& folder) {
  const auto nodes = reader.root().list(folder);
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return name_of(node.path).starts_with("pip-") && node.path.ends_with(".whl");
  });
}

std::optional<Version> pip_of(ImageReader& reader, const std::vector<std::string>& sites) {
  const auto& metadata = reader.survey().metadata;
  for (const std::string& site : sites) {
    const auto files = metadata.find(site);
    if (files == metadata.end()) continue;
    for (const Node& node : files->second) {
      const std::string_view leaf = name_of(node.path);
      const bool file = leaf.ends_with(".egg-info");
      const std::string folder = folder_of(node.path);
      const auto name = parse_metadata_name(file ? leaf : name_of(folder));
      if (!name || normalise_name(name->name) != "pip") continue;
      if (const auto version = Version::parse(name->version)) return version;
    }
  }
  return std::nullopt;
}

Interpreter base_interpreter(ImageReader& reader, const Base& base, const PythonMinor& minor) {
  Interpreter interpreter;
  interpreter.path = base.program.path;
  interpreter.minor = minor;
  interpreter.prefix = prefix_with(reader, base.program.path, minor).value_or(folder_of(folder_of(base.program.path)));
  interpreter.evidence.push_back(reader.evidence(base.program));
  if (const auto proven = prove_version(reader, interpreter.prefix, minor, base.program)) {
    interpreter.version = proven->version;
    if (!(proven->evidence == interpreter.evidence.front())) interpreter.evidence.push_back(proven->evidence);
  }
  if (reader.is_folder(below(interpreter.prefix, "/conda-meta"))) {
    interpreter.kind = Interpreter::Kind::conda;
  } else if (interpreter.prefix != "/usr" && interpreter.prefix != "/usr/local" && interpreter.prefix != "/") {
    interpreter.kind = Interpreter::Kind::standalone;
  }
  const std::string library = library_of(reader, interpreter);
  interpreter.has_venv = reader.exists(library + "/venv/__init__.py");
  interpreter.has_ensurepip =
      reader.exists(library + "/ensurepip/__init__.py") &&
      (holds_pip_wheel(reader, library + "/ensurepip/_bundled") || holds_pip_wheel(reader, "/usr/share/python-wheels"));
  interpreter.externally_managed = reader.exists(library + "/EXTERNALLY-MANAGED");
  interpreter.site_packages = base_site_packages(reader, interpreter.prefix, minor);
  interpreter.pip = pip_of(reader, interpreter.site_packages);
  return interpreter;
}

/// The name under which a venv's program is shown: python3.11 before python3 before python.
const Node& preferred(const std::vector<Node>& programs) {
  return *std::max_element(programs.begin(), programs.end(), [](const Node& a, const Node& b) {
    return std::pair(name_of(a.path).size(), a.path) < std::pair(name_of(b.path).size(), b.path);
  });
}

class Discovery {
 public:
  explicit Discovery(ImageReader& reader) : reader_(reader) {}

  Fact<std::vector<Interpreter>> run() {
    if (reader_.survey().too_much)
      return Fact<std::vector<Interpreter>>::unknown("the image holds more files of Python packages than are read");
    for (const Node& node : reader_.survey().pythons) take(node);
    // The base of a venv may have a name that the survey does not look for.
    for (const auto& [prefix, venv] : venvs_) {
      if (const auto base = base_program(prefix, venv)) add_base(*base, std::string(name_of(base->path)));
    }
    if (bases_.size() + venvs_.size() > max_interpreters) {
      return Fact<std::vector<Interpreter>>::unknown("the image holds more than 256 Python interpreters");
    }
    for (const auto& [path, base] : bases_) {
      if (const auto minor = minor_of(reader_, base)) interpreters_.push_back(base_interpreter(reader_, base, *minor));
    }
    const std::size_t base_count = interpreters_.size();
    for (const auto& [prefix, venv] : venvs_) add_venv(prefix, venv, base_count);
    order_by_path();
    if (interpreters_.empty()) return Fact<std::vector<Interpreter>>::absent();
    std::vector<Evidence> evidence;
    for (const Interpreter& one : interpreters_) evidence.push_back(one.evidence.front());
    return Fact<std::vector<Interpreter>>::known(std::move(interpreters_), std::move(evidence));
  }

 private:
  void take(const Node& node) {
    if (const auto prefix = venv_of(reader_, folder_of(node.path))) {
      const Lookup found = reader_.root().lookup(node.path);
      if (found && found.node->elf_machine != 0) venvs_[*prefix].programs.push_back(node);
      return;
    }
    const Lookup found = reader_.root().lookup(node.path);
    if (!found || found.node->type != EntryType::file || found.node->elf_machine == 0) return;  // dangling, or a shim
    if (in_conda_cache(reader_, found.node->path)) return;
    add_base(*found.node, std::string(name_of(node.path)));
  }

  void add_base(const Node& program, std::string name) {
    if (name_of(program.path).find("python") == std::string_view::npos) return;  // PyPy, busybox
    auto [found, fresh] = bases_.try_emplace(program.path, Base{program, {}});
    (void)fresh;
    found->second.names.push_back(std::move(name));
  }

  VenvConfig config_of(const std::string& prefix) {
    return parse_venv_config(reader_.root().read(below(prefix, "/pyvenv.cfg"), max_config).value_or(""));
  }

  /// The program that a venv's link leads to; of a copied program, the one in its home.
  std::optional<Node> base_program(const std::string& prefix, const Venv& venv) {
    for (const Node& node : venv.programs) {
      const Lookup found = reader_.root().lookup(node.path);
      if (found && found.node->elf_machine != 0 && !found.node->path.starts_with(below(prefix, "/")) &&
          !venv_of(reader_, folder_of(found.node->path))) {
        return found.node;
      }
    }
    const std::string home = config_of(prefix).home;
    if (!home.starts_with('/')) return std::nullopt;
    std::vector<std::string> names;
    for (const Node& node : venv.programs) names.emplace_back(name_of(node.path));
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const std::string& name : names) {
      const Lookup found = reader_.root().lookup(below(absolute_path(home, "/"), "/" + name));
      if (found && found.node->elf_machine != 0) return found.node;
    }
    return std::nullopt;
  }

  void add_venv(const std::string& prefix, const Venv& venv, std::size_t base_count) {
    const VenvConfig config = config_of(prefix);
    const auto program = base_program(prefix, venv);
    const Interpreter* base = nullptr;
    for (std::size_t i = 0; program && i < base_count; ++i) {
      if (interpreters_[i].path == program->path) base = &interpreters_[i];
    }
    Interpreter interpreter;
    const Node& shown = preferred(venv.programs);
    interpreter.path = shown.path;
    interpreter.kind = Interpreter::Kind::venv;
    interpreter.prefix = prefix;
    interpreter.home = config.home;
    interpreter.evidence = {reader_.evidence(shown)};
    const Lookup cfg = reader_.root().lookup(below(prefix, "/pyvenv.cfg"));
    if (cfg) interpreter.evidence.push_back(reader_.evidence(*cfg.node));
    // "3.11.9", or virtualenv's "3.11.9.final.0".
    std::string written = config.version;
    if (const std::size_t final_part = written.find(".final."); final_part != std::string::npos)
      written.resize(final_part);
    auto version = Version::parse(written);
    if (version && version->release().size() != 3) version.reset();
    if (base != nullptr) {
      interpreter.minor = base->minor;
      interpreter.version = base->version                                         ? base->version
                            : version && PythonMinor::of(*version) == base->minor ? version
                                                                                  : std::nullopt;
      interpreter.has_venv = base->has_venv;
      interpreter.has_ensurepip = base->has_ensurepip;
    } else {
      const auto by_library = minor_of_site(prefix);
      const auto minor = version      ? std::optional(PythonMinor::of(*version))
                         : by_library ? by_library
                                      : minor_in_name(name_of(shown.path));
      if (!minor) return;
      interpreter.minor = *minor;
      interpreter.version = version;
    }
    interpreter.site_packages = venv_site_packages(reader_, prefix, interpreter.minor, config, base);
    interpreter.pip = pip_of(reader_, interpreter.site_packages);
    interpreters_.push_back(std::move(interpreter));
  }

  std::optional<PythonMinor> minor_of_site(const std::string& prefix) {
    std::optional<PythonMinor> found;
    for (const Node& node : reader_.root().list(below(prefix, "/lib"))) {
      const auto minor = node.type == EntryType::directory ? minor_in_name(name_of(node.path)) : std::nullopt;
      if (!minor) continue;
      if (found) return std::nullopt;
      found = minor;
    }
    return found;
  }

  /// Finds the names by which PATH reaches them, and puts those that it reaches first.
  void order_by_path() {
    std::set<std::string> names = {"python", "python2", "python3"};
    for (const Interpreter& one : interpreters_) names.insert("python" + one.minor.to_string());
    const auto folders = path_folders(reader_.search_path(), reader_.working_directory());
    std::map<std::size_t, std::size_t> position;  // of the folder on PATH, by interpreter
    for (const std::string& name : names) {
      const auto command = reader_.find(name);
      if (!command || !command->executable) continue;
      const auto index = interpreter_of(reader_, interpreters_, *command);
      if (!index) continue;
      interpreters_[*index].on_path_as.push_back(name);
      const auto folder = std::find(folders.begin(), folders.end(), folder_of(command->found_at));
      const auto place = static_cast<std::size_t>(folder - folders.begin());
      const auto [known, fresh] = position.try_emplace(*index, place);
      if (!fresh) known->second = std::min(known->second, place);
    }
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < interpreters_.size(); ++i) {
      const auto place = position.find(i);
      order.emplace_back(place == position.end() ? std::numeric_limits<std::size_t>::max() : place->second, i);
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.first, std::string_view(interpreters_[a.second].path)) <
             std::pair(b.first, std::string_view(interpreters_[b.second].path));
    });
    std::vector<Interpreter> sorted;
    for (const auto& [place, index] : order) sorted.push_back(std::move(interpreters_[index]));
    interpreters_ = std::move(sorted);
  }

  ImageReader& reader_;
  std::map<std::string, Base> bases_;  // by canonical path
  std::map<std::string, Venv> venvs_;  // by prefix
  std::vector<Interpreter> interpreters_;
};

}  // namespace

Fact<std::vector<Interpreter>> read_interpreters(ImageReader& reader) { return Discovery(reader).run(); }

std::optional<std::size_t> interpreter_of(ImageReader& reader, const std::vector<Interpreter>& interpreters,
                                          const Command& command) {
  if (command.dangles || command.canonical.empty()) return std::nullopt;
  if (reader.depth() == Depth::contract) return named_interpreter_of(interpreters, command);
  const Lookup bin = reader.root().lookup(folder_of(command.found_at));
  const auto venv = bin ? venv_of(reader, bin.node->path) : std::nullopt;
  for (std::size_t i = 0; i < interpreters.size(); ++i) {
    const Interpreter& one = interpreters[i];
    const bool is_venv = one.kind == Interpreter::Kind::venv;
    if (venv ? is_venv && one.prefix == *venv : !is_venv && one.path == command.canonical) return i;
  }
  return std::nullopt;
}

}  // namespace imgforge
