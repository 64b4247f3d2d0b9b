#include "check/compat.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/cuda.hpp"

namespace imgforge {

namespace {

std::string minors(const std::vector<PythonMinor>& all) {
  std::vector<std::string> words;
  for (const PythonMinor& one : all) words.push_back(one.to_string());
  return words.empty() ? "none" : join(words, ", ");
}

bool contains(const std::vector<PythonMinor>& all, const PythonMinor& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Version as_version(const PythonMinor& minor) { return *Version::parse(minor.to_string()); }

UsedRow used(std::string what, const Row& row) { return {std::move(what), row.source, row.unverified}; }

std::string name_of(const FrameworkBuild& build) {
  return fmt::format("{} {}", framework_title(build.framework), build.version.to_string());
}

UsedRow used(const FrameworkBuild& build) { return used(name_of(build), build); }
UsedRow used(const BeamRelease& beam) { return used("Beam " + beam.version.to_string(), beam); }
UsedRow used(const GpuType& gpu) { return used("GPU " + gpu.type, gpu); }

bool holds(const std::string& specifiers, const Version& version) {
  const auto set = SpecifierSet::parse(specifiers);
  return set && set->contains(version);
}

std::string dotted(const std::vector<std::uint64_t>& parts) {
  std::string text;
  for (const std::uint64_t part : parts) text += (text.empty() ? "" : ".") + std::to_string(part);
  return text;
}

/// The versions at, just above and just below each bound: a set of clauses is constant between its bounds, so one of
/// these is in it unless it is empty.
void add_candidates(std::string_view specifiers, std::vector<Version>& candidates) {
  const auto add = [&](const std::string& text) {
    if (const auto version = Version::parse(text)) candidates.push_back(*version);
  };
  for (const std::string_view clause : split(specifiers, ',')) {
    std::string_view text = trim(clause);
    text.remove_prefix(std::min(text.find_first_not_of("<>=!~ "), text.size()));
    if (text.ends_with(".*")) text.remove_suffix(2);
    const auto bound = Version::parse(text);
    if (!bound) continue;
    candidates.push_back(*bound);
    auto parts = bound->release();
    add(dotted(parts));
    add(dotted(parts) + ".0.0.1");
    ++parts.back();
    add(dotted(parts));
    --parts.back();
    for (std::size_t index = parts.size(); index-- > 0;) {
      if (parts[index] == 0) continue;
      auto below = parts;
      --below[index];
      below.resize(index + 1);
      below.push_back(999999);
      add(dotted(below));
      break;
    }
  }
  add("0.0.1");
  add("999999");
}

using Requirements = std::map<std::string, std::string, std::less<>>;

/// The first requirement that both have and that no version satisfies.
std::optional<std::string> clash(const Requirements& one, const Requirements& other, bool& any) {
  for (const auto& [name, specifiers] : one) {
    const auto found = other.find(name);
    if (found == other.end()) continue;
    any = true;
    if (intersect(specifiers, found->second) == Fits::no) return name;
  }
  return std::nullopt;
}

std::string shown(const std::string& specifiers) { return specifiers.empty() ? " (any)" : specifiers; }

}  // namespace

std::string_view to_string(Fits fits) noexcept {
  switch (fits) {
    case Fits::yes: return "yes";
    case Fits::no: return "no";
    case Fits::unknown: return "unknown";
  }
  return "unknown";
}

bool Judgement::unverified() const {
  return std::any_of(rows.begin(), rows.end(), [](const UsedRow& row) { return row.unverified; });
}

std::string framework_title(std::string_view framework) {
  if (framework == "tensorflow") return "TensorFlow";
  if (framework == "torch") return "PyTorch";
  if (framework == "jax") return "JAX";
  return std::string(framework);
}

bool is_version(const Version& version, const Version& wanted) {
  if (version == wanted) return true;
  const auto& parts = wanted.release();
  if (wanted.is_prerelease() || version.is_prerelease() || wanted.epoch() != version.epoch()) return false;
  if (parts.size() > version.release().size()) return false;
  return std::equal(parts.begin(), parts.end(), version.release().begin());
}

Judgement beam_supports_python(const Knowledge& knowledge, const Version& beam, const PythonMinor& python) {
  Judgement answer;
  const BeamRelease* row = knowledge.beam_release(beam);
  if (row == nullptr) {
    answer.why = fmt::format("no row tells of Beam {}", beam.to_string());
    return answer;
  }
  answer.rows.push_back(used(*row));
  if (row->pythons.empty()) {
    answer.why = fmt::format("the Pythons of Beam {} are not known", beam.to_string());
    return answer;
  }
  const bool has = contains(row->pythons, python);
  answer.fits = has ? Fits::yes : Fits::no;
  answer.why = has ? fmt::format("Beam {} supports Python {}", row->version.to_string(), python.to_string())
                   : fmt::format("Beam {} does not support Python {} (it has {})", row->version.to_string(),
                                 python.to_string(), minors(row->pythons));
  if (has && contains(row->without_wheel, python)) {
    answer.fits = Fits::unknown;
    answer.why = fmt::format("Beam {} supports Python {}, without a wheel for Linux: pip builds it, with a compiler",
                             row->version.to_string(), python.to_string());
  }
  return answer;
}

Judgement framework_supports_python(const FrameworkBuild& build, const PythonMinor& python) {
  Judgement answer;
  answer.rows.push_back(used(build));
  if (!build.requires_python.empty()) {
    const auto set = SpecifierSet::parse(build.requires_python);
    // Of a minor any patch will do: ">=3.9.2" does not shut 3.9 out.
    const Version lowest = as_version(python);
    const Version highest = *Version::parse(python.to_string() + ".999");
    if (set && !set->contains(lowest) && !set->contains(highest)) {
      answer.fits = Fits::no;
      answer.why = fmt::format("{} requires Python {}", name_of(build), build.requires_python);
      return answer;
    }
  }
  if (build.wheels.empty()) {
    answer.why = fmt::format("the wheels of {} are not known", name_of(build));
    return answer;
  }
  const bool has = contains(build.wheels, python);
  answer.fits = has ? Fits::yes : Fits::no;
  answer.why = has ? fmt::format("{} has a wheel for Python {}", name_of(build), python.to_string())
                   : fmt::format("{} has no wheel for Python {} (it has {})", name_of(build), python.to_string(),
                                 minors(build.wheels));
  return answer;
}

Fits intersect(std::string_view one, std::string_view other) {
  const auto first = SpecifierSet::parse(one);
  const auto second = SpecifierSet::parse(other);
  if (!first || !second) return Fits::unknown;
  std::vector<Version> candidates;
  add_candidates(one, candidates);
  add_candidates(other, candidates);
  const bool any = std::any_of(candidates.begin(), candidates.end(), [&](const Version& version) {
    return first->contains(version) && second->contains(version);
  });
  return any ? Fits::yes : Fits::no;
}

Judgement requirements_meet(const Knowledge& knowledge, const FrameworkBuild& build, const BeamRelease& beam,
                            const PythonMinor& python) {
  Judgement answer;
  answer.rows = {used(build), used(beam)};
  const std::string names = fmt::format("{} and Beam {}", name_of(build), beam.version.to_string());
  bool any = false;
  if (const auto name = clash(build.requires_dist, beam.requires_dist, any)) {
    answer.fits = Fits::no;
    answer.why = fmt::format("{} agree on no {}: {}{} against {}{}", names, *name, *name,
                             build.requires_dist.find(*name)->second, *name, beam.requires_dist.find(*name)->second);
    return answer;
  }
  if (!any) {
    answer.why = fmt::format("{} name no requirement that both have", names);
    return answer;
  }
  answer.fits = Fits::yes;
  answer.why = fmt::format("{} agree on what they require", names);
  const BeamImagePins* pins = knowledge.beam_pins(beam.version, python);
  if (pins == nullptr) return answer;
  std::vector<std::string> replaced;
  for (const auto& [name, version] : pins->packages) {
    const auto wanted = build.requires_dist.find(name);
    if (wanted == build.requires_dist.end() || holds(wanted->second, version)) continue;
    if (!SpecifierSet::parse(wanted->second)) continue;
    replaced.push_back(fmt::format("{} {} ({} wants {})", name, version.to_string(), framework_title(build.framework),
                                   shown(wanted->second)));
  }
  if (replaced.empty()) return answer;
  answer.warning = true;
  answer.why =
      fmt::format("in the SDK image of Beam {} pip has to replace {}", beam.version.to_string(), join_words(replaced));
  answer.rows.push_back(
      used(fmt::format("SDK image of Beam {}, Python {}", beam.version.to_string(), python.to_string()), *pins));
  return answer;
}

Judgement requirements_meet(const FrameworkBuild& one, const FrameworkBuild& other, bool wheels) {
  Judgement answer;
  answer.rows = {used(one), used(other)};
  const std::string names = fmt::format("{} and {}", name_of(one), name_of(other));
  bool any = false;
  const Requirements* left = &one.requires_dist;
  const Requirements* right = &other.requires_dist;
  auto name = clash(*left, *right, any);
  if (!name && wheels) {
    left = &one.cuda_pins;
    right = &other.cuda_pins;
    name = clash(*left, *right, any);
  }
  if (name) {
    answer.fits = Fits::no;
    answer.why = fmt::format("{} agree on no {}: {}{} against {}{}", names, *name, *name, left->find(*name)->second,
                             *name, right->find(*name)->second);
  } else if (any) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{} agree on what they require", names);
  } else {
    answer.why = fmt::format("{} name no requirement that both have", names);
  }
  return answer;
}

Judgement framework_supports_cuda(const FrameworkBuild& build, const Version& cuda) {
  Judgement answer;
  answer.rows.push_back(used(build));
  if (build.cuda.empty()) {
    answer.why = fmt::format("the CUDA of {} is not known", name_of(build));
    return answer;
  }
  bool open = false;
  std::vector<std::string> built;
  for (const FrameworkBuild::Cuda& one : build.cuda) {
    built.push_back(cuda_minor(one.cuda));
    auto loads = loads_cuda(one.cuda, cuda);
    if (loads.value_or(false) && build.framework == "jax" && one.cuda.release().size() > 1) {
      if (cuda.release().size() < 2) {
        loads = std::nullopt;
      } else if (cuda.minor() < one.cuda.minor()) {
        loads = false;
      }
    }
    if (!loads) open = true;
    if (!loads.value_or(false)) continue;
    answer.fits = Fits::yes;
    answer.why =
        fmt::format("{}, built for CUDA {}, loads CUDA {}", name_of(build), cuda_minor(one.cuda), cuda_minor(cuda));
    answer.rows.front().unverified = build.unverified || one.unverified;
    if (cuda_minor(one.cuda) == cuda_minor(cuda)) return answer;
  }
  if (answer.fits == Fits::yes || open) return answer;
  answer.fits = Fits::no;
  answer.why = fmt::format("{} is built for CUDA {}, not {}", name_of(build), join_words(built), cuda_minor(cuda));
  answer.rows.front().unverified = build.unverified || build.cuda.front().unverified;
  return answer;
}

Judgement framework_supports_gpu(const FrameworkBuild& build, const GpuType& gpu) {
  Judgement answer;
  answer.rows = {used(build), used(gpu)};
  const auto compute = Version::parse(gpu.compute);
  const auto from = Version::parse(build.compute_from);
  if (!compute || !from) {
    answer.silent = build.compute_from.empty();
    answer.why = fmt::format("for which GPUs {} has kernels is not known", name_of(build));
    return answer;
  }
  const auto to = Version::parse(build.compute_to);
  // Kernels run on every later GPU of their major.
  const bool too_new = to && *compute > *to && compute->major() != to->major();
  const bool fits = *compute >= *from && !too_new;
  answer.fits = fits ? Fits::yes : Fits::no;
  answer.why = fmt::format("the kernels of {} are for compute capability {}{}: {} {} ({})", name_of(build),
                           build.compute_from, to ? " to " + build.compute_to : " and later",
                           fits ? "they cover" : "none for", gpu.model, gpu.compute);
  return answer;
}

Judgement cuda_supports_gpu(const Knowledge& knowledge, const Version& cuda, const GpuType& gpu, CudaOrigin origin) {
  Judgement answer;
  answer.rows.push_back(used(gpu));
  const Version minor = *Version::parse(cuda_minor(cuda));
  const auto compute = Version::parse(gpu.compute);
  const CudaRelease* row = knowledge.cuda_release(cuda);
  if (row != nullptr) answer.rows.push_back(used("CUDA " + row->version.to_string(), *row));
  if (gpu.cuda_through && minor.release().size() > 1 && minor > *gpu.cuda_through) {
    answer.fits = Fits::no;
    answer.why = fmt::format("CUDA {} has no code for {} ({}) any more: {} was the last", minor.to_string(), gpu.model,
                             gpu.compute, gpu.cuda_through->to_string());
    return answer;
  }
  const auto from = row == nullptr ? std::nullopt : Version::parse(row->compute_from);
  const auto to = row == nullptr ? std::nullopt : Version::parse(row->compute_to);
  if (!compute || !from || !to) {
    answer.why = fmt::format("for which GPUs CUDA {} has code is not known", minor.to_string());
    return answer;
  }
  const std::string range =
      fmt::format("CUDA {} is for compute capability {} to {}", minor.to_string(), row->compute_from, row->compute_to);
  const bool same_major = compute->major() == to->major();
  if (minor.release().size() > 1 && minor < gpu.cuda_from) {
    answer.warning = same_major && origin == CudaOrigin::wheels;
    answer.fits = answer.warning ? Fits::yes : Fits::no;
    answer.why = fmt::format("{} ({}) needs CUDA {} or later, not {}{}", gpu.model, gpu.compute,
                             gpu.cuda_from.to_string(), minor.to_string(),
                             answer.warning ? ", whose kernels for its major run all the same" : "");
  } else if (*compute < *from) {
    answer.fits = Fits::no;
    answer.why = fmt::format("{}: {} has {}", range, gpu.model, gpu.compute);
  } else if (*compute <= *to) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{}: it covers {} ({})", range, gpu.model, gpu.compute);
  } else if (same_major) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{}: {} ({}) runs the code of its major", range, gpu.model, gpu.compute);
  } else {
    // Older code runs as far as it carries PTX, which the tables do not tell of a toolkit.
    answer.why = fmt::format("{}: {} ({}) came later, and runs only what carries PTX", range, gpu.model, gpu.compute);
  }
  return answer;
}

