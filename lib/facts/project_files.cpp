#include "facts/project_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "facts/toml_document.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_packages = 20'000;

// ---- poetry's own version constraints (python-poetry.org, "Version constraints") as specifiers of PEP 440

/// The release of "1.2.3" with its part at `index` raised by one and the rest dropped: "1.3" of 1.2.3 and 1.
std::string raised(const Version& version, std::size_t index) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i <= index; ++i) {
    const std::uint64_t part = i < version.release().size() ? version.release()[i] : 0;
    parts.push_back(std::to_string(part + (i == index ? 1 : 0)));
  }
  return join(parts, ".");
}

/// One clause; nothing where it is none of poetry's.
std::optional<std::string> clause_of(std::string_view clause) {
  clause = trim(clause);
  if (clause.empty() || clause == "*") return std::string();
  const auto between = [&](std::string_view text, auto index_of) -> std::optional<std::string> {
    const std::optional<Version> version = Version::parse(trim(text));
    if (!version) return std::nullopt;
    return fmt::format(">={},<{}", version->to_string(), raised(*version, index_of(*version)));
  };
  if (clause.front() == '^') {
    return between(clause.substr(1), [](const Version& version) {
      // The first part that is not zero may not change; of 0.0 the last one that is written.
      const auto& release = version.release();
      for (std::size_t i = 0; i < release.size(); ++i) {
        if (release[i] != 0) return i;
      }
      return release.empty() ? std::size_t{0} : release.size() - 1;
    });
  }
  if (clause.front() == '~' && !clause.starts_with("~=")) {
    return between(clause.substr(1), [](const Version& version) {
      return version.release().size() > 1 ? std::size_t{1} : std::size_t{0};
    });
  }
  if (SpecifierSet::parse(clause)) return std::string(clause);
  const std::string exact = "==" + std::string(clause);
  if (SpecifierSet::parse(exact)) return exact;
  return std::nullopt;
}

/// Nothing where it is none, or holds "||".
std::optional<std::string> specifiers_of_poetry(std::string_view constraint) {
  if (constraint.find('|') != std::string_view::npos) return std::nullopt;
  std::vector<std::string> clauses;
  for (const std::string_view part : split(constraint, ',')) {
    const std::optional<std::string> clause = clause_of(part);
    if (!clause) return std::nullopt;
    if (!clause->empty()) clauses.push_back(*clause);
  }
  return join(clauses, ",");
}

Place place_in(const std::string& file, const TomlValue& value) { return {file, value.line(), value.column()}; }

void add_requirements(const TomlValue& list, const std::string& file, std::vector<ProjectRequirement>& into) {
  for (const TomlValue& item : list.items()) {
    const std::optional<std::string> text = item.text();
    if (!text || into.size() >= most_packages) continue;
    into.push_back({*text, Requirement::parse(*text), place_in(file, item)});
  }
}

/// name = "^1.2", name = {version = "^1.2", extras = ["x"], markers = "..."}; several tables where markers differ.
void add_poetry(const std::string& name, const TomlValue& value, const std::string& file,
                std::vector<ProjectRequirement>& into) {
  if (into.size() >= most_packages) return;
  if (value.is_list()) {
    for (const TomlValue& one : value.items()) {
      if (one.is_table()) add_poetry(name, one, file, into);
    }
    return;
  }
  std::string version = value.text().value_or("");
  std::string extras;
  std::string marker;
  if (value.is_table()) {
    if (value.find("optional") && value.find("optional")->boolean().value_or(false)) return;
    if (const auto found = value.find("version")) version = found->text().value_or("");
    if (const auto found = value.find("markers")) marker = found->text().value_or("");
    if (const auto found = value.find("extras")) {
      std::vector<std::string> names;
      for (const TomlValue& one : found->items()) names.push_back(one.text().value_or(""));
      if (!names.empty()) extras = "[" + join(names, ",") + "]";
    }
  }
  ProjectRequirement made;
  made.written = name + extras + (version.empty() ? "" : " " + version);
  made.place = place_in(file, value);
  if (const auto specifiers = specifiers_of_poetry(version)) {
    made.requirement = Requirement::parse(name + extras + *specifiers + (marker.empty() ? "" : " ; " + marker));
  }
  if (!made.requirement) made.requirement = Requirement::parse(name + extras);
  into.push_back(std::move(made));
}

