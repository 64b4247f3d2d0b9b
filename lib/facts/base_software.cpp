#include "facts/base_software.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::string_view system_libraries = "/usr/lib/x86_64-linux-gnu";

/// "2.15.0" of "2.15.0-gpu", "2.4.1" of "2.4.1-cuda12.1-cudnn9-runtime".
std::optional<Version> leading_version(std::string_view tag) {
  const std::string_view number = tag.substr(0, tag.find_first_not_of("0123456789."));
  return number.find('.') == std::string_view::npos ? std::nullopt : Version::parse(number);
}

/// The number behind `word` in a tag: "12.1" of "2.4.1-cuda12.1-cudnn9-runtime".
std::optional<Version> number_behind(std::string_view tag, std::string_view word) {
  const std::size_t at = tag.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = tag.substr(at + word.size());
  return Version::parse(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

CudaToolkit toolkit(std::optional<Version> version, CudaToolkit::Flavour flavour, const Evidence& evidence) {
  CudaToolkit cuda;
  cuda.version = std::move(version);
  cuda.flavour = flavour;
  cuda.folder = "/usr/local/cuda";
  cuda.evidence = {evidence};
  return cuda;
}

Cudnn library(const Version& version, const Evidence& evidence) {
  Cudnn cudnn;
  cudnn.major = static_cast<unsigned>(version.major());
  if (version.release().size() > 1) cudnn.version = version;
  cudnn.folder = system_libraries;
  cudnn.evidence = {evidence};
  return cudnn;
}

Framework framework(std::string name, std::optional<Version> version, Framework::Build build,
                    const Evidence& evidence) {
  Framework found;
  found.package = name;
  found.name = std::move(name);
  found.version = std::move(version);
  found.build = build;
  found.in_base = true;
  found.evidence = {evidence};
  return found;
}

BaseSoftware of_cuda_image(const std::string& tag, const Knowledge& knowledge, const Evidence& evidence) {
  BaseSoftware software;
  if (const CudaImage* image = knowledge.cuda_image(tag)) {
    const CudaToolkit::Flavour flavour = image->flavour == "base"      ? CudaToolkit::Flavour::base
                                         : image->flavour == "runtime" ? CudaToolkit::Flavour::runtime
                                         : image->flavour == "devel"   ? CudaToolkit::Flavour::devel
                                                                       : CudaToolkit::Flavour::unknown;
    software.cuda = {toolkit(image->cuda, flavour, evidence)};
    if (image->cudnn) software.cudnn = {library(*image->cudnn, evidence)};
    software.library_path = image->library_path;
    return software;
  }
  // The grammar of tags says what a tag that no row holds would be.
  const CudaToolkit::Flavour flavour = tag.find("-devel") != std::string::npos     ? CudaToolkit::Flavour::devel
                                       : tag.find("-runtime") != std::string::npos ? CudaToolkit::Flavour::runtime
                                       : tag.find("-base") != std::string::npos    ? CudaToolkit::Flavour::base
                                                                                   : CudaToolkit::Flavour::unknown;
  const std::optional<Version> version = leading_version(tag);
  if (!version || flavour == CudaToolkit::Flavour::unknown) {
    software.not_known = fmt::format("which CUDA the tag {} is", escape_for_display(tag));
    software.cuda = {toolkit(version, flavour, evidence)};
    return software;
  }
  software.cuda = {toolkit(version, flavour, evidence)};
  if (const std::optional<Version> cudnn = number_behind(tag, "-cudnn")) {
    software.cudnn = {library(*cudnn, evidence)};
  } else if (tag.find("-cudnn") != std::string::npos) {
    // From 12.4.1 on the plain word means 9.
    software.cudnn = {library(*Version::parse("9"), evidence)};
  }
  return software;
}

BaseSoftware of_ngc(std::string_view product, const std::string& tag, const Knowledge& knowledge,
                    const Evidence& evidence) {
  BaseSoftware software;
  const NgcImage* image = knowledge.ngc_image(product, tag.substr(0, tag.find('-')));
  const bool first = product == "tensorflow" && tag.find("-tf1") != std::string::npos;
  software.cuda = {toolkit(image != nullptr ? image->cuda : std::nullopt, CudaToolkit::Flavour::devel, evidence)};
  if (image != nullptr && image->cudnn)
    software.cudnn = {library(*image->cudnn, evidence)};
  else
    software.not_known = "which cuDNN this month's image has";
  software.frameworks = {framework(product == "pytorch" ? "torch" : "tensorflow",
                                   image != nullptr && !first ? image->framework : std::nullopt, Framework::Build::ngc,
                                   evidence)};
  return software;
}

}  // namespace

BaseSoftware base_software(const Reference& reference, const BaseImage* row, const Knowledge& knowledge,
                           const Evidence& evidence) {
  BaseSoftware software;
  const std::string& tag = reference.tag();
  if (row == nullptr) {
    software.not_known = fmt::format("what {} holds", escape_for_display(reference.to_string()));
    return software;
  }
  if (row->kind == "cuda") return of_cuda_image(tag, knowledge, evidence);
  if (row->kind == "ngc-tensorflow") return of_ngc("tensorflow", tag, knowledge, evidence);
  if (row->kind == "ngc-pytorch") return of_ngc("pytorch", tag, knowledge, evidence);
  if (row->kind == "tensorflow") {
    const std::optional<Version> version = leading_version(tag);
    software.frameworks = {framework("tensorflow", version, Framework::Build::pypi, evidence)};
    if (tag.find("-gpu") == std::string::npos) {
      software.frameworks.back().cpu_only = true;
      software.library_path = "";
      return software;
    }
    // Built for itself: the image's CUDA is that of the release.
    const FrameworkBuild* build = version ? knowledge.framework_build("tensorflow", *version) : nullptr;
    software.cuda = {toolkit(row->cuda                                  ? row->cuda
                             : build != nullptr && !build->cuda.empty() ? std::optional(build->cuda.front().cuda)
                                                                        : std::nullopt,
                             CudaToolkit::Flavour::runtime, evidence)};
    if (build != nullptr && !build->cuda.empty() && build->cuda.front().cudnn)
      software.cudnn = {library(*build->cuda.front().cudnn, evidence)};
    else
      software.not_known = "which cuDNN the image has";
    return software;
  }
  if (row->kind == "pytorch") {
    Framework torch = framework("torch", leading_version(tag), Framework::Build::pytorch_index, evidence);
    const std::optional<Version> cuda = number_behind(tag, "-cuda");
    torch.brings_cuda = cuda.has_value();
    torch.cpu_only = !cuda && !tag.empty();
    if (cuda) {
      // In its interpreter's folders, not where a loader looks.
      CudaToolkit inside = toolkit(cuda, CudaToolkit::Flavour::runtime, evidence);
      inside.from = CudaToolkit::From::wheels;
      inside.folder.clear();
      software.cuda = {std::move(inside)};
      software.library_path = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";
    }
    software.frameworks = {std::move(torch)};
    return software;
  }
  software.library_path = "";
  return software;
}

}  // namespace imgforge
