// What a rule is: a question to the facts, and its answer.
//
// A rule sees Facts and Knowledge, never a file or a socket, so that one body serves recipes, Dockerfiles and images.
// Ids are public and for ever (docs/rules.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/date.hpp"
#include "check/target.hpp"
#include "facts/facts.hpp"
#include "knowledge/knowledge.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

enum class Level { note, warning, error };
std::string_view to_string(Level level) noexcept;
std::optional<Level> parse_level(std::string_view text) noexcept;

/// What has to be read to answer: the image's config, some named paths, or every layer.
enum class Reach { config, paths, tree };

struct Finding {
  std::string rule;
  Level level = Level::error;
  std::string message;  // what is, and what that will do
  std::string fix;      // the line to write, in the user's own terms
  std::vector<Evidence> evidence;
};

/// What a rule says of a subject: one of not applicable, pass, undecided, or findings.
class Answer {
 public:
  struct Found {
    std::optional<Level> level;  // the rule's own where it is not said
    std::string message;
    std::string fix;
    std::vector<Evidence> evidence;
  };

  /// The rule does not concern this subject: it is silent, and not among what passed.
  static Answer not_applicable() { return Answer(Kind::not_applicable); }
  static Answer pass() { return Answer(Kind::pass); }
  /// `needs` is the fact that is missing, and why.
  static Answer undecided(std::string needs);
  /// With the rule's own level.
  static Answer finding(std::string message, std::string fix, std::vector<Evidence> evidence);
  static Answer finding(Level level, std::string message, std::string fix, std::vector<Evidence> evidence);
  /// One for each place at fault; pass where there is none.
  static Answer findings(std::vector<Found> found);

  bool is_not_applicable() const noexcept { return kind_ == Kind::not_applicable; }
  bool is_pass() const noexcept { return kind_ == Kind::pass; }
  bool is_undecided() const noexcept { return kind_ == Kind::undecided; }
  bool is_finding() const noexcept { return kind_ == Kind::finding; }
  const std::string& needs() const noexcept { return needs_; }
  const std::vector<Found>& found() const noexcept { return found_; }
  // Of the first finding.
  std::optional<Level> level() const { return found_.at(0).level; }
  const std::string& message() const { return found_.at(0).message; }
  const std::string& fix() const { return found_.at(0).fix; }
  const std::vector<Evidence>& evidence() const { return found_.at(0).evidence; }

 private:
  enum class Kind { not_applicable, pass, undecided, finding };
  explicit Answer(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::string needs_;
  std::vector<Found> found_;
};

/// Everything a rule may look at.
struct Case {
  const Facts& facts;
  const Knowledge& knowledge;
  const Recipe* recipe = nullptr;           // what was promised; null where there is none
  bool label_differs = false;               // a recipe was given, and the image's label carries another one
  std::string recipe_problem;               // why a recipe that is there could not be read; empty otherwise
  JudgedAs judged_as;
  std::optional<Platform> platform_asked;   // --platform
  Date today;
  SubjectKind kind = SubjectKind::image;
  LaunchEnvironment launch;                 // that submits the job: the recipe's, or --launch-python and --launch-beam
};

struct Rule {
  std::string_view id;        // "beam/boot-missing"
  Level level;                // by default
  Reach reach;
  unsigned inputs;            // SubjectKinds that it judges
  std::string_view title;     // a finding when ...
  std::string_view why;       // what happens at run time
  std::string_view mend;      // in general terms
  std::string_view source;    // URL or release
  Answer (*judge)(const Case&);
};

// Inputs of a rule, as the catalogue writes them.
inline constexpr unsigned R = 1;
inline constexpr unsigned D = 2;
inline constexpr unsigned I = 4;

/// Every rule, ordered by id.
const std::vector<Rule>& all_rules();
const Rule* find_rule(std::string_view id);
/// The same for an id that a user wrote. Throws Error(usage) with the nearest that there is.
const Rule& rule_named(std::string_view id);

// The rooms of the rule book, each a file.
std::span<const Rule> boot_rules();
std::span<const Rule> entrypoint_rules();
std::span<const Rule> beam_version_rules();
std::span<const Rule> worker_python_rules();
std::span<const Rule> worker_environment_rules();
std::span<const Rule> python_rules();
std::span<const Rule> tpu_rules();
std::span<const Rule> image_rules();
std::span<const Rule> image_content_rules();  // secrets, size, waste
std::span<const Rule> beam_build_rules();     // beam/* that judge the steps of a build
std::span<const Rule> python_build_rules();   // python/* likewise
std::span<const Rule> python_requirements_rules();  // python/* that judge what is installed, as pip check does
std::span<const Rule> dockerfile_rules();
std::span<const Rule> cuda_framework_rules(); // frameworks against CUDA, cuDNN and GPU
std::span<const Rule> cuda_environment_rules();
std::span<const Rule> flex_rules();
std::span<const Rule> spark_rules();

}  // namespace imgforge
