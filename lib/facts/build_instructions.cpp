// Stages, and every instruction but RUN: what BuildKit's frontend does with them (dockerfile2llb/convert.go).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

using dockerfile::Expansion;
using dockerfile::Variable;
using Kind = dockerfile::Instruction::Kind;

namespace {

// Linux starts no program with a longer one (MAX_ARG_STRLEN), and `ENV A=$A$A` again and again doubles it.
constexpr std::size_t longest_value = 128 << 10;
constexpr std::uint64_t most_expanded_bytes = 16 << 20;  // of all variables in one file

constexpr std::size_t max_stages = 500;
constexpr std::size_t max_uses = 2'000;  // of each list of Build
constexpr std::size_t max_line = 200;

/// What BuildKit knows without an ARG, or lets --build-arg set without one (frontend/dockerfile/dockerfile2llb).
bool is_proxy(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {"http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
                                                           "all_proxy"};
  return names.contains(lower(name));
}

/// What an empty variable leaves broken: nothing at all, or a word that ends or starts where a value is missing.
bool is_broken(const std::string& result, const std::string& instruction) {
  if (result.empty()) return true;
  static constexpr std::string_view wants_before = ":@";
  static constexpr std::string_view wants_behind = ":@=-_/";
  if (wants_behind.find(result.back()) != std::string_view::npos && result.size() > 1) return true;
  if (wants_before.find(result.front()) != std::string_view::npos) return true;
  if (result.find("==,") != std::string::npos || result.find("//") != std::string::npos)
    return result.find("://") == std::string::npos;
  return instruction != "RUN" && result.find("::") != std::string::npos;
}

std::string with_secrets_out(std::string_view text) {
  std::string kept;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    const bool pair = equals != std::string_view::npos && equals > 0;
    if (!word.empty() && looks_secret(pair ? word.substr(0, equals) : "", pair ? word.substr(equals + 1) : word)) {
      kept += pair ? std::string(word.substr(0, equals + 1)) + "..." : "...";
    } else {
      kept += word;
    }
    if (end < text.size()) kept += text[end];
    at = end + 1;
    if (kept.size() > 2 * max_line) break;
  }
  return kept;
}

std::string shortened(std::string text) {
  if (text.size() <= max_line) return text;
  text.resize(max_line);
  while (!text.empty() && !is_utf8(text)) text.pop_back();
  return text;
}

}  // namespace

BuildReader::BuildReader(const dockerfile::Dockerfile& dockerfile, const BuildOptions& options,
                         const ContextFile& context, const Knowledge& knowledge)
    : dockerfile_(dockerfile), options_(options), knowledge_(knowledge), build_(std::make_shared<Build>()) {
  // Each file is read once, however often it is asked for.
  auto read = std::make_shared<std::map<std::string, std::optional<std::string>, std::less<>>>();
  context_ = [read, context](const std::string& path) -> std::optional<std::string> {
    if (!context || path.empty()) return std::nullopt;
    if (const auto known = read->find(path); known != read->end()) return known->second;
    if (read->size() > 5'000) return std::nullopt;
    return read->emplace(path, context(path)).first->second;
  };
}

void BuildReader::read() {
  build_->file = dockerfile_.file;
  find_target();
  find_reachable();
  global_arguments();
  states_.resize(dockerfile_.stages.size());
  for (std::size_t i = 0; i < dockerfile_.stages.size(); ++i) stage(i);
  for (std::size_t i = 0; i < dockerfile_.stages.size(); ++i) {
    StageContract contract;
    contract.stage = dockerfile_.stages[i].name.empty() ? std::to_string(i) : dockerfile_.stages[i].name;
    contract.place = dockerfile_.instructions[dockerfile_.stages[i].from].place;
    contract.last = i + 1 == dockerfile_.stages.size();
    build_->stages.push_back(std::move(contract));
  }
  build_->stage = build_->stages[target_].stage;
  for (const Place& place : dockerfile_.env_comments) {
    const auto next = std::find_if(dockerfile_.instructions.rbegin(), dockerfile_.instructions.rend(),
                                   [&](const Instruction& one) { return one.place.line <= place.line; });
    StepPlace at;
    if (next != dockerfile_.instructions.rend()) at = step_at(place, *next);
    at.place = place;
    build_->env_comments.push_back(std::move(at));
  }
  // A base runs steps where its own stage does, or one built upon that.
  std::vector<bool> runs(states_.size(), false);
  for (std::size_t i = states_.size(); i-- > 0;) {
    const auto& stage = dockerfile_.stages[i];
    for (std::size_t k = stage.from; k < stage.end && !runs[i]; ++k)
      runs[i] = dockerfile_.instructions[k].kind == Kind::run;
    if (runs[i] && base_stage_[i]) runs[*base_stage_[i]] = true;
  }
  for (ImageUse& use : build_->images) {
    if (use.role != ImageUse::Role::base) continue;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const Instruction& from = dockerfile_.instructions[dockerfile_.stages[i].from];
      if (from.place.line == use.at.place.line) use.runs_steps = runs[i];
    }
  }
}

