// The Python changed: of the recipe, of the base image's tag, of the image that boot comes from, of a wheel's file
// name. What the tables say of the changed set and what the rules say have to agree.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "mutation.hpp"

using namespace imgforge;

namespace {

std::vector<PythonMinor> minors() {
  std::vector<PythonMinor> all;
  for (const PythonRelease& release : tables().python_releases()) {
    if (release.minor >= PythonMinor{3, 6}) all.push_back(release.minor);
  }
  return all;
}

/// Rules of what Beam and the recipe's frameworks say of a Python.
struct Expected {
  std::set<std::string> must;
  std::set<std::string> may;
};

Expected expected_of(const Recipe& recipe, const PythonMinor& python) {
  Expected expected;
  if (is_no(beam_supports_python(tables(), *recipe.beam_version, python)))
    expected.must.insert("beam/python-unsupported");
  const auto add = [&](const char* framework, const std::optional<Version>& version) {
    if (!version) return;
    const FrameworkBuild* row = tables().framework_build(framework, *version);
    REQUIRE(row != nullptr);
    const auto required = SpecifierSet::parse(row->requires_python);
    const bool shut_out = required && !required->contains(*Version::parse(python.to_string() + ".999"));
    if (is_no(framework_supports_python(*row, python)))
      expected.must.insert(shut_out ? "python/requires-python" : "python/no-wheel");
  };
  add("tensorflow", recipe.frameworks.tensorflow);
  add("torch", recipe.frameworks.torch);
  add("jax", recipe.frameworks.jax);
  return expected;
}

void agree(const std::set<std::string>& found, const Expected& expected) {
  std::set<std::string> left = found;
  for (const std::string& rule : expected.must) {
    INFO("has to tell: " << rule);
    CHECK(left.erase(rule) == 1);
  }
  for (const std::string& rule : expected.may) left.erase(rule);
  INFO("may not tell: " << shown(left));
  CHECK(left.empty());
}

std::string sdk(const std::string& python, const std::string& beam) {
  return fmt::format("apache/beam_python{}_sdk:{}", python, beam);
}

bool not_published(const std::string& python, const std::string& beam) {
  const Publication answer = tables().beam_publication(fmt::format("docker.io/apache/beam_python{}_sdk", python), beam);
  return answer.answer == Publication::Answer::no && !answer.unverified;
}

}  // namespace

TEST_CASE("a recipe with another Python is told what has nothing for it") {
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const Original& one : originals()) {
    for (const PythonMinor& minor : minors()) {
      const std::string python = minor.to_string();
      // A base with a Python of its own keeps it, whatever the recipe says.
      const bool fixed = one.text.find("from: base") != std::string::npos || one.name == "dataflow-gpu-beam-image.yaml";
      Expected expected;
      std::vector<std::string> overrides = {"python.version=" + python};
      if (fixed) {
        if (minor != *one.recipe.python_version) expected.must.insert("python/minor-mismatch");
        // The plan takes boot from the image for the Python that was asked for.
        if (not_published(python, one.recipe.beam_version->to_string()))
          expected.may.insert("beam/image-not-published");
      } else {
        overrides.push_back("target.launch.python=" + python);
        expected = expected_of(one.recipe, minor);
        if (not_published(python, one.recipe.beam_version->to_string()))
          expected.must.insert("beam/image-not-published");
        if (one.recipe.python_from == PythonFrom::deadsnakes &&
            is_no(distribution_has_python(tables(), "ubuntu22.04", minor)))
          expected.must.insert("python/not-in-distro");
      }
      const auto found = errors_of_recipe(one, overrides);
      INFO(one.name << " with Python " << python << ": " << shown(found));
      ++mutants;
      if (!expected.must.empty()) ++refused;
      agree(found, expected);
    }
  }
  CHECK(mutants > 60);
  CHECK(refused > 30);
}

