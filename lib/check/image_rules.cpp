// What only the built image tells.
#include <fmt/format.h>

#include "base/text.hpp"
#include "check/contract_drift.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

/// The architecture that a recipe's machines have, by the family of machine_type; empty where nothing says it.
/// https://cloud.google.com/compute/docs/cpu-platforms
std::string_view architecture_of_machines(const Recipe& recipe) {
  if (recipe.tpu) return "amd64";
  const std::string_view family = std::string_view(recipe.target.machine_type).substr(0, recipe.target.machine_type.find('-'));
  for (const std::string_view arm : {"t2a", "c4a", "n4a", "a4x"}) {
    if (family == arm) return "arm64";
  }
  for (const std::string_view intel_or_amd : {"f1", "g1", "e2", "n1", "n2", "n2d", "n4", "t2d", "c2", "c2d", "c3", "c3d", "c4", "c4d",
                                              "m1", "m2", "m3", "a2", "a3", "g2", "ct5lp", "ct5p", "ct6e"}) {
    if (family == intel_or_amd) return "amd64";
  }
  return {};
}

Answer architecture(const Case& subject) {
  const Fact<Platform>& platform = subject.facts.platform();
  if (!platform.is_known()) return undecided_for("the platform", platform);
  if (subject.platform_asked && !platform->satisfies(*subject.platform_asked)) {
    return Answer::finding(fmt::format("the image is for {}, {} was asked for", escape_for_display(platform->to_string()), subject.platform_asked->to_string()),
                           fmt::format("docker build --platform {} ...", subject.platform_asked->to_string()), platform.evidence());
  }
  if (const std::string_view wanted = subject.recipe == nullptr ? std::string_view() : architecture_of_machines(*subject.recipe);
      !wanted.empty() && !subject.platform_asked && elf_machine_of(platform->architecture) && platform->architecture != wanted) {
    std::vector<Evidence> evidence = platform.evidence();
    evidence.push_back(Evidence::at(subject.recipe->place_of(subject.recipe->tpu ? "accelerator.tpu" : "target.machine_type")));
    return Answer::finding(fmt::format("the image is for {}, and the machines that the recipe asks for are linux/{}",
                                       escape_for_display(platform->to_string()), wanted),
                           fmt::format("docker build --platform linux/{} ...", wanted), std::move(evidence));
  }
  const std::optional<unsigned> expected = elf_machine_of(platform->architecture);
  if (!expected) return Answer::undecided("the ELF machine of architecture " + escape_for_display(platform->architecture));
  const Fact<SiteMachines>& machines = subject.facts.site_machines();
  if (machines.is_unknown()) return undecided_for("the files of site-packages", machines);
  if (machines.is_absent()) return Answer::pass();
  std::size_t own = 0, foreign = 0, most = 0;
  unsigned worst = 0;
  for (const auto& [machine, count] : machines->files) {
    if (machine == *expected) {
      own = count;
      continue;
    }
    foreign += count;
    if (count > most) {
      most = count;
      worst = machine;
    }
  }
  // A few files of another machine are data (a package that ships helpers for all); where they are the majority, a stage
  // of another platform was copied from.
  if (foreign <= own) return Answer::pass();
  const auto example = machines->example.find(worst);
  std::vector<Evidence> evidence = platform.evidence();
  std::string path;
  if (example != machines->example.end()) {
    path = " (" + escape_for_display(example->second.first) + ")";
    evidence.push_back(example->second.second);
  }
  return Answer::finding(fmt::format("{} of {} compiled files in site-packages are for {}{}, the image is for {}: they cannot be imported", foreign, foreign + own,
                                     elf_machine_name(worst), path, escape_for_display(platform->to_string())),
                         "build every stage that packages are copied from for the platform of the image", evidence);
}

constexpr Rule rules[] = {
    {"image/architecture", Level::error, Reach::tree, I, "the platform is not the one asked for, or files of another machine dominate site-packages",
     "exec format error, or modules that cannot be imported.", "Build every stage for one platform.", "https://docs.docker.com/build/building/multi-platform/", architecture},
    {"image/contract-drift", Level::error, Reach::tree, I, "the image says otherwise than its recipe where no other rule names the fault",
     "Whoever reads the recipe plans with versions that are not in the image.", "Rebuild from the recipe.", "docs/recipe.md",
     judge_contract_drift},
};

}  // namespace

std::span<const Rule> image_rules() { return rules; }

}  // namespace imgforge
