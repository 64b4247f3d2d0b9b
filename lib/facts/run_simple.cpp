// Simple commands of a build step: their words, what builtins change, and shells in shells.
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "facts/command_arguments.hpp"
#include "facts/run_walk.hpp"
#include "facts/run_wrappers.hpp"
#include "facts/shell_state.hpp"
#include "facts/wrappers.hpp"

namespace imgforge {
namespace {

using shell::Command;
using shell::Piece;
using shell::Word;

constexpr std::size_t max_commands = 2'000;
constexpr std::size_t max_written = 200;
constexpr std::size_t max_snapshots = 16 << 20;  // bytes of all contexts together
constexpr std::size_t max_bash_uses = 1'000;

bool is_declaration(std::string_view name) {
  return name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset";
}

bool is_test(std::string_view name) { return name == "test" || name == "[" || name == "[["; }

bool same(const ShellContext& a, const ShellContext& b) {
  return a.folder == b.folder && a.variables_lost == b.variables_lost && a.variables == b.variables;
}

std::size_t size_of(const ShellContext& context) {
  std::size_t size = 256;
  for (const auto& [name, value] : context.variables) {
    size += name.size() + 128;
    if (!value) continue;
    for (const CommandWord& word : *value) size += word.text.size() + 96;
  }
  return size;
}

void lose_variables(RunState& state) {
  state.context.variables.clear();
  state.context.variables_lost = true;
}

void set_text(RunState& state, const std::string& name, std::string value) {
  state.context.variables[name] = CommandLine{CommandWord::of(std::move(value))};
}

/// The folder before all others on PATH.
void prepend_path(RunState& state, const std::string& folder) {
  const auto path = state.context.variables.contains("PATH") ? state.context.variable("PATH") : std::nullopt;
  if (path) {
    set_text(state, "PATH", folder + ":" + *path);
  } else {
    state.context.variables["PATH"] = std::nullopt;
  }
}

std::string shell_name(std::string_view program) {
  static constexpr std::string_view names[] = {"sh", "bash", "dash", "ash", "zsh", "ksh"};
  return std::find(std::begin(names), std::end(names), program) != std::end(names) ? std::string(program)
                                                                                   : std::string();
}

}  // namespace

std::vector<RunField> RunWalker::expand(const std::vector<Word>& words, const RunState& state, bool whole,
                                        bool in_test) {
  std::vector<UnsetVariable> unset;
  std::vector<BashUse> bash;
  const RunScope scope{state.context, state.positional, state.bash, &unset, &bash};
  std::vector<RunField> fields = expand_run_words(words, scope, whole);
  const RunOrigin origin = script_ ? script_->origin : RunOrigin{};
  for (RunField& field : fields) field.offset = origin(field.offset);
  for (UnsetVariable& one : unset) {
    if (muted_ > 0 || step_.unset.size() >= 1000) break;
    one.offset = origin(one.offset);
    one.in_test = in_test;
    step_.unset.push_back(std::move(one));
  }
  for (const BashUse& one : bash) note_bash(one.what, origin(one.offset), state);
  return fields;
}

void RunWalker::note_bash(std::string_view what, std::size_t offset, const RunState& state) {
  if (state.bash || muted_ > 0 || step_.bash_uses.size() >= max_bash_uses) return;
  step_.bash_uses.push_back({std::string(what), offset});
}

void RunWalker::note_bash_builtin(const RunCommand& line, std::string_view name, const RunState& state) {
  static constexpr std::string_view names[] = {"source",  "pushd",    "popd",    "declare", "typeset",   "shopt",
                                               "let",     "mapfile",  "disown",  "enable",  "readarray", "builtin",
                                               "compgen", "complete", "suspend", "caller"};
  if (std::find(std::begin(names), std::end(names), name) != std::end(names)) note_bash(name, line.offset, state);
  if (name == "[" || name == "test") {
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      if (text_of(line.words, i) == "==") note_bash("==", line.offsets[i], state);
    }
  }
  if (name == "set") {
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      if (text_of(line.words, i) == "pipefail") note_bash("pipefail", line.offsets[i], state);
    }
  }
}

RunOrigin RunWalker::origin_of(const std::string& text, std::size_t offset) const {
  for (std::size_t at = offset; at <= offset + 1; ++at) {
    if (at <= step_text_.size() && step_text_.substr(at, text.size()) == text) return {at, true};
  }
  return {offset, false};
}

