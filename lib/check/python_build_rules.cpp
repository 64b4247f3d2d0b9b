// python/* rules that judge the steps of a build.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> python_build_rules() { return {}; }

}  // namespace imgforge
