// The tag of the base image changed: CUDA, cuDNN, flavour, distribution, Python, SDK release. What the tables say of
// the changed set and what the rules say have to agree.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "check/cuda.hpp"
#include "check/cuda_tags.hpp"
#include "mutation.hpp"

using namespace imgforge;

namespace {

/// Of what is in the tables about a tag of nvidia/cuda and a framework that takes CUDA and cuDNN from it, the rules
/// that have to speak, and those that may: of what no row decides.
struct Expected {
  std::set<std::string> must;
  std::set<std::string> may;
};

Expected expected_of(const CudaImage& image, const FrameworkBuild& framework) {
  Expected expected;
  // What images of other distributions set is not in the tables: there the rules have no verdict.
  if (!image.os.starts_with("ubuntu")) return expected;
  if (image.withdrawn && !image.unverified) expected.may.insert("cuda/image-not-published");
  const Judgement cuda = framework_supports_cuda(framework, image.cuda);
  if (is_no(cuda)) {
    expected.must.insert("cuda/framework-mismatch");
  } else if (cuda.fits == Fits::unknown) {
    expected.may.insert({"cuda/framework-mismatch", "cuda/cudnn-mismatch", "cuda/cudnn-missing"});
  } else if (image.flavour == "base" || !image.cudnn) {
    expected.must.insert("cuda/cudnn-missing");
  } else {
    CudaImage present = image;
    present.withdrawn = false;  // what it would hold
    const Judgement serves = image_serves(present, framework.cuda.front());
    if (is_no(serves)) expected.must.insert("cuda/cudnn-mismatch");
  }
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

}  // namespace

TEST_CASE("on another tag of nvidia/cuda a framework is told what it does not find there") {
  const Original& conda = original("dataflow-gpu-conda");
  const std::string old = conda.recipe.base_image->tag();
  const FrameworkBuild* framework = tables().framework_build("tensorflow", *conda.recipe.frameworks.tensorflow);
  REQUIRE(framework != nullptr);
  const GpuType* gpu = tables().gpu("nvidia-tesla-t4");
  REQUIRE(gpu != nullptr);
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const CudaImage& image : tables().cuda_images()) {
    if (image.unverified) continue;
    const std::string changed = replaced(conda.dockerfile, old, image.tag);
    Expected expected = expected_of(image, *framework);
    const auto of_file = errors_of_dockerfile(conda.name, changed);
    ++mutants;
    if (!expected.must.empty()) ++refused;
    {
      INFO("Dockerfile FROM nvidia/cuda:" << image.tag << ": " << shown(of_file));
      agree(of_file, expected);
    }
    if (!image.os.starts_with("ubuntu") || image.flavour == "devel") continue;
    if (is_no(cuda_supports_gpu(tables(), image.cuda, *gpu))) expected.must.insert("cuda/gpu-unsupported");
    const auto of_recipe = errors_of_recipe(conda, {"base.image=docker.io/nvidia/cuda:" + image.tag});
    ++mutants;
    INFO("recipe with base nvidia/cuda:" << image.tag << ": " << shown(of_recipe));
    agree(of_recipe, expected);
  }
  CHECK(mutants > 500);
  CHECK(refused > 200);
}

TEST_CASE("a tag of nvidia/cuda that no table holds is told, inside of what they are complete for") {
  const Original& conda = original("dataflow-gpu-conda");
  const std::string old = conda.recipe.base_image->tag();
  std::set<std::string> cudas;
  for (const CudaImage& image : tables().cuda_images()) cudas.insert(image.cuda.to_string());
  std::size_t there = 0;
  std::size_t not_there = 0;
  for (const std::string& cuda : cudas) {
    for (const char* flavour : {"runtime", "cudnn7-runtime", "cudnn8-runtime", "cudnn9-runtime", "cudnn-runtime"}) {
      for (const char* os : {"ubuntu18.04", "ubuntu20.04", "ubuntu22.04", "ubuntu24.04"}) {
        const std::string tag = fmt::format("{}-{}-{}", cuda, flavour, os);
        const CudaImage* row = tables().cuda_image(tag);
        if (row != nullptr && (row->withdrawn || row->unverified)) continue;
        if (!tables().cuda_images_complete()->covers(*Version::parse(cuda))) continue;
        (row == nullptr ? not_there : there) += 1;
        const auto of_file = errors_of_dockerfile(conda.name, replaced(conda.dockerfile, old, tag));
        const auto of_recipe = errors_of_recipe(conda, {"base.image=nvidia/cuda:" + tag});
        INFO(tag << ": " << shown(of_file) << "; recipe: " << shown(of_recipe));
        CHECK(of_file.contains("cuda/image-not-published") == (row == nullptr));
        CHECK(of_recipe.contains("cuda/image-not-published") == (row == nullptr));
      }
    }
  }
  CHECK(there > 50);
  CHECK(not_there > 200);
}

TEST_CASE("on another Ubuntu the Python that the recipe asks of deadsnakes is there, or is told not to be") {
  const Original& subject = original("dataflow-gpu-deadsnakes");
  const std::string old = subject.recipe.base_image->tag();
  std::size_t mutants = 0;
  std::size_t refused = 0;
  for (const LinuxRelease& release : tables().linux_releases()) {
    const auto& images = tables().cuda_images();
    const auto image = std::find_if(images.begin(), images.end(), [&](const CudaImage& one) {
      return one.os == release.id && one.flavour == "runtime" && one.cudnn && !one.withdrawn;
    });
    if (image == images.end()) continue;
    for (const PythonRelease& python : tables().python_releases()) {
      if (python.minor.major == 2) continue;
      const std::string minor = python.minor.to_string();
      std::string changed = replaced(subject.dockerfile, old, image->tag);
      changed = replaced(changed, " python3.11", " python" + minor);
      changed = replaced(changed, "/python3.11", "/python" + minor);
      changed = replaced(changed, "\"3.11\"", "\"" + minor + "\"");
      const auto found = errors_of_dockerfile(subject.name, changed);
      const Judgement judgement = distribution_has_python(tables(), image->os, python.minor);
      INFO(image->tag << " with Python " << minor << ": " << shown(found) << "; " << judgement.why);
      ++mutants;
      if (is_no(judgement)) ++refused;
      if (python.minor.minor > 3) CHECK(found.contains("python/not-in-distro") == is_no(judgement));
      // What else is said of it is what the tables say of that Python.
      const BeamRelease* beam = tables().beam_release(*subject.recipe.beam_version);
      CHECK(found.contains("beam/python-unsupported") ==
            is_no(beam_supports_python(tables(), beam->version, python.minor)));
    }
  }
  CHECK(mutants > 40);
  CHECK(refused > 0);
}
