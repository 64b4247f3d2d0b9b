// RUN: what the commands of a step certainly do.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/commands_accounts.hpp"
#include "facts/commands_alternatives.hpp"
#include "facts/start_script.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

using dockerfile::Instruction;

namespace {

constexpr std::size_t max_uses = 5'000;
constexpr std::size_t max_commands = 30'000;  // of all steps together
constexpr int max_scripts = 4;                // scripts that run scripts

std::string word_of(const RunCommand& command, std::size_t i) {
  return i < command.words.size() && command.words[i].kind == CommandWord::Kind::text ? command.words[i].text
                                                                                      : std::string();
}

std::string without_secrets(const RunCommand& command) {
  for (const CommandWord& word : command.words) {
    const std::size_t equals = word.text.find('=');
    const std::string name = equals == std::string::npos ? "" : word.text.substr(0, equals);
    if (looks_secret(name, equals == std::string::npos ? word.text : word.text.substr(equals + 1))) return {};
  }
  return command.written;
}

bool is_shell_name(std::string_view name) {
  return name == "sh" || name == "bash" || name == "dash" || name == "ash" || name == "zsh" || name == "ksh";
}

/// Programs that turn sources into programs, or run what somebody wrote to do so.
bool compiles(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {
      "gcc",   "g++",   "cc",       "c++",   "clang", "clang++",  "nvcc",       "make",  "cmake",  "ninja",
      "meson", "bazel", "bazelisk", "cargo", "rustc", "gfortran", "autoreconf", "scons", "cython", "go"};
  return names.contains(name);
}

StepShell step_shell(RunShell::Kind kind) {
  switch (kind) {
    case RunShell::Kind::posix: return StepShell::posix;
    case RunShell::Kind::bash: return StepShell::bash;
    case RunShell::Kind::other: return StepShell::other;
  }
  return StepShell::other;
}

std::string host_path_of(std::string_view url) { return std::string(url.substr(0, url.find_first_of("?#"))); }

bool is_spark_archive(std::string_view text) {
  const std::string name = lower(text);
  return (name.find("spark-") != std::string::npos && name.find("bin-") != std::string::npos) ||
         name.find("/dist/spark/") != std::string::npos;
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
  // What is mounted is there while the step runs.
  std::vector<std::string> mounted;
  for (const auto& flag : instruction.flags) {
    if (flag.name != "mount" || !flag.value) continue;
    std::map<std::string, std::string, std::less<>> options;
    for (const std::string_view part : split(*flag.value, ',')) {
      const std::size_t equals = part.find('=');
      std::string key = lower(trim(part.substr(0, equals)));
      if (key == "target" || key == "dst") key = "destination";
      if (key == "src") key = "source";
      options[key] = equals == std::string_view::npos ? "" : std::string(part.substr(equals + 1));
    }
    const std::string type = options.contains("type") ? options["type"] : "bind";
    if (type != "bind") continue;
    const std::string source = options["source"];
    const std::string target =
        options.contains("destination") ? absolute_path(options["destination"], state.folder()) : state.folder();
    if (options.contains("from")) {
      const std::string& written = options["from"];
      auto stage = stage_named(written, current_);
      if (!stage && !written.empty() && written.find_first_not_of("0123456789") == std::string::npos) {
        if (const auto number = to_number(written); number && *number < current_)
          stage = static_cast<std::size_t>(*number);
      }
      if (!stage && build_->images.size() < max_uses) {
        ImageUse use = image_use(ImageUse::Role::mount, instruction, written, flag.place);
        use.has_variable = written.find('$') != std::string::npos;
        if (!use.has_variable) {
          use.expanded = written;
          use.reference = Reference::parse(written, &use.wrong);
          if (use.reference) {
            use.wrong.clear();
            const std::string tag =
                !use.reference->tag().empty() || use.reference->digest() ? use.reference->tag() : "latest";
            use.row = knowledge_.base_image(use.reference->host() + "/" + use.reference->repository(), tag);
          }
        }
        build_->images.push_back(std::move(use));
      }
      const BuildState* other = stage ? &states_[*stage]
                                      : &image_state(written, written.find('$') == std::string::npos ? written : "", "",
                                                     Evidence::at(flag.place));
      const BuildFiles& files = other->files;
      state.files.copy_from(files, source.empty() ? "/" : absolute_path(source, "/"), target, Evidence::at(flag.place));
      mounted.push_back(target);
    } else {
      const bool was_there = state.files.look(target).seen == BuildFiles::Seen::yes;
      copy_context(source.empty() ? "." : source, target, false, true, state, Evidence::at(flag.place));
      if (!was_there) mounted.push_back(target);
    }
  }

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
      if (word_of(command, i) != "clone") continue;
      // Into a folder of its own, below the current one, or the one that is named last.
      const std::string last = word_of(command, command.words.size() - 1);
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

bool BuildReader::run_script(Step& step, const Running& running, int depth) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  const std::string& program = command.words.front().text;
  std::string script;
  bool bash = false;
  if (is_shell_name(running.name)) {
    bash = running.name == "bash";
    std::size_t i = 1;
    while (i < command.words.size() && word_of(command, i).starts_with('-') && word_of(command, i).size() > 1) {
      const std::string option = word_of(command, i);
      if (option.find('c') != std::string::npos && !option.starts_with("--")) {
        // sh -c TEXT: read on, as the step's reader may not have.
        const std::string text = word_of(command, i + 1);
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
    script = word_of(command, i);
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
  if (!text || depth >= max_scripts || text->size() > (256u << 10)) {
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

namespace {

/// "python3" of "$(which python3)", "`command -v python3`"; empty of anything else.
std::string asked_program(std::string_view text) {
  for (const std::string_view start : {"$(which ", "$(command -v ", "`which ", "`command -v ", "$(type -p "}) {
    if (!text.starts_with(start)) continue;
    text.remove_prefix(start.size());
    if (text.empty()) return {};
    text.remove_suffix(1);
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
                   std::string_view::npos
               ? std::string(text)
               : std::string();
  }
  return {};
}

}  // namespace

void BuildReader::file_command(Step& step, const Running& running, const FileCommand& files) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  using Action = FileCommand::Action;
  const auto usable = [](const Argument& one) { return one.text.starts_with('/'); };
  // Where it is not certain that it runs, both are possible: what is there may be gone, what is not may be there.
  if (!command.certain) {
    for (const Argument& one : files.paths) {
      if (usable(one) && files.action != Action::mode && files.action != Action::owner)
        state.files.maybe(one.text, "a step may change it");
    }
    if (files.destination && usable(*files.destination))
      state.files.maybe(files.destination->text, "a step may put something there");
    return;
  }
  const auto base_of = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const auto has_glob = [](const std::string& path) { return path.find_first_of("*?[") != std::string::npos; };
  const auto into = [&](const Argument& destination, std::size_t count) {
    if (files.destination_is_file) return false;
    if (files.destination_is_folder || count > 1 || destination.text.ends_with('/')) return true;
    const BuildFiles::Look look = state.files.look(destination.text);
    return look.seen == BuildFiles::Seen::yes && look.file->kind == BuildFile::Kind::folder;
  };
  const auto clean = [](const std::string& path) { return absolute_path(path, "/"); };
  switch (files.action) {
    case Action::link: {
      // ln -s $(which python3) /usr/local/bin/python
      const CommandLine& words = command.words;
      if (words.size() > 2 && words.back().kind == CommandWord::Kind::text && words.back().text.starts_with('/') &&
          words[words.size() - 2].kind == CommandWord::Kind::unknown) {
        const std::string asked = asked_program(words[words.size() - 2].text);
        const FoundProgram found = asked.empty() ? FoundProgram{} : find_program(state, asked, running.path);
        BuildFile link;
        link.kind = found.seen == BuildFiles::Seen::yes ? BuildFile::Kind::link : BuildFile::Kind::any;
        link.link = found.found_at;
        link.evidence = running.evidence;
        state.files.put(clean(words.back().text), std::move(link));
        return;
      }
      if (!files.destination || !usable(*files.destination) || files.sources.empty()) return;
      const bool inside = into(*files.destination, files.sources.size());
      for (const Argument& source : files.sources) {
        const std::string at =
            clean(inside ? files.destination->text + "/" + base_of(source.text) : files.destination->text);
        if (!files.symbolic) {
          const BuildFiles& copy = state.files;
          state.files.copy_from(copy, clean(source.text), at, running.evidence);
          continue;
        }
        BuildFile link;
        link.kind = BuildFile::Kind::link;
        link.link = source.text;
        link.evidence = running.evidence;
        state.files.put(at, std::move(link));
      }
      return;
    }
    case Action::copy:
    case Action::move: {
      if (!files.destination || !usable(*files.destination)) {
        if (!files.destination || !files.not_known.empty()) unknown_code(state, "where a step copies to", true);
        return;
      }
      const bool inside = into(*files.destination, files.sources.size());
      const BuildFiles& copy = state.files;
      for (const Argument& source : files.sources) {
        if (!usable(source) || has_glob(source.text)) {
          state.files.mark(clean(files.destination->text), BuildFiles::Mark::open, "which files a step copies there",
                           running.evidence);
          state.files.lose(clean(files.destination->text), "which files a step copies there");
          continue;
        }
        const std::string from = clean(source.text);
        const std::string to = clean(inside ? files.destination->text + "/" + base_of(from) : files.destination->text);
        // "cp -r DIR/. TO" copies what is in it.
        const bool content = source.text.ends_with("/.");
        state.files.copy_from(copy, from, content ? clean(files.destination->text) : to, running.evidence);
        if (const auto origin = state.downloads.find(from); origin != state.downloads.end())
          state.downloads[to] = origin->second;
        if (files.action == Action::move) state.files.remove(from, running.evidence);
        // An interpreter's files that are moved or copied elsewhere.
        for (std::size_t i = 0, count = state.pythons.size(); i < count && files.action == Action::move; ++i) {
          if (state.pythons[i].interpreter.path.starts_with(from + "/") && state.pythons_open.empty())
            state.pythons_open = "an interpreter that a step moves";
        }
      }
      return;
    }
    case Action::remove:
      for (const Argument& one : files.paths) {
        if (!usable(one)) continue;
        const std::string path = clean(one.text);
        // rm /usr/lib/python3*/EXTERNALLY-MANAGED: the folder came with a package, whose files are not held one by one.
        if (base_of(path) == "EXTERNALLY-MANAGED") {
          const std::string library_pattern = path.substr(0, path.rfind('/'));
          for (BuildPython& python : state.pythons) {
            Interpreter& interpreter = python.interpreter;
            const std::string library = interpreter.prefix + "/lib/python" + interpreter.minor.to_string();
            if (glob_match(library_pattern, library)) interpreter.externally_managed = false;
          }
        }
        if (has_glob(path)) {
          const std::string folder = path.substr(0, path.rfind('/'));
          const std::string pattern = base_of(path);
          if (has_glob(folder)) continue;
          const std::string parent = folder.empty() ? "/" : folder;
          for (const std::string& listed :
               state.files.list(parent, [&](std::string_view name) { return glob_match(pattern, name); }))
            state.files.remove(listed, running.evidence);
          continue;
        }
        if (path == "/") continue;
        state.files.remove(path, running.evidence);
        std::erase_if(state.cuda, [&](const CudaToolkit& toolkit) {
          return !toolkit.folder.empty() && (toolkit.folder + "/").starts_with(path + "/");
        });
      }
      std::erase_if(state.pythons, [&](const BuildPython& python) {
        return state.files.look(python.interpreter.path).seen == BuildFiles::Seen::no;
      });
      return;
    case Action::make_folder:
      for (const Argument& one : files.paths) {
        if (usable(one)) state.files.make_folder(clean(one.text), running.evidence);
      }
      return;
    case Action::touch:
      for (const Argument& one : files.paths) {
        if (!usable(one) || state.files.look(one.text).seen == BuildFiles::Seen::yes) continue;
        BuildFile file;
        file.text = "";
        file.executable = false;
        file.evidence = running.evidence;
        state.files.put(clean(one.text), std::move(file));
      }
      return;
    case Action::write: return;  // file_writes() has them
    case Action::mode:
    case Action::owner:
      for (const Argument& one : files.paths) {
        if (!usable(one) || has_glob(one.text)) {
          // A pattern below a folder: every file of it that is listed.
          if (files.action == Action::mode && usable(one) && files.mode.find('x') != std::string::npos) {
            const std::string path = clean(one.text);
            const std::string folder = path.substr(0, path.rfind('/'));
            for (const std::string& listed :
                 state.files.list(folder.empty() ? "/" : folder,
                                  [&](std::string_view name) { return glob_match(base_of(path), name); })) {
              const BuildFiles::Look look = state.files.look(listed);
              if (look.seen != BuildFiles::Seen::yes || look.file->kind == BuildFile::Kind::folder) continue;
              BuildFile file = *look.file;
              file.executable = true;
              state.files.put(look.canonical, std::move(file));
            }
          }
          continue;
        }
        const BuildFiles::Look look = state.files.look(clean(one.text));
        if (look.seen != BuildFiles::Seen::yes) continue;
        BuildFile file = *look.file;
        if (files.action == Action::mode) {
          bool bits = false;
          if (!files.mode.empty() && files.mode.find_first_not_of("01234567") == std::string::npos) {
            const std::size_t from = files.mode.size() > 3 ? files.mode.size() - 3 : 0;
            for (std::size_t i = from; i < files.mode.size(); ++i) bits = bits || (files.mode[i] - '0') % 2 == 1;
            file.executable = bits;
            file.writable_by_all = (files.mode.back() - '0') & 2;
          } else if (files.mode.find("-x") != std::string::npos || files.mode.find("-rwx") != std::string::npos) {
            file.executable = false;
          } else if (files.mode.find('x') != std::string::npos || files.mode.find('X') != std::string::npos) {
            file.executable = true;
            file.writable_by_all = file.writable_by_all || files.mode.find("a+") != std::string::npos;
          } else if (files.mode.find('w') != std::string::npos &&
                     (files.mode.starts_with("a+") || files.mode.starts_with("o+") || files.mode.starts_with("ugo+"))) {
            file.writable_by_all = true;
          }
        } else {
          const std::string owner = files.owner.substr(0, files.owner.find_first_of(":."));
          file.uid.reset();
          if (const auto number = to_number(owner); number && *number <= 0x7fffffff) {
            file.uid = static_cast<std::uint32_t>(*number);
          } else {
            for (const Account& account : state.accounts) {
              if (account.name == owner) file.uid = account.uid;
            }
          }
        }
        file.evidence = look.file->evidence;
        state.files.put(look.canonical, std::move(file));
      }
      return;
    case Action::unpack: {
      const std::string folder = files.destination && usable(*files.destination) ? clean(files.destination->text)
                                                                                 : command.folder.value_or("");
      std::string archive = files.sources.empty() ? "" : files.sources.front().text;
      if (const auto origin = state.downloads.find(archive); origin != state.downloads.end()) archive = origin->second;
      if (archive.empty() || archive == "-") {
        for (std::size_t i = 0; i < running.position; ++i) {
          const RunCommand& before = step.run.commands[i];
          if (before.piped_into != running.position) continue;
          if (const auto fetched = read_download(before); fetched && !fetched->items.empty())
            archive = fetched->items.front().url.text;
        }
      }
      if (is_spark_archive(archive)) state.spark = running.evidence;
      const std::string reason = archive.empty() ? "which files an archive holds"
                                                 : fmt::format("which files {} holds", escape_for_display(archive));
      if (folder.empty()) {
        unknown_code(state, reason, true);
        return;
      }
      // An archive of another project brings nothing of Beam.
      const std::string named = lower(archive);
      const bool foreign = !archive.empty() && named.find("beam") == std::string::npos &&
                           named.find("dataflow") == std::string::npos && named.find("rootfs") == std::string::npos;
      std::vector<std::string> stay;
      for (const char* one : {"/opt/apache", "/opt/google"}) {
        if (foreign && state.files.look(one).seen == BuildFiles::Seen::no) stay.emplace_back(one);
      }
      state.files.mark(folder, BuildFiles::Mark::open, reason, running.evidence);
      state.files.lose(folder, reason);
      for (const std::string& one : stay) state.files.remove(one, {});
      const bool system = folder == "/" || folder == "/usr" || folder == "/usr/local";
      if (system && state.programs_open.empty()) state.programs_open = reason;
      if (lower(archive).find("python") != std::string::npos && state.pythons_open.empty()) state.pythons_open = reason;
      if (lower(archive).find("cud") != std::string::npos && state.cuda_open.empty()) state.cuda_open = reason;
      return;
    }
  }
}

void BuildReader::account_command(Step& step, const Running& running) {
  BuildState& state = *step.state;
  const auto account = read_account_command(*running.command);
  if (!account) return;
  using Action = AccountCommand::Action;
  if (account->name.text.empty() || !running.command->certain || state.accounts.size() > 200 ||
      state.groups.size() > 200) {
    if (state.accounts_open.empty()) state.accounts_open = "an account that a step makes";
    return;
  }
  const std::string& name = account->name.text;
  const auto number = [](const std::string& text) -> std::optional<std::uint32_t> {
    const auto value = to_number(text);
    return value && *value <= 0x7fffffff ? std::optional<std::uint32_t>(static_cast<std::uint32_t>(*value))
                                         : std::nullopt;
  };
  const auto free_id = [&](bool system, bool group) {
    const auto taken = [&](std::uint32_t id) {
      return group ? std::any_of(state.groups.begin(), state.groups.end(),
                                 [&](const Group& one) { return one.gid == id; })
                   : std::any_of(state.accounts.begin(), state.accounts.end(),
                                 [&](const Account& one) { return one.uid == id; });
    };
    std::uint32_t id = system ? 999 : 1000;
    while (taken(id) && id > 100 && id < 60'000) id = system ? id - 1 : id + 1;
    return id;
  };
  const auto group_id = [&](const std::string& group) -> std::optional<std::uint32_t> {
    if (const auto id = number(group)) return id;
    for (const Group& one : state.groups) {
      if (one.name == group) return one.gid;
    }
    return std::nullopt;
  };
  switch (account->action) {
    case Action::add_group: {
      if (std::any_of(state.groups.begin(), state.groups.end(), [&](const Group& one) { return one.name == name; }))
        return;
      Group group;
      group.name = name;
      group.gid = number(account->gid).value_or(free_id(account->system, true));
      state.groups.push_back(std::move(group));
      return;
    }
    case Action::add_user: {
      Account user;
      user.name = name;
      user.uid = number(account->uid).value_or(free_id(account->system, false));
      if (!account->group.empty()) {
        user.gid = group_id(account->group).value_or(user.uid);
      } else if (account->no_own_group) {
        user.gid = 100;
      } else {
        const auto taken = [&](std::uint32_t id) {
          return std::any_of(state.groups.begin(), state.groups.end(), [&](const Group& one) { return one.gid == id; });
        };
        user.gid = taken(user.uid) ? free_id(account->system, true) : user.uid;
        state.groups.push_back({name, user.gid, {}});
      }
      for (const std::string& group : account->groups) {
        for (Group& one : state.groups) {
          if (one.name == group) one.members.push_back(name);
        }
      }
      user.home = account->home.empty() ? "/home/" + name : account->home;
      if (account->creates_home && !account->no_home && user.home.starts_with('/')) {
        const std::string home = absolute_path(user.home, "/");
        state.files.make_folder(home, running.evidence);
        const BuildFiles::Look look = state.files.look(home);
        if (look.seen == BuildFiles::Seen::yes && look.file->kind == BuildFile::Kind::folder) {
          BuildFile folder = *look.file;
          folder.uid = user.uid;
          state.files.put(look.canonical, std::move(folder));
        }
      }
      state.account_evidence[name] = running.evidence;
      std::erase_if(state.accounts, [&](const Account& one) { return one.name == name; });
      state.accounts.push_back(std::move(user));
      return;
    }
    case Action::change_user:
      for (Account& one : state.accounts) {
        if (one.name != name) continue;
        if (const auto id = number(account->uid)) one.uid = *id;
        if (!account->group.empty()) {
          if (const auto id = group_id(account->group)) one.gid = *id;
        }
        if (!account->home.empty()) one.home = account->home;
        if (!account->new_name.empty()) one.name = account->new_name;
        state.account_evidence[one.name] = running.evidence;
        return;
      }
      return;
    case Action::change_group:
      for (Group& one : state.groups) {
        if (one.name != name) continue;
        if (const auto id = number(account->gid)) {
          for (Account& user : state.accounts) {
            if (user.gid == one.gid) user.gid = *id;
          }
          one.gid = *id;
        }
        if (!account->new_name.empty()) one.name = account->new_name;
      }
      return;
    case Action::delete_user:
      std::erase_if(state.accounts, [&](const Account& one) { return one.name == name; });
      return;
    case Action::delete_group: std::erase_if(state.groups, [&](const Group& one) { return one.name == name; }); return;
    case Action::add_to_group:
      for (const std::string& group : account->groups) {
        for (Group& one : state.groups) {
          if (one.name == group) one.members.push_back(name);
        }
      }
      return;
  }
}

bool BuildReader::alternatives_command(Step& step, const Running& running) {
  const auto read = read_alternatives(*running.command);
  if (!read) return false;
  BuildState& state = *step.state;
  using Action = AlternativesCommand::Action;
  const auto link = [&](const std::string& at, const std::string& target) {
    if (!at.starts_with('/') || !target.starts_with('/')) return;
    BuildFile file;
    file.kind = BuildFile::Kind::link;
    file.link = target;
    file.evidence = running.evidence;
    state.files.put(absolute_path(at, "/"), std::move(file));
  };
  if (!running.command->certain) return true;
  if (read->action == Action::install) {
    if (read->main.name.text.empty() || !read->not_known.empty()) return true;
    auto& [at, priority] = state.alternatives[read->main.name.text];
    const long given = read->priority.value_or(0);
    if (!at.empty() && given < priority) return true;
    at = read->main.link.text;
    priority = given;
    link(read->main.link.text, read->main.path.text);
    for (const auto& slave : read->slaves) link(slave.link.text, slave.path.text);
  } else if (read->action == Action::set) {
    const auto known = state.alternatives.find(read->main.name.text);
    const std::string at = known != state.alternatives.end() ? known->second.first : "/usr/bin/" + read->main.name.text;
    link(at, read->main.path.text);
  }
  return true;
}

void BuildReader::download(Step& step, const Running& running, const DownloadCommand& download) {
  BuildState& state = *step.state;
  const std::optional<std::size_t> reader = running.command->piped_into;
  for (const DownloadCommand::Item& item : download.items) {
    const std::string url = item.url.text;
    const std::string plain = host_path_of(url);
    if (!item.file.empty() && item.file.starts_with('/') && !download.data_sent && !item.file.starts_with("/dev/")) {
      BuildFile file;
      file.evidence = running.evidence;
      file.executable = false;
      const std::string path = absolute_path(item.file, "/");
      state.files.put(path, std::move(file));
      state.downloads[path] = url;
    }
    if (plain.ends_with(".py") && build_->scripts.size() < max_uses) {
      ScriptDownload script;
      script.at = running.at;
      script.url = url;
      if (reader && *reader < step.run.commands.size()) {
        if (const auto python = read_python(step.run.commands[*reader])) {
          script.run_by = find_python(state, running_of(step, *reader),
                                      python->python.empty() ? python->program : python->python, python->program)
                              .interpreter;
        }
      }
      build_->scripts.push_back(std::move(script));
    }
  }
}

void BuildReader::gpu_installer(Step& step, const Running& running) {
  BuildState& state = *step.state;
  const RunCommand& command = *running.command;
  std::string file;
  bool driver = false, toolkit = false, silent = false;
  std::string folder;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string word = word_of(command, i);
    if (word.ends_with(".run") && file.empty()) file = word;
    if (word == "--driver" || word.starts_with("--driver=")) driver = true;
    if (word == "--toolkit" || word == "--samples") toolkit = true;
    if (word == "--silent" || word == "-s") silent = true;
    if (word.starts_with("--toolkitpath=") || word.starts_with("--installpath="))
      folder = word.substr(word.find('=') + 1);
  }
  if (file.empty()) return;
  std::string name = file;
  if (command.folder || file.starts_with('/')) {
    const auto origin = state.downloads.find(absolute_path(file, command.folder.value_or("/")));
    if (origin != state.downloads.end()) name = origin->second;
  }
  const std::string last = lower(name.substr(name.rfind('/') + 1));
  const bool nvidia_driver = last.starts_with("nvidia-linux");
  if (!nvidia_driver && last.find("cuda") == std::string::npos) return;
  if (nvidia_driver || driver || (silent && !toolkit)) {
    if (build_->driver_installs.size() < max_uses) build_->driver_installs.push_back(running.at);
  }
  if (nvidia_driver || (driver && !toolkit)) return;
  CudaToolkit cuda;
  cuda.from = CudaToolkit::From::runfile;
  cuda.flavour = CudaToolkit::Flavour::devel;
  // cuda_12.2.2_535.104.05_linux.run
  const std::size_t digits = last.find_first_of("0123456789");
  if (digits != std::string::npos)
    cuda.version =
        Version::parse(std::string_view(last).substr(digits, last.find_first_not_of("0123456789.", digits) - digits));
  cuda.folder = !folder.empty() ? folder : "/usr/local/cuda";
  cuda.evidence = {running.evidence};
  state.files.mark(cuda.folder, BuildFiles::Mark::base, "which files the CUDA toolkit holds", running.evidence);
  state.files.make_folder(cuda.folder + "/lib64", running.evidence);
  if (cuda.version && cuda.version->release().size() >= 2 && folder.empty()) {
    BuildFile link;
    link.kind = BuildFile::Kind::link;
    link.link = "cuda";
    link.evidence = running.evidence;
    state.files.put(fmt::format("/usr/local/cuda-{}.{}", cuda.version->major(), cuda.version->minor()),
                    std::move(link));
  }
  state.programs["nvcc"] = ProgramUse::There::unknown;
  state.cuda.push_back(std::move(cuda));
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
      if (name == "exit" || name == "false") return word_of(step.run.commands[i], 1) != "0";
      if (name != "echo" && name != "printf") return false;
    }
    return false;
  };
  if (!command.certain) return;
  if (running.name == "grep" && (!command.failure_ignored || exits_behind(running.position))) {
    for (std::size_t i = 0; i < running.position; ++i) {
      if (step.run.commands[i].piped_into != running.position || !prints_version(step.run.commands[i])) continue;
      for (std::size_t k = 1; k < command.words.size(); ++k) {
        const std::string word = word_of(command, k);
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
