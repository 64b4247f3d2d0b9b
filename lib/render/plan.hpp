// A recipe with every default and derived value filled in from the knowledge: all that rendering needs, and why.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/place.hpp"
#include "knowledge/knowledge.hpp"
#include "recipe/recipe.hpp"
#include "render/escape.hpp"

namespace imgforge {

/// A value that nobody wrote down, for --explain.
struct Derivation {
  std::string path;     // as in the recipe: "python.from"
  std::string value;    // "deadsnakes"
  std::string because;  // "it has Python 3.11 for ubuntu22.04"
  std::string source;   // of the knowledge row; empty where a rule of imgforge decides
};

/// What a build fetches: from elsewhere, or from the build context.
struct Download {
  std::string url;
  std::string file;    // path in the build context; empty where there is a URL
  std::string sha256;  // 64 hex digits; empty where none is known, and the build does not check then
};

struct Plan {
  Recipe written;  // what the author wrote: it goes into the label
  Recipe recipe;   // the same, filled up: what was left out is there
  std::string knowledge_version;

  std::optional<BaseImage> base;       // what is known of recipe.base_image
  std::optional<LinuxRelease> os;      // and of what it stands on
  std::optional<Reference> sdk_image;  // that boot is copied from
  bool base_is_sdk = false;            // it is the base itself, so boot is there

  std::vector<std::string> apt;         // sorted, no package twice
  std::vector<std::string> deadsnakes;  // packages of that archive
  std::optional<Download> miniforge;    // of python.from: conda
  bool link_python = false;             // `python` may be missing beside python3, and is linked then
  bool externally_managed = false;      // PEP 668: pip has to be told that this is meant
  bool needs_venv = false;              // boot makes a virtual environment at every start
  bool pip_location = false;            // boot looks for /usr/local/bin/pip

  std::vector<std::string> frameworks;  // requirements that bring the frameworks
  std::vector<std::string> kept;        // requirements that the base meets, and that pip has to leave alone
  std::vector<std::string> beam;        // requirements that bring Beam
  std::vector<std::string> find_links;  // beside the recipe's own
  bool pip_check = true;

  std::optional<Download> cuda_runfile;
  std::optional<Download> cudnn_archive;
  std::vector<std::string> library_path;  // folders of LD_LIBRARY_PATH; empty where the base's stays
  bool library_path_inherited = true;     // whether the base's comes behind them

  std::vector<std::pair<std::string, std::string>> environment;

  std::vector<Derivation> derivations;  // in the order in which they were made
};

struct PlanResult {
  std::optional<Plan> plan;             // absent where any diagnostic is an error
  Plan sketch;                          // the plan as far as it could be made, faults included: for judging, not for rendering
  std::vector<Diagnostic> diagnostics;  // errors and warnings, with the recipe's places
};

/// Never throws for what the recipe says.
PlanResult make_plan(const Recipe& recipe, const Knowledge& knowledge);

/// The derivations for people, each with its reason and its source.
std::string to_string(const std::vector<Derivation>& derivations);

}  // namespace imgforge
