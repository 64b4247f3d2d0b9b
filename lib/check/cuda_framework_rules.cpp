// TensorFlow, PyTorch and JAX against the CUDA, the cuDNN and the GPU that they will find.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/cuda.hpp"
#include "check/cuda_image.hpp"
#include "check/known_issues.hpp"
#include "check/rule.hpp"
#include "check/steps.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::string_view tested_builds =
    "https://www.tensorflow.org/install/source#gpu; "
    "https://github.com/pytorch/pytorch/blob/main/RELEASE.md; "
    "https://docs.jax.dev/en/latest/installation.html";

std::optional<Level> level_of(const FrameworkFit& fit) {
  return fit.unverified ? std::optional(Level::warning) : std::nullopt;
}

/// The frameworks are known, or why not.
std::optional<Answer> frameworks_open(const Case& subject) {
  const auto& frameworks = subject.facts.frameworks();
  if (frameworks.is_unknown()) return undecided_for("the frameworks in the image", frameworks);
  if (frameworks.is_absent() || frameworks->empty()) return Answer::not_applicable();
  return std::nullopt;
}

/// Answers of each framework: findings win, then what is not decided, then pass.
class Verdicts {
 public:
  void found(Answer::Found one) { found_.push_back(std::move(one)); }
  void undecided(const std::string& needs) {
    if (needs_.empty()) needs_ = needs;
  }
  void pass() { passed_ = true; }
  Answer answer() {
    if (!found_.empty()) return Answer::findings(std::move(found_));
    if (!needs_.empty()) return Answer::undecided(needs_);
    return passed_ ? Answer::pass() : Answer::not_applicable();
  }

 private:
  std::vector<Answer::Found> found_;
  std::string needs_;
  bool passed_ = false;
};

std::string wants(const FrameworkFit& fit) {
  return fit.build->cudnn
             ? fmt::format("CUDA {} and cuDNN {}", cuda_minor(fit.build->cuda), cuda_minor(*fit.build->cudnn))
             : "CUDA " + cuda_minor(fit.build->cuda);
}

/// The base image that has what the framework wants, and the wheels that bring it.
std::string mend(const Case& subject, const FrameworkFit& fit, bool exact) {
  CudaWish wish;
  wish.built = fit.build->cuda;
  wish.compiled = fit.build->cudnn;
  wish.gpu = gpu_of(subject);
  wish.os = os_id(subject);
  wish.exact = exact;
  std::vector<std::string> ways;
  if (const CudaImage* image = image_for(subject.knowledge, wish)) ways.push_back(from_line(subject, image->tag));
  if (const std::string wheels = with_cuda_wheels(fit); !wheels.empty()) {
    ways.push_back(fmt::format("on a base without CUDA: {}", pip_line(subject, wheels)));
  }
  if (ways.empty()) return fmt::format("a base image with {}", wants(fit));
  return join(ways, "; or ");
}

std::vector<Evidence> places(const FrameworkFit& fit, const std::vector<Evidence>& other) {
  return join_evidence({fit.framework->evidence, other});
}

/// What a variable claims against the files harms nobody but its readers.
Answer::Found note_of(const FalseClaim& claim) {
  return {Level::note, claim.text, "take the variable out, or set it to what is there", claim.evidence};
}

Answer framework_mismatch(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (auto open = frameworks_open(subject)) return *open;
  Verdicts verdicts;
  const std::optional<FalseClaim> claim = false_claim_of_cuda(subject);
  bool named = false;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    switch (fit.cuda) {
      case FrameworkFit::Cuda::undecided: verdicts.undecided(fit.needs); break;
      case FrameworkFit::Cuda::none: break;  // cuda/cudnn-missing names it
      case FrameworkFit::Cuda::untested:
      case FrameworkFit::Cuda::tested: verdicts.pass(); break;
      case FrameworkFit::Cuda::cannot:
        verdicts.found(
            {level_of(fit),
             fmt::format("{} is built for CUDA {} and cannot load the CUDA {} of the image: it runs on the CPU, "
                         "or not at all{}",
                         framework_name(*fit.framework), cuda_minor(fit.build->cuda),
                         fit.toolkit->version->to_string(), claim ? " (" + claim->text + ")" : std::string()),
             mend(subject, fit, false), places(fit, fit.toolkit->evidence)});
        named = true;
        break;
    }
  }
  if (claim && !named) verdicts.found(note_of(*claim));
  return verdicts.answer();
}

