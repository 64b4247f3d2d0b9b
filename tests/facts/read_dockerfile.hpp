// Dockerfiles as texts → facts, for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "facts/from_dockerfile.hpp"

namespace imgforge::test {

/// With the embedded knowledge. `files` is the build context. Throws std::runtime_error where the text does not parse.
Facts read_dockerfile(std::string_view text, const std::map<std::string, std::string>& files = {},
                      const BuildOptions& options = {});

/// "absent", "unknown", or what `show` makes of the value.
template <class T, class Show>
std::string shown(const Fact<T>& fact, Show show) {
  if (fact.is_unknown()) return "unknown";
  if (fact.is_absent()) return "absent";
  return show(fact.value());
}

}  // namespace imgforge::test
