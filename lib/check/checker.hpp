// Runs the rules over a case and draws the verdict.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/rule.hpp"

namespace imgforge {

struct Undecided {
  std::string rule;
  Level level = Level::error;
  std::string needs;
};

enum class Verdict { pass, fail, undecided };
std::string_view to_string(Verdict verdict) noexcept;

struct Outcome {
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;        // errors first, then by id
  std::vector<Undecided> undecided;     // by id
  std::vector<std::string> passed;      // ids
};

struct CheckOptions {
  Level fail_on = Level::error;  // a finding at or above it fails
};

/// Asks every rule. The verdict is fail with a finding at or above `fail_on`, else undecided where a rule of level error
/// that applies could not be decided, else pass. Throws what reading the facts throws (Error, image_*).
Outcome check(const Case& subject, const CheckOptions& options = {});

}  // namespace imgforge