void BuildReader::find_target() {
  if (dockerfile_.stages.empty())
    throw Error(ErrorKind::usage, fmt::format("{} has no stage", escape_for_display(dockerfile_.file)));
  target_ = dockerfile_.stages.size() - 1;
  if (options_.stage.empty()) return;
  const auto found = stage_named(options_.stage, dockerfile_.stages.size());
  if (!found) {
    std::vector<std::string> names;
    for (const auto& stage : dockerfile_.stages) {
      if (!stage.name.empty()) names.push_back(stage.name);
    }
    const auto near = nearest(lower(options_.stage), names);
    throw Error(
        ErrorKind::usage,
        fmt::format("{} has no stage \"{}\"", escape_for_display(dockerfile_.file), escape_for_display(options_.stage)),
        near             ? fmt::format("did you mean {}?", escape_for_display(*near))
        : !names.empty() ? fmt::format("its stages are {}", escape_for_display(join_words(names)))
                         : std::string());
  }
  target_ = *found;
}

std::optional<std::size_t> BuildReader::stage_named(std::string_view name, std::size_t before) const {
  const std::string wanted = lower(name);
  for (std::size_t i = std::min(before, dockerfile_.stages.size()); i-- > 0;) {
    if (!dockerfile_.stages[i].name.empty() && dockerfile_.stages[i].name == wanted) return i;
  }
  return std::nullopt;
}

void BuildReader::find_reachable() {
  base_stage_.assign(dockerfile_.stages.size(), std::nullopt);
  in_image_.assign(dockerfile_.stages.size(), false);
}

std::optional<std::string> BuildReader::predefined(std::string_view name) const {
  const std::string& architecture = options_.architecture;
  if (name == "TARGETPLATFORM" || name == "BUILDPLATFORM") return "linux/" + architecture;
  if (name == "TARGETARCH" || name == "BUILDARCH") return architecture;
  if (name == "TARGETOS" || name == "BUILDOS") return "linux";
  if (name == "TARGETVARIANT" || name == "BUILDVARIANT") return "";
  if (name == "TARGETSTAGE") return options_.stage.empty() ? "default" : options_.stage;
  return std::nullopt;
}

void BuildReader::global_arguments() {
  const std::size_t end = dockerfile_.stages.front().from;
  for (std::size_t i = 0; i < end && i < dockerfile_.instructions.size(); ++i) {
    const Instruction& instruction = dockerfile_.instructions[i];
    if (instruction.kind != Kind::arg) continue;
    for (const dockerfile::Assignment& assignment : instruction.assignments) {
      BuildVariable variable;
      variable.evidence = Evidence::at(assignment.name.place);
      const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
      if (const auto given = options_.arguments.find(name); given != options_.arguments.end()) {
        variable.value = given->second;
      } else if (assignment.value) {
        const Expansion value = expand(*assignment.value, instruction, nullptr);
        variable.value = value.text;
        if (!value.text)
          variable.not_known =
              value.error.empty() ? fmt::format("the value of {}", escape_for_display(name)) : value.error;
      } else if (const auto known = predefined(name)) {
        variable.value = *known;
      } else {
        variable.not_known = fmt::format("ARG {} has no value", escape_for_display(name));
      }
      note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ARG");
      globals_[name] = std::move(variable);
    }
  }
}

std::string BuildReader::short_line(const Instruction& instruction) const {
  std::string line(dockerfile::to_string(instruction.kind));
  for (const auto& flag : instruction.flags) {
    line += " --" + flag.name;
    if (flag.value) line += "=" + *flag.value;
  }
  if (instruction.json) {
    std::vector<std::string> words;
    for (const Word& word : instruction.words) words.push_back("\"" + word.text + "\"");
    line += " [" + join(words, ", ") + "]";
  } else if (!instruction.assignments.empty()) {
    for (const auto& one : instruction.assignments) {
      line += " " + one.name.text;
      if (one.value)
        line += "=" + (looks_secret(one.name.text, one.value->text) ? std::string("...") : one.value->text);
      if (line.size() > 2 * max_line) break;
    }
  } else if (!instruction.command.text().empty()) {
    line += " " + instruction.command.text().substr(0, 2 * max_line);
  } else {
    for (const Word& word : instruction.words) {
      line += " " + word.text;
      if (line.size() > 2 * max_line) break;
    }
  }
  return shortened(with_secrets_out(line));
}

StepPlace BuildReader::step_at(const Place& place, const Instruction& instruction) const {
  StepPlace at;
  at.place = place;
  if (at.place.line == 0) at.place = instruction.place;
  const auto& stage = dockerfile_.stages[current_];
  at.stage = stage.name.empty() ? std::to_string(current_) : stage.name;
  at.in_image = in_image_[current_];
  if (line_of_ != &instruction) {
    line_of_ = &instruction;
    line_ = short_line(instruction);
  }
  at.line = line_;
  return at;
}