TEST_CASE("another Python in the base image of a rendered Dockerfile is told") {
  std::size_t mutants = 0;
  for (const char* name :
       {"dataflow-gpu-wheels", "dataflow-tpu-torch", "dataflow-gpu-beam-image", "dataflow-tpu-jax"}) {
    const Original& one = original(name);
    const PythonMinor own = *one.recipe.python_version;
    const std::string beam = one.recipe.beam_version->to_string();
    const bool slim = one.base_kind == "python";
    for (const PythonMinor& minor : minors()) {
      const std::string python = minor.to_string();
      const std::string changed =
          slim ? replaced(one.dockerfile, "python:" + own.to_string() + "-slim", "python:" + python + "-slim")
               : replaced(one.dockerfile, sdk(own.to_string(), beam), sdk(python, beam));
      REQUIRE((changed != one.dockerfile || minor == own));
      const auto found = errors_of_dockerfile(one.name, changed);
      Expected expected = expected_of(one.recipe, minor);
      // The file has a step that holds the interpreter to what the recipe declares.
      if (minor != own) expected.must.insert("python/minor-mismatch");
      if (!slim && not_published(python, beam)) expected.must.insert("beam/image-not-published");
      INFO(one.name << " on Python " << python << ": " << shown(found));
      ++mutants;
      agree(found, expected);
    }
  }
  CHECK(mutants > 30);
}

TEST_CASE("boot of another SDK image is told where its release differs, whatever its Python") {
  std::size_t mutants = 0;
  for (const Original& one : originals()) {
    const std::string own = one.recipe.python_version->to_string();
    const std::string beam = one.recipe.beam_version->to_string();
    const bool is_base = one.base_kind == "beam-sdk";
    for (const BeamRelease& release : tables().beam_releases()) {
      const std::string version = release.version.to_string();
      const std::string changed = replaced(one.dockerfile, sdk(own, beam), sdk(own, version));
      const auto found = errors_of_dockerfile(one.name, changed);
      Expected expected;
      if (version != beam) expected.must.insert("beam/sdk-version-mismatch");
      if (not_published(own, version)) expected.must.insert("beam/image-not-published");
      INFO(one.name << " with boot of Beam " << version << ": " << shown(found));
      ++mutants;
      agree(found, expected);
    }
    if (is_base) continue;
    for (const PythonMinor& minor : minors()) {
      const std::string python = minor.to_string();
      const auto found = errors_of_dockerfile(one.name, replaced(one.dockerfile, sdk(own, beam), sdk(python, beam)));
      Expected expected;
      if (not_published(python, beam)) expected.must.insert("beam/image-not-published");
      INFO(one.name << " with boot of the image for Python " << python << ": " << shown(found));
      ++mutants;
      agree(found, expected);
    }
  }
  CHECK(mutants > 400);
}

TEST_CASE("a wheel for another Python than the image's is told by its name") {
  std::size_t mutants = 0;
  for (const char* name : {"dataflow-gpu-conda", "dataflow-gpu-deadsnakes", "dataflow-gpu-beam-image"}) {
    const Original& one = original(name);
    const std::string requirement = "tensorflow==" + one.recipe.frameworks.tensorflow->to_string();
    REQUIRE(one.dockerfile.find(requirement) != std::string::npos);
    for (const PythonMinor& minor : minors()) {
      const std::string tag = fmt::format("cp3{0}-cp3{0}{1}", minor.minor, minor.minor < 8 ? "m" : "");
      const std::string wheel =
          fmt::format("https://wheels.example.com/tensorflow-{}-{}-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                      one.recipe.frameworks.tensorflow->to_string(), tag);
      const auto found = errors_of_dockerfile(one.name, replaced(one.dockerfile, requirement, wheel));
      Expected expected;
      if (minor != *one.recipe.python_version) expected.must.insert("python/no-wheel");
      INFO(one.name << " with " << wheel << ": " << shown(found));
      ++mutants;
      agree(found, expected);
    }
  }
  CHECK(mutants > 20);
}
