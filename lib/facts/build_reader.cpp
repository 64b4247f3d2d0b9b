// The stages of a Dockerfile in their order, and its instructions one by one: what BuildKit's frontend does with them
// (dockerfile2llb/convert.go).
#include "facts/build_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "facts/commands.hpp"

namespace imgforge {

using dockerfile::Expansion;
using Kind = dockerfile::Instruction::Kind;

namespace {

constexpr std::size_t max_stages = 500;

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
  base_stage_.assign(dockerfile_.stages.size(), std::nullopt);
  in_image_.assign(dockerfile_.stages.size(), false);
  find_target();
  global_arguments();
  find_reachable();
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
  // The target, and what it is built upon. Names of stages are not expanded here where they hold variables that a
  // --build-arg may give; FROM itself settles them when it is read, and a stage can only stand upon earlier ones.
  for (std::size_t at = target_;;) {
    in_image_[at] = true;
    const Instruction& from = dockerfile_.instructions[dockerfile_.stages[at].from];
    if (from.words.empty()) return;
    const Expansion name = dockerfile::expand(from.words.front().text, dockerfile_.escape,
                                              [&](std::string_view variable) { return look_up(nullptr, variable); });
    const std::size_t above = name.text ? stage_named(*name.text, at).value_or(at) : at;
    if (above == at) return;
    at = above;
  }
}

void BuildReader::stage(std::size_t index) {
  const auto& stage = dockerfile_.stages[index];
  current_ = index;
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

}  // namespace imgforge
