// beam/* rules that judge the steps of a build: which images it names, what it asks pip for.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> beam_build_rules() { return {}; }

}  // namespace imgforge
