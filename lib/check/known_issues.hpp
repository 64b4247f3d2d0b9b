// The rows of knowledge/known_issues.yaml against a subject.
#pragma once

#include <string_view>
#include <vector>

#include "check/rule.hpp"

namespace imgforge {

/// What the rows of `rule` find: one finding each. A row that is about a CUDA or a GPU speaks of GPU workers only, one
/// that names a TPU of TPU workers; what is not known never matches.
std::vector<Answer::Found> known_issues_of(const Case& subject, std::string_view rule);

}  // namespace imgforge
