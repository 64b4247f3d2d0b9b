#include "check/worker.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "render/escape.hpp"

namespace imgforge {

bool is_python_worker(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return false;
  if (subject.recipe != nullptr && (subject.recipe->python_version || subject.recipe->beam_version)) return true;
  if (subject.facts.boot_version().is_known() || subject.facts.beam().is_known()) return true;
  // One that boot's interpreter does not see, or cannot be told from another, is meant, too.
  const auto& distributions = subject.facts.distributions();
  return distributions.is_known() && std::any_of(distributions->begin(), distributions->end(), [](const Distribution& one) { return one.name == "apache-beam"; });
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

std::string shell_argument(std::string_view text) {
  // No instruction can carry a control character; then the line says where, and not what.
  const std::string shown = escape_for_display(text);
  return shown == text || shown.find_first_of("\\") == std::string::npos ? shell_word(text).text() : shell_word(shown).text();
}

Evidence env_evidence(std::string_view name) { return Evidence::in_config("Env." + std::string(name)); }

}  // namespace imgforge