Judgement cudnn_supports_cuda(const Knowledge& knowledge, const Version& cudnn, const Version& cuda) {
  Judgement answer;
  bool any = false;
  for (const CudnnRelease& row : knowledge.cudnn_releases()) {
    if (!is_version(row.version, cudnn)) continue;
    any = true;
    const bool fits = std::find(row.cuda_majors.begin(), row.cuda_majors.end(), cuda.major()) != row.cuda_majors.end();
    if (!fits && !answer.rows.empty()) continue;
    answer.rows = {used("cuDNN " + row.version.to_string(), row)};
    answer.fits = fits ? Fits::yes : Fits::no;
    answer.why =
        fmt::format("cuDNN {} was {}built for CUDA {}", row.version.to_string(), fits ? "" : "not ", cuda.major());
    if (fits) break;
  }
  if (!any) answer.why = fmt::format("no row tells of cuDNN {}", cudnn.to_string());
  return answer;
}

Judgement image_serves(const CudaImage& image, const FrameworkBuild::Cuda& build) {
  Judgement answer;
  answer.rows.push_back(used("nvidia/cuda:" + image.tag, image));
  const std::string wanted = cuda_minor(build.cuda);
  const std::string there = cuda_minor(image.cuda);
  const bool tested = there == wanted;
  if (!tested && !loads_cuda(build.cuda, image.cuda).value_or(false)) {
    answer.fits = Fits::no;
    answer.why = fmt::format("nvidia/cuda:{} has CUDA {}, not {}", image.tag, there, wanted);
    return answer;
  }
  if (image.withdrawn) {
    answer.fits = Fits::no;
    answer.why = fmt::format("nvidia/cuda:{} was withdrawn", image.tag);
    return answer;
  }
  answer.fits = Fits::yes;
  answer.why = fmt::format("nvidia/cuda:{} has CUDA {}", image.tag, there);
  if (!tested) answer.why += fmt::format(", for a framework built for {}", wanted);
  if (build.cudnn) {
    const bool minor_known = image.cudnn && image.cudnn->release().size() > 1;
    const bool major_fits = image.cudnn && image.cudnn->major() == build.cudnn->major();
    const bool older = minor_known && image.cudnn->minor() < build.cudnn->minor();
    if (!major_fits || older) answer.fits = Fits::no;
    if (answer.fits == Fits::yes && !minor_known && build.cudnn->release().size() > 1) answer.fits = Fits::unknown;
    answer.why += fmt::format(" and {}, for one compiled against cuDNN {}",
                              image.cudnn ? "cuDNN " + image.cudnn->to_string() : std::string("no cuDNN"),
                              build.cudnn->to_string());
  }
  if (tested || answer.fits != Fits::yes) return answer;
  // It loads by its sonames. A newer minor is what CUDA promises to be compatible with, an older one may lack symbols.
  answer.warning = image.cuda > build.cuda;
  if (!answer.warning) answer.fits = Fits::unknown;
  return answer;
}

