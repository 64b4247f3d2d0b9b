// A recipe or a Dockerfile as text → what is to be said of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/date.hpp"
#include "base/place.hpp"
#include "check/checker.hpp"
#include "facts/from_dockerfile.hpp"
#include "knowledge/knowledge.hpp"

namespace imgforge {

struct TextCheck {
  std::optional<Runner> target;            // --target; a recipe's own wins
  std::optional<std::string> accelerator;  // --accelerator; likewise
  LaunchEnvironment launch;                // --launch-python, --launch-beam; they win over a recipe's
  BuildOptions build;                      // --stage, --build-arg
  std::vector<std::string> overrides;      // --set, of recipes
  std::vector<std::string> ignores;           // --ignore
  Level fail_on = Level::error;
  Date today;
};

/// What one text, or one cell of a recipe's matrix, came to.
struct CheckedText {
  SubjectKind kind = SubjectKind::dockerfile;
  std::string cell;                   // "python.version=3.11" of a matrix; else empty
  std::optional<JudgedAs> judged_as;  // nothing where it did not parse
  Outcome outcome;
  std::string fault;                    // of a recipe that does not parse: then there is no outcome
  std::vector<Diagnostic> diagnostics;  // the faults of such a recipe, and warnings of any
};

/// Told apart by content: a text whose first instruction is FROM or ARG is a Dockerfile, one that is a map of YAML is a
/// recipe; where neither is clear, the name decides.
SubjectKind kind_of_text(std::string_view text, std::string_view name);

/// `name` is how places call the text, `context` the folder that its companion files are read from. One result, or one
/// for each cell of a recipe's matrix. Never throws for what the text holds; Error(usage)
/// for an --ignore or a --stage that is none.
std::vector<CheckedText> check_text(std::string_view text, const std::string& name, const ContextFile& context,
                                    const TextCheck& options, const Knowledge& knowledge);

}  // namespace imgforge