// ---- words

void RunWalker::substitutions(const std::vector<Word>& words, const RunState& state, Setting setting) {
  for (const Word& word : words) {
    for (const Piece& piece : word.pieces) {
      if (piece.kind != Piece::Kind::other || piece.text.size() < 3) continue;
      const std::string& text = piece.text;
      std::size_t skip = 0;
      if ((text.starts_with("$(") && !text.starts_with("$((")) || text.starts_with("<(") || text.starts_with(">("))
        skip = 2;
      if (text.front() == '`') skip = 1;
      if (skip == 0) continue;
      std::string inner = text.substr(skip, text.size() - skip - 1);
      const RunOrigin outer = script_ ? script_->origin : RunOrigin{};
      const RunOrigin origin{outer(piece.offset + skip), outer.verbatim && inner.find('\\') == std::string::npos};
      RunState own = state;
      ++substitution_;
      std::vector<std::vector<Redirection>> around;
      std::swap(around, outer_);
      read(std::move(inner), text.front() == '`' ? origin : RunOrigin{origin.base, outer.verbatim}, own, setting, true);
      std::swap(around, outer_);
      --substitution_;
    }
  }
}

void RunWalker::redirections(const Command& one, RunCommand& line, const RunState& state) {
  const RunOrigin origin = script_ ? script_->origin : RunOrigin{};
  for (const shell::Redirection& from : one.redirections) {
    Redirection made;
    made.operation = from.operation;
    made.written = from.written.substr(0, max_written);
    made.offset = origin(from.offset);
    if (from.heredoc && script_ && *from.heredoc < script_->script.heredocs.size()) {
      const shell::Heredoc& heredoc = script_->script.heredocs[*from.heredoc];
      made.target = CommandWord::of(from.target.written);
      const RunScope scope{state.context, state.positional, state.bash, nullptr, nullptr};
      line.heredoc = heredoc.expand ? expand_run_text(heredoc.text, scope) : std::optional(heredoc.text);
      line.heredoc_offset = origin(heredoc.offset);
    } else {
      const auto fields = expand({from.target}, state, true);
      if (fields.size() == 1) made.target = fields.front().word;
      if (from.operation == "<<<" && made.target.kind == CommandWord::Kind::text) {
        line.heredoc = made.target.text + "\n";
        line.heredoc_offset = origin(from.target.offset);
      }
    }
    line.redirections.push_back(std::move(made));
  }
}

void RunWalker::assign(const std::vector<shell::Assignment>& assignments, RunState& state) {
  for (const shell::Assignment& one : assignments) {
    const auto fields = expand(one.values, state, !one.array);
    CommandLine value;
    bool lost = one.append;
    for (const RunField& field : fields) {
      lost = lost || field.word.kind != CommandWord::Kind::text;
      value.push_back(field.word);
    }
    if (one.append && !one.array && value.size() == 1 && !lost) lost = true;
    if (!one.array && value.empty()) value.push_back(CommandWord::of(""));
    state.context.variables[one.name] = lost || value.size() > 256 ? std::nullopt : std::optional(value);
  }
  // Variables that grow are not followed beyond 64 KiB.
  if (!assignments.empty() && size_of(state.context) > (64 << 10)) lose_variables(state);
}

// ---- commands

void RunWalker::emit(RunCommand line, const RunState& state, Setting setting) {
  if (muted_ > 0) return;
  if (step_.commands.size() >= max_commands) {
    not_understood("it runs more than 2,000 commands");
    return;
  }
  line.certain = setting.certain && !state.may_have_ended && !state.may_have_returned && !state.may_have_broken;
  line.failure_ignored = setting.failure != RunFailure::noticed;
  line.in_substitution = substitution_ > 0;
  line.folder = state.context.folder;
  for (auto& around : outer_) {
    for (Redirection& one : around) {
      const bool own = std::any_of(line.redirections.begin(), line.redirections.end(), [&](const Redirection& other) {
        return other.operation.substr(0, 1) == one.operation.substr(0, 1);
      });
      if (own) continue;
      line.redirections.push_back(one);
      // The next command of the group writes behind this one.
      if (one.operation == ">" || one.operation == "1>") one.operation = ">>";
    }
  }
  if (!snapshot_ || !same(*snapshot_, state.context)) {
    snapshot_bytes_ += size_of(state.context);
    if (snapshot_bytes_ > max_snapshots) {
      not_understood("its variables are too large");
      return;
    }
    snapshot_ = std::make_shared<const ShellContext>(state.context);
  }
  line.context = snapshot_;
  step_.commands.push_back(std::move(line));
}

