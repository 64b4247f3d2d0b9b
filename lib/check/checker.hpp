// Runs the rules over a case and draws the verdict.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/rule.hpp"
#include "facts/depth.hpp"

namespace imgforge {

struct Undecided {
  std::string rule;
  Level level = Level::error;
  std::string needs;
};

/// A finding that an ignore took away (check/ignores.hpp).
struct Ignored {
  Finding finding;
  std::string reason;         // empty where none was given
  std::optional<Date> until;  // of a recipe's ignore
  Evidence by;                // where the ignore is written; nothing for --ignore
};

enum class Verdict { pass, fail, undecided };
std::string_view to_string(Verdict verdict) noexcept;

struct Outcome {
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;        // errors first, then by id
  std::vector<Undecided> undecided;     // by id
  std::vector<std::string> passed;      // ids
  std::vector<std::string> not_asked;   // ids: rules that --depth contract leaves out, of those that concern the subject
  std::vector<Ignored> ignored;         // in the order of `findings`
  std::vector<Diagnostic> warnings;     // of ignores themselves: without a reason, of no rule, expired, or without effect
};

/// No rule had anything to say: there is no verdict.
bool nothing_applied(const Outcome& outcome) noexcept;

struct CheckOptions {
  Level fail_on = Level::error;       // a finding at or above it fails
  Depth depth = Depth::full;          // contract: only rules whose reach is the config or named paths
  std::vector<std::string> select = {};  // ids: only these are asked; all where it is empty
};

/// Asks every rule. The verdict is fail with a finding at or above `fail_on`, else undecided where a rule of level error
/// that applies could not be decided, else pass. Throws what reading the facts throws (Error, image_*).
Outcome check(const Case& subject, const CheckOptions& options = {});

/// The verdict of what `outcome` holds: what check() draws, and what has to be drawn again once findings were ignored.
Verdict verdict_of(const Outcome& outcome, const CheckOptions& options);

}  // namespace imgforge
