// Look-ups in the tables about frameworks, CUDA and GPUs.
#include <algorithm>

#include "knowledge/knowledge.hpp"
#include "knowledge/tables.hpp"

namespace imgforge {

using knowledge::CudaImageGroup;

const std::vector<FrameworkBuild>& Knowledge::framework_builds() const { return tables_->get<FrameworkBuild>().rows; }

const FrameworkBuild* Knowledge::framework_build(std::string_view framework, const Version& version) const {
  const auto& rows = framework_builds();  // by framework and version
  const Version base = version.base();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), base, [&](const FrameworkBuild& row, const Version& wanted) {
        return row.framework != framework ? row.framework < framework : row.version < wanted;
      });
  return found != rows.end() && found->framework == framework && found->version == base ? &*found : nullptr;
}

const std::optional<Complete>& Knowledge::framework_complete(std::string_view framework) const {
  static const std::optional<Complete> none;
  const auto& complete = tables_->get<FrameworkBuild>().complete_of;
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
  const auto& rows = cuda_images();  // by tag
  const auto found = std::lower_bound(rows.begin(), rows.end(), tag,
                                      [](const CudaImage& row, std::string_view wanted) { return row.tag < wanted; });
  return found != rows.end() && found->tag == tag ? &*found : nullptr;
}

const std::optional<Complete>& Knowledge::cuda_images_complete() const {
  return tables_->get<CudaImageGroup>().complete;
}

const NgcImage* Knowledge::ngc_image(std::string_view product, std::string_view month) const {
  const auto& rows = tables_->get<NgcImage>().rows;
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const NgcImage& row) { return row.product == product && row.month == month; });
  return found == rows.end() ? nullptr : &*found;
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
