#include "facts/wheel_software.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

bool has_extra(const Requirement& requirement, std::string_view extra) {
  const auto& extras = requirement.extras();
  return std::any_of(extras.begin(), extras.end(),
                     [&](const std::string& one) { return normalise_name(one) == extra; });
}

/// "cuda12" of jax[cuda12], jax[cuda12_pip], jax[cuda12_local]; "cuda" of the oldest.
std::string cuda_extra(const Requirement& requirement) {
  for (const std::string& extra : requirement.extras()) {
    const std::string lowered = lower(extra);
    if (lowered.starts_with("cuda") || lowered == "and-cuda" || lowered == "and_cuda") return lowered;
  }
  return {};
}

void replace_framework(WheelSoftware& software, Framework framework) {
  std::erase_if(software.frameworks, [&](const Framework& other) { return other.name == framework.name; });
  software.frameworks.push_back(std::move(framework));
}

void add_cuda(WheelSoftware& software, std::optional<Version> cuda, std::optional<Version> cudnn,
              const Evidence& evidence) {
  CudaToolkit toolkit;
  toolkit.from = CudaToolkit::From::wheels;
  toolkit.version = std::move(cuda);
  toolkit.flavour = CudaToolkit::Flavour::runtime;
  toolkit.evidence = {evidence};
  software.cuda.push_back(std::move(toolkit));
  if (!cudnn) return;
  Cudnn library;
  library.from = CudaToolkit::From::wheels;
  library.major = static_cast<unsigned>(cudnn->major());
  library.version = std::move(cudnn);
  library.evidence = {evidence};
  software.cudnn.push_back(std::move(library));
}

/// The CUDA of a release that brings its own: the pins of its extra say it exactly, else the build that PyPI has.
/// `extra` is the one that asks for it: "cuda13" of jax is another build than "cuda12".
void add_brought_cuda(WheelSoftware& software, const Framework& framework, std::string_view extra,
                      const Knowledge& knowledge, const Evidence& evidence) {
  const std::size_t digit = extra.find_first_of("0123456789");
  const std::optional<Version> asked =
      digit == std::string_view::npos
          ? std::nullopt
          : Version::parse(extra.substr(digit, extra.find_first_not_of("0123456789", digit) - digit));
  const FrameworkBuild* build =
      framework.version ? knowledge.framework_build(framework.name, *framework.version) : nullptr;
  std::optional<Version> cuda = cuda_of_local(framework.local);
  std::optional<Version> cudnn;
  if (build != nullptr) {
    for (const FrameworkBuild::Cuda& one : build->cuda) {
      const bool meant = asked                     ? one.cuda.major() == asked->major()
                         : framework.local.empty() ? one.on_pypi
                                                   : one.local == framework.local;
      if (!meant) continue;
      if (!cuda) cuda = one.cuda;
      cudnn = one.cudnn;
      break;
    }
    if (!cuda && !asked && !build->cuda.empty()) cuda = build->cuda.front().cuda;
  }
  if (!cuda) cuda = asked;
  add_cuda(software, std::move(cuda), std::move(cudnn), evidence);
}

void add_tensorflow(WheelSoftware& software, Framework framework, const Requirement& requirement,
                    const Knowledge& knowledge, const Evidence& evidence) {
  framework.name = "tensorflow";
  framework.cpu_only = framework.package == "tensorflow-cpu" || framework.package == "tf-nightly-cpu" ||
                       framework.package == "intel-tensorflow";
  framework.brings_cuda = !cuda_extra(requirement).empty();
  framework.tpu = framework.package == "tensorflow-tpu";
  if (framework.tpu) software.libtpu = true;
  if (framework.brings_cuda) add_brought_cuda(software, framework, {}, knowledge, evidence);
  replace_framework(software, std::move(framework));
}

void add_torch(WheelSoftware& software, Framework framework, const std::vector<std::string>& indexes,
               const Knowledge& knowledge, const Evidence& evidence) {
  framework.name = "torch";
  if (framework.local.empty()) {
    for (const std::string& index : indexes) {
      const std::string build = pytorch_index_build(index);
      if (!build.empty()) framework.local = build;
    }
  }
  if (!framework.local.empty()) framework.build = Framework::Build::pytorch_index;
  framework.cpu_only = framework.local == "cpu";
  framework.brings_cuda = framework.local.empty() || framework.local.starts_with("cu");
  if (framework.brings_cuda) add_brought_cuda(software, framework, {}, knowledge, evidence);
  replace_framework(software, std::move(framework));
}