Answer untested_combination(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (auto open = frameworks_open(subject)) return *open;
  Verdicts verdicts;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (fit.cuda == FrameworkFit::Cuda::undecided) verdicts.undecided(fit.needs);
    if (fit.cuda == FrameworkFit::Cuda::tested) verdicts.pass();
    if (fit.cuda != FrameworkFit::Cuda::untested) continue;
    // What does not run at all is named by its own rule; that it was not tested either is no news.
    if (fit.library == FrameworkFit::Library::wrong || fit.library == FrameworkFit::Library::missing) continue;
    verdicts.found(
        {std::nullopt,
         fmt::format("{} loads the CUDA {} of the image, but was tested with CUDA {}", framework_name(*fit.framework),
                     fit.toolkit->version->to_string(), cuda_minor(fit.build->cuda)),
         mend(subject, fit, true), places(fit, fit.toolkit->evidence)});
  }
  return verdicts.answer();
}

/// Whether the CUDA fits, so that cuDNN is the question.
bool asks_cudnn(const FrameworkFit& fit) {
  return fit.cuda == FrameworkFit::Cuda::tested || fit.cuda == FrameworkFit::Cuda::untested;
}

Answer cudnn_mismatch(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (auto open = frameworks_open(subject)) return *open;
  Verdicts verdicts;
  const std::optional<FalseClaim> claim = false_claim_of_cudnn(subject);
  bool named = false;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (fit.cuda == FrameworkFit::Cuda::undecided) {
      verdicts.undecided(fit.needs);
      continue;
    }
    if (!asks_cudnn(fit)) continue;
    if (fit.library == FrameworkFit::Library::undecided) verdicts.undecided(fit.needs_cudnn);
    if (fit.library == FrameworkFit::Library::fits) verdicts.pass();
    if (fit.library != FrameworkFit::Library::wrong) continue;
    const Version& compiled = *fit.build->cudnn;
    const std::string has = fit.cudnn->version ? fit.cudnn->version->to_string() : std::to_string(fit.cudnn->major);
    std::string message = fit.cudnn->major != compiled.major()
                                    ? fmt::format("{} loads libcudnn.so.{}, and the image has cuDNN {}",
                                                  framework_name(*fit.framework), compiled.major(), has)
                                    : fmt::format("{} was compiled with cuDNN {} and refuses the older {} of the image",
                                                  framework_name(*fit.framework), cuda_minor(compiled), has);
    if (claim) message += " (" + claim->text + ")";
    verdicts.found({level_of(fit), message, mend(subject, fit, false), places(fit, fit.cudnn->evidence)});
    named = true;
  }
  if (claim && !named) verdicts.found(note_of(*claim));
  for (Answer::Found& found : known_issues_of(subject, "cuda/cudnn-mismatch")) verdicts.found(std::move(found));
  return verdicts.answer();
}

Answer cudnn_missing(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (auto open = frameworks_open(subject)) return *open;
  Verdicts verdicts;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (fit.cuda == FrameworkFit::Cuda::undecided) {
      verdicts.undecided(fit.needs);
      continue;
    }
    const bool no_cuda = fit.cuda == FrameworkFit::Cuda::none;
    if (!no_cuda && !asks_cudnn(fit)) continue;
    if (fit.library == FrameworkFit::Library::undecided) verdicts.undecided(fit.needs_cudnn);
    if (fit.library == FrameworkFit::Library::fits || fit.library == FrameworkFit::Library::wrong) verdicts.pass();
    if (fit.library != FrameworkFit::Library::missing) continue;
    const std::string name = framework_name(*fit.framework);
    const bool cudart_only = fit.toolkit != nullptr && fit.toolkit->flavour == CudaToolkit::Flavour::base;
    const std::string message =
        no_cuda ? fmt::format("{} needs {} from the image, and there is neither", name, wants(fit))
        : cudart_only
            ? fmt::format("{} needs {} from the image, and a base flavour has libcudart alone", name, wants(fit))
            : fmt::format("{} needs cuDNN {} from the image, and there is none", name, cuda_minor(*fit.build->cudnn));
    verdicts.found({level_of(fit), message, mend(subject, fit, false),
                    places(fit, fit.toolkit != nullptr ? fit.toolkit->evidence : std::vector<Evidence>{})});
  }
  return verdicts.answer();
}

