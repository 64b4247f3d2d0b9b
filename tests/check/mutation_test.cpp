// Recipes and the Dockerfiles that they render to, one version changed at a time. What the tables say of the changed
// set (check/compat.hpp, which knows no rule) and what the rules say have to agree: where a row says no, the rule that
// is about it fires; where none does, no error comes of it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/text.hpp"
#include "check/check_text.hpp"
#include "check/compat.hpp"
#include "recipe/parse.hpp"
#include "render/plan.hpp"
#include "render/render.hpp"
#include "render/templates.hpp"

using namespace imgforge;

namespace {

struct Subject {
  std::string name;
  std::string text;
};

std::vector<Subject> recipes() {
  std::vector<Subject> found;
  for (const auto& item : std::filesystem::directory_iterator(IMGFORGE_SOURCE_DIR "/recipes")) {
    found.push_back({item.path().filename().string(), read_file(item.path().string(), 1 << 20)});
  }
  std::sort(found.begin(), found.end(), [](const Subject& a, const Subject& b) { return a.name < b.name; });
  return found;
}

std::set<std::string> errors(const std::vector<CheckedText>& results) {
  std::set<std::string> rules;
  for (const CheckedText& result : results) {
    REQUIRE(result.fault.empty());
    for (const Finding& finding : result.outcome.findings) {
      if (finding.level == Level::error) rules.insert(finding.rule);
    }
  }
  return rules;
}

std::set<std::string> errors_of(const Subject& subject, const std::vector<std::string>& overrides,
                                const Knowledge& knowledge) {
  TextCheck options;
  options.overrides = overrides;
  options.today = *Date::parse("2026-11-30");
  return errors(check_text(
      subject.text, subject.name, [](const std::string&) { return std::nullopt; }, options, knowledge));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Whether rows that were looked up say that these do not go together.
bool is_no(const Judgement& judgement) { return judgement.fits == Fits::no && !judgement.unverified(); }

}  // namespace

TEST_CASE("a recipe with another Beam is told so where its Python is not supported, and only there") {
  const Knowledge knowledge = Knowledge::embedded();
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const Subject& subject : recipes()) {
    const auto recipe = parse_recipe(subject.text, subject.name).recipe;
    REQUIRE(recipe);
    REQUIRE(recipe->python_version);
    for (const BeamRelease& release : knowledge.beam_releases()) {
      const std::string version = release.version.to_string();
      const auto found = errors_of(subject, {"beam.version=" + version, "target.launch.beam=" + version}, knowledge);
      const Judgement judgement = beam_supports_python(knowledge, release.version, *recipe->python_version);
      INFO(subject.name << " with Beam " << version << ": "
                        << join(std::vector<std::string>(found.begin(), found.end()), ", "));
      ++mutants;
      CHECK(found.contains("beam/python-unsupported") == is_no(judgement));
      if (is_no(judgement)) {
        ++refused;
        continue;
      }
      // An SDK image as the base stays the one of its release.
      std::set<std::string> unexpected = found;
      if (recipe->base_image && recipe->base_image->repository().find("beam_python") != std::string::npos)
        unexpected.erase("beam/sdk-version-mismatch");
      for (const char* other : {"cuda/known-broken", "python/distutils-missing"}) unexpected.erase(other);
      CHECK(unexpected.empty());
    }
  }
  CHECK(mutants > 400);
  CHECK(refused > 50);
}