void read_poetry(const TomlValue& poetry, const std::string& file, ProjectFile& project) {
  if (project.name.empty() && poetry.find("name")) project.name = poetry.find("name")->text().value_or("");
  const auto table = [&](const TomlValue& list, std::vector<ProjectRequirement>& into) {
    for (const auto& [name, value] : list.entries()) {
      if (name != "python") {
        add_poetry(name, value, file, into);
      } else if (project.requires_python.empty()) {
        project.requires_python = specifiers_of_poetry(value.text().value_or("")).value_or("");
      }
    }
  };
  if (const auto found = poetry.find("dependencies")) {
    project.poetry = project.poetry || project.dependencies.empty();
    if (project.poetry) table(*found, project.dependencies);
  }
  if (const auto found = poetry.find("dev-dependencies")) table(*found, project.groups["dev"]);
  if (const auto groups = poetry.find("group")) {
    for (const auto& [name, group] : groups->entries()) {
      if (const auto found = group.find("dependencies")) table(*found, project.groups[name]);
    }
  }
}

std::optional<LockFile> read_toml_lock(LockFile::Kind kind, std::string_view text, const std::string& file,
                                       std::string& why) {
  const std::optional<TomlValue> document = parse_toml(text, file, why);
  if (!document) return std::nullopt;
  LockFile lock;
  lock.kind = kind;
  if (const auto found = document->find("requires-python")) lock.requires_python = found->text().value_or("");
  const auto packages = document->find(kind == LockFile::Kind::pylock ? "packages" : "package");
  if (!packages) return lock;
  for (const TomlValue& one : packages->items()) {
    if (lock.packages.size() >= most_packages) break;
    LockedPackage package;
    if (const auto name = one.find("name")) package.name = normalise_name(name->text().value_or(""));
    if (const auto version = one.find("version")) package.version = version->text().value_or("");
    package.place = place_in(file, one);
    if (const auto source = one.find("source"); source && source->is_table()) {
      for (const auto& [key, value] : source->entries()) {
        if (key == "editable" || key == "virtual") package.local = true;
        if (key == "registry" || key == "url" || key == "git" || key == "path" || key == "directory" ||
            key == "editable") {
          package.source = value.text().value_or("");
        }
      }
    }
    if (const auto marker = one.find(kind == LockFile::Kind::poetry ? "markers" : "marker"))
      package.marker = marker->text().value_or("");
    if (const auto category = one.find("category")) package.development = category->text() == "dev";
    if (const auto optional = one.find("optional"); optional && optional->boolean().value_or(false))
      package.development = true;
    if (const auto groups = one.find("groups"); groups && groups->is_list()) {
      const auto names = groups->items();
      const bool in_main = std::any_of(names.begin(), names.end(), [](const TomlValue& name) {
        const std::string group = name.text().value_or("");
        return group == "main" || group == "default";
      });
      package.development = package.development || (!in_main && !names.empty());
    }
    if (!package.name.empty()) lock.packages.push_back(std::move(package));
  }
  return lock;
}

std::optional<LockFile> read_pipfile_lock(std::string_view text, const std::string& file, std::string& why) {
  LockFile lock;
  lock.kind = LockFile::Kind::pipenv;
  try {
    const nlohmann::json document = parse_json(text, file);
    if (!document.is_object()) throw Error(ErrorKind::file, fmt::format("{} is no lock file", file));
    for (const char* section : {"default", "develop"}) {
      const auto found = document.find(section);
      if (found == document.end() || !found->is_object()) continue;
      for (const auto& [name, value] : found->items()) {
        if (!value.is_object() || lock.packages.size() >= most_packages) continue;
        LockedPackage package;
        package.name = normalise_name(name);
        const std::string version = value.contains("version") && value["version"].is_string()
                                        ? value["version"].get<std::string>()
                                        : std::string();
        package.version = version.starts_with("==") ? version.substr(2) : version;
        if (value.contains("markers") && value["markers"].is_string())
          package.marker = value["markers"].get<std::string>();
        package.development = std::string_view(section) == "develop";
        package.place = {file, 0, 0};
        if (!package.version.empty()) lock.packages.push_back(std::move(package));
      }
    }
  } catch (const Error& error) {
    why = error.message();
    return std::nullopt;
  }
  return lock;
}

}  // namespace

