#include "check/known_issues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "check/cuda.hpp"
#include "check/steps.hpp"

namespace imgforge {

namespace {

bool holds(const std::string& specifiers, const Version& version) {
  const auto set = SpecifierSet::parse(specifiers);
  return set && set->contains(version);
}

std::string_view to_word(CudaToolkit::From from) {
  switch (from) {
    case CudaToolkit::From::base: return "base";
    case CudaToolkit::From::apt: return "apt";
    case CudaToolkit::From::runfile: return "runfile";
    case CudaToolkit::From::conda: return "conda";
    case CudaToolkit::From::wheels: return "wheels";
    case CudaToolkit::From::files: return "files";
  }
  return "files";
}

struct Match {
  const std::string* name = nullptr;
  std::string version;
  std::vector<Evidence> evidence;
  bool is_there = false;  // of the name, in whatever version
  bool matches = false;
};

/// What is installed under a name: a distribution, or the framework that a base image brings.
Match find_package(const Case& subject, const std::string& name, const std::string& specifiers) {
  Match match;
  match.name = &name;
  const auto look_at = [&](const std::optional<Version>& version, const std::string& text,
                           const std::vector<Evidence>& evidence) {
    match.is_there = true;
    if (match.matches) return;
    if (!specifiers.empty() && !(version && holds(specifiers, version->public_part()))) return;
    match.matches = true;
    match.version = version ? version->to_string() : escape_for_display(text);
    match.evidence = evidence;
  };
  const auto& distributions = subject.facts.distributions();
  if (subject.kind == SubjectKind::image && subject.facts.worker_interpreter() != nullptr) {
    // What another interpreter has, the worker does not import.
    for (const Distribution* one : subject.facts.worker_distributions()) {
      if (one->name == name && !match.is_there) look_at(one->version, one->version_text, {one->evidence});
    }
  } else if (distributions.is_known()) {
    for (const Distribution& one : distributions.value()) {
      if (one.name == name) look_at(one.version, one.version_text, {one.evidence});
    }
  }
  if (!match.is_there && subject.facts.frameworks().is_known()) {
    for (const Framework& one : subject.facts.frameworks().value()) {
      if (one.name == name && (one.package.empty() || one.package == name)) look_at(one.version, "", one.evidence);
    }
  }
  return match;
}

const Framework* framework_named(const Case& subject, std::string_view name) {
  const auto& frameworks = subject.facts.frameworks();
  if (!frameworks.is_known()) return nullptr;
  const auto found =
      std::find_if(frameworks->begin(), frameworks->end(), [&](const Framework& one) { return one.name == name; });
  return found == frameworks->end() ? nullptr : &*found;
}

/// Whether the CUDA that the row's frameworks load is the one that it is about. `evidence` takes where that is.
bool cuda_matches(const Case& subject, const KnownIssue& row, std::vector<Evidence>& evidence) {
  if (row.cuda.empty() && row.cuda_from.empty()) return true;
  bool any_brings = false;
  bool all_bring = true;
  for (const auto& [name, specifiers] : row.packages) {
    const Framework* framework = framework_named(subject, name);
    if (framework == nullptr) continue;
    any_brings = any_brings || framework->brings_cuda;
    all_bring = all_bring && framework->brings_cuda;
  }
  if (row.cuda_from == "wheels" && (!any_brings || !all_bring)) return false;
  const auto& cuda = subject.facts.cuda();
  if (row.cuda.empty() && row.cuda_from == "wheels") return true;
  if (!cuda.is_known()) return false;
  // Without a framework in the row: what the image's own frameworks load; wheels where one of them brings them.
  bool wheels = any_brings;
  if (!any_brings && subject.facts.frameworks().is_known()) {
    const auto& frameworks = subject.facts.frameworks().value();
    wheels = std::any_of(frameworks.begin(), frameworks.end(), [](const Framework& one) { return one.brings_cuda; });
  }
  const bool has_system = std::any_of(
      cuda->begin(), cuda->end(), [](const CudaToolkit& toolkit) { return toolkit.from != CudaToolkit::From::wheels; });
  for (const CudaToolkit& toolkit : cuda.value()) {
    if (!row.cuda_from.empty() && to_word(toolkit.from) != row.cuda_from) continue;
    if (row.cuda_from.empty() && has_system && wheels != (toolkit.from == CudaToolkit::From::wheels)) continue;
    if (!row.cuda.empty()) {
      if (!toolkit.version || toolkit.version->release().size() < 2) continue;
      if (!holds(row.cuda, *Version::parse(cuda_minor(*toolkit.version)))) continue;
    }
    evidence.insert(evidence.end(), toolkit.evidence.begin(), toolkit.evidence.end());
    return true;
  }
  return false;
}

bool target_matches(const Case& subject, const KnownIssue& row) {
  if (subject.judged_as.without_sign || subject.judged_as.role == Role::launcher) return false;
  if (!row.tpu.empty()) {
    if (subject.judged_as.accelerator != Accelerator::tpu) return false;
    const std::string type = subject.recipe != nullptr && subject.recipe->tpu ? subject.recipe->tpu->type
                                                                              : subject.judged_as.accelerator_type;
    return row.tpu == "tpu-" || type.starts_with(row.tpu);
  }
  if (row.cuda.empty() && row.cuda_from.empty() && row.gpu.empty()) return true;
  if (!is_gpu_worker(subject)) return false;
  if (row.gpu.empty()) return true;
  const GpuType* gpu = gpu_of(subject);
  const auto compute = gpu != nullptr ? Version::parse(gpu->compute) : std::nullopt;
  return compute && holds(row.gpu, *compute);
}

/// What the row says to mend it has been done.
bool is_mended(const Case& subject, const KnownIssue& row) {
  if (!row.unless_on_path.empty()) {
    const auto is_meant = [&](std::string_view folder) { return folder.ends_with("/" + row.unless_on_path); };
    const std::vector<std::string> path = library_path(subject);
    const auto& folders = subject.facts.library_folders();
    const bool named = folders.is_known()
                           ? std::any_of(folders->begin(), folders->end(),
                                         [&](const LibraryFolder& one) { return one.exists && is_meant(one.path); })
                           : std::any_of(path.begin(), path.end(), is_meant);
    if (named) return true;
  }
  const Interpreter* interpreter = subject.facts.worker_interpreter();
  if (interpreter == nullptr || !subject.facts.has_path) return false;
  for (const std::string& site : interpreter->site_packages) {
    for (const std::string& file : row.unless_there) {
      const Fact<bool> there = subject.facts.has_path(site + "/" + file);
      if (there.is_known() && there.value()) return true;
    }
  }
  return false;
}

/// Of a built image: a framework of the row is none of upstream's wheels, for which the row was written.
bool is_of_another_build(const Case& subject, const KnownIssue& row) {
  if (subject.kind != SubjectKind::image || !subject.facts.frameworks().is_known()) return false;
  const auto& frameworks = subject.facts.frameworks().value();
  return std::any_of(frameworks.begin(), frameworks.end(), [&](const Framework& one) {
    if (one.build == Framework::Build::pypi || one.build == Framework::Build::pytorch_index) return false;
    return row.packages.contains(one.package) || (one.name == "jax" && row.packages.contains("jaxlib"));
  });
}

std::optional<Answer::Found> match(const Case& subject, const KnownIssue& row) {
  if (!target_matches(subject, row)) return std::nullopt;
  if (subject.kind == SubjectKind::image && row.shows == "build") return std::nullopt;
  if (is_mended(subject, row)) return std::nullopt;
  Answer::Found found;
  if (!row.python.empty()) {
    const Interpreter* interpreter = interpreter_of(subject);
    if (interpreter == nullptr || !holds(row.python, *Version::parse(interpreter->minor.to_string())))
      return std::nullopt;
  }
  if (!row.beam.empty()) {
    const Fact<Version>& beam = subject.facts.beam_version();
    if (!beam.is_known() || !holds(row.beam, beam->base())) return std::nullopt;
  }
  std::vector<std::string> names;
  for (const auto& [key, specifiers] : row.packages) {
    if (key.starts_with('!')) {
      const std::string name = key.substr(1);
      // What is not among the requests of a build may still come with another package.
      if (subject.kind != SubjectKind::image || !subject.facts.distributions().is_known()) return std::nullopt;
      if (find_package(subject, name, specifiers).matches) return std::nullopt;
      continue;
    }
    const Match package = find_package(subject, key, specifiers);
    if (!package.matches) return std::nullopt;
    if (key != "apache-beam") names.push_back(package.version.empty() ? key : key + " " + package.version);
    found.evidence.insert(found.evidence.end(), package.evidence.begin(), package.evidence.end());
  }
  if (!cuda_matches(subject, row, found.evidence)) return std::nullopt;
  if (!row.gpu.empty()) {
    const GpuType* gpu = gpu_of(subject);
    if (gpu != nullptr) names.push_back(gpu->model);
  }
  const bool certain = row.level == "error" && !row.unverified && !is_of_another_build(subject, row);
  found.level = certain ? Level::error : Level::warning;
  found.message = names.empty() ? row.symptom : join_words(names) + ": " + row.symptom;
  found.fix = row.fix;
  return found;
}

}  // namespace

std::vector<Answer::Found> known_issues_of(const Case& subject, std::string_view rule) {
  std::vector<Answer::Found> all;
  for (const KnownIssue& row : subject.knowledge.known_issues()) {
    if (row.rule != rule) continue;
    if (auto found = match(subject, row)) all.push_back(std::move(*found));
  }
  return all;
}

}  // namespace imgforge
