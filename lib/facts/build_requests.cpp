// Arguments, requirements files and projects, read as requests.
#include "facts/build_requests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

/// "2.66.0" of "apache_beam-2.66.0-cp311-cp311-manylinux_2_17_x86_64.whl".
std::optional<Requirement> wheel_requirement(std::string_view path) {
  std::string_view name = path.substr(0, path.find_first_of("?#"));
  name = name.substr(name.rfind('/') + 1);
  std::string_view rest;
  if (name.ends_with(".whl")) {
    const std::size_t dash = name.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    rest = name.substr(dash + 1);
    const std::size_t end = rest.find('-');
    if (end == std::string_view::npos) return std::nullopt;
    std::string version(rest.substr(0, end));
    const std::size_t plus = version.find("%2B");
    if (plus != std::string::npos) version.replace(plus, 3, "+");
    return Requirement::parse(std::string(name.substr(0, dash)) + "==" + version);
  }
  if (name.ends_with(".tar.gz")) {
    name.remove_suffix(7);
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    return Requirement::parse(std::string(name.substr(0, dash)) + "==" + std::string(name.substr(dash + 1)));
  }
  return std::nullopt;
}

}  // namespace

PackageRequest request_of(const std::string& written, std::optional<Requirement> requirement, const Place& place) {
  PackageRequest request;
  request.written = written;
  request.place = place;
  if (requirement) request.name = requirement->normalised();
  request.requirement = std::move(requirement);
  return request;
}

void BuildReader::add_argument(const BuildState& state, const Running& running, const std::string& text,
                               const Place& place, Wanted& wanted) const {
  const bool url = text.find("://") != std::string::npos;
  const bool named_url = url && text.find('@') != std::string::npos && text.find('@') < text.find("://");
  const std::string plain = text.substr(0, text.find('['));
  const bool path = !url && (text.starts_with('.') || text.starts_with('/') || text.ends_with(".whl") ||
                             text.ends_with(".tar.gz") || text.ends_with(".zip"));
  if (path) {
    if (auto wheel = wheel_requirement(text)) {
      wanted.requests.push_back(request_of(text, std::move(wheel), place));
      return;
    }
    const std::size_t bracket = text.find('[');
    std::vector<std::string> extras;
    if (bracket != std::string::npos) {
      for (const std::string_view extra :
           split(std::string_view(text).substr(bracket + 1, text.find(']') - bracket - 1), ','))
        extras.emplace_back(trim(extra));
    }
    wanted.requests.push_back(request_of(text, std::nullopt, place));
    if (!plain.starts_with('/') && !running.command->folder) {
      wanted.not_known = fmt::format("where {} is", escape_for_display(text));
      return;
    }
    add_project(state, absolute_path(plain, running.command->folder.value_or("/")), extras, wanted);
    return;
  }
  if (url && !named_url) {
    auto wheel = wheel_requirement(text);
    if (!wheel) wanted.not_known = fmt::format("what {} asks for", escape_for_display(text.substr(0, 120)));
    wanted.requests.push_back(request_of(text, std::move(wheel), place));
    return;
  }
  auto requirement = Requirement::parse(text);
  if (!requirement) {
    wanted.not_known = fmt::format("what \"{}\" asks for", escape_for_display(text.substr(0, 120)));
    wanted.requests.push_back(request_of(text, std::nullopt, place));
    return;
  }
  if (named_url) {
    if (auto wheel = wheel_requirement(requirement->url()); wheel && wheel->normalised() == requirement->normalised())
      requirement = std::move(wheel);
  }
  wanted.requests.push_back(request_of(text, std::move(requirement), place));
}

