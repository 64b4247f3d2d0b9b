#include "check/steps.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "facts/entrypoint.hpp"

namespace imgforge {

namespace {

constexpr std::size_t longest_line = 200;  // build.hpp: StepPlace::line is cut there

/// A base whose kind is Debian's whatever its tag: images of these families exist for Alpine and Windows under tags of
/// their own, which the tables tell apart.
bool is_debian_kind(std::string_view kind) { return kind == "python" || kind == "beam-sdk"; }

bool keeps_contract(const StageContract& stage) {
  return stage.has_boot.is_known() && stage.has_boot.value() && stage.entrypoint.is_known() &&
         stage.entrypoint->ends_in == Program::boot && !stage.entrypoint->arguments_dropped &&
         !stage.entrypoint->boot_in_cmd_only;
}

bool breaks_contract(const StageContract& stage) {
  if (stage.has_boot.is_absent() || (stage.has_boot.is_known() && !stage.has_boot.value())) return true;
  return stage.entrypoint.is_known() && stage.entrypoint->ends_in != Program::boot;
}

}  // namespace

const Build* build_of(const Case& subject) {
  const Build* build = subject.facts.build.get();
  return build != nullptr && build->syntax.empty() ? build : nullptr;
}

Evidence at(const StepPlace& step) { return Evidence::at(step.place); }

Answer::Found found_at(const StepPlace& step, std::string message, std::string fix) {
  return {std::nullopt, std::move(message), std::move(fix), {at(step)}};
}

Answer answer_of(std::vector<Answer::Found> found, const std::string& open, bool asked) {
  if (!found.empty()) return Answer::findings(std::move(found));
  if (!open.empty()) return Answer::undecided(open);
  return asked ? Answer::pass() : Answer::not_applicable();
}

std::string line_or(const StepPlace& step, std::string_view otherwise) {
  if (step.line.empty() || step.line.size() >= longest_line) return std::string(otherwise);
  return escape_for_display(step.line);
}

std::optional<std::string> with_replaced(std::string_view line, std::string_view old_text, std::string_view new_text) {
  const std::size_t position = old_text.empty() ? std::string_view::npos : line.find(old_text);
  if (position == std::string_view::npos || line.size() >= longest_line) return std::nullopt;
  return escape_for_display(std::string(line.substr(0, position)) + std::string(new_text) +
                            std::string(line.substr(position + old_text.size())));
}

const ImageUse* base_of(const Build& build, std::string_view stage) {
  const std::string name = lower(stage);
  for (const ImageUse& use : build.images) {
    if (use.role == ImageUse::Role::base && lower(use.at.stage) == name) return &use;
  }
  return nullptr;
}

const ImageUse* source_of(const Build& build, const ImageUse& copy) {
  const std::string name = lower(copy.written);
  for (std::size_t position = 0; position < build.stages.size(); ++position) {
    const StageContract& stage = build.stages[position];
    if (lower(stage.stage) == name || std::to_string(position) == name) return base_of(build, stage.stage);
  }
  if (const ImageUse* base = base_of(build, name)) return base;
  return &copy;
}

std::string repository_of(const ImageUse& use) {
  return use.reference ? use.reference->host() + "/" + use.reference->repository() : std::string();
}

bool is_sdk_image(const ImageUse& use) {
  const std::string repository = repository_of(use);
  return (repository.starts_with("docker.io/apache/beam") ||
          repository.starts_with("gcr.io/cloud-dataflow/v1beta3/beam")) &&
         repository.find("sdk") != std::string::npos;
}

bool is_launcher_image(const ImageUse& use) {
  return repository_of(use).find("-template-launcher-base") != std::string::npos;
}

DistributionFamily family_of(const Case& subject, const Build& build, const StepPlace& step, std::string_view os) {
  if (!os.empty())
    return os.starts_with("debian") || os.starts_with("ubuntu") ? DistributionFamily::debian
                                                                : DistributionFamily::other;
  if (const ImageUse* base = base_of(build, step.stage); base != nullptr && base->row) {
    if (base->row->os.empty() && is_debian_kind(base->row->kind)) return DistributionFamily::debian;
  }
  if (!step.in_image) return DistributionFamily::unknown;
  const Fact<OsRelease>& release = subject.facts.os_release();
  if (!release.is_known() || release->id.empty()) return DistributionFamily::unknown;
  return release->id == "debian" || release->id == "ubuntu" ? DistributionFamily::debian : DistributionFamily::other;
}

std::optional<bool> allows(const SpecifierSet& specifiers, const PythonMinor& minor,
                           const std::optional<Version>& version) {
  if (version && version->release().size() > 2) return specifiers.contains(*version);
  const auto first = Version::parse(minor.to_string() + ".0");
  const auto last = Version::parse(minor.to_string() + ".99");
  if (!first || !last) return std::nullopt;
  const bool at_first = specifiers.contains(*first);
  const bool at_last = specifiers.contains(*last);
  if (at_first != at_last) return std::nullopt;
  return at_first;
}

const Interpreter* interpreter_of(const Case& subject) {
  if (subject.judged_as.is_beam_worker()) {
    if (const Interpreter* interpreter = subject.facts.worker_interpreter()) return interpreter;
  }
  const auto& interpreters = subject.facts.interpreters();
  if (!interpreters.is_known()) return nullptr;
  for (const std::string_view name : {"python", "python3"}) {
    for (const Interpreter& interpreter : interpreters.value()) {
      const auto& names = interpreter.on_path_as;
      if (std::find(names.begin(), names.end(), name) != names.end()) return &interpreter;
    }
  }
  return interpreters->size() == 1 ? &interpreters->front() : nullptr;
}

const StageContract* better_stage(const Case& subject) {
  const Build* build = build_of(subject);
  if (build == nullptr || build->stages.size() < 2 || !subject.judged_as.is_beam_worker()) return nullptr;
  const StageContract& last = build->stages.back();
  // With --stage another one is asked for, and judged by itself.
  if (!last.last || lower(build->stage) != lower(last.stage) || !breaks_contract(last)) return nullptr;
  // One that means to start boot is the worker's: what it lacks is named by itself.
  if (last.entrypoint.is_known() && !last.entrypoint->entrypoint.empty() &&
      last.entrypoint->entrypoint.front() == boot_path)
    return nullptr;
  for (auto stage = build->stages.rbegin() + 1; stage != build->stages.rend(); ++stage) {
    if (keeps_contract(*stage)) return &*stage;
  }
  return nullptr;
}

}  // namespace imgforge
