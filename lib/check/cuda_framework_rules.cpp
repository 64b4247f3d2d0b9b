// TensorFlow, PyTorch and JAX against the CUDA, the cuDNN and the GPU that they will find.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> cuda_framework_rules() { return {}; }

}  // namespace imgforge
