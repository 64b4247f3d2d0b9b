#include "check/cuda_tags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "check/cuda.hpp"
#include "check/steps.hpp"

namespace imgforge {

namespace {

/// "12.4.1-cudnn8-runtime-ubuntu22.04" in its parts.
struct TagParts {
  std::optional<Version> cuda;
  std::string extra;    // "cudnn8", "cudnn", "tensorrt"
  std::string flavour;  // "runtime"
  std::string os;       // "ubuntu22.04"
};

TagParts parts_of(std::string_view tag) {
  TagParts parts;
  const auto words = split(tag, '-');
  parts.cuda = Version::parse(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "base" || word == "runtime" || word == "devel") {
      parts.flavour = word;
    } else if (word.starts_with("cudnn") || word == "tensorrt") {
      parts.extra = word;
    } else {
      parts.os = word;
    }
  }
  return parts;
}

bool same_minor(const Version& one, const Version& other) {
  return one.major() == other.major() && one.minor() == other.minor();
}

/// The number in "cudnn8"; 0 where it has none.
std::uint64_t cudnn_major(std::string_view extra) {
  return extra.starts_with("cudnn") ? to_number(extra.substr(5)).value_or(0) : 0;
}

/// How near a tag that exists is to what was asked for; the higher the nearer.
int nearness(const TagParts& asked, const CudaImage& image, const TagParts& parts) {
  int score = 0;
  if (asked.cuda && *asked.cuda == image.cuda) score += 8;
  if (asked.cuda && same_minor(*asked.cuda, image.cuda)) score += 4;
  if (asked.os == image.os) score += 4;
  if (asked.extra.empty() == parts.extra.empty()) score += 2;
  return score;
}

/// The tags of the same flavour that are nearest: one for the CUDA that was asked for, one for the cuDNN.
std::vector<std::string> instead_of(const Knowledge& knowledge, const TagParts& asked) {
  const CudaImage* best = nullptr;
  const CudaImage* with_cudnn = nullptr;
  int best_score = 0;
  const std::uint64_t major = cudnn_major(asked.extra);
  for (const CudaImage& image : knowledge.cuda_images()) {
    const bool plausible = image.os == asked.os || (asked.os.empty() && image.os.starts_with("ubuntu")) ||
                           (image.os.starts_with("ubuntu") && asked.os.starts_with("ubuntu"));
    if (image.withdrawn || image.unverified || !plausible) continue;
    if (image.flavour != (asked.flavour.empty() ? "runtime" : asked.flavour)) continue;
    const TagParts parts = parts_of(image.tag);
    if (parts.extra == "tensorrt" && asked.extra != "tensorrt") continue;
    const int score = nearness(asked, image, parts);
    if (best == nullptr || score > best_score || (score == best_score && image.cuda > best->cuda)) {
      best = &image;
      best_score = score;
    }
    if (major == 0 || !image.cudnn || image.cudnn->major() != major || image.os != asked.os) continue;
    if (with_cudnn == nullptr || image.cuda > with_cudnn->cuda) with_cudnn = &image;
  }
  std::vector<std::string> tags;
  if (best != nullptr) tags.push_back(best->tag);
  if (with_cudnn != nullptr && with_cudnn != best) tags.push_back(with_cudnn->tag);
  return tags;
}

/// What is wrong with it, as far as the table tells.
std::string why_not(const Knowledge& knowledge, const TagParts& asked) {
  if (asked.flavour.empty()) return "tags are CUDA-FLAVOUR-DISTRIBUTION, with base, runtime or devel as flavour";
  if (asked.os.empty()) return "tags end in their distribution";
  bool cuda = false;
  bool minor = false;
  bool for_os = false;
  bool other_cudnn = false;
  for (const CudaImage& image : knowledge.cuda_images()) {
    if (asked.cuda && same_minor(*asked.cuda, image.cuda)) minor = true;
    if (!asked.cuda || *asked.cuda != image.cuda) continue;
    cuda = true;
    if (image.os != asked.os) continue;
    for_os = true;
    if (image.cudnn && image.flavour == asked.flavour) other_cudnn = true;
  }
  if (!minor) return fmt::format("NVIDIA published no CUDA {} of that kind", asked.cuda->to_string());
  if (!cuda) return fmt::format("of CUDA {} other updates were published", cuda_minor(*asked.cuda));
  if (!for_os)
    return fmt::format("CUDA {} was not published for {}", asked.cuda->to_string(), escape_for_display(asked.os));
  if (asked.extra.starts_with("cudnn") && asked.flavour == "base") return "cuDNN comes with runtime and devel only";
  if (asked.extra.starts_with("cudnn") && other_cudnn) {
    return fmt::format(
        "for CUDA {} the cuDNN part of the tag is another: cudnn8 ends with 12.2.2, from 12.4.1 it is plain "
        "\"cudnn\"",
        asked.cuda->to_string());
  }
  if (asked.extra.starts_with("cudnn"))
    return fmt::format("CUDA {} was not published with cuDNN", asked.cuda->to_string());
  return fmt::format("CUDA {} for {} has other flavours", asked.cuda->to_string(), escape_for_display(asked.os));
}

}  // namespace

bool is_cuda_repository(const ImageUse& use) {
  if (!use.reference || use.reference->repository() != "nvidia/cuda") return false;
  return use.reference->host() == "docker.io" || use.reference->host() == "nvcr.io";
}

Evidence at_step(const ImageUse& use) { return at(use.at); }

TagVerdict judge_cuda_tag(const Knowledge& knowledge, std::string_view tag) {
  TagVerdict verdict;
  if (const CudaImage* row = knowledge.cuda_image(tag)) {
    verdict.there = row->withdrawn ? TagVerdict::There::withdrawn : TagVerdict::There::yes;
    if (row->withdrawn) {
      verdict.why = "tags go half a year after the end of their CUDA, or of an update that a later one replaced";
      verdict.instead = instead_of(knowledge, parts_of(tag));
    }
    return verdict;
  }
  if (tag.empty() || tag == "latest") {
    verdict.there = TagVerdict::There::no;
    verdict.why = "nvidia/cuda has had no tag latest since 2021";
    verdict.instead = instead_of(knowledge, {});
    return verdict;
  }
  const TagParts asked = parts_of(tag);
  const std::optional<Complete>& complete = knowledge.cuda_images_complete();
  if (!asked.cuda || !complete || !complete->covers(*asked.cuda)) return verdict;
  verdict.there = TagVerdict::There::no;
  verdict.why = why_not(knowledge, asked);
  verdict.instead = instead_of(knowledge, asked);
  return verdict;
}

bool before_key_rotation(const Knowledge& knowledge, const CudaImage& image) {
  const Version rotation = *Version::parse("11.7");
  if (image.cuda >= rotation) return false;
  if (image.withdrawn || image.cuda < *Version::parse("11.2")) return true;
  return std::any_of(knowledge.cuda_images().begin(), knowledge.cuda_images().end(), [&](const CudaImage& other) {
    return same_minor(image.cuda, other.cuda) && image.cuda < other.cuda;
  });
}

}  // namespace imgforge