Answer cudnn_shadowed(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const auto& cudnn = subject.facts.cudnn();
  if (!cudnn.is_known() || cudnn->size() < 2) return Answer::not_applicable();
  const std::vector<std::string> path = library_path(subject);
  Verdicts verdicts;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (!asks_cudnn(fit) || !fit.build->cudnn) continue;
    // As the loader goes: LD_LIBRARY_PATH in its order, then the folders of its own.
    const Cudnn* first = nullptr;
    std::size_t best = path.size() + 1;
    bool other_fits = false;
    for (const Cudnn& one : cudnn.value()) {
      if (one.major != fit.build->cudnn->major() || one.from == CudaToolkit::From::wheels || one.folder.empty())
        continue;
      const auto position = static_cast<std::size_t>(std::find(path.begin(), path.end(), one.folder) - path.begin());
      if (position < best) {
        best = position;
        first = &one;
      }
      other_fits = other_fits || fits_cudnn(*fit.build->cudnn, one).value_or(false);
    }
    if (first == nullptr) continue;
    const bool wrong = !fits_cudnn(*fit.build->cudnn, *first).value_or(true);
    if (!wrong || !other_fits || best >= path.size()) {
      verdicts.pass();
      continue;
    }
    verdicts.found(
        {level_of(fit),
         fmt::format("the loader finds cuDNN {} in {} first, and {} needs {}: the one that would do is hidden",
                     first->version->to_string(), escape_for_display(first->folder), framework_name(*fit.framework),
                     cuda_minor(*fit.build->cudnn)),
         fmt::format("take {} out of LD_LIBRARY_PATH", escape_for_display(first->folder)),
         join_evidence({{subject.facts.variable_evidence("LD_LIBRARY_PATH")}, first->evidence})});
  }
  return verdicts.answer();
}

/// The CUDA that will be loaded: the wheels' where every framework for the GPU brings its own, else all.
std::vector<const CudaToolkit*> loaded_cuda(const Case& subject) {
  std::vector<const CudaToolkit*> loaded;
  if (!subject.facts.cuda().is_known()) return loaded;
  bool brings = false;
  bool takes = false;
  if (subject.facts.frameworks().is_known()) {
    for (const Framework& framework : subject.facts.frameworks().value()) {
      if (framework.cpu_only || framework.tpu) continue;
      (framework.brings_cuda ? brings : takes) = true;
    }
  }
  for (const CudaToolkit& toolkit : subject.facts.cuda().value()) {
    if (brings && !takes && toolkit.from != CudaToolkit::From::wheels) continue;
    loaded.push_back(&toolkit);
  }
  return loaded;
}

std::string gpu_mend(const Case& subject, const GpuType& gpu) {
  CudaWish wish;
  wish.gpu = &gpu;
  wish.os = os_id(subject);
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (fit.build == nullptr) continue;
    wish.built = fit.build->cuda;
    wish.compiled = fit.build->cudnn;
  }
  if (wish.built && image_for(subject.knowledge, wish) == nullptr) wish.built = wish.compiled = std::nullopt;
  const CudaImage* image = image_for(subject.knowledge, wish);
  const std::string range = gpu.cuda_through
                                ? fmt::format("CUDA {} to {}", gpu.cuda_from.to_string(), gpu.cuda_through->to_string())
                                : fmt::format("CUDA {} or later", gpu.cuda_from.to_string());
  return image != nullptr ? fmt::format("{}  ({})", from_line(subject, image->tag), range) : range;
}

