// RUN: what the commands of a step certainly do.
#include <fmt/format.h>

#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/shebang.hpp"
#include "facts/wrappers.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

using dockerfile::Instruction;

namespace {

constexpr std::size_t max_commands = 30'000;  // of all steps together

std::string without_secrets(const RunCommand& command) {
  for (const CommandWord& word : command.words) {
    const std::size_t equals = word.text.find('=');
    const std::string name = equals == std::string::npos ? "" : word.text.substr(0, equals);
    if (looks_secret(name, equals == std::string::npos ? word.text : word.text.substr(equals + 1))) return {};
  }
  return command.written;
}

/// Programs that turn sources into programs, or run what somebody wrote to do so.
bool compiles(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {
      "gcc",   "g++",   "cc",       "c++",   "clang", "clang++",  "nvcc",       "make",  "cmake",  "ninja",
      "meson", "bazel", "bazelisk", "cargo", "rustc", "gfortran", "autoreconf", "scons", "cython", "go"};
  return names.contains(name);
}

}  // namespace

Place BuildReader::place_in(const Step& step, std::size_t offset) const {
  const Instruction& instruction = *step.instruction;
  if (instruction.json)
    return instruction.words.empty() ? instruction.place
                                     : instruction.words[std::min(offset, instruction.words.size() - 1)].place;
  const Place place = instruction.command.place_at(offset);
  return place.line == 0 ? instruction.place : place;
}

BuildReader::Running BuildReader::running_of(const Step& step, std::size_t position) const {
  Running running;
  running.command = &step.run.commands[position];
  running.position = position;
  running.at = step_at(place_in(step, running.command->offset), *step.instruction);
  running.at.line = without_secrets(*running.command);
  running.evidence = Evidence::at(running.at.place);
  running.path = running.command->variable("PATH");
  if (running.path && running.path->empty()) running.path = step.state->search_path();
  running.name = program_name(*running.command);
  return running;
}

void BuildReader::unknown_code(BuildState& state, const std::string& reason, bool everything) {
  if (everything) {
    state.files.lose("/", reason);
  } else {
    // An installer that is fetched brings programs; of Beam's folder it knows nothing.
    state.files.lose("/usr", reason);
    state.files.lose("/root", reason);
    state.files.lose("/home", reason);
  }
  if (state.programs_open.empty()) state.programs_open = reason;
  if (state.pythons_open.empty()) state.pythons_open = reason;
  if (state.accounts_open.empty()) state.accounts_open = reason;
  if (state.cuda_open.empty()) state.cuda_open = reason;
  for (BuildPython& python : state.pythons) {
    if (python.open.empty()) python.open = reason;
  }
}

void BuildReader::run(const Instruction& instruction, BuildState& state) {
  const std::vector<std::string> mounted = mount(instruction, state);  // there while the step runs
  Step step;
  step.instruction = &instruction;
  step.state = &state;
  const ShellContext context = shell_context(state);
  const std::string& text = instruction.command.text();
  if (instruction.json) {
    std::vector<std::string> words;
    for (const auto& word : instruction.words) words.push_back(word.text);
    step.run = read_run_step(words, context);
    run_text(step, 0);
  } else if (text.starts_with("#!")) {
    const auto shebang = parse_shebang(text);
    std::string name = shebang && !shebang->empty() ? std::string(base_name(shebang->front())) : "";
    if (name == "env" && shebang->size() > 1) name = std::string(base_name(shebang->back()));
    if (is_shell_name(name)) {
      RunShell shell;
      shell.kind = name == "sh" || name == "dash" || name == "ash" ? RunShell::Kind::posix : RunShell::Kind::bash;
      step.run = read_run_step(text, shell, context);
      const RunShell own = state.shell;
      state.shell = shell;
      run_text(step, 0);
      state.shell = own;
    } else {
      unknown_code(state, fmt::format("what a {} program in a RUN does", escape_for_display(name)), false);
    }
  } else if (state.shell.kind == RunShell::Kind::other) {
    unknown_code(state, "what a step does under a shell that is none of Unix", true);
  } else {
    step.run = read_run_step(text, state.shell, context);
    run_text(step, 0);
  }
  for (const std::string& target : mounted) state.files.remove(target, Evidence::at(instruction.place));
}

