#include "facts/gpu_files.hpp"

#include <array>

#include "base/text.hpp"

namespace imgforge {

namespace {

void keep(GpuFiles& files, std::vector<Node>& kind, const Node& node) {
  if (kind.size() < max_gpu_files) {
    kind.push_back(node);
  } else {
    files.too_much = true;
  }
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "535.104.05": drivers count from 300 on and have two parts or three; sonames have one, of one digit.
bool is_driver_version(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot == 3 && is_number(text.substr(0, dot)) && text.size() > dot + 1;
}

void take_library(GpuFiles& files, const Node& node, std::string_view name) {
  if (node.type == EntryType::file) {
    for (const std::string_view start : {"libcuda.so.", "libnvidia-ml.so.", "libnvidia-ptxjitcompiler.so."}) {
      if (is_driver_version(number_behind(name, start))) keep(files, files.drivers, node);
    }
    if (name == "libtpu.so") keep(files, files.libtpu, node);
  }
  if (in_site_packages(node.path)) return;
  if (!number_behind(name, "libcudart.so.").empty()) keep(files, files.cudart, node);
  if (!number_behind(name, "libcublas.so.").empty()) keep(files, files.cublas, node);
  if (is_number(number_behind(name, "libcudnn.so."))) keep(files, files.cudnn, node);
}

bool is_conda_package(std::string_view name) {
  static constexpr std::array<std::string_view, 9> starts = {"cudatoolkit-", "cuda-cudart-", "cudnn-",
                                                             "libcudnn-",    "pytorch-",     "libtorch-",
                                                             "tensorflow-",  "jaxlib-",      "cuda-nvcc-"};
  for (const std::string_view start : starts) {
    if (name.starts_with(start) && name.size() > start.size()) return true;
  }
  return false;
}

}  // namespace

std::string_view number_behind(std::string_view file_name, std::string_view start) {
  if (!file_name.starts_with(start)) return {};
  const std::string_view rest = file_name.substr(start.size());
  return rest.find_first_not_of("0123456789.") == std::string_view::npos ? rest : std::string_view();
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? std::string_view("/") : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool in_site_packages(std::string_view path) {
  return path.find("/site-packages/") != std::string_view::npos ||
         path.find("/dist-packages/") != std::string_view::npos;
}

GpuFiles find_gpu_files(RootView& root) {
  GpuFiles files;
  root.walk([&](const Node& node) {
    if (node.type != EntryType::file && node.type != EntryType::symlink) return;
    const std::string_view name = name_of(node.path);
    if (name.starts_with("lib")) {
      const bool ours = name.starts_with("libcu") || name.starts_with("libnvidia") || name == "libtpu.so";
      if (ours) take_library(files, node, name);
    } else if (name == "ptxas") {
      keep(files, files.ptxas, node);
    } else if (name.ends_with(".json") && folder_of(node.path).ends_with("/conda-meta") && is_conda_package(name)) {
      keep(files, files.conda, node);
    }
  });
  return files;
}

}  // namespace imgforge
