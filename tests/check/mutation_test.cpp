// Recipes and the Dockerfiles that they render to, one version changed at a time. What the tables say of the changed
// set (check/compat.hpp, which knows no rule) and what the rules say have to agree: where a row says no, the rule that
// is about it fires; where none does, no error comes of it.
#include "mutation.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/text.hpp"

using namespace imgforge;

TEST_CASE("a recipe with another Beam is told so where its Python is not supported, and only there") {
  const Knowledge& knowledge = tables();
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const Original& subject : originals()) {
    const Recipe* recipe = &subject.recipe;
    for (const BeamRelease& release : knowledge.beam_releases()) {
      const std::string version = release.version.to_string();
      const auto found = errors_of_recipe(subject, {"beam.version=" + version, "target.launch.beam=" + version});
      const Judgement judgement = beam_supports_python(knowledge, release.version, *recipe->python_version);
      INFO(subject.name << " with Beam " << version << ": " << shown(found));
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
  const Knowledge& knowledge = tables();
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const Original& subject : originals()) {
    const Recipe* recipe = &subject.recipe;
    for (const char* framework : {"tensorflow", "torch", "jax"}) {
      const auto& asked = std::string_view(framework) == "tensorflow" ? recipe->frameworks.tensorflow
                          : std::string_view(framework) == "torch"    ? recipe->frameworks.torch
                                                                      : recipe->frameworks.jax;
      if (!asked) continue;
      for (const FrameworkBuild& build : knowledge.framework_builds()) {
        if (build.framework != framework || build.unverified || build.version.is_prerelease()) continue;
        const auto found =
            errors_of_recipe(subject, {fmt::format("frameworks.{}={}{}", framework, build.version.to_string(),
                                                   asked->local().empty() ? "" : "+" + asked->local())});
        const Judgement python = framework_supports_python(build, *recipe->python_version);
        INFO(subject.name << " with " << framework << " " << build.version.to_string() << ": " << shown(found));
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
  const Knowledge& knowledge = tables();
  const std::set<std::string> of_both = {"beam/python-unsupported", "python/no-wheel",     "python/requires-python",
                                         "cuda/framework-mismatch", "cuda/cudnn-mismatch", "cuda/cudnn-missing"};
  std::size_t mutants = 0;
  for (const Original& subject : originals()) {
    const Recipe* recipe = &subject.recipe;
    const std::string& dockerfile = subject.dockerfile;
    CHECK(errors_of_dockerfile(subject.name, dockerfile).empty());
    const std::string old = recipe->beam_version->to_string();
    for (const BeamRelease& release : knowledge.beam_releases()) {
      const std::string changed = replaced(dockerfile, old, release.version.to_string());
      const auto found = errors_of_dockerfile(subject.name, changed);
      const Judgement judgement = beam_supports_python(knowledge, release.version, *recipe->python_version);
      INFO(subject.name << " rendered, with Beam " << release.version.to_string() << ": " << shown(found));
      ++mutants;
      CHECK(found.contains("beam/python-unsupported") == is_no(judgement));
    }
    // Only of a base image does the file say which cuDNN there is; wheels are asked for in other words by other
    // releases.
    if (!recipe->frameworks.tensorflow || subject.base_kind != "cuda") continue;
    const std::string version = recipe->frameworks.tensorflow->to_string();
    for (const FrameworkBuild& build : knowledge.framework_builds()) {
      if (build.framework != "tensorflow" || build.unverified || build.version.is_prerelease()) continue;
      const std::string changed = replaced(dockerfile, "==" + version, "==" + build.version.to_string());
      REQUIRE((changed != dockerfile || build.version == *recipe->frameworks.tensorflow));
      const auto of_file = errors_of_dockerfile(subject.name, changed);
      const auto of_recipe = errors_of_recipe(subject, {"frameworks.tensorflow=" + build.version.to_string()});
      INFO(subject.name << " rendered, with TensorFlow " << build.version.to_string());
      ++mutants;
      // The recipe's base may bring its own TensorFlow, which the recipe then keeps; a line of pip's does not ask.
      if (!subject.keeps) {
        for (const std::string& rule : of_both) {
          INFO(rule);
          CHECK(of_file.contains(rule) == of_recipe.contains(rule));
        }
      }
    }
  }
  CHECK(mutants > 500);
}
