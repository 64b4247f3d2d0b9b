// One walk over the root for what computes on accelerators: libraries and programs by their names.
#pragma once

#include <vector>

#include "layer/root_view.hpp"

namespace imgforge {

struct GpuFiles {
  std::vector<Node> cudart;   // libcudart.so.N..., files and links, outside of site-packages
  std::vector<Node> cublas;   // libcublas.so.N..., likewise
  std::vector<Node> cudnn;    // libcudnn.so.N by its soname, likewise
  std::vector<Node> drivers;  // libcuda.so.NNN.NN... and its kin: regular files, wherever they lie
  std::vector<Node> ptxas;    // programs of that name, wherever they lie
  std::vector<Node> libtpu;   // libtpu.so, wherever it lies
  std::vector<Node> conda;    // conda-meta/*.json of packages that bring a framework, CUDA or cuDNN
  bool too_much = false;      // more of one kind than is kept
};

inline constexpr std::size_t max_gpu_files = 2'000;  // of each kind; honest images hold dozens

/// Needs every layer.
GpuFiles find_gpu_files(RootView& root);

/// "12.2.140" of "libcudart.so.12.2.140" for "libcudart.so."; empty where the name does not start so, or goes on with
/// something else than numbers and dots.
std::string_view number_behind(std::string_view file_name, std::string_view start);

/// The folder of an absolute path, and its last component.
std::string_view folder_of(std::string_view path);
std::string_view name_of(std::string_view path);

/// In a folder of Python packages, where a loader comes only through a package of its own.
bool in_site_packages(std::string_view path);

}  // namespace imgforge