Variable BuildReader::look_up(const BuildState* state, std::string_view name) const {
  const auto of = [&](const BuildVariable& variable) -> Variable {
    if (!variable.value || variable.value->size() > longest_value || expanded_bytes_ > most_expanded_bytes)
      return {Variable::State::unknown, {}};
    expanded_bytes_ += variable.value->size();
    return {Variable::State::set, *variable.value};
  };
  if (state == nullptr) {
    if (const auto found = globals_.find(name); found != globals_.end()) return of(found->second);
    if (const auto known = predefined(name)) return {Variable::State::set, *known};
    return {};
  }
  if (const BuildVariable* variable = state->variable(name)) return of(*variable);
  if (const auto found = state->arguments.find(name); found != state->arguments.end()) return of(found->second);
  if (!state->env_open.empty()) return {Variable::State::unknown, {}};
  // PATH is never empty: BuildKit sets it where the base has none.
  if (name == "PATH") return {Variable::State::set, std::string(default_path)};
  if (is_proxy(name)) return {Variable::State::unknown, {}};
  return {};
}

Expansion BuildReader::expand(const Word& word, const Instruction& instruction, const BuildState* state) {
  Expansion expansion =
      dockerfile::expand(word.text, dockerfile_.escape, [&](std::string_view name) { return look_up(state, name); });
  for (const std::string& name : expansion.undeclared) {
    if (build_->undeclared.size() >= max_uses) break;
    VariableUse use;
    use.at = step_at(word.place, instruction);
    use.name = name;
    use.instruction = dockerfile::to_string(instruction.kind);
    use.global_arg = state != nullptr && globals_.contains(name);
    use.result = expansion.text.value_or("");
    use.breaks = expansion.text.has_value() && is_broken(use.result, use.instruction);
    build_->undeclared.push_back(std::move(use));
  }
  return expansion;
}

void BuildReader::note_secret(const std::string& name, const std::string& value, const Place& place,
                              const Instruction& instruction, const std::string& where) {
  if (value.size() < 6 || build_->secrets.size() >= max_uses) return;
  // A path, a switch or a URL without a login is none, whatever the variable is called.
  const bool by_name = looks_secret(name, "");
  const bool by_value = looks_secret("", value);
  if (!by_value) {
    if (!by_name) return;
    // Keys of AWS are base64: a slash inside one makes no path of it.
    const auto has = [&](char low, char high) {
      return std::any_of(value.begin(), value.end(), [&](char c) { return c >= low && c <= high; });
    };
    const bool base64 = value.size() >= 32 && value.front() != '/' && value.find("//") == std::string::npos &&
                        value.find('.') == std::string::npos && has('a', 'z') && has('A', 'Z') && has('0', '9');
    if (value.find_first_of(base64 ? " $<>{}" : "/ $<>{}") != std::string::npos || lower(name).find("public") != std::string::npos) return;
    static const std::set<std::string, std::less<>> harmless = {"changeme", "default",  "disabled",
                                                                "enabled",  "required", "optional"};
    if (harmless.contains(lower(value)) || value.find_first_not_of("0123456789.") == std::string::npos) return;
    const std::string lower_name = lower(name);
    for (const char* end : {"_file", "_path", "_dir", "_name", "_url", "_id", "_sha256", "_fingerprint", "gpg_key"}) {
      if (lower_name.ends_with(end)) return;
    }
  }
  SecretUse use;
  use.at = step_at(place, instruction);
  use.at.line.clear();
  use.name = name;
  use.where = where;
  build_->secrets.push_back(std::move(use));
}

ImageUse BuildReader::image_use(ImageUse::Role role, const Instruction& instruction, const std::string& written,
                                const Place& place) {
  ImageUse use;
  use.role = role;
  use.at = step_at(place, instruction);
  use.written = written;
  return use;
}

namespace {

/// Fills in what follows from `expanded`.
void judge_reference(ImageUse& use, const Knowledge& knowledge) {
  if (use.expanded.empty() || use.expanded == "scratch") return;
  std::string why;
  use.reference = Reference::parse(use.expanded, &why);
  if (!use.reference) {
    use.wrong = why;
    return;
  }
  const std::string tag = !use.reference->tag().empty() || use.reference->digest() ? use.reference->tag() : "latest";
  use.row = knowledge.base_image(use.reference->host() + "/" + use.reference->repository(), tag);
}

}  // namespace

const BuildState& BuildReader::image_state(const std::string& written, const std::string& expanded,
                                           const std::string& not_known, const Evidence& evidence) {
  const std::string key = expanded.empty() ? "?" + written : expanded;
  if (const auto known = images_.find(key); known != images_.end()) return known->second;
  if (images_.size() > 200) return images_.begin()->second;
  return images_.emplace(key, base_state(written, expanded, not_known, evidence, knowledge_)).first->second;
}