void BuildReader::run_text(Step& step, int depth) {
  if (depth == 0) note_constructs(step);
  const std::vector<RepositoryChange> changes = repository_changes(step.run);
  const std::vector<FileWrite> writes = file_writes(step.run);
  std::size_t change = 0, write = 0;
  for (std::size_t i = 0; i < step.run.commands.size(); ++i) {
    if (++commands_ > max_commands) {
      if (commands_ == max_commands + 1 || step.state->programs_open.empty()) {
        unknown_code(*step.state, "the build runs too many commands to follow", true);
      }
      return;
    }
    Running running = running_of(step, i);
    if (depth > 0) {
      running.at = step_at(step.instruction->place, *step.instruction);
      running.evidence = Evidence::at(running.at.place);
    }
    command(step, running, depth);
    for (; write < writes.size() && writes[write].command <= i; ++write) {
      const FileWrite& one = writes[write];
      if (one.path.text.empty() || !one.path.text.starts_with('/')) continue;
      if (one.path.text.starts_with("/dev/")) continue;
      BuildFile file;
      file.evidence = running.evidence;
      file.text = one.text;
      file.executable = false;
      const BuildFiles::Look old = step.state->files.look(one.path.text);
      if (old.seen == BuildFiles::Seen::yes && old.file->kind == BuildFile::Kind::file) {
        file.executable = old.file->executable;
        if (one.append && one.text && old.file->text && old.file->text->size() + one.text->size() < (256u << 10)) {
          file.text = *old.file->text + *one.text;
        } else if (one.append) {
          file.text.reset();
        }
      } else if (one.append && old.seen == BuildFiles::Seen::unknown) {
        file.text.reset();
      }
      if (!running.command->certain) {
        file.text.reset();
        if (old.seen != BuildFiles::Seen::yes) {
          step.state->files.maybe(one.path.text, "a step may write it");
          continue;
        }
      }
      step.state->files.put(old.seen == BuildFiles::Seen::yes ? old.canonical : one.path.text, std::move(file));
    }
    for (; change < changes.size() && changes[change].command <= i; ++change) {
      const RepositoryChange& one = changes[change];
      const bool nvidia =
          one.text.find("3bf863cc") != std::string::npos || one.text.find("3BF863CC") != std::string::npos ||
          one.text.find("cuda-keyring") != std::string::npos ||
          (one.kind == RepositoryChange::Kind::removed &&
           (one.file.find("cuda") != std::string::npos || one.file.find("nvidia") != std::string::npos ||
            one.file.find("sources.list.d") != std::string::npos));
      if (nvidia) step.state->nvidia_key_renewed = true;
      if (one.kind == RepositoryChange::Kind::removed || one.kind == RepositoryChange::Kind::key) continue;
      std::string name = one.text.empty() ? (one.not_known.empty() ? one.file : one.not_known) : one.text;
      if (name.find("deadsnakes") != std::string::npos) {
        name = "deadsnakes";
      } else if (name.find("nvidia.com") != std::string::npos && name.find("/cuda") != std::string::npos) {
        name = "cuda";
      }
      if (step.state->repositories.size() < 200) step.state->repositories.push_back(std::move(name));
    }
  }
  if (!step.run.not_understood.empty())
    unknown_code(*step.state, fmt::format("a step that is not understood: {}", step.run.not_understood), true);
}

void BuildReader::command(Step& step, Running& running, int depth) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  if (command.words.empty()) return;
  if (command.words.front().kind != CommandWord::Kind::text) {
    unknown_code(
        state,
        fmt::format("a step runs {}, which only the build tells", escape_for_display(command.words.front().text)),
        false);
    return;
  }
  note_program(step, running);
  minor_check(step, running);
  if (is_shell_builtin(running.name) && running.name != "." && running.name != "source" && running.name != "eval")
    return;
  if (compiles(running.name) && build_->compiles.size() < max_uses) {
    build_->compiles.push_back(running.at);
    const bool installs =
        running.name == "make" || running.name == "cmake" || running.name == "ninja" || running.name == "meson";
    if (installs && command.written.find("install") != std::string::npos) {
      const std::string reason = fmt::format("what {} installs", escape_for_display(running.name));
      state.files.lose("/usr/local", reason);
      if (state.pythons_open.empty()) state.pythons_open = reason;
      if (state.programs_open.empty()) state.programs_open = reason;
    }
    return;
  }
  if (const auto pip = read_pip(command)) return pip_command(step, running, *pip);
  if (const auto project = read_project_install(command)) return project_install(step, running, *project);
  if (running.name == "poetry" && command.written.find("virtualenvs.create") != std::string::npos &&
      command.written.find("false") != std::string::npos) {
    state.poetry_without_environment = true;
    return;
  }
  if (const auto python = read_python(command)) return python_command(step, running, *python);
  if (const auto installer = read_conda_installer(command)) return conda_installer(step, running, *installer);
  if (const auto conda = read_conda(command)) return conda_command(step, running, *conda);
  if (const auto packages = read_system_packages(command)) return apt_command(step, running, *packages);
  if (alternatives_command(step, running)) return;
  if (running.name == "useradd" || running.name == "adduser" || running.name == "groupadd" ||
      running.name == "addgroup" || running.name == "usermod" || running.name == "groupmod" ||
      running.name == "userdel" || running.name == "groupdel" || running.name == "deluser" ||
      running.name == "delgroup") {
    return account_command(step, running);
  }
  if (const auto fetched = read_download(command)) return download(step, running, *fetched);
  if (const auto files = read_file_command(command)) return file_command(step, running, *files);
  gpu_installer(step, running);
  if (run_script(step, running, depth)) return;
  if (running.name == "git") {
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      if (text_of(command.words, i) != "clone") continue;
      // Into a folder of its own, below the current one, or the one that is named last.
      const std::string last = text_of(command.words, command.words.size() - 1);
      if (command.folder && !last.empty()) {
        const std::string folder = last.find("://") == std::string::npos && !last.starts_with("git@")
                                       ? absolute_path(last, *command.folder)
                                       : *command.folder;
        if (folder != "/")
          state.files.mark(folder, BuildFiles::Mark::open, "which files the repository holds", running.evidence);
      }
      break;
    }
  }
}

}  // namespace imgforge