std::optional<ProjectFile> read_pyproject(std::string_view text, const std::string& file, std::string& why) {
  const std::optional<TomlValue> document = parse_toml(text, file, why);
  if (!document) return std::nullopt;
  ProjectFile project;
  if (const auto table = document->find("project")) {
    if (const auto name = table->find("name")) project.name = name->text().value_or("");
    if (const auto python = table->find("requires-python")) project.requires_python = python->text().value_or("");
    if (const auto list = table->find("dependencies")) add_requirements(*list, file, project.dependencies);
    if (const auto extras = table->find("optional-dependencies")) {
      for (const auto& [name, list] : extras->entries()) add_requirements(list, file, project.extras[name]);
    }
    if (const auto dynamic = table->find("dynamic")) {
      for (const TomlValue& one : dynamic->items())
        project.dynamic_dependencies = project.dynamic_dependencies || one.text() == "dependencies";
    }
  }
  if (const auto groups = document->find("dependency-groups")) {
    for (const auto& [name, list] : groups->entries()) add_requirements(list, file, project.groups[name]);
  }
  if (const auto build = document->find("build-system")) {
    if (const auto list = build->find("requires")) {
      for (const TomlValue& one : list->items()) project.build_requires.push_back(one.text().value_or(""));
    }
  }
  if (const auto tool = document->find("tool")) {
    if (const auto poetry = tool->find("poetry")) read_poetry(*poetry, file, project);
  }
  // Without [project] and without poetry, setup.py or setup.cfg tells.
  if (!document->find("project") && !project.poetry) project.dynamic_dependencies = true;
  return project;
}

std::optional<LockFile::Kind> lock_file_kind(std::string_view file_name) {
  if (file_name == "uv.lock") return LockFile::Kind::uv;
  if (file_name == "poetry.lock") return LockFile::Kind::poetry;
  if (file_name == "Pipfile.lock") return LockFile::Kind::pipenv;
  if (file_name == "pdm.lock") return LockFile::Kind::pdm;
  if (file_name == "pylock.toml" || (file_name.starts_with("pylock.") && file_name.ends_with(".toml")))
    return LockFile::Kind::pylock;
  return std::nullopt;
}

std::optional<LockFile> read_lock_file(LockFile::Kind kind, std::string_view text, const std::string& file,
                                       std::string& why) {
  return kind == LockFile::Kind::pipenv ? read_pipfile_lock(text, file, why) : read_toml_lock(kind, text, file, why);
}

std::optional<CondaEnvironmentFile> read_conda_environment(std::string_view text, const std::string& file,
                                                           std::string& why) {
  std::vector<Diagnostic> diagnostics;
  const std::optional<YamlNode> document = parse_yaml(text, file, diagnostics);
  if (!document || !document->is_map()) {
    why = diagnostics.empty() ? fmt::format("{} is no environment file", file) : diagnostics.back().message;
    return std::nullopt;
  }
  CondaEnvironmentFile environment;
  const auto text_of = [&](std::string_view key) {
    const YamlNode* node = document->find(key);
    return node != nullptr && node->is_scalar() ? node->text : std::string();
  };
  environment.name = text_of("name");
  environment.prefix = text_of("prefix");
  if (const YamlNode* channels = document->find("channels"); channels != nullptr && channels->is_sequence()) {
    for (const YamlNode& channel : channels->items) environment.channels.push_back(channel.text);
  }
  const YamlNode* dependencies = document->find("dependencies");
  if (dependencies == nullptr || !dependencies->is_sequence()) return environment;
  for (const YamlNode& item : dependencies->items) {
    const Place place{file, item.line, item.column};
    if (item.is_scalar()) {
      if (auto spec = parse_conda_spec(item.text))
        environment.packages.push_back({std::move(*spec), place});
      else
        environment.not_known.push_back(item.text);
    } else if (const YamlNode* pip = item.find("pip"); item.is_map() && pip != nullptr && pip->is_sequence()) {
      for (const YamlNode& line : pip->items) environment.pip.push_back({line.text, {file, line.line, line.column}});
    }
  }
  return environment;
}

}  // namespace imgforge
