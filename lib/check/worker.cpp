#include "check/worker.hpp"

namespace imgforge {

bool is_python_worker(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return false;
  if (subject.recipe != nullptr && (subject.recipe->python_version || subject.recipe->beam_version)) return true;
  return subject.facts.boot_version().is_known() || subject.facts.beam().is_known();
}

const Fact<Version>& beam_release(const Case& subject) { return subject.facts.beam_version(); }

bool runs_in_default_environment(const Case& subject, const Version& release) {
  const std::optional<std::string> value = subject.facts.variable(default_environment_variable);
  return value && !value->empty() && subject.knowledge.beam_has(BeamBehaviour::default_environment, release);
}

bool makes_venv(const Case& subject, const Version& release) {
  return subject.knowledge.beam_has(BeamBehaviour::boot_venv, release) && !runs_in_default_environment(subject, release);
}

std::string beam_name(const Version& release) { return "Beam " + release.to_string(); }

std::vector<Evidence> join_evidence(std::initializer_list<std::vector<Evidence>> lists) {
  std::vector<Evidence> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Evidence env_evidence(std::string_view name) { return Evidence::in_config("Env." + std::string(name)); }

}  // namespace imgforge
