// --set path=value: values from the command line, put into the tree before it is read, so that they are checked like
// all others.
#pragma once

#include <string>
#include <vector>

#include "base/place.hpp"
#include "base/yaml.hpp"

namespace imgforge {

/// How places call what came from the command line.
inline constexpr const char* override_place = "--set";

/// Applies them in order; a later one wins. Text is taken as it stands ("3.10" needs no quotes); a list is one item or
/// YAML ("[a, b]"), an object YAML ("{type: nvidia-l4}"); "null" takes the key away. The nodes have line 0. `root` has
/// to be a map or null. Faults go to `diagnostics`.
void apply_overrides(YamlNode& root, const std::vector<std::string>& overrides, std::vector<Diagnostic>& diagnostics);

}  // namespace imgforge
