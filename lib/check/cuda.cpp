#include "check/cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

bool same_minor(const Version& one, const Version& other) {
  return one.major() == other.major() && one.minor() == other.minor();
}

bool has_minor(const Version& version) { return version.release().size() > 1; }

/// tensorflow-gpu where it is gone: cuda/obsolete-package names it, and nothing is installed that could be judged.
bool is_obsolete(const Framework& framework) {
  return framework.package == "tensorflow-gpu" && (!framework.version || *framework.version >= *Version::parse("2.12"));
}

bool is_system(const CudaToolkit& toolkit) { return toolkit.from != CudaToolkit::From::wheels; }

/// What a base image brings together with its CUDA was put together by its maker. Where the base has no CUDA, it is
/// judged against the one that the build adds for it, unless the build also adds a framework of its own.
bool is_its_makers_matter(const Framework& framework, const std::vector<Framework>& all,
                          const std::vector<CudaToolkit>& cuda) {
  if (!framework.in_base || framework.build == Framework::Build::ngc) return false;
  const bool base_has_cuda = std::any_of(
      cuda.begin(), cuda.end(), [](const CudaToolkit& toolkit) { return toolkit.from == CudaToolkit::From::base; });
  const bool added = std::any_of(cuda.begin(), cuda.end(), is_system);
  const bool other = std::any_of(all.begin(), all.end(), [](const Framework& one) { return !one.in_base; });
  return base_has_cuda || !added || other;
}

/// JAX takes every later CUDA of the major; TensorFlow's table is of single versions.
bool is_tested(const Framework& framework, const FrameworkBuild& row, const Version& found) {
  if (!has_minor(found)) return true;  // nothing says otherwise
  return std::any_of(row.cuda.begin(), row.cuda.end(), [&](const FrameworkBuild::Cuda& one) {
    if (!has_minor(one.cuda)) return one.cuda.major() == found.major();
    if (framework.name == "jax") return one.cuda.major() == found.major() && one.cuda.minor() <= found.minor();
    return same_minor(one.cuda, found);
  });
}

/// The build that fits `found` best: one that loads it, else the first.
const FrameworkBuild::Cuda* build_for(const FrameworkBuild& row, const Version& found) {
  for (const FrameworkBuild::Cuda& one : row.cuda) {
    if (one.local.empty() && same_minor(one.cuda, found)) return &one;
  }
  for (const FrameworkBuild::Cuda& one : row.cuda) {
    if (one.local.empty() && loads_cuda(one.cuda, found).value_or(false)) return &one;
  }
  return &row.cuda.front();
}

/// JAX's rows say the least CUDA that the build loads with.
std::optional<bool> loads(const Framework& framework, const Version& built, const Version& found) {
  const std::optional<bool> by_name = loads_cuda(built, found);
  if (framework.name != "jax" || !by_name.value_or(false)) return by_name;
  if (!has_minor(found)) return std::nullopt;
  return found.minor() >= built.minor();
}

/// The release's row, if it says for which CUDA; else that of an earlier patch of the same minor: upstream's tables
/// have one line for all of them.
const FrameworkBuild* row_of(const Knowledge& knowledge, const Framework& framework) {
  const FrameworkBuild* row = knowledge.framework_build(framework.name, *framework.version);
  if (row != nullptr && !row->cuda.empty()) return row;
  const FrameworkBuild* earlier = nullptr;
  for (const FrameworkBuild& one : knowledge.framework_builds()) {
    if (one.framework != framework.name || one.cuda.empty() || !same_minor(one.version, *framework.version)) continue;
    if (one.version > *framework.version || (earlier != nullptr && one.version < earlier->version)) continue;
    earlier = &one;
  }
  return earlier;
}

void judge_cuda(FrameworkFit& fit, const std::vector<CudaToolkit>& cuda) {
  fit.build = &fit.row->cuda.front();
  if (cuda.empty()) {
    fit.cuda = FrameworkFit::Cuda::none;
    return;
  }
  bool open = false;
  const CudaToolkit* first = nullptr;
  for (const CudaToolkit& toolkit : cuda) {
    if (!toolkit.version) {
      open = true;
      continue;
    }
    const FrameworkBuild::Cuda* build = build_for(*fit.row, *toolkit.version);
    const std::optional<bool> can = loads(*fit.framework, build->cuda, *toolkit.version);
    if (!can) {
      open = true;
    } else if (*can) {
      fit.build = build;
      fit.toolkit = &toolkit;
      fit.cuda = is_tested(*fit.framework, *fit.row, *toolkit.version) ? FrameworkFit::Cuda::tested
                                                                       : FrameworkFit::Cuda::untested;
      return;
    } else if (first == nullptr || (is_system(toolkit) && !is_system(*first))) {
      first = &toolkit;
    }
  }
  if (open) {
    fit.cuda = FrameworkFit::Cuda::undecided;
    fit.needs = "the version of the CUDA in the image";
    return;
  }
  fit.cuda = FrameworkFit::Cuda::cannot;
  fit.toolkit = first;
}

