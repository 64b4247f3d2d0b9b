// The tables about frameworks, CUDA and GPUs: their row types as they are written, and what their rows may hold.
#pragma once

#include "knowledge/table.hpp"

namespace imgforge::knowledge {

/// The tags of nvidia/cuda for one CUDA and distribution, as knowledge/cuda_images.yaml has them: a row per tag would
/// say the same five times. The tag is CUDA-FLAVOUR-OS.
struct CudaImageGroup : Row {
  std::string cuda;                   // as it stands in the tag: "12.2.2", "10.0"
  std::string os;                     // "ubuntu22.04"
  std::vector<std::string> flavours;  // "base", "cudnn8-runtime", "devel"
  std::optional<Version> cudnn;       // of the cudnn flavours
  std::string library_path;           // LD_LIBRARY_PATH of all of them; empty: it sets none
  bool withdrawn = false;
};

/// Its tags, one by one. Throws nothing: `group` was checked.
std::vector<CudaImage> images_of(const CudaImageGroup& group);

template <class RowType>
const TableSpec<RowType>& spec_of();
template <>
const TableSpec<FrameworkBuild>& spec_of();
template <>
const TableSpec<CudaImageGroup>& spec_of();
template <>
const TableSpec<NgcImage>& spec_of();
template <>
const TableSpec<CudaRelease>& spec_of();
template <>
const TableSpec<CudnnRelease>& spec_of();
template <>
const TableSpec<GpuType>& spec_of();
template <>
const TableSpec<KnownIssue>& spec_of();
template <>
const TableSpec<PublishedImages>& spec_of();

}  // namespace imgforge::knowledge
