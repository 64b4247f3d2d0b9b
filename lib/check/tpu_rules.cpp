// What a TPU wants of a worker's environment.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

/// A TPU is meant: by the recipe, by TPU_* variables of the image, or by an installed libtpu.
bool tpu_is_meant(const Case& subject) {
  if (!subject.judged_as.is_beam_worker() || !subject.judged_as.on_dataflow()) return false;
  if (subject.recipe != nullptr) {
    if (subject.recipe->tpu) return true;
    if (subject.recipe->gpu) return false;
  }
  if (subject.facts.env().is_known()) {
    for (const auto& [name, value] : subject.facts.env().value()) {
      if (name.starts_with("TPU_")) return true;
    }
  }
  const auto installed = subject.facts.worker_distributions();
  return std::any_of(installed.begin(), installed.end(), [](const Distribution* distribution) { return distribution->name == "libtpu" || distribution->name == "libtpu-nightly"; });
}

/// The row that the recipe names, else the one of the image's own TPU_ACCELERATOR_TYPE.
const TpuType* meant_type(const Case& subject) {
  if (subject.recipe != nullptr && subject.recipe->tpu) return subject.knowledge.tpu(subject.recipe->tpu->type, subject.recipe->tpu->topology);
  const auto type = subject.facts.variable("TPU_ACCELERATOR_TYPE");
  if (!type) return nullptr;
  for (const TpuType& row : subject.knowledge.tpus()) {
    for (const auto& [name, value] : row.env) {
      if (name == "TPU_ACCELERATOR_TYPE" && value == *type) return &row;
    }
  }
  return nullptr;
}

Answer environment(const Case& subject) {
  if (!tpu_is_meant(subject)) return Answer::not_applicable();
  if (!subject.facts.env().is_known()) return undecided_for("the environment", subject.facts.env());
  const TpuType* type = meant_type(subject);
  if (subject.recipe != nullptr && subject.recipe->tpu && type == nullptr) return Answer::not_applicable();  // tpu/topology-unknown names it
  const bool custom_type = type == nullptr && !subject.facts.variable("TPU_ACCELERATOR_TYPE").value_or("").empty();
  const TpuType* names_of = type != nullptr ? type : subject.knowledge.tpus().empty() ? nullptr : &subject.knowledge.tpus().front();
  if (names_of == nullptr) return Answer::undecided("the TPU types of Dataflow");
  std::vector<std::string> faults;
  std::vector<std::string> fixes;
  std::vector<Evidence> evidence;
  for (const auto& [name, wanted] : names_of->env) {
    const auto value = subject.facts.variable(name);
    const bool same_for_all = name != "TPU_ACCELERATOR_TYPE" && name != "TPU_CHIPS_PER_HOST_BOUNDS";
    const std::string line = fmt::format("ENV {}={}", name, type != nullptr || same_for_all ? wanted : std::string("(by type and topology)"));
    if (!value) {
      faults.push_back(name + " is not set");
    } else if (value->empty()) {
      faults.push_back(name + " is empty");
    } else if ((type != nullptr || same_for_all) && *value != wanted) {
      faults.push_back(fmt::format("{} is \"{}\" and has to be \"{}\"", name, escape_for_display(*value), wanted));
    } else {
      continue;
    }
    fixes.push_back(line);
    evidence.push_back(env_evidence(name));
  }
  if (faults.empty()) {
    if (custom_type) return Answer::undecided("the TPU type " + escape_for_display(*subject.facts.variable("TPU_ACCELERATOR_TYPE")) + ", which the tables do not hold");
    return Answer::pass();
  }
  if (subject.recipe != nullptr && subject.recipe->tpu) evidence.push_back(Evidence::at(subject.recipe->place_of("accelerator.tpu")));
  return Answer::finding(type != nullptr && type->unverified ? Level::warning : Level::error,
                         fmt::format("for {}: {} (the TPU is not found, or the mesh does not build)", type != nullptr ? type->type + " " + type->topology : std::string("a TPU"), join_words(faults)),
                         join(fixes, "; "), evidence);
}

constexpr Rule rules[] = {
    {"tpu/environment", Level::error, Reach::tree, R | D | I, "a required TPU_* variable is missing, empty or wrong for the type and topology",
     "libtpu looks for a metadata server and other hosts, or builds a mesh of the wrong shape, and finds no TPU.", "Set every variable of the table.",
     "https://cloud.google.com/dataflow/docs/tpu/use-tpus", environment},
};

}  // namespace

std::span<const Rule> tpu_rules() { return rules; }

}  // namespace imgforge