RunWalker::Flow RunWalker::simple(const Command& one, RunState& state, Setting setting, Truth& status) {
  const RunOrigin origin = script_ ? script_->origin : RunOrigin{};
  const std::string first = one.words.empty() ? std::string() : one.words.front().written;
  const bool declares = is_declaration(first);
  Setting inside = setting;
  // Of V=$(command) alone the command's status counts; elsewhere it is lost.
  if (!one.words.empty() && inside.failure == RunFailure::noticed) inside.failure = RunFailure::passed_over;
  for (const shell::Assignment& assignment : one.assignments) substitutions(assignment.values, state, inside);
  substitutions(one.words, state, inside);

  RunCommand line;
  line.offset = origin(one.offset);
  if (script_)
    line.written =
        script_->text.substr(std::min(one.offset, script_->text.size()), std::min(one.end - one.offset, max_written));
  std::vector<RunField> fields = expand(one.words, state, false, is_test(first));
  redirections(one, line, state);
  if (one.words.empty() || declares) assign(one.assignments, state);
  if (fields.empty()) {
    status = one.words.empty() ? Truth::yes : Truth::maybe;
    if (one.words.empty() && !line.redirections.empty()) {
      // "> FILE" alone makes an empty file.
      line.words = {CommandWord::of(":")};
      line.offsets = {line.offset};
      emit(std::move(line), state, setting);
    }
    return Flow::goes_on;
  }
  if (!declares) {
    for (const shell::Assignment& assignment : one.assignments) {
      const auto value = expand(assignment.values, state, true);
      const bool known = !assignment.append && value.size() == 1 && value.front().word.kind == CommandWord::Kind::text;
      line.environment.emplace_back(assignment.name, known ? std::optional(value.front().word.text) : std::nullopt);
    }
  }
  bool glob = false;
  for (RunField& field : fields) {
    glob = glob || field.glob;
    line.words.push_back(std::move(field.word));
    line.offsets.push_back(field.offset);
  }
  const std::string name = text_of(line.words, 0);
  if (const auto function = state.functions.find(name); function != state.functions.end()) {
    const RunFunction called = function->second;
    return call(called, line, state, setting);
  }
  if (is_test(name)) {
    note_bash_builtin(line, name, state);
    // "[" reads "==" as an error where it is not bash's, and "[[" compares with patterns.
    const bool wrong =
        name != "[[" && !state.bash &&
        std::any_of(line.words.begin(), line.words.end(), [](const CommandWord& word) { return word.text == "=="; });
    // "[" itself looks like a glob.
    const bool pattern =
        std::any_of(fields.begin() + 1, fields.end(), [](const RunField& field) { return field.glob; });
    status = wrong || pattern ? Truth::maybe : decide_test(line.words);
    emit(std::move(line), state, setting);
    return Flow::goes_on;
  }
  return plain(std::move(line), state, setting, status);
}

RunWalker::Flow RunWalker::plain(RunCommand line, RunState& state, Setting setting, Truth& status) {
  const std::string outermost = text_of(line.words, 0);
  RunState scope = state;
  if (!take_wrappers_off(line, scope.context)) return Flow::goes_on;
  const std::string word = text_of(line.words, 0);
  const std::string name(base_name(word));
  const bool bare = word.find('/') == std::string::npos;
  if (name == "true" || (bare && name == ":")) status = Truth::yes;
  if (name == "false") status = Truth::no;
  if (!shell_name(name).empty() && run_shell(line, name, scope, setting)) return Flow::goes_on;
  if (bare && name == "eval") {
    std::string text;
    bool known = true;
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      known = known && is_text(line.words, i);
      text += (i > 1 ? " " : "") + line.words[i].text;
    }
    if (known) {
      read(text, line.words.size() == 2 ? origin_of(text, line.offsets[1]) : RunOrigin{line.offset, false}, state,
           setting);
      return Flow::goes_on;
    }
  }
  const Flow flow = bare ? ends(line, name) : Flow::goes_on;
  const bool replaces = outermost == "exec" && word != "exec";
  if (bare) builtin(line, name, state);
  if (replaces && setting.failure == RunFailure::passed_over) setting.failure = RunFailure::noticed;
  emit(std::move(line), scope, setting);
  return replaces ? Flow::exited : flow;
}