/// The wheel of PyTorch's index whose CUDA knows the GPU, for a torch of another one.
std::string torch_mend(const Case& subject, const Framework& framework, const FrameworkBuild& row, const GpuType& gpu) {
  const FrameworkBuild::Cuda* best = nullptr;
  for (const FrameworkBuild::Cuda& one : row.cuda) {
    if (one.local.empty() || one.cuda < gpu.cuda_from || (gpu.cuda_through && one.cuda > *gpu.cuda_through)) continue;
    if (best == nullptr || one.cuda < best->cuda) best = &one;  // the older index keeps code for more chips
  }
  if (best == nullptr) return fmt::format("a release of PyTorch with code for compute capability {}", gpu.compute);
  const std::string index = "https://download.pytorch.org/whl/" + best->local;
  const std::string requirement = "torch==" + framework.version->to_string();
  if (subject.kind == SubjectKind::recipe) {
    return fmt::format("packages: {{pip: [\"{}\"], indexes: [\"{}\"]}}", requirement + "+" + best->local, index);
  }
  return fmt::format("RUN pip install --no-cache-dir --index-url {} {}", index, requirement);
}

Answer gpu_unsupported(const Case& subject) {
  if (!is_gpu_worker(subject) || subject.judged_as.accelerator_type.empty()) return Answer::not_applicable();
  const GpuType* gpu = gpu_of(subject);
  if (gpu == nullptr) return Answer::not_applicable();  // dataflow/accelerator-unknown names it
  if (subject.facts.cuda().is_unknown()) return undecided_for("the CUDA in the image", subject.facts.cuda());
  const std::optional<Version> compute = Version::parse(gpu->compute);
  Verdicts verdicts;
  const std::optional<Level> softer = gpu->unverified ? std::optional(Level::warning) : std::nullopt;
  bool found_one = false;
  for (const CudaToolkit* toolkit : loaded_cuda(subject)) {
    if (!toolkit->version || toolkit->version->release().size() < 2) {
      verdicts.undecided("the version of the CUDA in the image");
      continue;
    }
    const Version minor = *Version::parse(cuda_minor(*toolkit->version));
    const bool wheels = toolkit->from == CudaToolkit::From::wheels;
    if (gpu->cuda_through && minor > *gpu->cuda_through) {
      verdicts.found({softer,
                      fmt::format("CUDA {} has no code for the {} (compute capability {}): the last that has is {}",
                                  cuda_minor(minor), gpu->model, gpu->compute, gpu->cuda_through->to_string()),
                      wheels ? fmt::format("wheels for CUDA {} or earlier", gpu->cuda_through->to_string())
                             : gpu_mend(subject, *gpu),
                      toolkit->evidence});
      found_one = true;
    } else if (minor < gpu->cuda_from) {
      // Kernels for an earlier chip of the same generation run; a framework's own wheels mostly have them.
      const CudaRelease* release = subject.knowledge.cuda_release(minor);
      const auto newest = release != nullptr ? Version::parse(release->compute_to) : std::nullopt;
      const bool same_major = newest && compute && newest->major() == compute->major();
      verdicts.found(
          {wheels && same_major ? std::optional(Level::warning) : softer,
           fmt::format("the {} needs CUDA {} or later, and {} {}", gpu->model, gpu->cuda_from.to_string(),
                       wheels ? "the wheels are for" : "the image has", cuda_minor(minor)),
           wheels ? fmt::format("wheels for CUDA {} or later", gpu->cuda_from.to_string()) : gpu_mend(subject, *gpu),
           toolkit->evidence});
      found_one = true;
    } else {
      verdicts.pass();
    }
  }
  if (!found_one && compute && subject.facts.frameworks().is_known()) {
    for (const Framework& framework : subject.facts.frameworks().value()) {
      if (framework.cpu_only || framework.tpu || !framework.version) continue;
      if (framework.build != Framework::Build::pypi && framework.build != Framework::Build::pytorch_index) continue;
      const FrameworkBuild* row = subject.knowledge.framework_build(framework.name, *framework.version);
      if (row == nullptr) continue;
      const auto from = Version::parse(row->compute_from);
      const auto to = Version::parse(row->compute_to);
      if (!(from && *compute < *from) && !(to && *compute > *to)) continue;
      verdicts.found({row->unverified ? std::optional(Level::warning) : softer,
                      fmt::format("{} has kernels for compute capability {} to {}, and the {} has {}",
                                  framework_name(framework), row->compute_from.empty() ? "?" : row->compute_from,
                                  row->compute_to.empty() ? "any later" : row->compute_to, gpu->model, gpu->compute),
                      framework.name == "torch" ? torch_mend(subject, framework, *row, *gpu)
                                                : fmt::format("another release of {}", framework.name),
                      framework.evidence});
      found_one = true;
    }
  }
  if (!found_one) {
    for (Answer::Found& found : known_issues_of(subject, "cuda/gpu-unsupported")) verdicts.found(std::move(found));
  }
  return verdicts.answer();
}

