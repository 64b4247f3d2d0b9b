// python/* rules that judge what is installed: requirements between distributions, as pip check does, and extension
// modules against their interpreter.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> python_requirements_rules() { return {}; }

}  // namespace imgforge