TEST_CASE("a recipe with another framework is told so where there is no wheel, or none for its CUDA, and only there") {
  const Knowledge knowledge = Knowledge::embedded();
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const Subject& subject : recipes()) {
    const auto recipe = parse_recipe(subject.text, subject.name).recipe;
    REQUIRE(recipe);
    for (const char* framework : {"tensorflow", "torch", "jax"}) {
      const auto& asked = std::string_view(framework) == "tensorflow" ? recipe->frameworks.tensorflow
                          : std::string_view(framework) == "torch"    ? recipe->frameworks.torch
                                                                      : recipe->frameworks.jax;
      if (!asked) continue;
      for (const FrameworkBuild& build : knowledge.framework_builds()) {
        if (build.framework != framework || build.unverified || build.version.is_prerelease()) continue;
        const auto found = errors_of(subject,
                                     {fmt::format("frameworks.{}={}{}", framework, build.version.to_string(),
                                                  asked->local().empty() ? "" : "+" + asked->local())},
                                     knowledge);
        const Judgement python = framework_supports_python(build, *recipe->python_version);
        INFO(subject.name << " with " << framework << " " << build.version.to_string() << ": "
                          << join(std::vector<std::string>(found.begin(), found.end()), ", "));
        INFO(python.why);
        ++mutants;
        const bool told = found.contains("python/no-wheel") || found.contains("python/requires-python");
        if (python.fits != Fits::unknown) CHECK(told == is_no(python));
        if (is_no(python)) ++refused;
      }
    }
  }
  CHECK(mutants > 200);
  CHECK(refused > 50);
}

TEST_CASE("a rendered Dockerfile with one version changed is told the same as its recipe") {
  const Knowledge knowledge = Knowledge::embedded();
  const Templates templates = Templates::embedded();
  const std::set<std::string> of_both = {"beam/python-unsupported", "python/no-wheel",     "python/requires-python",
                                         "cuda/framework-mismatch", "cuda/cudnn-mismatch", "cuda/cudnn-missing"};
  std::size_t mutants = 0;
  for (const Subject& subject : recipes()) {
    const auto recipe = parse_recipe(subject.text, subject.name).recipe;
    REQUIRE(recipe);
    const PlanResult planned = make_plan(*recipe, knowledge);
    REQUIRE(planned.plan);
    const std::string dockerfile = render_dockerfile(*planned.plan, templates);
    CHECK(errors_of({subject.name + ".Dockerfile", dockerfile}, {}, knowledge).empty());
    const std::string old = planned.plan->recipe.beam_version->to_string();
    for (const BeamRelease& release : knowledge.beam_releases()) {
      const std::string changed = replaced(dockerfile, old, release.version.to_string());
      const auto found = errors_of({subject.name + ".Dockerfile", changed}, {}, knowledge);
      const Judgement judgement =
          beam_supports_python(knowledge, release.version, *planned.plan->recipe.python_version);
      INFO(subject.name << " rendered, with Beam " << release.version.to_string() << ": "
                        << join(std::vector<std::string>(found.begin(), found.end()), ", "));
      ++mutants;
      CHECK(found.contains("beam/python-unsupported") == is_no(judgement));
    }
    // Only of a base image does the file say which cuDNN there is; wheels are asked for in other words by other
    // releases.
    if (!recipe->frameworks.tensorflow || !planned.plan->base || planned.plan->base->kind != "cuda") continue;
    const std::string version = recipe->frameworks.tensorflow->to_string();
    for (const FrameworkBuild& build : knowledge.framework_builds()) {
      if (build.framework != "tensorflow" || build.unverified || build.version.is_prerelease()) continue;
      const std::string changed = replaced(dockerfile, "==" + version, "==" + build.version.to_string());
      REQUIRE((changed != dockerfile || build.version == *recipe->frameworks.tensorflow));
      const auto of_file = errors_of({subject.name + ".Dockerfile", changed}, {}, knowledge);
      const auto of_recipe = errors_of(subject, {"frameworks.tensorflow=" + build.version.to_string()}, knowledge);
      INFO(subject.name << " rendered, with TensorFlow " << build.version.to_string());
      ++mutants;
      // The recipe's base may bring its own TensorFlow, which the recipe then keeps; a line of pip's does not ask.
      if (planned.plan->kept.empty()) {
        for (const std::string& rule : of_both) {
          INFO(rule);
          CHECK(of_file.contains(rule) == of_recipe.contains(rule));
        }
      }
    }
  }
  CHECK(mutants > 500);
}