/// Packages that compute on the GPU without any of the frameworks.
bool is_gpu_package(std::string_view name) {
  return name.starts_with("cupy-cuda") || name == "onnxruntime-gpu" || name == "vllm" || name.starts_with("jax-cuda") ||
         name.starts_with("cudf-cu") || name.starts_with("tensorrt");
}

Answer cpu_only_framework(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  if (auto open = frameworks_open(subject)) return *open;
  const std::vector<Framework>& frameworks = subject.facts.frameworks().value();
  const bool another = std::any_of(frameworks.begin(), frameworks.end(),
                                   [](const Framework& one) { return !one.cpu_only && !one.in_base; });
  const auto& distributions = subject.facts.distributions();
  const bool package =
      distributions.is_known() && std::any_of(distributions->begin(), distributions->end(),
                                              [](const Distribution& one) { return is_gpu_package(one.name); });
  Verdicts verdicts;
  for (const Framework& framework : frameworks) {
    const bool other_vendor = framework.local.starts_with("rocm") || framework.local.starts_with("xpu");
    if (!framework.cpu_only && !other_vendor) {
      verdicts.pass();
      continue;
    }
    // What a base image has beside is not what the GPU is for.
    if (framework.in_base && (another || package)) continue;
    if (subject.kind == SubjectKind::image && (another || package) && comes_with_another(subject, framework)) continue;
    std::string build = framework.package.empty() ? framework.name : framework.package;
    if (!framework.local.empty()) build += "+" + framework.local;
    std::string requirement = framework.name;
    if (framework.name == "jax") {
      requirement = "jax[cuda12]";
    } else if (framework.name == "tensorflow") {
      const FrameworkBuild* row =
          framework.version ? subject.knowledge.framework_build("tensorflow", *framework.version) : nullptr;
      const bool has_cuda = subject.facts.cuda().is_known() && !subject.facts.cuda()->empty();
      if (row != nullptr && !row->cuda_extra.empty() && !has_cuda) requirement += "[" + row->cuda_extra + "]";
    }
    if (framework.version) requirement += "==" + framework.version->to_string();
    const std::string index =
        framework.local.empty() ? std::string() : "  (without PyTorch's index for " + framework.local + ")";
    // Beside another that uses the GPU it may be meant: TensorFlow for its data pipeline, JAX for its arrays.
    verdicts.found({another || package ? std::optional(Level::warning) : std::nullopt,
                    fmt::format("{} is a build for {}: the GPU is paid for and not used", build,
                                other_vendor ? "another vendor's GPUs" : "the CPU"),
                    pip_line(subject, requirement) + index, framework.evidence});
  }
  return verdicts.answer();
}

