#include "check/cuda_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/requirement.hpp"
#include "base/text.hpp"
#include "check/cuda.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

/// "8.9.6.50" of "8.9.6.50-1+cuda12.2".
std::optional<Version> claimed(const std::string& value) {
  const auto version = Version::parse(value.substr(0, value.find_first_not_of("0123456789.")));
  return version && version->release().size() >= 2 ? version : std::nullopt;
}

bool same_minor(const Version& one, const Version& other) {
  return one.major() == other.major() && one.minor() == other.minor();
}

/// `all` are the releases that files prove; one that is known by its major alone is none that could differ.
template <class List>
std::optional<FalseClaim> false_claim(const Case& subject, std::initializer_list<std::string_view> names,
                                      const List& all) {
  std::vector<std::string> proven;
  std::vector<Evidence> evidence;
  for (const std::string_view name : names) {
    const auto value = subject.facts.variable(name);
    const auto claim = value ? claimed(*value) : std::nullopt;
    if (!claim) continue;
    proven.clear();
    evidence = {subject.facts.variable_evidence(name)};
    bool agrees = false;
    for (const auto& one : all) {
      if (!one.version || one.version->release().size() < 2 || same_minor(*one.version, *claim)) {
        agrees = true;
        break;
      }
      const std::string text = one.version->to_string();
      if (std::find(proven.begin(), proven.end(), text) == proven.end()) proven.push_back(text);
      evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
    }
    if (agrees || proven.empty()) continue;
    return FalseClaim{
        fmt::format("{} says {}, and the files are of {}", name, escape_for_display(*value), join_words(proven)),
        evidence};
  }
  return std::nullopt;
}

}  // namespace

std::optional<FalseClaim> false_claim_of_cuda(const Case& subject) {
  const auto& cuda = subject.facts.cuda();
  if (subject.kind != SubjectKind::image || !cuda.is_known()) return std::nullopt;
  return false_claim(subject, {"CUDA_VERSION"}, cuda.value());
}

std::optional<FalseClaim> false_claim_of_cudnn(const Case& subject) {
  const auto& cudnn = subject.facts.cudnn();
  if (subject.kind != SubjectKind::image || !cudnn.is_known()) return std::nullopt;
  return false_claim(subject, {"NV_CUDNN_VERSION", "CUDNN_VERSION"}, cudnn.value());
}

bool loader_conf_names(const Case& subject, std::string_view folder) {
  const auto& folders = subject.facts.library_folders();
  return folders.is_known() && std::any_of(folders->begin(), folders->end(), [&](const LibraryFolder& one) {
           return one.by == LibraryFolder::By::ld_so_conf && (one.path == folder || one.written == folder);
         });
}

const LibraryFolder* folder_of_element(const Case& subject, std::string_view element) {
  const auto& folders = subject.facts.library_folders();
  if (!folders.is_known()) return nullptr;
  for (const LibraryFolder& one : folders.value()) {
    std::string_view written = one.written;
    while (written.size() > 1 && written.ends_with('/')) written.remove_suffix(1);
    if (one.by == LibraryFolder::By::ld_library_path && written == element) return &one;
  }
  return nullptr;
}

bool is_of_base_images(const Case& subject, std::string_view element) {
  // NGC's entrypoint makes the first one where the driver is older; TensorFlow's images set the others.
  static constexpr std::array<std::string_view, 4> known = {"/usr/local/cuda/compat/lib", "/usr/local/cuda/compat",
                                                            "/usr/local/cuda/extras/CUPTI/lib64",
                                                            "/usr/include/x64_64-linux-gnu"};
  if (std::find(known.begin(), known.end(), element) != known.end()) return true;
  for (const CudaImage& image : subject.knowledge.cuda_images()) {
    if (image.library_path.find(element) == std::string::npos) continue;
    for (const std::string_view one : split(image.library_path, ':')) {
      if (one == element) return true;
    }
  }
  return false;
}

std::optional<bool> has_c_compiler(const Case& subject) {
  if (!subject.facts.has_path || !subject.facts.env().is_known()) return std::nullopt;
  if (!subject.facts.variable("CC").value_or("").empty()) return true;
  const std::string path =
      subject.facts.variable("PATH").value_or("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  std::size_t folders = 0;
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.starts_with('/') || ++folders > 100) continue;
    for (const std::string_view name : {"gcc", "cc", "clang"}) {
      const Fact<bool> there = subject.facts.has_path(fmt::format("{}/{}", folder, name));
      if (there.is_unknown()) return std::nullopt;
      if (there.is_known() && there.value()) return true;
    }
  }
  return false;
}

bool comes_with_another(const Case& subject, const Framework& framework) {
  for (const Distribution* one : subject.facts.worker_distributions()) {
    if (one->name == framework.package) continue;
    for (const std::string& text : one->requires_dist) {
      if (text.find("extra") != std::string::npos) continue;
      const auto requirement = Requirement::parse(text);
      if (requirement && requirement->normalised() == framework.package) return true;
    }
  }
  return false;
}

Answer driver_in_image(const Case& subject) {
  const auto& libraries = subject.facts.driver_libraries();
  if (libraries.is_unknown()) return undecided_for("the libraries in the image", libraries);
  if (libraries.is_absent()) return Answer::pass();
  std::vector<std::string> paths;
  std::vector<Evidence> evidence;
  std::string version;
  for (const DriverLibrary& one : libraries.value()) {
    if (one.path.find("/libcuda.so.") == std::string::npos) continue;
    if (paths.size() < 5) paths.push_back(escape_for_display(one.path));
    version = one.version;
    evidence.push_back(one.evidence);
  }
  if (paths.empty()) return Answer::pass();
  return Answer::finding(
      fmt::format("{} is of driver {}: the worker mounts its own, and libraries of another version than the kernel's "
                  "module find no GPU",
                  join_words(paths), escape_for_display(version)),
      "leave the driver's packages (libnvidia-compute-*, nvidia-driver-*, cuda, cuda-drivers) out: cuda-toolkit-X-Y, "
      "or "
      "single libraries, have none",
      std::move(evidence));
}

Answer compiler_in_image(const Case& subject) {
  const auto installed = subject.facts.worker_distributions();
  const auto vllm =
      std::find_if(installed.begin(), installed.end(), [](const Distribution* one) { return one->name == "vllm"; });
  if (vllm != installed.end() && has_c_compiler(subject) == false) {
    return Answer::finding("vLLM has Triton compile kernels when it starts, and the image has no C compiler",
                           "RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf "
                           "/var/lib/apt/lists/*",
                           {(*vllm)->evidence});
  }
  const Fact<bool>& ptxas = subject.facts.ptxas();
  bool asked = false;
  for (const FrameworkFit& fit : framework_fits(subject)) {
    if (!runs_ptxas(fit) || fit.toolkit->from == CudaToolkit::From::wheels) continue;
    const Framework& framework = *fit.framework;
    asked = true;
    if (ptxas.is_unknown()) return undecided_for("whether ptxas is in the image", ptxas);
    if (ptxas.is_known() && ptxas.value()) continue;
    return Answer::finding(
        fmt::format("{} compiles with XLA, which runs ptxas and reads libdevice, and the image has no ptxas",
                    framework_name(framework)),
        "RUN apt-get update && apt-get install -y --no-install-recommends " + nvcc_package(fit),
        join_evidence({framework.evidence, fit.toolkit->evidence}));
  }
  return asked ? Answer::pass() : Answer::not_applicable();
}

}  // namespace imgforge
