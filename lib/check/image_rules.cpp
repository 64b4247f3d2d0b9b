// What only the built image tells.
#include <fmt/format.h>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"
#include "facts/commands.hpp"
#include "image/manifest.hpp"

namespace imgforge {

namespace {

Answer architecture(const Case& subject) {
  const Fact<Platform>& platform = subject.facts.platform();
  if (!platform.is_known()) return undecided_for("the platform", platform);
  if (subject.platform_asked && !platform->satisfies(*subject.platform_asked)) {
    return Answer::finding(fmt::format("the image is for {}, {} was asked for", escape_for_display(platform->to_string()), subject.platform_asked->to_string()),
                           fmt::format("docker build --platform {} ...", subject.platform_asked->to_string()), platform.evidence());
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

Answer contract_drift(const Case& subject) {
  if (subject.recipe == nullptr) {
    return subject.recipe_problem.empty() ? Answer::not_applicable() : Answer::undecided("the recipe: " + subject.recipe_problem);
  }
  const Recipe& recipe = *subject.recipe;
  std::vector<std::string> drifts;
  std::vector<Evidence> evidence;
  std::string open;
  const auto drift = [&](std::string text, std::string_view path) {
    drifts.push_back(std::move(text));
    evidence.push_back(Evidence::at(recipe.place_of(path)));
  };
  const auto installed = [&](std::string_view name) -> const Distribution* {
    if (subject.facts.worker_interpreter() != nullptr) {
      for (const Distribution* distribution : subject.facts.worker_distributions()) {
        if (distribution->name == name) return distribution;
      }
      return nullptr;
    }
    if (!subject.facts.distributions().is_known()) return nullptr;
    for (const Distribution& distribution : subject.facts.distributions().value()) {
      if (distribution.name == name) return &distribution;
    }
    return nullptr;
  };
  const bool distributions_known = !subject.facts.distributions().is_unknown() && !(is_python_worker(subject) && subject.facts.worker_python().is_unknown());
  const auto promised = [&](std::string_view name, const std::optional<Version>& version, std::string_view path) {
    if (!version) return;
    if (!distributions_known) {
      open = "the installed distributions";
      return;
    }
    const Distribution* distribution = installed(name);
    if (distribution == nullptr) {
      drift(fmt::format("{} {} is not installed", name, version->to_string()), path);
    } else if (!distribution->version || distribution->version->public_part() != version->public_part()) {
      drift(fmt::format("{} is {} and not {}", name, escape_for_display(distribution->version_text), version->to_string()), path);
      evidence.push_back(distribution->evidence);
    }
  };
  // Beam of a worker: beam/not-installed names it where it is missing.
  if (recipe.beam_version && installed("apache-beam") != nullptr) promised("apache-beam", recipe.beam_version, "beam.version");
  promised("tensorflow", recipe.frameworks.tensorflow, "frameworks.tensorflow");
  promised("torch", recipe.frameworks.torch, "frameworks.torch");
  promised("jax", recipe.frameworks.jax, "frameworks.jax");
  if (subject.facts.env().is_known()) {
    for (const auto& [name, value] : recipe.env) {
      if (name.starts_with("TPU_")) continue;  // tpu/environment
      const auto actual = subject.facts.variable(name);
      if (actual && *actual == value) continue;
      drift(actual ? fmt::format("{} is \"{}\" and not \"{}\"", name, escape_for_display(*actual), escape_for_display(value)) : fmt::format("{} is not set", name), "env." + name);
      evidence.push_back(subject.facts.variable_evidence(name));
    }
  }
  if (!recipe.workdir.empty() && subject.facts.workdir().is_known() && subject.facts.workdir()->path != absolute_path(recipe.workdir, "/")) {
    drift(fmt::format("WORKDIR is {} and not {}", escape_for_display(subject.facts.workdir()->path), recipe.workdir), "workdir");
  }
  if (subject.label_differs) {
    drifts.push_back("the recipe in its label is another one");
    evidence.push_back(Evidence::in_label(std::string(recipe_label)));
  }
  if (!drifts.empty()) {
    return Answer::finding("the image is not what its recipe says: " + join(drifts, "; "), "rebuild the image from the recipe (imgforge render), or correct the recipe", evidence);
  }
  return open.empty() ? Answer::pass() : Answer::undecided(open);
}

constexpr Rule rules[] = {
    {"image/architecture", Level::error, Reach::tree, I, "the platform is not the one asked for, or files of another machine dominate site-packages",
     "exec format error, or modules that cannot be imported.", "Build every stage for one platform.", "https://docs.docker.com/build/building/multi-platform/", architecture},
    {"image/contract-drift", Level::error, Reach::tree, I, "the image says otherwise than its recipe where no other rule names the fault",
     "Whoever reads the recipe plans with versions that are not in the image.", "Rebuild from the recipe.", "docs/recipe.md", contract_drift},
};

}  // namespace

std::span<const Rule> image_rules() { return rules; }

}  // namespace imgforge
