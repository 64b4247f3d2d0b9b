// Where the loader looks, what the image brings of the driver, and which CUDA images there are.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> cuda_environment_rules() { return {}; }

}  // namespace imgforge