BuildState BuildReader::from(const Instruction& instruction, std::size_t index) {
  const Word word = instruction.words.empty() ? Word{"", instruction.place} : instruction.words.front();
  const Expansion name = expand(word, instruction, nullptr);
  if (name.text) {
    if (const auto stage = stage_named(*name.text, index)) {
      base_stage_[index] = stage;
      BuildState state = states_[*stage];
      state.arguments.clear();
      state.cmd_set = false;
      return state;
    }
  }
  ImageUse use = image_use(ImageUse::Role::base, instruction, word.text, word.place);
  use.expanded = name.text.value_or("");
  if (!name.text) {
    std::vector<std::string> names = name.unknown;
    use.not_known = !name.error.empty() ? name.error
                    : names.empty()     ? "its name is not known"
                                        : fmt::format("{} has no value", escape_for_display(join_words(names)));
  }
  judge_reference(use, knowledge_);
  if (name.text && name.text->empty() && use.wrong.empty())
    use.wrong = "base name (" + use.written + ") should not be blank";
  BuildState state = base_state(word.text, use.expanded, use.not_known, Evidence::at(word.place), knowledge_);
  build_->images.push_back(std::move(use));
  return state;
}

void BuildReader::stage(std::size_t index) {
  const auto& stage = dockerfile_.stages[index];
  current_ = index;
  if (index == 0) {
    // Which stages are part of the image: the target, and what it is built upon. Names of stages are not expanded
    // here where they hold variables that a --build-arg may give; FROM itself settles them when it is read, and a
    // stage can only stand upon earlier ones.
    std::optional<std::size_t> at = target_;
    while (at) {
      in_image_[*at] = true;
      const Instruction& from = dockerfile_.instructions[dockerfile_.stages[*at].from];
      if (from.words.empty()) break;
      const Expansion name = dockerfile::expand(from.words.front().text, dockerfile_.escape,
                                                [&](std::string_view variable) { return look_up(nullptr, variable); });
      at = name.text ? stage_named(*name.text, *at) : std::nullopt;
    }
  }
  const Instruction& first = dockerfile_.instructions[stage.from];
  if (index >= max_stages) {
    states_[index] = base_state("", "", "the Dockerfile has too many stages", Evidence::at(first.place), knowledge_);
    return;
  }
  BuildState state = from(first, index);
  state.files.set_context(context_);
  if (state.shell_words.empty()) state.shell_words = {"/bin/sh", "-c"};
  for (std::size_t i = stage.from + 1; i < stage.end && i < dockerfile_.instructions.size(); ++i)
    apply(dockerfile_.instructions[i], state);
  states_[index] = std::move(state);
}

void BuildReader::apply(const Instruction& instruction, BuildState& state) {
  switch (instruction.kind) {
    case Kind::arg: return arg(instruction, state);
    case Kind::env: return env(instruction, state);
    case Kind::label: return label(instruction, state);
    case Kind::copy:
    case Kind::add: return copy(instruction, state);
    case Kind::cmd:
    case Kind::entrypoint: return entrypoint(instruction, state);
    case Kind::run: return run(instruction, state);
    case Kind::shell: {
      state.shell_words.clear();
      for (const Word& word : instruction.words) state.shell_words.push_back(word.text);
      state.shell = RunShell();
      if (state.shell_words.empty()) return;
      const std::string name(base_name(state.shell_words.front()));
      if (name == "bash" || name == "zsh" || name == "ksh") {
        state.shell.kind = RunShell::Kind::bash;
      } else if (name != "sh" && name != "dash" && name != "ash") {
        state.shell.kind = RunShell::Kind::other;
      }
      for (std::size_t i = 1; i < state.shell_words.size(); ++i) {
        const std::string& word = state.shell_words[i];
        if (word.size() > 1 && word[0] == '-' && word[1] != '-' && word.find('e') != std::string::npos)
          state.shell.errexit = true;
      }
      return;
    }
    case Kind::user: {
      if (instruction.words.empty()) return;
      const Expansion value = expand(instruction.words.front(), instruction, &state);
      state.user = value.text;
      state.user_not_known = value.text ? "" : "the value of USER";
      state.user_evidence = Evidence::at(instruction.words.front().place);
      state.user_place = instruction.words.front().place;
      return;
    }
    case Kind::workdir: {
      if (instruction.words.empty()) return;
      const Expansion value = expand(instruction.words.front(), instruction, &state);
      state.workdir_evidence = Evidence::at(instruction.words.front().place);
      if (!value.text || (!value.text->starts_with('/') && !state.workdir)) {
        state.workdir.reset();
        return;
      }
      state.workdir = absolute_path(*value.text, state.workdir.value_or("/"));
      state.files.make_folder(*state.workdir, state.workdir_evidence);
      return;
    }
    case Kind::expose:
    case Kind::volume:
    case Kind::stopsignal:
      for (const Word& word : instruction.words) expand(word, instruction, &state);
      return;
    case Kind::from:
    case Kind::healthcheck:
    case Kind::maintainer:
    case Kind::onbuild: return;
  }
}