void judge_cudnn(FrameworkFit& fit, const Fact<std::vector<Cudnn>>& cudnn) {
  if (!fit.build->cudnn) {
    fit.library = FrameworkFit::Library::not_needed;
    return;
  }
  if (cudnn.is_unknown()) {
    fit.needs_cudnn = "cuDNN: " + cudnn.reason();
    return;
  }
  if (cudnn.is_absent() || cudnn->empty()) {
    fit.library = FrameworkFit::Library::missing;
    return;
  }
  const Cudnn* wrong = nullptr;
  bool open = false;
  for (const Cudnn& one : cudnn.value()) {
    const std::optional<bool> fits = fits_cudnn(*fit.build->cudnn, one);
    if (!fits) {
      open = true;
    } else if (*fits) {
      fit.library = FrameworkFit::Library::fits;
      fit.cudnn = &one;
      return;
    } else if (wrong == nullptr || one.major == fit.build->cudnn->major()) {
      wrong = &one;
    }
  }
  if (open) {
    fit.needs_cudnn = "the version of cuDNN in the image";
    return;
  }
  fit.library = FrameworkFit::Library::wrong;
  fit.cudnn = wrong;
}

}  // namespace

bool is_gpu_worker(const Case& subject) {
  return subject.judged_as.accelerator == Accelerator::gpu && !subject.judged_as.without_sign &&
         subject.judged_as.role != Role::launcher;
}

std::string cuda_minor(const Version& version) {
  return has_minor(version) ? fmt::format("{}.{}", version.major(), version.minor()) : std::to_string(version.major());
}

std::optional<bool> loads_cuda(const Version& built, const Version& found) {
  if (built.major() != found.major()) return false;
  if (built.major() >= 12) return true;
  if (!has_minor(found) || !has_minor(built)) return std::nullopt;
  if (built.major() == 11) return (built.minor() == 0) == (found.minor() == 0);
  return built.minor() == found.minor();
}

std::optional<bool> fits_cudnn(const Version& compiled, const Cudnn& found) {
  if (found.major == 0) return std::nullopt;
  if (compiled.major() != found.major) return false;
  if (!has_minor(compiled)) return true;
  if (!found.version || !has_minor(*found.version)) return std::nullopt;
  return found.version->minor() >= compiled.minor();
}

std::vector<FrameworkFit> framework_fits(const Case& subject) {
  std::vector<FrameworkFit> fits;
  const auto& frameworks = subject.facts.frameworks();
  if (!frameworks.is_known()) return fits;
  const auto& cuda = subject.facts.cuda();
  static const std::vector<CudaToolkit> no_cuda;
  const std::vector<CudaToolkit>& toolkits = cuda.is_known() ? cuda.value() : no_cuda;
  for (const Framework& framework : frameworks.value()) {
    if (framework.cpu_only || framework.brings_cuda || framework.tpu || framework.name == "torch") continue;
    if (is_obsolete(framework) || is_its_makers_matter(framework, frameworks.value(), toolkits)) continue;
    FrameworkFit fit;
    fit.framework = &framework;
    const auto undecided = [&](std::string needs) {
      fit.needs = fit.needs_cudnn = std::move(needs);
      fits.push_back(fit);
    };
    const std::string name = framework_name(framework);
    if (framework.build != Framework::Build::pypi && framework.build != Framework::Build::pytorch_index) {
      if (subject.kind == SubjectKind::image) continue;  // cuda/library-not-loadable judges its sonames
      undecided(fmt::format("what {} was built for: it is none of PyPI's wheels", name));
      continue;
    }
    if (!framework.version) {
      undecided(fmt::format("which version of {} is installed: none is pinned", framework.package));
      continue;
    }
    fit.row = row_of(subject.knowledge, framework);
    if (fit.row == nullptr) {
      undecided(fmt::format("what {} was built for: the tables do not hold it", name));
      continue;
    }
    if (cuda.is_unknown()) {
      undecided("the CUDA in the image: " + cuda.reason());
      continue;
    }
    judge_cuda(fit, toolkits);
    fit.unverified = fit.row->unverified || fit.build->unverified;
    judge_cudnn(fit, subject.facts.cudnn());
    fits.push_back(fit);
  }
  return fits;
}