Answer duplicate_cuda(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const auto& cuda = subject.facts.cuda();
  const auto& frameworks = subject.facts.frameworks();
  if (!cuda.is_known() || !frameworks.is_known()) return Answer::not_applicable();
  const CudaToolkit* system = nullptr;
  for (const CudaToolkit& toolkit : cuda.value()) {
    // The base flavour of nvidia/cuda has libcudart alone: nothing that is there twice.
    if (toolkit.from == CudaToolkit::From::wheels || toolkit.flavour == CudaToolkit::Flavour::base) continue;
    // Of an image: conda's is the framework's own, and what has a compiler is there to compile with.
    const bool meant = toolkit.from == CudaToolkit::From::conda || toolkit.flavour == CudaToolkit::Flavour::devel;
    if (subject.kind == SubjectKind::image && meant) continue;
    if (system == nullptr) system = &toolkit;
  }
  if (system == nullptr) return Answer::pass();
  const Build* build = build_of(subject);
  if (build != nullptr && !build->compiles.empty()) return Answer::pass();  // the toolkit is what it is compiled with
  const Framework* brings = nullptr;
  bool takes = false;
  for (const Framework& framework : frameworks.value()) {
    if (framework.cpu_only || framework.tpu) continue;
    if (!framework.brings_cuda) takes = true;
    if (framework.brings_cuda && !framework.in_base && brings == nullptr) brings = &framework;
  }
  // One takes the image's and the other brings its own: then both are used.
  if (brings == nullptr || takes) return Answer::pass();
  const std::string image =
      "python:" +
      (subject.facts.worker_interpreter() != nullptr ? subject.facts.worker_interpreter()->minor.to_string()
                                                     : std::string("3.X")) +
      "-slim";
  std::string lean =
      subject.kind == SubjectKind::recipe ? fmt::format("base: {{image: \"{}\"}}", image) : "FROM " + image;
  return Answer::finding(
      fmt::format(
          "CUDA is in the image twice: {}{}, and as wheels with {}: gigabytes that every worker pulls, and of which "
          "the loader may mix both",
          system->from == CudaToolkit::From::base ? "the base's" : "a toolkit",
          system->version ? " " + system->version->to_string() : std::string(), framework_name(*brings)),
      lean, join_evidence({system->evidence, brings->evidence}));
}

Answer obsolete_package(const Case& subject) {
  if (!is_gpu_worker(subject)) return Answer::not_applicable();
  const Build* build = build_of(subject);
  if (build == nullptr) return Answer::not_applicable();
  const Version gone = *Version::parse("2.12.0");
  std::vector<Answer::Found> found;
  bool asked = false;
  for (const PipInstall& install : build->pip) {
    if (install.elsewhere || !install.at.in_image) continue;
    for (const PackageRequest& request : install.requests) {
      if (request.name != "tensorflow-gpu" || !request.requirement) continue;
      asked = true;
      const SpecifierSet& specifiers = request.requirement->specifiers();
      const std::optional<Version> pinned = specifiers.pinned();
      // pip takes the newest that fits, and that is the stub.
      if (pinned ? *pinned < gone : !specifiers.contains(gone)) continue;
      const bool has_cuda = subject.facts.cuda().is_known() && !subject.facts.cuda()->empty();
      const std::string requirement = fmt::format("tensorflow{}{}", has_cuda ? "" : "[and-cuda]",
                                                  pinned ? "==" + pinned->to_string() : std::string("==2.15.1"));
      Answer::Found one =
          found_at(install.at, "tensorflow-gpu ends with 2.11: what is left on PyPI only raises, and pip fails",
                   pip_line(subject, requirement));
      one.evidence = {Evidence::at(request.place)};
      found.push_back(std::move(one));
    }
  }
  if (!asked) return Answer::not_applicable();
  return Answer::findings(std::move(found));
}

Answer known_broken(const Case& subject) {
  std::vector<Answer::Found> found = known_issues_of(subject, "cuda/known-broken");
  if (found.empty()) return Answer::not_applicable();
  return Answer::findings(std::move(found));
}