void BuildReader::arg(const Instruction& instruction, BuildState& state) {
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    // The default is expanded even where --build-arg replaces it.
    std::optional<Expansion> own;
    if (assignment.value) own = expand(*assignment.value, instruction, &state);
    if (const auto given = options_.arguments.find(name); given != options_.arguments.end()) {
      variable.value = given->second;
    } else if (own) {
      variable.value = own->text;
      if (!own->text) variable.not_known = fmt::format("the value of {}", escape_for_display(name));
    } else if (const auto global = globals_.find(name); global != globals_.end()) {
      variable.value = global->second.value;
      variable.not_known = global->second.not_known;
    } else if (const auto known = predefined(name)) {
      variable.value = *known;
    } else {
      variable.not_known = fmt::format("ARG {} has no value", escape_for_display(name));
    }
    if (assignment.value) note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ARG");
    state.arguments[name] = std::move(variable);
  }
}

void BuildReader::env(const Instruction& instruction, BuildState& state) {
  // All values of one ENV see the variables as they were before it.
  std::vector<std::pair<std::string, BuildVariable>> set;
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    const std::string name = dockerfile::unquote(assignment.name.text, dockerfile_.escape);
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    const Word word = assignment.value ? *assignment.value : Word{"", assignment.name.place};
    if (!word.text.empty()) {
      const Expansion value = expand(word, instruction, &state);
      variable.value = value.text;
      if (!value.text) {
        variable.not_known = !value.unknown.empty()
                                 ? fmt::format("{} is not known", escape_for_display(join_words(value.unknown)))
                                 : "its value: " + value.error;
      }
    } else {
      variable.value = "";
    }
    note_secret(name, variable.value.value_or(""), assignment.name.place, instruction, "ENV");
    set.emplace_back(name, std::move(variable));
  }
  for (auto& [name, variable] : set) state.set_variable(name, std::move(variable));
}

void BuildReader::label(const Instruction& instruction, BuildState& state) {
  for (const dockerfile::Assignment& assignment : instruction.assignments) {
    BuildVariable variable;
    variable.evidence = Evidence::at(assignment.name.place);
    const Expansion name = expand(assignment.name, instruction, &state);
    if (assignment.value) {
      variable.value = expand(*assignment.value, instruction, &state).text;
      note_secret(name.text.value_or(""), variable.value.value_or(""), assignment.name.place, instruction, "LABEL");
    }
    if (name.text) state.labels[*name.text] = std::move(variable);
  }
}

void BuildReader::entrypoint(const Instruction& instruction, BuildState& state) {
  std::vector<std::string> words;
  if (instruction.json) {
    for (const Word& word : instruction.words) words.push_back(word.text);
  } else if (!instruction.command.text().empty()) {
    words = state.shell_words;
    words.push_back(instruction.command.text());
  }
  const Evidence evidence = Evidence::at(instruction.place);
  if (instruction.kind == Kind::cmd) {
    state.cmd = std::move(words);
    state.cmd_evidence = evidence;
    state.cmd_set = true;
    return;
  }
  state.entrypoint = std::move(words);
  state.entrypoint_evidence = evidence;
  state.entrypoint_not_known.clear();
  // CMD of a base goes with its ENTRYPOINT; one of this stage stays (moby/buildkit dispatchEntrypoint).
  if (!state.cmd_set) {
    state.cmd = std::vector<std::string>();
    state.cmd_evidence = evidence;
  }
}

std::optional<std::string> BuildReader::file_text(const BuildState& state, const std::string& path) const {
  const BuildFiles::Look look = state.files.look(path);
  if (look.seen != BuildFiles::Seen::yes || !look.file->text) return std::nullopt;
  return look.file->text;
}