Judgement distribution_has_python(const Knowledge& knowledge, std::string_view os, const PythonMinor& python) {
  Judgement answer;
  const LinuxRelease* row = knowledge.linux_release(os);
  if (row == nullptr) {
    answer.why = fmt::format("no row tells of {}", os);
    return answer;
  }
  answer.rows.push_back(used(row->id, *row));
  if (row->python == python) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{} has Python {} in apt", os, python.to_string());
  } else if (contains(row->deadsnakes, python)) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{} has Python {} from deadsnakes", os, python.to_string());
  } else if (contains(row->universe, python)) {
    answer.fits = Fits::yes;
    answer.why = fmt::format("{} has Python {} in universe", os, python.to_string());
  } else if (!row->python) {
    answer.why = fmt::format("the Python of {} is not known", os);
  } else if (row->id.starts_with("ubuntu") && (row->deadsnakes.empty() || python < row->deadsnakes.back())) {
    // What the PPA once built is not always taken away.
    answer.why = fmt::format("{} has no Python {} in apt, and deadsnakes does not build it for it (any more)", os,
                             python.to_string());
  } else {
    answer.fits = Fits::no;
    answer.why = fmt::format("{} has no Python {}, neither in apt nor from deadsnakes", os, python.to_string());
  }
  return answer;
}