RunWalker::Flow RunWalker::ends(const RunCommand& line, std::string_view name) const {
  if (name == "break") return Flow::broke;
  if (name == "continue") return Flow::continued;
  if (name != "exit" && name != "return") return Flow::goes_on;
  if (name == "return" && calls_ > 0) return Flow::returned;
  const std::string code = text_of(line.words, 1);
  return !code.empty() && code != "0" ? Flow::failed : Flow::exited;
}

void RunWalker::set_options(const RunCommand& line, RunState& state) {
  ShellState shell;
  shell.positional = state.positional;
  set_arguments(line.words, shell);
  state.positional = std::move(shell.positional);
  for (std::size_t i = 1; i < line.words.size() && is_text(line.words, i); ++i) {
    const std::string& option = line.words[i].text;
    if (option == "--" || option.size() < 2 || (option.front() != '-' && option.front() != '+')) return;
    const bool on = option.front() == '-';
    if (option.find('e') != std::string::npos && !option.starts_with("--")) state.errexit = on;
    if (option.back() == 'o') {
      const std::string long_name = text_of(line.words, ++i);
      if (long_name == "errexit") state.errexit = on;
      if (long_name == "pipefail") state.pipefail = on;
    }
  }
}

void RunWalker::source_file(const RunCommand& line, RunState& state) {
  const std::string file = text_of(line.words, 1);
  const std::string path = path_from(state.context.folder, file);
  static constexpr std::string_view activate = "/bin/activate";
  if (file.empty()) {
    lose_variables(state);
  } else if (path.ends_with(activate) && path.starts_with("/")) {
    // A virtual environment's, or conda's with a name behind it.
    const std::string root = path.substr(0, path.size() - activate.size());
    if (line.words.size() > 2) {
      state.context.variables["PATH"] = std::nullopt;
      state.context.variables["CONDA_DEFAULT_ENV"] = CommandLine{line.words[2]};
    } else {
      set_text(state, "VIRTUAL_ENV", root);
      prepend_path(state, root + "/bin");
    }
  } else if (path == "/etc/os-release" || path == "/usr/lib/os-release" || path == "/etc/lsb-release") {
    for (const char* one : {"ID", "ID_LIKE", "NAME", "PRETTY_NAME", "VERSION", "VERSION_ID", "VERSION_CODENAME",
                            "UBUNTU_CODENAME", "PLATFORM_ID", "DISTRIB_ID", "DISTRIB_RELEASE", "DISTRIB_CODENAME"})
      state.context.variables[one] = std::nullopt;
  } else if (path.ends_with("/etc/profile.d/conda.sh") || path.ends_with("/etc/profile.d/mamba.sh") ||
             path.ends_with("/.cargo/env")) {
    // Functions, and a folder on PATH that holds nothing of Python's: what was found before is found still.
    if (path.ends_with("conda.sh")) {
      const std::string root = path.substr(0, path.size() - std::string_view("/etc/profile.d/conda.sh").size());
      prepend_path(state, root + "/condabin");
    }
  } else {
    lose_variables(state);
  }
}