bool runs_ptxas(const FrameworkFit& fit) {
  const bool loads = fit.cuda == FrameworkFit::Cuda::tested || fit.cuda == FrameworkFit::Cuda::untested;
  if (!loads || fit.library == FrameworkFit::Library::wrong || fit.library == FrameworkFit::Library::missing)
    return false;
  return fit.framework->name != "tensorflow" || *fit.framework->version >= *Version::parse("2.11");
}

std::string nvcc_package(const FrameworkFit& fit) {
  std::string minor = cuda_minor(fit.toolkit->version ? *fit.toolkit->version : fit.build->cuda);
  std::replace(minor.begin(), minor.end(), '.', '-');
  return "cuda-nvcc-" + minor;
}

std::string framework_name(const Framework& framework) {
  const std::string name = framework.name == "tensorflow" ? "TensorFlow"
                           : framework.name == "torch"    ? "PyTorch"
                           : framework.name == "jax"      ? "JAX"
                                                          : framework.name;
  return framework.version ? name + " " + framework.version->to_string() : name;
}

const CudaImage* image_for(const Knowledge& knowledge, const CudaWish& wish) {
  const CudaImage* best = nullptr;
  std::tuple<bool, bool, Version> best_score;
  for (const CudaImage& image : knowledge.cuda_images()) {
    if (image.flavour != "runtime" || image.withdrawn || image.unverified) continue;
    if (image.tag.find("tensorrt") != std::string::npos) continue;
    if (image.os != wish.os && !image.os.starts_with("ubuntu")) continue;
    if (wish.needs_cudnn != image.cudnn.has_value()) continue;
    if (wish.built && !loads_cuda(*wish.built, image.cuda).value_or(false)) continue;
    if (wish.exact && wish.built && !same_minor(*wish.built, image.cuda)) continue;
    if (wish.compiled && image.cudnn) {
      Cudnn library;
      library.major = static_cast<unsigned>(image.cudnn->major());
      library.version = image.cudnn;
      if (!fits_cudnn(*wish.compiled, library).value_or(false)) continue;
    }
    if (wish.gpu != nullptr) {
      const Version minor = *Version::parse(cuda_minor(image.cuda));
      if (minor < wish.gpu->cuda_from || (wish.gpu->cuda_through && minor > *wish.gpu->cuda_through)) continue;
    }
    std::tuple<bool, bool, Version> score{image.os == wish.os, wish.built && same_minor(*wish.built, image.cuda),
                                          image.cuda};
    if (best == nullptr || score > best_score) {
      best = &image;
      best_score = std::move(score);
    }
  }
  return best;
}

std::string from_line(const Case& subject, std::string_view tag) {
  std::string repository = "nvidia/cuda";
  const auto prefix_of = [&](const Reference& reference) {
    if (reference.host() != "nvcr.io" || reference.repository() != "nvidia/cuda") return;
    repository = "nvcr.io/nvidia/cuda";
  };
  if (subject.kind == SubjectKind::recipe) {
    if (subject.recipe != nullptr && subject.recipe->base_image) prefix_of(*subject.recipe->base_image);
    return fmt::format("base: {{image: \"{}:{}\"}}", repository, tag);
  }
  if (const Build* build = build_of(subject)) {
    for (const ImageUse& use : build->images) {
      if (use.role == ImageUse::Role::base && use.reference) prefix_of(*use.reference);
    }
  }
  return fmt::format("FROM {}:{}", repository, tag);
}

std::string pip_line(const Case& subject, std::string_view requirement) {
  if (subject.kind == SubjectKind::recipe) return fmt::format("packages: {{pip: [\"{}\"]}}", requirement);
  return fmt::format("RUN pip install --no-cache-dir \"{}\"", requirement);
}

std::string with_cuda_wheels(const FrameworkFit& fit) {
  if (fit.row == nullptr || fit.row->cuda_extra.empty() || !fit.framework->version) return {};
  return fmt::format("{}[{}]=={}", fit.framework->name, fit.row->cuda_extra, fit.framework->version->to_string());
}

std::string os_id(const Case& subject) {
  const Fact<OsRelease>& os = subject.facts.os_release();
  return os.is_known() ? os->id + os->version_id : std::string();
}

const GpuType* gpu_of(const Case& subject) {
  if (subject.judged_as.accelerator != Accelerator::gpu || subject.judged_as.accelerator_type.empty()) return nullptr;
  return subject.knowledge.gpu(subject.judged_as.accelerator_type);
}

std::vector<std::string> library_path(const Case& subject) {
  const std::string value = subject.facts.variable("LD_LIBRARY_PATH").value_or("");
  std::vector<std::string> elements;
  if (value.empty()) return elements;
  for (std::string_view element : split(value, ':')) {
    while (element.size() > 1 && element.ends_with('/')) element.remove_suffix(1);
    elements.emplace_back(element);
  }
  return elements;
}

}  // namespace imgforge
