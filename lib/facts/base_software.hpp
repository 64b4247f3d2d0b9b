// The GPU software and frameworks that a base image brings, by what the knowledge holds of it.
#pragma once

#include <optional>
#include <vector>

#include "base/reference.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

struct BaseSoftware {
  std::vector<CudaToolkit> cuda;
  std::vector<Cudnn> cudnn;
  std::vector<Framework> frameworks;
  std::optional<std::string>
      library_path;       // LD_LIBRARY_PATH of its config; nothing where it is not known, "" where it sets none
  std::string not_known;  // why there may be more than this; empty where this is all
};

/// `row` is base_image()'s of the reference; without one nothing is known.
BaseSoftware base_software(const Reference& reference, const BaseImage* row, const Knowledge& knowledge,
                           const Evidence& evidence);

}  // namespace imgforge
