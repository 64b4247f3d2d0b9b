// Commands of a RUN step that make, copy, move and remove files: ln, cp, rm, chmod, tar, update-alternatives.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_copy.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"
#include "facts/commands_alternatives.hpp"

namespace imgforge {

namespace {

bool is_spark_archive(std::string_view text) {
  const std::string name = lower(text);
  return (name.find("spark-") != std::string::npos && name.find("bin-") != std::string::npos) ||
         name.find("/dist/spark/") != std::string::npos;
}

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
        const std::string at = clean(inside ? files.destination->text + "/" + std::string(base_name(source.text))
                                            : files.destination->text);
        if (!files.symbolic) {
          const BuildFiles& copy = state.files;
          state.files.copy_from(copy, clean(source.text), at, running.evidence);
          continue;
        }
        state.files.put(at, link_file(source.text, running.evidence));
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
        const std::string to =
            clean(inside ? files.destination->text + "/" + std::string(base_name(from)) : files.destination->text);
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
        if (base_name(path) == "EXTERNALLY-MANAGED") {
          const std::string library_pattern = path.substr(0, path.rfind('/'));
          for (BuildPython& python : state.pythons) {
            Interpreter& interpreter = python.interpreter;
            const std::string library = interpreter.prefix + "/lib/python" + interpreter.minor.to_string();
            if (glob_match(library_pattern, library)) interpreter.externally_managed = false;
          }
        }
        if (has_glob(path)) {
          const std::string folder = path.substr(0, path.rfind('/'));
          const std::string pattern(base_name(path));
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
                                  [&](std::string_view name) { return glob_match(base_name(path), name); })) {
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

bool BuildReader::alternatives_command(Step& step, const Running& running) {
  const auto read = read_alternatives(*running.command);
  if (!read) return false;
  BuildState& state = *step.state;
  using Action = AlternativesCommand::Action;
  const auto link = [&](const std::string& at, const std::string& target) {
    if (!at.starts_with('/') || !target.starts_with('/')) return;
    state.files.put(absolute_path(at, "/"), link_file(target, running.evidence));
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

}  // namespace imgforge