namespace {

/// The version that the set has of a package; nothing where the set does not settle it.
std::optional<Version> package_in(const VersionSet& set, const std::string& name) {
  if (name == "apache-beam") return set.beam == nullptr ? std::nullopt : std::optional(set.beam->version);
  for (const ChosenFramework& one : set.frameworks) {
    if (one.build->framework == name) return one.build->version;
  }
  for (const ChosenFramework& one : set.frameworks) {
    if (one.cuda == nullptr || one.origin != CudaOrigin::wheels) continue;
    const auto pin = one.build->cuda_pins.find(name);
    if (pin == one.build->cuda_pins.end()) continue;
    if (const auto pinned = SpecifierSet::parse(pin->second); pinned && pinned->pinned()) return pinned->pinned();
  }
  return std::nullopt;
}

bool cuda_matches(const VersionSet& set, const KnownIssue& row) {
  if (row.cuda.empty() && row.cuda_from.empty()) return true;
  bool any_named = false;
  for (const ChosenFramework& one : set.frameworks)
    any_named = any_named || row.packages.contains(one.build->framework);
  for (const ChosenFramework& one : set.frameworks) {
    if (one.cuda == nullptr || (any_named && !row.packages.contains(one.build->framework))) continue;
    if (!row.cuda_from.empty() && row.cuda_from != (one.origin == CudaOrigin::wheels ? "wheels" : "base")) continue;
    if (row.cuda.empty() || holds(row.cuda, *Version::parse(cuda_minor(one.cuda->cuda)))) return true;
  }
  return false;
}

bool matches(const VersionSet& set, const KnownIssue& row) {
  if (row.packages.empty() && row.beam.empty() && row.cuda.empty()) return false;
  for (const auto& [name, specifiers] : row.packages) {
    if (name.starts_with('!')) return false;  // what else is installed is not part of a set
    const auto version = package_in(set, name);
    if (!version || (!specifiers.empty() && !holds(specifiers, *version))) return false;
  }
  if (!row.python.empty() && !(set.python && holds(row.python, as_version(*set.python)))) return false;
  if (!row.beam.empty() && !(set.beam != nullptr && holds(row.beam, set.beam->version.base()))) return false;
  if (!row.tpu.empty() && !(set.tpu != nullptr && (row.tpu == "tpu-" || set.tpu->type.starts_with(row.tpu))))
    return false;
  if (!row.gpu.empty()) {
    const auto compute = set.gpu == nullptr ? std::nullopt : Version::parse(set.gpu->compute);
    if (!compute || !holds(row.gpu, *compute)) return false;
  }
  return cuda_matches(set, row);
}

}  // namespace