namespace {

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool has_glob(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

bool holds_programs(std::string_view path) {
  for (const char* part : {"/bin", "/sbin", "/lib", ".so", "venv", "site-packages", "dist-packages", "conda", "mamba",
                           "pyenv", "/.local", "/opt/python"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return path == "/" || path == "/usr" || path == "/usr/local" || path == "/usr/local/";
}

}  // namespace

void BuildReader::copy_context(const std::string& source, const std::string& destination, bool into_folder,
                               bool executable, BuildState& state, const Evidence& evidence) {
  const std::string clean = absolute_path(source, "/").substr(1);  // in the context, without "./"
  if (has_glob(clean)) {
    // Files matched by a pattern go by their names.
    const std::size_t slash = clean.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : clean.substr(0, slash);
    state.files.mark(destination, BuildFiles::Mark::context, folder, evidence);
    return;
  }
  if (clean.empty()) {
    state.files.mark(destination, BuildFiles::Mark::context, "", evidence);
    return;
  }
  if (const auto text = context_(clean)) {
    BuildFile file;
    file.text = *text;
    file.executable = executable;
    file.evidence = evidence;
    if (into_folder) state.files.make_folder(destination, evidence);
    state.files.put(into_folder ? absolute_path(last_part(clean), destination) : destination, std::move(file));
    return;
  }
  // A folder (its content goes into the destination), or a file that is not here.
  const bool looks_like_file = last_part(clean).find('.') != std::string::npos && !source.ends_with('/');
  if (looks_like_file) {
    BuildFile file;
    file.executable = executable;
    file.evidence = evidence;
    if (into_folder) state.files.make_folder(destination, evidence);
    state.files.put(into_folder ? absolute_path(last_part(clean), destination) : destination, std::move(file));
    return;
  }
  if (into_folder || source.ends_with('/')) {
    state.files.mark(destination, BuildFiles::Mark::context, clean, evidence);
    // Were it a file, it would be there under its own name.
    return;
  }
  BuildFile any;
  any.kind = BuildFile::Kind::any;
  any.evidence = evidence;
  if (state.files.look(destination).seen != BuildFiles::Seen::yes) state.files.put(destination, std::move(any));
  state.files.mark(destination, BuildFiles::Mark::context, clean, evidence);
}

void BuildReader::copy_image(const std::string& written, const BuildState& other,
                             const std::vector<std::string>& sources, const std::string& destination, BuildState& state,
                             const Evidence& evidence) {
  const BuildFiles& files = other.files;
  for (const std::string& source : sources) {
    const BuildFiles::Look look = files.look(source);
    const bool folder = look.seen == BuildFiles::Seen::yes && look.file->kind == BuildFile::Kind::folder;
    const BuildFiles::Look target = state.files.look(absolute_path(destination, state.folder()));
    const bool into = destination.ends_with('/') || sources.size() > 1 || destination == "." || has_glob(source) ||
                      (target.seen == BuildFiles::Seen::yes && target.file->kind == BuildFile::Kind::folder);
    const std::string at = absolute_path(destination, state.folder());
    if (has_glob(source)) {
      const std::size_t slash = source.rfind('/');
      const std::string pattern = source.substr(slash + 1);
      const std::string parent = slash == 0 || slash == std::string::npos ? "/" : source.substr(0, slash);
      state.files.make_folder(at, evidence);
      const auto matches = [&](std::string_view name) { return glob_match(pattern, name); };
      for (const std::string& one : files.list(parent, matches))
        state.files.copy_from(files, one, absolute_path(last_part(one), at), evidence);
      state.files.mark(at, BuildFiles::Mark::open, fmt::format("which files {} matches", escape_for_display(source)),
                       evidence);
    } else if (look.seen == BuildFiles::Seen::unknown && into) {
      // A folder's content, or a file under its own name.
      state.files.mark(at, BuildFiles::Mark::open, look.reason, evidence);
    } else if (folder || !into) {
      state.files.copy_from(files, source, at, evidence);
    } else {
      state.files.make_folder(at, evidence);
      state.files.copy_from(files, source, absolute_path(last_part(source), at), evidence);
    }
  }
  // Interpreters that came along, with what is installed in them.
  for (const BuildPython& python : other.pythons) {
    for (const std::string& source : sources) {
      const std::string start = source == "/" ? "/" : absolute_path(source, "/") + "/";
      const std::string& path = python.interpreter.path;
      if (!path.starts_with(start)) continue;
      const std::string moved = absolute_path(path.substr(start.size()), absolute_path(destination, state.folder()));
      if (state.files.look(moved).seen != BuildFiles::Seen::yes) continue;
      BuildPython copied = python;
      copied.in_base = false;
      const std::string prefix = copied.interpreter.prefix;
      const std::string to = absolute_path(destination, state.folder());
      const auto move = [&](std::string& one) {
        if ((one + "/").starts_with(start))
          one = one.size() <= start.size() ? to : absolute_path(one.substr(start.size()), to);
      };
      move(copied.interpreter.path);
      move(copied.interpreter.prefix);
      for (std::string& site : copied.interpreter.site_packages) move(site);
      for (BuildDistribution& one : copied.distributions) move(one.distribution.site);
      copied.interpreter.evidence = {evidence};
      if (const auto old = python_at(state, copied.interpreter.path)) {
        state.pythons[*old] = std::move(copied);
      } else {
        state.pythons.push_back(std::move(copied));
      }
    }
  }
  // Packages alone: copied into the folder of an interpreter that is here.
  for (BuildPython& python : state.pythons) {
    for (const std::string& site : python.interpreter.site_packages) {
      const std::string to = absolute_path(destination, state.folder());
      if (!(site + "/").starts_with(to == "/" ? "/" : to + "/") && !to.starts_with(site)) continue;
      bool known = false;
      for (const BuildPython& from : other.pythons) {
        for (const std::string& source : sources) {
          const std::string origin = absolute_path(source, "/");
          for (const std::string& from_site : from.interpreter.site_packages) {
            if (!(from_site + "/").starts_with(origin + "/")) continue;
            const std::string rest = from_site == origin ? "" : from_site.substr(origin.size() + 1);
            if (absolute_path(rest, to) != site || python.interpreter.evidence == std::vector<Evidence>{evidence})
              continue;
            known = true;
            for (BuildDistribution one : from.distributions) {
              one.distribution.site = site;
              one.distribution.evidence = evidence;
              std::erase_if(python.distributions, [&](const BuildDistribution& old) {
                return old.distribution.name == one.distribution.name;
              });
              python.distributions.push_back(std::move(one));
            }
            if (!from.open.empty()) python.open = from.open;
          }
        }
      }
      const bool came_along = std::find(python.interpreter.evidence.begin(), python.interpreter.evidence.end(),
                                        evidence) != python.interpreter.evidence.end();
      if (!known && !came_along)
        python.open =
            fmt::format("what COPY --from={} brings into {}", escape_for_display(written), escape_for_display(site));
    }
  }
  if (!other.pythons_open.empty()) {
    for (const std::string& source : sources) {
      if (holds_programs(source) && state.pythons_open.empty()) state.pythons_open = other.pythons_open;
    }
  }
  // A folder of which it is not known whether it holds an interpreter: an unpacked environment, another prefix.
  for (const std::string& source : sources) {
    const std::string origin = absolute_path(source, "/");
    if (!state.pythons_open.empty() || has_glob(source) || last_part(origin).find('.') != std::string::npos) continue;
    if ((origin + "/").starts_with("/opt/apache/beam/") || origin.starts_with("/opt/google/dataflow")) continue;
    const BuildFiles::Look python = files.look(origin + "/bin/python3");
    if (python.seen == BuildFiles::Seen::unknown)
      state.pythons_open = fmt::format("whether COPY --from={} brings a Python", escape_for_display(written));
  }
  // cuDNN, by its files or by the folder that holds it.
  for (const Cudnn& library : other.cudnn) {
    for (const std::string& source : sources) {
      const std::string origin = absolute_path(source, "/");
      const bool by_name = last_part(source).find("cudnn") != std::string::npos;
      const bool within =
          !library.folder.empty() && (library.folder + "/").starts_with(origin == "/" ? "/" : origin + "/");
      if (!by_name && !within) continue;
      Cudnn copied = library;
      copied.from = CudaToolkit::From::files;
      copied.folder = absolute_path(destination, state.folder());
      // A file's new name is no folder.
      if (last_part(copied.folder).find(".so") != std::string::npos) copied.folder.resize(copied.folder.rfind('/'));
      copied.evidence = {evidence};
      state.cudnn.push_back(std::move(copied));
      break;
    }
  }
  // What was unpacked there and not looked into may be CUDA's or cuDNN's.
  if (!other.cuda_open.empty() && state.cuda_open.empty()) {
    const bool known = std::all_of(sources.begin(), sources.end(), [](const std::string& source) {
      const std::string origin = absolute_path(source, "/") + "/";
      return origin.starts_with("/opt/apache/beam/") || origin.starts_with("/opt/google/dataflow/");
    });
    if (!known) state.cuda_open = other.cuda_open;
  }
  // A CUDA toolkit.
  for (const CudaToolkit& toolkit : other.cuda) {
    for (const std::string& source : sources) {
      if (toolkit.folder.empty() ||
          !toolkit.folder.starts_with(absolute_path(source, "/").substr(0, toolkit.folder.size())))
        continue;
      CudaToolkit copied = toolkit;
      copied.from = CudaToolkit::From::files;
      copied.evidence = {evidence};
      state.cuda.push_back(std::move(copied));
      break;
    }
  }
}

void BuildReader::copy(const Instruction& instruction, BuildState& state) {
  const Evidence evidence = Evidence::at(instruction.place);
  const dockerfile::Flag* from = nullptr;
  bool executable = true;
  std::optional<bool> by_mode;
  for (const auto& flag : instruction.flags) {
    if (flag.name == "from") from = &flag;
    if (flag.name == "chmod" && flag.value && !flag.value->empty() &&
        flag.value->find_first_not_of("01234567") == std::string::npos) {
      by_mode = false;
      const std::size_t digits = std::min<std::size_t>(flag.value->size(), 3);
      for (std::size_t i = flag.value->size() - digits; i < flag.value->size(); ++i) {
        if (((*flag.value)[i] - '0') % 2 == 1) by_mode = true;
      }
    }
  }
  executable = by_mode.value_or(true);
  if (instruction.words.size() < 2) return;

  std::vector<std::string> sources;
  bool unknown_source = false;
  std::vector<const dockerfile::Heredoc*> heredocs;
  for (std::size_t i = 0; i + 1 < instruction.words.size(); ++i) {
    if (const dockerfile::Heredoc* heredoc = dockerfile::find_heredoc(instruction, instruction.words[i])) {
      heredocs.push_back(heredoc);
      continue;
    }
    const Expansion source = expand(instruction.words[i], instruction, &state);
    if (source.text && !source.text->empty()) {
      sources.push_back(*source.text);
    } else {
      unknown_source = true;
    }
  }
  const Expansion destination = expand(instruction.words.back(), instruction, &state);
  const bool known_place =
      destination.text && !destination.text->empty() && (destination.text->starts_with('/') || state.workdir);

  // Where it comes from.
  std::optional<std::size_t> stage;
  const BuildState* other = nullptr;
  if (from != nullptr && from->value) {
    const std::string& written = *from->value;
    stage = stage_named(written, current_);
    if (!stage && !written.empty() && written.find_first_not_of("0123456789") == std::string::npos) {
      if (const auto number = to_number(written); number && *number < current_)
        stage = static_cast<std::size_t>(*number);
    }
    if (stage) {
      other = &states_[*stage];
    } else {
      ImageUse use = image_use(ImageUse::Role::copy, instruction, written, from->place);
      use.has_variable = written.find('$') != std::string::npos;
      if (use.has_variable) {
        use.not_known = "--from is never expanded";
      } else {
        use.expanded = written;
        judge_reference(use, knowledge_);
      }
      use.copied = sources;
      other = &image_state(written, use.expanded, use.not_known, Evidence::at(from->place));
      build_->images.push_back(std::move(use));
    }
    if (other->libc && state.libc && *other->libc != *state.libc && build_->libc_copies.size() < max_uses) {
      LibcCopy mixed;
      mixed.at = step_at(instruction.place, instruction);
      mixed.from = written;
      mixed.from_libc = *other->libc;
      for (const std::string& source : sources) {
        if (holds_programs(source)) mixed.paths.push_back(source);
      }
      if (!mixed.paths.empty()) build_->libc_copies.push_back(std::move(mixed));
    }
  }
  if (!known_place) {
    unknown_code(state, fmt::format("where {} copies to", dockerfile::to_string(instruction.kind)), true);
    return;
  }
  const std::string at = absolute_path(*destination.text, state.folder());
  const std::size_t count = sources.size() + heredocs.size() + (unknown_source ? 1 : 0);
  const BuildFiles::Look target = state.files.look(at);
  const bool into_folder = destination.text->ends_with('/') || *destination.text == "." || count > 1 ||
                           (target.seen == BuildFiles::Seen::yes && target.file->kind == BuildFile::Kind::folder);
  for (const dockerfile::Heredoc* heredoc : heredocs) {
    BuildFile file;
    file.evidence = evidence;
    file.executable = by_mode.value_or(false) || !by_mode;
    // A file from a heredoc has mode 0644.
    if (!by_mode) file.executable = false;
    if (heredoc->expand) {
      file.text = dockerfile::expand_heredoc(heredoc->content, [&](std::string_view name) {
                    return look_up(&state, name);
                  }).text;
    } else {
      file.text = heredoc->content;
    }
    state.files.put(into_folder ? absolute_path(heredoc->name, at) : at, std::move(file));
  }
  if (unknown_source) state.files.mark(at, BuildFiles::Mark::open, "what is copied there is not known", evidence);
  if (other != nullptr) {
    copy_image(*from->value, *other, sources, *destination.text, state, evidence);
    if (by_mode) {
      for (const std::string& source : sources) {
        const std::string path = into_folder ? absolute_path(last_part(source), at) : at;
        const BuildFiles::Look look = state.files.look(path);
        if (look.seen != BuildFiles::Seen::yes || look.file->kind == BuildFile::Kind::folder) continue;
        BuildFile file = *look.file;
        file.executable = *by_mode;
        state.files.put(look.canonical, std::move(file));
      }
    }
    return;
  }
  for (const std::string& source : sources) {
    const bool url = source.starts_with("http://") || source.starts_with("https://") || source.starts_with("git@") ||
                     source.ends_with(".git");
    if (url) {
      BuildFile file;
      file.evidence = evidence;
      file.executable = by_mode.value_or(false);
      const std::string name = last_part(source.substr(0, source.find_first_of("?#")));
      const std::string path = into_folder ? absolute_path(name, at) : at;
      if (source.ends_with(".git") || source.starts_with("git@")) {
        state.files.mark(at, BuildFiles::Mark::open, "which files the repository holds", evidence);
        continue;
      }
      state.files.put(path, std::move(file));
      state.downloads[path] = source;
      if (name.ends_with(".py") && build_->scripts.size() < max_uses) {
        build_->scripts.push_back({step_at(instruction.place, instruction), source, std::nullopt});
      }
      continue;
    }
    const bool archive = instruction.kind == Kind::add && (source.ends_with(".tar") || source.ends_with(".tgz") ||
                                                           source.find(".tar.") != std::string::npos);
    if (archive) {
      state.files.mark(at, BuildFiles::Mark::open, fmt::format("which files {} holds", escape_for_display(source)),
                       evidence);
      state.files.lose(at, fmt::format("which files {} holds", escape_for_display(source)));
      if (lower(source).find("spark-") != std::string::npos) state.spark = evidence;
      continue;
    }
    copy_context(source, at, into_folder, executable, state, evidence);
  }
  // Files of the context that land in an interpreter's folder are packages, perhaps.
  for (BuildPython& python : state.pythons) {
    for (const std::string& site : python.interpreter.site_packages) {
      if ((at + "/").starts_with(site + "/")) python.open = "what is copied into " + site;
    }
  }
}

}  // namespace imgforge