constexpr Rule rules[] = {
    {"cuda/framework-mismatch", Level::error, Reach::tree, R | D | I,
     "TensorFlow, PyTorch or JAX was not built for, and cannot load, the CUDA found",
     "The framework opens libcudart and its kin by names that carry the CUDA version. Where they are not there, it "
     "says so "
     "once in the log and computes on the CPU.",
     "Take the base image of the CUDA that the release was built for, or wheels that bring their own.", tested_builds,
     framework_mismatch},
    {"cuda/untested-combination", Level::warning, Reach::tree, R | D | I,
     "loadable, but outside the framework's tested table",
     "The library names match, so it loads; whether kernels and libraries agree, nobody has tried.",
     "Take the CUDA of the release's row, or a release whose row has this CUDA.", tested_builds, untested_combination},
    {"cuda/cudnn-mismatch", Level::error, Reach::tree, R | D | I,
     "cuDNN's major differs, or its minor is older than the one the framework was compiled against",
     "libcudnn.so.8 and .so.9 do not stand in for each other, and a framework refuses a cuDNN older than its own "
     "headers "
     "when the first convolution runs (\"Loaded runtime CuDNN library ... but source was compiled with\").",
     "Take the cuDNN of the framework's row. Plain \"cudnn\" in tags of nvidia/cuda is cuDNN 9.", tested_builds,
     cudnn_mismatch},
    {"cuda/cudnn-missing", Level::error, Reach::tree, R | D | I, "the framework needs a system cuDNN and there is none",
     "Only the cudnn tags of nvidia/cuda hold cuDNN; runtime and devel alone do not, and base has libcudart alone.",
     "Take a cudnn tag, or wheels that bring cuDNN.", tested_builds, cudnn_missing},
    {"cuda/cudnn-shadowed", Level::error, Reach::tree, D, "another cuDNN comes first on the loader's path",
     "LD_LIBRARY_PATH goes before the loader's own folders: the copy in it hides the one that would do.",
     "Keep one cuDNN, or take the other's folder out of LD_LIBRARY_PATH.", "ld.so(8)", cudnn_shadowed},
    {"cuda/gpu-unsupported", Level::error, Reach::tree, R | D,
     "the GPU needs a newer CUDA or framework, or this CUDA dropped it",
     "Kernels are compiled for compute capabilities; without one for the GPU every launch fails with \"no kernel image "
     "is "
     "available for execution on the device\".",
     "Take a CUDA that has the GPU, or the GPU that the CUDA has.",
     "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/", gpu_unsupported},
    {"cuda/cpu-only-framework", Level::error, Reach::tree, R | D | I, "a GPU target with a CPU build of the framework",
     "The worker starts and computes, on the CPU, beside a GPU that is billed. Beside another framework that uses the "
     "GPU "
     "it is a warning.",
     "Install the GPU build.", "https://pytorch.org/get-started/locally/", cpu_only_framework},
    {"cuda/duplicate-cuda", Level::warning, Reach::tree, R | D | I, "CUDA both from the base and from wheels",
     "Wheels that bring CUDA do not use the image's: several gigabytes more to pull at every start, and "
     "LD_LIBRARY_PATH may "
     "put the wrong copy first.",
     "Keep one: a plain base for such wheels, or wheels that take the image's CUDA.",
     "https://docs.jax.dev/en/latest/installation.html", duplicate_cuda},
    {"cuda/obsolete-package", Level::error, Reach::tree, R | D, "tensorflow-gpu where it is gone",
     "From 2.12 the package on PyPI holds a script that raises, so the build fails.", "Install tensorflow.",
     "https://github.com/tensorflow/tensorflow/issues/60074", obsolete_package},
    {"cuda/known-broken", Level::error, Reach::tree, R | D | I, "a combination that is known to break",
     "Upstream, or somebody's issue, says that exactly this does not work. The level is the row's: error or warning.",
     "What the row says.", "knowledge/known_issues.yaml, with a source in every row", known_broken},
};

}  // namespace

std::span<const Rule> cuda_framework_rules() { return rules; }

}  // namespace imgforge
