// Findings that somebody has looked at and waived: comments of a Dockerfile, checks.ignore of a recipe, --ignore.
//
// In a Dockerfile, a comment of its own line:
//   # imgforge: ignore=rule/id[,rule/id...] reason        findings on the instruction that follows; within the lines of
//   an
//                                                          instruction, on that one
//   # imgforge: ignore-file=rule/id[,rule/id...] reason   findings anywhere in the file, wherever the comment stands
// A waiver that has no reason, names no rule, has expired or had nothing to waive is itself reported, as a warning
// beside the findings: it has no rule id, because an ignore is no fault of the image. An expired one counts no more;
// one without a reason counts. What is ignored stays in the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/checker.hpp"
#include "dockerfile/dockerfile.hpp"

namespace imgforge {

class Ignores {
 public:
  /// Of "# imgforge: ..." comments. What such a comment says and nobody understands is a warning.
  void add(const dockerfile::Dockerfile& dockerfile);

  /// checks.ignore.
  void add(const Recipe& recipe);

  /// --ignore RULE or --ignore RULE=REASON. Throws Error(usage) where there is no such rule, with the nearest one.
  void add_option(const std::string& text);

  /// Moves what is waived from findings to ignored, takes undecided answers of rules that are waived everywhere away,
  /// and draws the verdict again. May be called for several outcomes (the cells of a matrix).
  /// `kind` is what was judged: of a rule that does not judge such, an ignore cannot have an effect, and is not said to
  /// have none.
  void apply(Outcome& outcome, const Date& today, const CheckOptions& options, SubjectKind kind);

  /// What is to be said of the ignores themselves after the last apply(), by line. Of --ignore nothing: it may be for
  /// other files of the same run.
  std::vector<Diagnostic> warnings(const Date& today) const;

 private:
  struct Ignore {
    std::string rule;
    std::string reason;
    bool option = false;  // of the command line
    std::optional<Date> until;
    Place place;  // nothing for --ignore
    bool everywhere = false;
    std::string file;  // else: findings with evidence in these lines of it
    std::size_t first_line = 0;
    std::size_t last_line = 0;
    bool used = false;
    std::optional<Place> elsewhere;  // a finding of the rule that it did not reach
  };
  bool takes(const Ignore& ignore, const Finding& finding) const;

  std::vector<Ignore> ignores_;
  unsigned judged_ = 0;             // SubjectKinds
  std::vector<Diagnostic> faults_;  // of comments that do not parse
};

}  // namespace imgforge
