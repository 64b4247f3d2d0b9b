// What rules ask of the commands of a RUN step beside what they do: which programs must be there, what the shell has to
// understand, secrets, redirections that were meant as versions, checks of the Python minor.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/wrappers.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

using dockerfile::Instruction;

namespace {

StepShell step_shell(RunShell::Kind kind) {
  switch (kind) {
    case RunShell::Kind::posix: return StepShell::posix;
    case RunShell::Kind::bash: return StepShell::bash;
    case RunShell::Kind::other: return StepShell::other;
  }
  return StepShell::other;
}

}  // namespace

void BuildReader::note_constructs(Step& step) {
  const Instruction& instruction = *step.instruction;
  BuildState& state = *step.state;
  const StepShell shell = instruction.json ? StepShell::none : step_shell(state.shell.kind);
  for (const BashUse& use : step.run.bash_uses) {
    if (build_->constructs.size() >= max_uses) break;
    ShellConstruct construct;
    construct.at = step_at(place_in(step, use.offset), instruction);
    construct.what = use.what;
    construct.shell = shell;
    construct.os = state.os_name();
    // /bin/sh that a step made bash.
    const BuildFiles::Look sh = state.files.look("/bin/sh", false);
    if (sh.seen == BuildFiles::Seen::yes && sh.file->kind == BuildFile::Kind::link &&
        sh.file->link.find("bash") != std::string::npos)
      construct.shell = StepShell::bash;
    build_->constructs.push_back(std::move(construct));
  }
  std::set<std::string, std::less<>> named;
  for (const UnsetVariable& unset : step.run.unset) {
    if (build_->undeclared.size() >= max_uses || !state.env_open.empty()) break;
    if (!named.insert(unset.name + "\n" + unset.written).second) continue;
    VariableUse use;
    use.at = step_at(place_in(step, unset.offset), instruction);
    use.name = unset.name;
    use.instruction = "RUN";
    use.global_arg = globals_.contains(unset.name);
    use.result = unset.result;
    // In a shell an empty variable is ordinary: only what is left of a version, a tag or an address tells.
    const bool ends =
        !unset.result.empty() && std::string_view(":@=-_").find(unset.result.back()) != std::string_view::npos;
    const bool starts = !unset.result.empty() && (unset.result.front() == ':' || unset.result.front() == '@');
    const bool inside = unset.result.find("==,") != std::string::npos || unset.result.find("//") != std::string::npos;
    const bool url = unset.result.find("://") != std::string::npos;
    use.breaks = use.global_arg ? unset.result.empty() || ends || starts || inside
                                : unset.result.ends_with("==") || unset.result.ends_with("=") || (url && ends);
    build_->undeclared.push_back(std::move(use));
  }
  for (const RunCommand& command : step.run.commands) {
    // pip install pkg>=1.2: a redirection that hangs on a word, to a file called like a version.
    const std::string name = program_name(command);
    const bool installs = name.find("pip") != std::string::npos || name.starts_with("python") || name == "conda" ||
                          name == "mamba" || name == "micromamba" || name == "uv" || name.starts_with("apt");
    for (const Redirection& one : command.redirections) {
      const std::size_t sign = one.written.find_first_of("<>");
      if (!installs || sign == std::string::npos || sign == 0 || build_->redirects.size() >= max_uses) continue;
      const std::string before = one.written.substr(0, sign);
      std::string_view behind = std::string_view(one.written).substr(sign + 1);
      if (behind.starts_with('=')) behind.remove_prefix(1);
      const bool fd = before.find_first_not_of("0123456789") == std::string::npos || before == "&";
      if (fd || behind.empty() || behind.front() < '0' || behind.front() > '9') continue;
      VersionRedirect redirect;
      redirect.at = step_at(place_in(step, one.offset), instruction);
      redirect.at.line = command.written;
      redirect.written = one.written;
      build_->redirects.push_back(std::move(redirect));
    }
    // NAME=secret before a command, export NAME=secret, --password secret, https://user:token@host.
    const auto note = [&](const std::string& key, const std::string& value, std::size_t offset) {
      note_secret(key, value, place_in(step, offset), instruction, "RUN");
    };
    for (const auto& [key, value] : command.environment) {
      // What an ARG gives was named there.
      if (value && instruction.command.text().find(*value) != std::string::npos) note(key, *value, command.offset);
    }
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      const CommandWord& word = command.words[i];
      if (word.kind != CommandWord::Kind::text || word.text.size() > 4096) continue;
      if (instruction.command.text().find(word.text) == std::string::npos && !instruction.json) continue;
      const std::size_t equals = word.text.find('=');
      const std::string key = equals == std::string::npos ? "" : word.text.substr(0, equals);
      const std::string value = equals == std::string::npos ? word.text : word.text.substr(equals + 1);
      const std::size_t offset = i < command.offsets.size() ? command.offsets[i] : command.offset;
      const bool exported = name == "export" && !key.empty();
      if (looks_secret("", word.text)) {
        note("", word.text, offset);
      } else if (exported) {
        note(key, value, offset);
      }
    }
  }
}