/// What builtins change in the shell that runs them.
void RunWalker::builtin(const RunCommand& line, std::string_view name, RunState& state) {
  note_bash_builtin(line, name, state);
  if (name == "set") {
    set_options(line, state);
  } else if (name == "cd" || name == "pushd" || name == "popd") {
    // The command itself runs where the shell was.
    ShellState shell;
    shell.context = state.context;
    CommandLine words = line.words;
    std::erase_if(words,
                  [](const CommandWord& word) { return word.text == "-P" || word.text == "-L" || word.text == "--"; });
    if (words.size() == 1 && name == "cd") {
      const auto home = state.context.variables.contains("HOME") ? state.context.variable("HOME") : std::nullopt;
      state.context.folder = home;
      return;
    }
    change_folder(words, shell);
    state.context.folder = shell.context.folder;
    if (state.context.folder) state.context.folder = path_from(std::nullopt, *state.context.folder);
  } else if (name == "shift") {
    ShellState shell;
    shell.positional = state.positional;
    shift_arguments(line.words, shell);
    state.positional = std::move(shell.positional);
  } else if (name == "unset") {
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      state.context.variables.erase(text_of(line.words, i));
      state.functions.erase(text_of(line.words, i));
    }
  } else if (name == "read" || name == "mapfile" || name == "readarray" || name == "getopts") {
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      const std::string variable = text_of(line.words, i);
      if (!variable.empty() && !variable.starts_with("-")) state.context.variables[variable] = std::nullopt;
    }
    if (size_of(state.context) > (64 << 10)) lose_variables(state);
  } else if (name == "." || name == "source") {
    source_file(line, state);
  } else if (name == "eval") {
    lose_variables(state);
  } else if ((name == "conda" || name == "mamba" || name == "micromamba") && text_of(line.words, 1) == "activate") {
    state.context.variables["PATH"] = std::nullopt;
    state.context.variables.erase("CONDA_PREFIX");
    const std::string environment = text_of(line.words, 2);
    const bool known = is_text(line.words, 2) || line.words.size() == 2;
    if (!known) {
      state.context.variables["CONDA_DEFAULT_ENV"] = std::nullopt;
    } else {
      set_text(state, "CONDA_DEFAULT_ENV", environment.empty() ? "base" : environment);
      if (environment.find('/') != std::string::npos)
        set_text(state, "CONDA_PREFIX", path_from(state.context.folder, environment));
    }
  }
}

/// sh -c TEXT, and a shell that reads a heredoc; false where what it runs is not known.
bool RunWalker::run_shell(const RunCommand& line, std::string_view name, const RunState& state, Setting setting) {
  RunState own = state;
  own.functions.clear();
  own.positional.clear();
  own.bash = name == "bash" || name == "zsh" || name == "ksh";
  own.errexit = own.pipefail = false;
  own.may_have_broken = own.may_have_returned = own.may_have_ended = false;
  setting.certain = setting.certain && !state.may_have_ended && !state.may_have_returned && !state.may_have_broken;
  for (const auto& [variable, value] : line.environment)
    own.context.variables[variable] = value ? std::optional(CommandLine{CommandWord::of(*value)}) : std::nullopt;
  bool takes_text = false, reads_input = false;
  std::size_t i = 1;
  for (; i < line.words.size() && is_text(line.words, i); ++i) {
    const std::string& option = line.words[i].text;
    if (option == "--" || option == "-") {
      ++i;
      break;
    }
    if (option.size() < 2 || (option.front() != '-' && option.front() != '+')) break;
    if (option.starts_with("--")) {
      if (option == "--login") own.context.variables["PATH"] = std::nullopt;
      if (option == "--rcfile" || option == "--init-file") ++i;
      continue;
    }
    for (const char c : option.substr(1)) {
      if (c == 'c') takes_text = true;
      if (c == 's') reads_input = true;
      if (c == 'e') own.errexit = option.front() == '-';
      if (c == 'l') own.context.variables["PATH"] = std::nullopt;  // /etc/profile sets it
      if (c == 'o' || c == 'O') {
        const std::string long_name = text_of(line.words, ++i);
        if (long_name == "pipefail") own.pipefail = true;
        if (long_name == "errexit") own.errexit = true;
      }
    }
  }
  std::vector<std::vector<Redirection>> around = outer_;
  std::string text;
  RunOrigin origin;
  if (takes_text) {
    if (!is_text(line.words, i)) return false;
    text = line.words[i].text;
    origin = origin_of(text, line.offsets[i]);
    if (line.offsets[i] == i && step_text_.empty()) origin = {line.offsets[i], false};
    own.positional = from(line.words, i + 2);
  } else {
    if (!line.heredoc || (i < line.words.size() && !reads_input)) return false;
    text = *line.heredoc;
    origin = origin_of(text, line.heredoc_offset);
    own.positional = from(line.words, i);
  }
  std::vector<Redirection> output;
  for (const Redirection& one : line.redirections) {
    if (one.operation.find('>') != std::string::npos) output.push_back(one);
  }
  outer_.push_back(std::move(output));
  const bool understood = step_.not_understood.empty();
  const std::size_t before = step_.commands.size();
  read(std::move(text), origin, own, setting);
  outer_ = std::move(around);
  return !(understood && !step_.not_understood.empty() && step_.commands.size() == before);
}

void RunWalker::run(RunCommand line, RunState& state) {
  Truth status = Truth::maybe;
  plain(std::move(line), state, {}, status);
}

}  // namespace imgforge
