// Look-ups in the tables about frameworks, CUDA and GPUs.
#include <algorithm>

#include "knowledge/knowledge.hpp"
#include "knowledge/tables.hpp"

namespace imgforge {

using knowledge::CudaImageGroup;

const std::vector<FrameworkBuild>& Knowledge::framework_builds() const { return tables_->get<FrameworkBuild>().rows; }

namespace {

// Whether a column of a compiled row is this version, and no other spelling of it that could be meant: "2.15"
// is 2.15.0.
bool is_version(std::string_view text, const Version& version) {
  const auto parsed = Version::parse(text);
  return parsed && *parsed == version;
}

}  // namespace

const FrameworkBuild* Knowledge::framework_build(std::string_view framework, const Version& version) const {
  const Version base = version.base();
  return tables_->pick<FrameworkBuild>(
      [&](const knowledge::CompiledNode& row) {
        return row.text("framework") == framework && is_version(row.text("version"), base);
      },
      [&](const FrameworkBuild& row) { return row.framework == framework && row.version == base; });
}

const std::optional<Complete>& Knowledge::framework_complete(std::string_view framework) const {
  static const std::optional<Complete> none;
  const auto& complete = tables_->head<FrameworkBuild>().complete_of;
  const auto found = complete.find(framework);
  return found == complete.end() ? none : found->second;
}

const std::vector<CudaImage>& Knowledge::cuda_images() const {
  std::call_once(tables_->cuda_images_once, [this] {
    for (const CudaImageGroup& group : tables_->get<CudaImageGroup>().rows) {
      std::vector<CudaImage> images = knowledge::images_of(group);
      std::move(images.begin(), images.end(), std::back_inserter(tables_->cuda_images));
    }
    std::sort(tables_->cuda_images.begin(), tables_->cuda_images.end(),
              [](const CudaImage& a, const CudaImage& b) { return a.tag < b.tag; });
  });
  return tables_->cuda_images;
}

const CudaImage* Knowledge::cuda_image(std::string_view tag) const {
  {
    const std::lock_guard lock(tables_->picking);
    const auto found = tables_->picked_cuda_images.find(tag);
    if (found != tables_->picked_cuda_images.end()) return &found->second;
  }
  const auto of_group = [&](std::string_view cuda, std::string_view os) {
    return tag.size() > cuda.size() + os.size() + 2 && tag.starts_with(cuda) && tag[cuda.size()] == '-' &&
           tag.ends_with(os) && tag[tag.size() - os.size() - 1] == '-';
  };
  const auto flavour = [&](std::string_view cuda, std::string_view os) {
    return tag.substr(cuda.size() + 1, tag.size() - cuda.size() - os.size() - 2);
  };
  const CudaImageGroup* group = tables_->pick<CudaImageGroup>(
      [&](const knowledge::CompiledNode& row) {
        const std::string_view cuda = row.text("cuda");
        const std::string_view os = row.text("os");
        if (!of_group(cuda, os)) return false;
        const auto flavours = row.texts("flavours");
        return std::find(flavours.begin(), flavours.end(), flavour(cuda, os)) != flavours.end();
      },
      [&](const CudaImageGroup& row) {
        return of_group(row.cuda, row.os) &&
               std::find(row.flavours.begin(), row.flavours.end(), flavour(row.cuda, row.os)) != row.flavours.end();
      });
  if (group == nullptr) return nullptr;
  std::vector<CudaImage> images = knowledge::images_of(*group);
  const auto image = std::find_if(images.begin(), images.end(), [&](const CudaImage& row) { return row.tag == tag; });
  const std::lock_guard lock(tables_->picking);
  return &tables_->picked_cuda_images.emplace(std::string(tag), std::move(*image)).first->second;
}

const std::optional<Complete>& Knowledge::cuda_images_complete() const {
  return tables_->head<CudaImageGroup>().complete;
}

const NgcImage* Knowledge::ngc_image(std::string_view product, std::string_view month) const {
  return tables_->pick<NgcImage>(
      [&](const knowledge::CompiledNode& row) { return row.text("product") == product && row.text("month") == month; },
      [&](const NgcImage& row) { return row.product == product && row.month == month; });
}

const std::vector<CudaRelease>& Knowledge::cuda_releases() const { return tables_->get<CudaRelease>().rows; }

const CudaRelease* Knowledge::cuda_release(const Version& version) const {
  const auto& rows = cuda_releases();  // oldest first
  const CudaRelease* of_minor = nullptr;
  for (const CudaRelease& row : rows) {
    if (row.version == version) return &row;
    if (of_minor == nullptr && row.version.major() == version.major() && row.version.minor() == version.minor())
      of_minor = &row;
  }
  return of_minor;
}

const std::vector<CudnnRelease>& Knowledge::cudnn_releases() const { return tables_->get<CudnnRelease>().rows; }

const std::vector<GpuType>& Knowledge::gpus() const { return tables_->get<GpuType>().rows; }

const GpuType* Knowledge::gpu(std::string_view type) const {
  const auto& rows = gpus();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const GpuType& row) { return row.type == type; });
  return found == rows.end() ? nullptr : &*found;
}

const std::vector<KnownIssue>& Knowledge::known_issues() const { return tables_->get<KnownIssue>().rows; }

}  // namespace imgforge