void BuildReader::add_project(const BuildState& state, const std::string& folder,
                              const std::vector<std::string>& extras, Wanted& wanted) const {
  const std::string file = absolute_path("pyproject.toml", folder);
  const auto text = file_text(state, file);
  if (!text) {
    const bool no_file = state.files.look(file).seen == BuildFiles::Seen::no;
    // Without pyproject.toml it is setup.py, which only the run tells.
    wanted.not_known = fmt::format("what the project in {} needs{}", escape_for_display(folder),
                                   no_file ? " (it has no pyproject.toml)" : "");
    return;
  }
  std::string why;
  const BuildFiles::Look look = state.files.look(file);
  const auto project = read_pyproject(
      *text, look.file->evidence.place.file.empty() ? "pyproject.toml" : look.file->evidence.place.file, why);
  if (!project || project->dynamic_dependencies) {
    wanted.not_known =
        project ? fmt::format("the build of the project in {} tells what it needs", escape_for_display(folder)) : why;
    if (!project) return;
  }
  const auto add = [&](const std::vector<ProjectRequirement>& list) {
    for (const ProjectRequirement& one : list) {
      if (wanted.requests.size() < max_distributions)
        wanted.requests.push_back(request_of(one.written, one.requirement, one.place));
    }
  };
  add(project->dependencies);
  for (const std::string& extra : extras) {
    if (const auto found = project->extras.find(extra); found != project->extras.end()) add(found->second);
  }
}

void BuildReader::add_requirements_file(const BuildState& state, const Running& running, const std::string& path,
                                        bool constraints, Wanted& wanted) const {
  if (path.find("://") != std::string::npos) {
    if (!constraints) wanted.not_known = fmt::format("what {} asks for", escape_for_display(path.substr(0, 200)));
    return;
  }
  if (!path.starts_with('/') && !running.command->folder) {
    wanted.not_known = fmt::format("where {} is", escape_for_display(path));
    return;
  }
  // Places name the file beside the Dockerfile where it came from there.
  std::map<std::string, std::string, std::less<>> names;
  const IncludedFile file = [&](const std::string& name) -> std::optional<std::string> {
    const std::string at = absolute_path(name, running.command->folder.value_or("/"));
    auto text = file_text(state, at);
    if (!text) return std::nullopt;
    const BuildFiles::Look look = state.files.look(at);
    std::string shown = look.file->evidence.place.file;
    if (shown == dockerfile_.file || shown.empty()) {
      // Copied file by file: its name in the context is the part of the path that is there.
      std::string_view rest = at;
      while (!rest.empty()) {
        rest.remove_prefix(std::min(rest.find('/') + 1, rest.size()));
        if (context_(std::string(rest)) == text) {
          shown = std::string(rest);
          break;
        }
        if (rest.find('/') == std::string_view::npos) break;
      }
    }
    if (!shown.empty() && shown != dockerfile_.file) names[name] = shown;
    return text;
  };
  const RequirementVariable variable = [&](std::string_view name) { return running.command->variable(name); };
  const RequirementsFile read = read_requirements_file(path, file, variable, constraints);
  const auto place_of = [&](Place place) {
    if (const auto known = names.find(place.file); known != names.end()) place.file = known->second;
    return place;
  };
  for (const RequirementLine& line : read.requirements) {
    if (wanted.requests.size() >= max_distributions) break;
    if (!line.requirement && !line.location.empty()) {
      Running inner = running;
      add_argument(state, inner, line.location, place_of(line.place), wanted);
    } else {
      wanted.requests.push_back(request_of(line.written, line.requirement, place_of(line.place)));
    }
  }
  for (const RequirementLine& line : read.constraints) {
    if (wanted.constraints.size() < max_distributions)
      wanted.constraints.push_back(request_of(line.written, line.requirement, place_of(line.place)));
  }
  wanted.indexes.insert(wanted.indexes.end(), read.index_urls.begin(), read.index_urls.end());
  wanted.find_links.insert(wanted.find_links.end(), read.find_links.begin(), read.find_links.end());
  if (!read.not_known.empty() && !constraints) wanted.not_known = read.not_known.front();
}

void BuildReader::drop_by_marker(const FoundPython& python, Wanted& wanted) const {
  const std::string machine = options_.architecture == "arm64" ? "aarch64" : "x86_64";
  const auto drop = [&](std::vector<PackageRequest>& list) {
    if (!python.interpreter.minor) return;
    // Of the interpreter the minor may be all that is known: markers rarely ask for more.
    const Version version =
        python.interpreter.version.value_or(*Version::parse(python.interpreter.minor->to_string() + ".99"));
    const MarkerEnvironment environment = linux_markers(version, machine);
    std::erase_if(list, [&](const PackageRequest& one) {
      return one.requirement && one.requirement->has_marker() && !one.requirement->applies(environment);
    });
  };
  drop(wanted.requests);
  drop(wanted.constraints);
}

}  // namespace imgforge
