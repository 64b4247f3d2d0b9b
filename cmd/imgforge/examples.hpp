// The pairs of docs/examples that the program carries: what trips a rule, and the same mended.
#pragma once

#include <string_view>
#include <vector>

namespace imgforge {

struct Example {
  std::string_view rule;
  std::string_view file;  // "trips.Dockerfile", "mended.yaml"
  std::string_view text;
};

/// Of one rule: what trips it first; empty where there is none.
std::vector<Example> examples_of(std::string_view rule);

}  // namespace imgforge
