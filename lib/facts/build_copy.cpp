// COPY and ADD.
#include "facts/build_copy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

using dockerfile::Expansion;
using Kind = dockerfile::Instruction::Kind;

namespace {

constexpr std::size_t max_copies = 2'000;  // that are noted, of each kind

}  // namespace

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

void BuildReader::copy(const Instruction& instruction, BuildState& state) {
  const Evidence evidence = Evidence::at(instruction.place);
  const dockerfile::Flag* from = nullptr;
  std::optional<bool> by_mode;  // whether --chmod sets an x bit
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
  const BuildState* other = nullptr;
  if (from != nullptr && from->value) {
    const std::string& written = *from->value;
    if (const auto stage = copied_stage(written)) {
      other = &states_[*stage];
    } else {
      ImageUse use = image_use(ImageUse::Role::copy, instruction, written, from->place);
      use.has_variable = written.find('$') != std::string::npos;
      if (use.has_variable) {
        use.not_known = "--from is never expanded";
      } else {
        use.expanded = written;
        if (!written.empty() && written != "scratch") judge_reference(use);
      }
      use.copied = sources;
      other = &image_state(written, use.expanded, use.not_known, Evidence::at(from->place));
      build_->images.push_back(std::move(use));
    }
    if (other->libc && state.libc && *other->libc != *state.libc && build_->libc_copies.size() < max_copies) {
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
    file.executable = by_mode.value_or(false);  // a file from a heredoc has mode 0644
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
      if (name.ends_with(".py") && build_->scripts.size() < max_copies) {
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
    copy_context(source, at, into_folder, by_mode.value_or(true), state, evidence);
  }
  // Files of the context that land in an interpreter's folder are packages, perhaps.
  for (BuildPython& python : state.pythons) {
    for (const std::string& site : python.interpreter.site_packages) {
      if ((at + "/").starts_with(site + "/")) python.open = "what is copied into " + site;
    }
  }
}

}  // namespace imgforge
