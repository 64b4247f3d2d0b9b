// Python itself, what makes environments (venv, virtualenv, uv venv), and what brings interpreters (uv python install,
// pyenv install).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "facts/command_arguments.hpp"

namespace imgforge {

struct PythonCommand {
  enum class Action {
    script,          // python FILE ...
    text,            // python -c TEXT
    module,          // python -m NAME (venv, ensurepip and pip have their own)
    standard_input,  // python, python -: reads a script; RunCommand::heredoc, or a command piped into it
    version,         // --version, -V
    environment,     // python -m venv DIR, virtualenv DIR, uv venv DIR
    ensurepip,
    get_pip,      // a script called get-pip.py
    interpreter,  // uv python install X.Y, pyenv install X.Y.Z
  };
  Action action = Action::script;
  std::string program;  // "python3.11", "/opt/venv/bin/python", "virtualenv", "uv"
  std::size_t offset = 0;
  std::string python;               // the interpreter's word: the program, or -p, --python; empty where none is given
  Argument what;                    // script, text or module; empty text where it is not known
  std::vector<Argument> arguments;  // behind it
  bool isolated = false;            // -I, -E, -s: user site or variables do not count

  // Of environment:
  std::string folder;  // absolute where the current one is known; uv's default is ".venv"
  bool system_site_packages = false;
  bool without_pip = false;  // uv venv without --seed, too
  bool clear = false;
  bool copies = false;  // --copies, --always-copy
  bool upgrade_deps = false;
  // Of interpreter:
  std::vector<std::string> versions;
  // Of get_pip and ensurepip:
  bool break_system_packages = false;

  std::string not_known;
};

/// Nothing where the command is none of these; "python -m pip" is read_pip()'s.
std::optional<PythonCommand> read_python(const RunCommand& command);

/// Whether a program of this base name is CPython: python, python3, python3.11.
bool names_python(std::string_view name);
/// "3.11" of "python3.11", "pip3.11"; nothing where the name does not say.
std::optional<PythonMinor> minor_of_program(std::string_view name);

/// A check of the interpreter's version that a command makes: it fails with any other minor. Of python -c: an
/// "assert sys.version_info[:2] == (3, 11)" and its kin.
std::optional<PythonMinor> asserted_minor(const PythonCommand& command);

}  // namespace imgforge