void BuildReader::note_program(Step& step, const Running& running) {
  const RunCommand& command = *running.command;
  if (command.words.empty() || command.words.front().kind != CommandWord::Kind::text ||
      build_->programs.size() >= max_uses)
    return;
  const std::string& program = command.words.front().text;
  if (program.empty() || program.find_first_of("$`*") != std::string::npos || is_shell_builtin(program)) return;
  ProgramUse use;
  use.at = running.at;
  use.name = program;
  // "curl URL | bash" goes on without curl, and nothing is done: no guard.
  use.guarded = (command.failure_ignored && !command.piped_into) || !command.certain;
  if (program.find('/') != std::string::npos) {
    use.there = program.starts_with('/') || command.folder
                    ? program_there(*step.state, absolute_path(program, command.folder.value_or("/")))
                    : ProgramUse::There::unknown;
  } else if (!running.path) {
    use.there = ProgramUse::There::unknown;
  } else {
    use.there = program_there(*step.state, program, running.path);
  }
  build_->programs.push_back(std::move(use));
}

void BuildReader::minor_check(Step& step, const Running& running) {
  const RunCommand& command = *running.command;
  if (build_->minor_checks.size() >= max_uses) return;
  const auto minor_of = [](std::string_view text) -> std::optional<PythonMinor> {
    // 3.11, ^3\.11$, "Python 3.11"
    std::string plain;
    for (const char c : text) {
      if (c != '\\' && c != '^' && c != '$') plain += c;
    }
    std::string_view rest = plain;
    if (rest.starts_with("Python ")) rest.remove_prefix(7);
    if (rest.ends_with(".")) rest.remove_suffix(1);
    const auto minor = PythonMinor::parse(rest);
    return minor && minor->major == 3 ? minor : std::nullopt;
  };
  const auto note = [&](const RunCommand& asked, std::size_t position, const PythonMinor& wanted) {
    const auto python = read_python(asked);
    if (!python) return;
    MinorCheck check;
    check.at = running.at;
    check.wanted = wanted;
    check.interpreter = find_python(*step.state, running_of(step, position),
                                    python->python.empty() ? python->program : python->python, python->program)
                            .interpreter;
    build_->minor_checks.push_back(std::move(check));
  };
  const auto prints_version = [](const RunCommand& asked) {
    const auto python = read_python(asked);
    if (!python) return false;
    if (python->action == PythonCommand::Action::version) return true;
    return python->action == PythonCommand::Action::text && python->what.text.find("print") != std::string::npos &&
           (python->what.text.find("version") != std::string::npos);
  };
  // A failing check matters where the step ends by it.
  const auto exits_behind = [&](std::size_t position) {
    for (std::size_t i = position + 1; i < step.run.commands.size() && i <= position + 4; ++i) {
      const std::string name = program_name(step.run.commands[i]);
      if (name == "exit" || name == "false") return text_of(step.run.commands[i].words, 1) != "0";
      if (name != "echo" && name != "printf") return false;
    }
    return false;
  };
  if (!command.certain) return;
  if (running.name == "grep" && (!command.failure_ignored || exits_behind(running.position))) {
    for (std::size_t i = 0; i < running.position; ++i) {
      if (step.run.commands[i].piped_into != running.position || !prints_version(step.run.commands[i])) continue;
      for (std::size_t k = 1; k < command.words.size(); ++k) {
        const std::string word = text_of(command.words, k);
        if (word == "-v" || (word.starts_with('-') && !word.starts_with("--") && word.find('v') != std::string::npos))
          return;
        if (const auto wanted = minor_of(word)) return note(step.run.commands[i], i, *wanted);
      }
    }
    return;
  }
  if (running.name == "[" || running.name == "[[" || running.name == "test") {
    if (command.failure_ignored && !exits_behind(running.position)) return;
    std::optional<PythonMinor> wanted;
    bool equals = false, unknown = false;
    for (std::size_t k = 1; k < command.words.size(); ++k) {
      const CommandWord& word = command.words[k];
      if (word.kind == CommandWord::Kind::unknown) unknown = true;
      if (word.kind != CommandWord::Kind::text) continue;
      if (word.text == "=" || word.text == "==") equals = true;
      if (word.text == "!=" || word.text == "!") return;
      if (const auto minor = minor_of(word.text)) wanted = minor;
    }
    if (!wanted || !equals || !unknown) return;
    for (std::size_t i = running.position; i-- > 0;) {
      const RunCommand& before = step.run.commands[i];
      if (!before.in_substitution) break;
      if (prints_version(before)) return note(before, i, *wanted);
    }
    return;
  }
  if (command.failure_ignored && !exits_behind(running.position)) return;
  if (const auto python = read_python(command)) {
    if (const auto wanted = asserted_minor(*python)) note(command, running.position, *wanted);
  }
}

}  // namespace imgforge
