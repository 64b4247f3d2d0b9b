// Frameworks, and the CUDA that comes as wheels, from what pip is asked for: the same for Dockerfiles and recipes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/build.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

struct WheelSoftware {
  std::vector<Framework> frameworks;  // the last request for a framework counts
  std::vector<CudaToolkit> cuda;      // From::wheels
  std::vector<Cudnn> cudnn;           // From::wheels
  bool libtpu = false;                // an XLA stack for the TPU: libtpu, jax[tpu], torch_xla[tpu], tensorflow-tpu
};

/// Adds what one request brings. `indexes` and `find_links` are those of its pip command: PyTorch's index says which
/// build it is, and libtpu may come from Google's page.
void add_wheel(WheelSoftware& software, const PackageRequest& request, const std::vector<std::string>& indexes,
               const Knowledge& knowledge);

/// "cu121", "cpu", "rocm6.0" of "https://download.pytorch.org/whl/cu121"; empty of any other URL.
std::string pytorch_index_build(std::string_view url);

/// "12.1" of "cu121", "10.2" of "cu102"; nothing of "cpu".
std::optional<Version> cuda_of_local(std::string_view local);

}  // namespace imgforge
