// Flex Templates: launcher and worker in one image, or two.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> flex_rules() { return {}; }

}  // namespace imgforge