std::vector<Judgement> known_issues_with(const Knowledge& knowledge, const VersionSet& set) {
  std::vector<Judgement> all;
  for (const KnownIssue& row : knowledge.known_issues()) {
    if (!matches(set, row)) continue;
    Judgement answer;
    const bool breaks = row.level == "error" && !row.unverified;
    answer.fits = breaks ? Fits::no : Fits::yes;
    answer.warning = !breaks;
    answer.why = row.fix.empty() ? row.symptom : fmt::format("{}; {}", row.symptom, row.fix);
    answer.rows.push_back(used("known issue " + row.id, row));
    all.push_back(std::move(answer));
  }
  return all;
}

std::vector<Judgement> judge(const Knowledge& knowledge, const VersionSet& set) {
  std::vector<Judgement> all;
  if (set.beam != nullptr && set.python) all.push_back(beam_supports_python(knowledge, set.beam->version, *set.python));
  if (set.image != nullptr && set.python) all.push_back(distribution_has_python(knowledge, set.image->os, *set.python));
  for (std::size_t index = 0; index < set.frameworks.size(); ++index) {
    const ChosenFramework& one = set.frameworks[index];
    if (set.python) all.push_back(framework_supports_python(*one.build, *set.python));
    if (set.python && set.beam != nullptr) {
      Judgement meet = requirements_meet(knowledge, *one.build, *set.beam, *set.python);
      // Nothing in common is no doubt.
      if (meet.fits != Fits::unknown) all.push_back(std::move(meet));
    }
    for (std::size_t next = index + 1; next < set.frameworks.size(); ++next) {
      const ChosenFramework& other = set.frameworks[next];
      const bool wheels = one.cuda != nullptr && other.cuda != nullptr && one.origin == CudaOrigin::wheels &&
                          other.origin == CudaOrigin::wheels;
      Judgement meet = requirements_meet(*one.build, *other.build, wheels);
      if (meet.fits != Fits::unknown) all.push_back(std::move(meet));
    }
    if (set.gpu == nullptr) continue;
    const Judgement kernels = framework_supports_gpu(*one.build, *set.gpu);
    all.push_back(kernels);
    if (one.cuda == nullptr) continue;
    all.push_back(framework_supports_cuda(*one.build, one.cuda->cuda));
    Judgement toolkit = cuda_supports_gpu(knowledge, one.cuda->cuda, *set.gpu, one.origin);
    // What the framework itself has kernels or PTX for runs, whatever the toolkit's compiler knows.
    if (toolkit.fits != Fits::unknown || kernels.fits != Fits::yes) all.push_back(std::move(toolkit));
    if (set.image != nullptr && one.origin == CudaOrigin::base) all.push_back(image_serves(*set.image, *one.cuda));
  }
  for (Judgement& issue : known_issues_with(knowledge, set)) all.push_back(std::move(issue));
  return all;
}

}  // namespace imgforge
