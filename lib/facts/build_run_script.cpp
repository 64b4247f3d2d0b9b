// Scripts and shells that a RUN step starts: `sh -c TEXT`, `bash install.sh`, `./setup`.
#include <fmt/format.h>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/shebang.hpp"
#include "facts/wrappers.hpp"

namespace imgforge {

namespace {

constexpr int max_scripts = 4;  // scripts that run scripts
constexpr std::size_t max_script = 256 << 10;

}  // namespace

bool BuildReader::run_script(Step& step, const Running& running, int depth) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  const std::string& program = command.words.front().text;
  std::string script;
  bool bash = false;
  if (is_shell_name(running.name)) {
    bash = running.name == "bash";
    std::size_t i = 1;
    while (i < command.words.size() && text_of(command.words, i).starts_with('-') &&
           text_of(command.words, i).size() > 1) {
      const std::string option = text_of(command.words, i);
      if (option.find('c') != std::string::npos && !option.starts_with("--")) {
        // sh -c TEXT: read on, as the step's reader may not have.
        const std::string text = text_of(command.words, i + 1);
        if (text.empty() || depth >= max_scripts) {
          unknown_code(state, "what a shell is given to run", true);
          return true;
        }
        Step inner;
        inner.instruction = step.instruction;
        inner.state = &state;
        RunShell shell;
        shell.kind = bash ? RunShell::Kind::bash : RunShell::Kind::posix;
        inner.run = read_run_step(text, shell, *command.context);
        run_text(inner, depth + 1);
        return true;
      }
      ++i;
    }
    script = text_of(command.words, i);
    if (script.empty()) {
      // A text that comes from a pipe: an installer that is fetched.
      if (command.heredoc && depth < max_scripts) {
        Step inner;
        inner.instruction = step.instruction;
        inner.state = &state;
        RunShell shell;
        shell.kind = bash ? RunShell::Kind::bash : RunShell::Kind::posix;
        inner.run = read_run_step(*command.heredoc, shell, *command.context);
        run_text(inner, depth + 1);
      } else {
        unknown_code(state, "what a script that a step fetches does", false);
      }
      return true;
    }
  } else if (program.find('/') != std::string::npos) {
    script = program;
  } else if (running.name == "." || running.name == "source" || running.name == "eval") {
    return true;
  } else {
    return false;
  }
  if (!script.starts_with('/') && !command.folder) {
    unknown_code(state, fmt::format("what {} does", escape_for_display(script)), true);
    return true;
  }
  const std::string path = absolute_path(script, command.folder.value_or("/"));
  const BuildFiles::Look look = state.files.look(path);
  if (look.seen == BuildFiles::Seen::no) return true;
  if (look.seen == BuildFiles::Seen::yes && look.file->kind == BuildFile::Kind::program) return true;
  if (const auto origin = state.downloads.find(look.canonical); origin != state.downloads.end()) {
    if (lower(origin->second).find("cuda") == std::string::npos)
      unknown_code(state, fmt::format("what {} installs", escape_for_display(origin->second)), false);
    return true;
  }
  std::optional<std::string> text;
  if (look.seen == BuildFiles::Seen::yes) text = look.file->text;
  if (!text || depth >= max_scripts || text->size() > max_script) {
    // A program of the base image's own is no script of the author's.
    const bool system = path.starts_with("/usr/") || path.starts_with("/bin/") || path.starts_with("/sbin/") ||
                        path.starts_with("/opt/conda/");
    if (!system) {
      unknown_code(state, fmt::format("what {} does", escape_for_display(script)), true);
      if (build_->compiles.size() < max_uses) build_->compiles.push_back(running.at);
    }
    return true;
  }
  if (const auto shebang = parse_shebang(*text)) {
    std::string name = shebang->empty() ? "" : std::string(base_name(shebang->front()));
    for (std::size_t i = 1; name == "env" && i < shebang->size(); ++i) {
      if (!(*shebang)[i].starts_with('-')) name = std::string(base_name((*shebang)[i]));
    }
    if (!is_shell_name(name) && !is_shell_name(running.name)) {
      unknown_code(state, fmt::format("what {} does", escape_for_display(script)), false);
      return true;
    }
    if (!is_shell_name(running.name)) bash = name == "bash";
  }
  Step inner;
  inner.instruction = step.instruction;
  inner.state = &state;
  RunShell shell;
  shell.kind = bash ? RunShell::Kind::bash : RunShell::Kind::posix;
  shell.errexit = true;
  ShellContext context = *command.context;
  context.folder = command.folder;
  inner.run = read_run_step(*text, shell, context);
  run_text(inner, depth + 1);
  return true;
}

}  // namespace imgforge
