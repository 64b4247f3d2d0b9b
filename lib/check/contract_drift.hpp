// Does an image keep what its recipe promises?
#pragma once

#include "check/rule.hpp"

namespace imgforge {

/// image/contract-drift: every promise of the recipe that no other rule names: frameworks and the CUDA of their build,
/// Beam where it is installed, pip and apt packages, CUDA and cuDNN, variables, labels, files, the working directory.
/// What is not certain is no drift: a package with a marker, an image without a package database.
Answer judge_contract_drift(const Case& subject);

}  // namespace imgforge
