// COPY --from: the files of a stage or an image, and the interpreters, packages and CUDA libraries among them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_copy.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

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

}  // namespace imgforge