void add_jax(WheelSoftware& software, Framework framework, const Requirement& requirement, const Knowledge& knowledge,
             const Evidence& evidence) {
  framework.name = "jax";
  framework.tpu = has_extra(requirement, "tpu");
  const std::string extra = cuda_extra(requirement);
  framework.brings_cuda = !extra.empty() && !extra.ends_with("local");
  framework.cpu_only = !framework.tpu && extra.empty();
  if (framework.tpu) software.libtpu = true;
  if (framework.brings_cuda) add_brought_cuda(software, framework, extra, knowledge, evidence);
  replace_framework(software, std::move(framework));
}

/// A plugin or a build of jaxlib that makes plain jax one for the GPU.
void jax_has_gpu(WheelSoftware& software, bool brings) {
  for (Framework& framework : software.frameworks) {
    if (framework.name != "jax") continue;
    framework.cpu_only = false;
    framework.brings_cuda = framework.brings_cuda || brings;
  }
}

/// nvidia-cudnn-cu12==8.9.4.25, nvidia-cuda-runtime-cu12==12.2.140
void add_nvidia(WheelSoftware& software, const std::string& name, const std::optional<Version>& version,
                const Evidence& evidence) {
  if (name.starts_with("nvidia-cudnn")) {
    Cudnn library;
    library.from = CudaToolkit::From::wheels;
    library.major = version ? static_cast<unsigned>(version->major()) : 0;
    library.version = version;
    library.evidence = {evidence};
    // Asked for by name, it replaces the one that a framework brought.
    std::erase_if(software.cudnn, [](const Cudnn& other) { return other.from == CudaToolkit::From::wheels; });
    software.cudnn.push_back(std::move(library));
  } else if (name.starts_with("nvidia-cuda-runtime") && software.cuda.empty()) {
    std::optional<Version> cuda;
    if (version) cuda = Version::parse(fmt::format("{}.{}", version->major(), version->minor()));
    add_cuda(software, std::move(cuda), std::nullopt, evidence);
  }
}

}  // namespace

std::string pytorch_index_build(std::string_view url) {
  const std::size_t at = url.find("download.pytorch.org/whl/");
  if (at == std::string_view::npos) return {};
  std::string_view rest = url.substr(at + std::string_view("download.pytorch.org/whl/").size());
  if (rest.starts_with("nightly/") || rest.starts_with("test/")) rest.remove_prefix(rest.find('/') + 1);
  const std::string_view build = rest.substr(0, rest.find('/'));
  const bool known = build == "cpu" || build == "xpu" || build.starts_with("rocm") ||
                     (build.starts_with("cu") && build.size() > 2 &&
                      build.find_first_not_of("0123456789", 2) == std::string_view::npos);
  return known ? std::string(build) : std::string();
}

std::optional<Version> cuda_of_local(std::string_view local) {
  // cu92, cu102, cu121: the last digit is the minor.
  if (!local.starts_with("cu") || local.size() < 4 || local.size() > 5) return std::nullopt;
  const std::string_view digits = local.substr(2);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return Version::parse(fmt::format("{}.{}", digits.substr(0, digits.size() - 1), digits.back()));
}

void add_wheel(WheelSoftware& software, const PackageRequest& request, const std::vector<std::string>& indexes,
               const Knowledge& knowledge) {
  if (!request.requirement) return;
  const Requirement& requirement = *request.requirement;
  const Evidence evidence = Evidence::at(request.place);
  const std::string& name = request.name;
  Framework framework;
  framework.package = name;
  framework.version = requirement.specifiers().pinned();
  if (framework.version) framework.local = framework.version->local();
  if (framework.version && !framework.local.empty()) framework.version = framework.version->public_part();
  framework.evidence = {evidence};
  if (!requirement.url().empty()) framework.build = Framework::Build::unknown;

  if (name == "tensorflow" || name == "tensorflow-gpu" || name == "tensorflow-cpu" || name == "intel-tensorflow" ||
      name == "tensorflow-tpu" || name == "tf-nightly" || name == "tf-nightly-gpu" || name == "tf-nightly-cpu") {
    add_tensorflow(software, std::move(framework), requirement, knowledge, evidence);
  } else if (name == "torch") {
    add_torch(software, std::move(framework), indexes, knowledge, evidence);
  } else if (name == "jax") {
    add_jax(software, std::move(framework), requirement, knowledge, evidence);
  } else if (name == "jaxlib") {
    if (framework.local.starts_with("cuda")) jax_has_gpu(software, false);
  } else if (name.starts_with("jax-cuda")) {
    jax_has_gpu(software, has_extra(requirement, "with-cuda"));
  } else if (name == "libtpu" || name == "libtpu-nightly") {
    software.libtpu = true;
  } else if (name == "torch-xla") {
    if (has_extra(requirement, "tpu") || has_extra(requirement, "tpuvm")) software.libtpu = true;
  } else if (name.starts_with("nvidia-")) {
    add_nvidia(software, name, framework.version, evidence);
  }
}

}  // namespace imgforge
