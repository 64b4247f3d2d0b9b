// What a subject is judged as: for which runner, in which role, on which accelerator. RULES: "Target and role".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "recipe/recipe.hpp"

namespace imgforge {

/// What is judged. RULES: "Input".
enum class SubjectKind : unsigned { recipe = 1, dockerfile = 2, image = 4 };
std::string_view to_string(SubjectKind kind) noexcept;

/// What the worker is meant to compute on. RULES: "GPU target", "TPU target".
enum class Accelerator { none, gpu, tpu };

struct JudgedAs {
  Runner runner = Runner::dataflow;
  Role role = Role::worker;
  std::string
      because;  // "the recipe says so", "--target", "its entrypoint is the Flex launcher and it has no boot", ...

  Accelerator accelerator = Accelerator::none;
  std::string accelerator_type;     // "nvidia-l4", "tpu-v6e-slice"; empty where only the kind is known
  std::string accelerator_because;  // "the recipe says so", "the base image is nvidia/cuda", ...
  bool without_sign = false;  // of a Dockerfile: nothing says that it is a worker; only dockerfile/* and python/* apply
  bool by_package = false;  // of a Dockerfile: a worker only because it installs apache-beam, as what submits jobs does

  /// A Beam worker of any runner: the SDK container contract applies.
  bool is_beam_worker() const { return !without_sign && runner != Runner::spark_serverless && role != Role::launcher; }
  bool on_dataflow() const { return runner == Runner::dataflow || runner == Runner::dataflow_flex; }
};

/// Whose word a recipe is. An image's own label cannot waive the image's faults: that it is a launcher, or Spark's, and
/// so needs no boot, is believed only where its entrypoint is a launcher, or where nothing of Beam is in it.
enum class RecipeFrom { user, label };

/// A recipe of the user's decides, then `asked` (--target), then the label's recipe, then signs in the facts. Without
/// any, an image is a Dataflow worker, and a Dockerfile one without a sign. `accelerator` is --accelerator: a type of
/// Dataflow's ("nvidia-l4", "tpu-v6e-slice"); a recipe that names one wins over it.
JudgedAs judge_target(const Facts& facts, const Recipe* recipe, std::optional<Runner> asked,
                      RecipeFrom from = RecipeFrom::user, SubjectKind kind = SubjectKind::image,
                      const std::optional<std::string>& accelerator = std::nullopt);

}  // namespace imgforge
