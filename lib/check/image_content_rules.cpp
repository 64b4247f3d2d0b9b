// What lies in the layers that should not, and how much of it there is.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> image_content_rules() { return {}; }

}  // namespace imgforge
