#include "check/worker.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "check/steps.hpp"
#include "render/escape.hpp"

namespace imgforge {

namespace {

/// A build that uses SDK images, and none of them is Python's: its boot is Java's or Go's.
bool has_boot_of_another_language(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr) return false;
  bool other = false;
  for (const ImageUse& use : build->images) {
    if (!is_sdk_image(use)) continue;
    if (repository_of(use).find("python") != std::string::npos) return false;
    other = true;
  }
  return other;
}

}  // namespace

bool is_python_worker(const Case& subject) {
  if (!subject.judged_as.is_beam_worker()) return false;
  if (subject.recipe != nullptr && (subject.recipe->python_version || subject.recipe->beam_version)) return true;
  if (subject.facts.beam().is_known()) return true;
  if (subject.facts.boot_version().is_known() && !has_boot_of_another_language(subject)) return true;
  // One that boot's interpreter does not see, or cannot be told from another, is meant, too.
  const auto& distributions = subject.facts.distributions();
  // So full of Python that not all of it was read, though every layer was looked at: as long as nobody knows that it is
  // none, its rules are undecided. An image must not pass because it is too much.
  if (distributions.is_unknown() && subject.kind == SubjectKind::image && subject.facts.site_machines().is_known()) return true;
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

std::string variable_open(const Case& subject, std::string_view name) {
  const Facts& facts = subject.facts;
  if (const auto unknown = facts.env_unknown.find(name); unknown != facts.env_unknown.end()) {
    return std::string(name) + " is set to something that is not known: " + unknown->second;
  }
  if (facts.env().is_unknown()) return facts.env().reason();
  if (facts.variable(name) || facts.env_open.empty()) return {};
  return "whether " + std::string(name) + " is set: " + facts.env_open;
}

std::string opt_out_open(const Case& subject, const Version& release) {
  return subject.knowledge.beam_has(BeamBehaviour::default_environment, release) ? variable_open(subject, default_environment_variable) : std::string();
}

std::string version_open(const Distribution& distribution) {
  const std::string shown = escape_for_display(distribution.version_text);
  if (distribution.version_text.empty()) return "the version of " + distribution.name + ": it is asked for without one";
  if (SpecifierSet::parse(distribution.version_text)) return "the version of " + distribution.name + ": it is asked for as " + distribution.name + shown;
  return "the version of " + distribution.name + ": \"" + shown + "\" is no PEP 440 version";
}

}  // namespace imgforge
