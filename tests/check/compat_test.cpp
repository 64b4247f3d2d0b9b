// The predicates of compat, each a fact apart, and the pages over every row of the tables.
#include "check/compat.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/compat_pages.hpp"

namespace imgforge {

namespace {

const Knowledge& knowledge() {
  static const Knowledge tables = Knowledge::embedded();
  return tables;
}

Version version(std::string_view text) { return *Version::parse(text); }
PythonMinor minor(std::string_view text) { return *PythonMinor::parse(text); }

FrameworkBuild build_of(std::string_view framework, std::string_view text) {
  FrameworkBuild build;
  build.framework = framework;
  build.version = version(text);
  build.source = "a source";
  return build;
}

void check_page(const CompatPage& page) {
  CAPTURE(page.subject);
  REQUIRE_FALSE(page.tables.empty());
  for (const CompatTable& table : page.tables) {
    CAPTURE(table.title);
    for (const CompatRow& row : table.rows) {
      CHECK(row.cells.size() == table.columns.size());
      CHECK_FALSE(row.source.empty());
    }
  }
}

std::string hint_of(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.hint();
  }
  return "no error";
}

}  // namespace

TEST_CASE("sets of specifiers meet, or do not") {
  CHECK(intersect(">=1.26,<2", ">=1.23.5,<2.0.0") == Fits::yes);
  CHECK(intersect("<1.24", ">=1.24") == Fits::no);
  CHECK(intersect("<=1.24", ">=1.24") == Fits::yes);
  CHECK(intersect(">1.24", "<1.24.1") == Fits::yes);
  CHECK(intersect("==1.19.*", ">=1.20") == Fits::no);
  CHECK(intersect("==1.19.*", "!=1.19.0") == Fits::yes);
  CHECK(intersect("==3.20.3", "!=3.20.3") == Fits::no);
  CHECK(intersect("~=1.4.2", ">=1.5") == Fits::no);
  CHECK(intersect("~=1.4", ">=1.5") == Fits::yes);
  CHECK(intersect("<4", ">=3.20.3,!=4.0.*") == Fits::yes);
  CHECK(intersect(">=3.9.2,<3.20", ">=3.20.3,<7.0.0.dev0") == Fits::no);
  CHECK(intersect("", ">=1") == Fits::yes);
  CHECK(intersect("not one", ">=1") == Fits::unknown);
}

TEST_CASE("a Beam and a Python") {
  CHECK(beam_supports_python(knowledge(), version("2.66.0"), minor("3.12")).fits == Fits::yes);
  CHECK(beam_supports_python(knowledge(), version("2.66.0rc1"), minor("3.12")).fits == Fits::yes);
  // No wheel: pip builds it.
  CHECK(beam_supports_python(knowledge(), version("2.66.0"), minor("3.13")).fits == Fits::unknown);
  CHECK(beam_supports_python(knowledge(), version("2.69.0"), minor("3.13")).fits == Fits::yes);
  CHECK(beam_supports_python(knowledge(), version("2.66.0"), minor("3.8")).fits == Fits::no);
  CHECK(beam_supports_python(knowledge(), version("99.0"), minor("3.12")).fits == Fits::unknown);
}

TEST_CASE("a framework and a Python: a wheel, and what it requires") {
  FrameworkBuild build = build_of("torch", "2.0");
  CHECK(framework_supports_python(build, minor("3.9")).fits == Fits::unknown);
  build.wheels = {minor("3.9"), minor("3.10")};
  CHECK(framework_supports_python(build, minor("3.9")).fits == Fits::yes);
  CHECK(framework_supports_python(build, minor("3.11")).fits == Fits::no);
  build.requires_python = ">=3.9.2";
  CHECK(framework_supports_python(build, minor("3.9")).fits == Fits::yes);
  build.requires_python = ">=3.10";
  CHECK(framework_supports_python(build, minor("3.9")).fits == Fits::no);
}

TEST_CASE("a framework and a CUDA that it loads") {
  FrameworkBuild build = build_of("tensorflow", "2.15");
  CHECK(framework_supports_cuda(build, version("12.2")).fits == Fits::unknown);
  build.cuda = {{version("12.2"), version("8.9"), "", true, false, false}};
  CHECK(framework_supports_cuda(build, version("12.2.2")).fits == Fits::yes);
  CHECK(framework_supports_cuda(build, version("12.0")).fits == Fits::yes);  // by sonames
  CHECK(framework_supports_cuda(build, version("11.8")).fits == Fits::no);
  build.framework = "jax";
  CHECK(framework_supports_cuda(build, version("12.0")).fits == Fits::no);
  CHECK(framework_supports_cuda(build, version("12.9")).fits == Fits::yes);
}

TEST_CASE("a framework's kernels and a GPU") {
  const GpuType* l4 = knowledge().gpu("nvidia-l4");
  REQUIRE(l4 != nullptr);
  FrameworkBuild build = build_of("torch", "2.0");
  const Judgement silent = framework_supports_gpu(build, *l4);
  CHECK(silent.fits == Fits::unknown);
  CHECK(silent.silent);
  build.compute_from = "3.7";
  CHECK(framework_supports_gpu(build, *l4).fits == Fits::yes);  // any later
  build.compute_to = "8.6";
  CHECK(framework_supports_gpu(build, *l4).fits == Fits::yes);  // the same major
  build.compute_to = "7.5";
  CHECK(framework_supports_gpu(build, *l4).fits == Fits::no);
  build.compute_from = "9.0";
  build.compute_to = "";
  CHECK(framework_supports_gpu(build, *l4).fits == Fits::no);
}

TEST_CASE("a CUDA and a GPU") {
  const GpuType* l4 = knowledge().gpu("nvidia-l4");
  const GpuType* v100 = knowledge().gpu("nvidia-tesla-v100");
  REQUIRE((l4 != nullptr && v100 != nullptr));
  CHECK(cuda_supports_gpu(knowledge(), version("12.2"), *l4).fits == Fits::yes);
  CHECK(cuda_supports_gpu(knowledge(), version("11.2"), *l4).fits == Fits::no);
  const Judgement wheels = cuda_supports_gpu(knowledge(), version("11.2"), *l4, CudaOrigin::wheels);
  CHECK(wheels.fits == Fits::yes);  // runs kernels for 8.x
  CHECK(wheels.warning);
  CHECK(cuda_supports_gpu(knowledge(), version("10.2"), *l4, CudaOrigin::wheels).fits == Fits::no);
  CHECK(cuda_supports_gpu(knowledge(), version("12.9"), *v100).fits == Fits::yes);
  CHECK(cuda_supports_gpu(knowledge(), version("13.0"), *v100).fits == Fits::no);
  CHECK(cuda_supports_gpu(knowledge(), version("99.0"), *l4).fits == Fits::unknown);
}

TEST_CASE("cuDNN, its CUDA, and images that have both") {
  CHECK(cudnn_supports_cuda(knowledge(), version("8.9"), version("12.2")).fits == Fits::yes);
  CHECK(cudnn_supports_cuda(knowledge(), version("8.9"), version("13.0")).fits == Fits::no);
  CHECK(cudnn_supports_cuda(knowledge(), version("99"), version("12.2")).fits == Fits::unknown);
  CudaImage image;
  image.tag = "12.2.2-cudnn8-runtime-ubuntu22.04";
  image.cuda = version("12.2.2");
  image.cudnn = version("8.9.6.50");
  image.source = "a source";
  const FrameworkBuild::Cuda build{version("12.2"), version("8.9"), "", true, false, false};
  CHECK(image_serves(image, build).fits == Fits::yes);
  image.cudnn = version("8.8.0");
  CHECK(image_serves(image, build).fits == Fits::no);
  image.cudnn = version("8");
  CHECK(image_serves(image, build).fits == Fits::unknown);
  image.cudnn = version("9.1");
  CHECK(image_serves(image, build).fits == Fits::no);
  image.cudnn = std::nullopt;
  CHECK(image_serves(image, build).fits == Fits::no);
  image.cudnn = version("8.9.6.50");
  image.withdrawn = true;
  CHECK(image_serves(image, build).fits == Fits::no);
  image.withdrawn = false;
  image.cuda = version("12.1.1");  // loads by its sonames, and may lack symbols
  CHECK(image_serves(image, build).fits == Fits::unknown);
  image.cuda = version("12.4.1");
  CHECK(image_serves(image, build).fits == Fits::yes);
  CHECK(image_serves(image, build).warning);
  image.cuda = version("11.8.0");
  CHECK(image_serves(image, build).fits == Fits::no);
}

TEST_CASE("a distribution and a Python") {
  CHECK(distribution_has_python(knowledge(), "debian12", minor("3.11")).fits == Fits::yes);
  CHECK(distribution_has_python(knowledge(), "debian12", minor("3.12")).fits == Fits::no);
  CHECK(distribution_has_python(knowledge(), "ubuntu22.04", minor("3.12")).fits == Fits::yes);
  CHECK(distribution_has_python(knowledge(), "plan9", minor("3.12")).fits == Fits::unknown);
}

TEST_CASE("requirements of two frameworks, and the wheels that both bring") {
  FrameworkBuild one = build_of("tensorflow", "2.15");
  FrameworkBuild other = build_of("torch", "2.4");
  CHECK(requirements_meet(one, other, true).fits == Fits::unknown);
  one.requires_dist = {{"numpy", ">=1.23,<2"}};
  other.requires_dist = {{"numpy", ">=1.20"}};
  CHECK(requirements_meet(one, other, true).fits == Fits::yes);
  one.cuda_pins = {{"nvidia-cudnn-cu12", "==8.9.4.25"}};
  other.cuda_pins = {{"nvidia-cudnn-cu12", "==9.1.0.70"}};
  CHECK(requirements_meet(one, other, true).fits == Fits::no);
  CHECK(requirements_meet(one, other, false).fits == Fits::yes);
}

TEST_CASE("known errors shut a set out") {
  const FrameworkBuild* build = knowledge().framework_build("tensorflow", version("2.16.1"));
  REQUIRE((build != nullptr && !build->cuda.empty()));
  VersionSet set;
  set.gpu = knowledge().gpu("nvidia-l4");
  set.frameworks = {{build, &build->cuda.front(), CudaOrigin::wheels}};
  const auto found = known_issues_with(knowledge(), set);
  CHECK(std::any_of(found.begin(), found.end(), [](const Judgement& one) { return one.fits == Fits::no; }));
  set.frameworks.front().origin = CudaOrigin::base;
  for (const Judgement& one : known_issues_with(knowledge(), set)) CHECK(one.fits != Fits::no);
}

TEST_CASE("a version that was asked for by its start") {
  CHECK(is_version(version("2.15.1"), version("2.15")));
  CHECK(is_version(version("2.15.0"), version("2.15")));
  CHECK_FALSE(is_version(version("2.15.1"), version("2.1")));
  CHECK_FALSE(is_version(version("2.15"), version("2.15.1")));
  CHECK_FALSE(is_version(version("2.15.1rc0"), version("2.15")));
}

TEST_CASE("every page of every row has its cells and its sources") {
  for (const std::string_view framework : {"tensorflow", "torch", "jax"}) {
    const CompatPage all = framework_page(knowledge(), framework, std::nullopt);
    check_page(all);
    std::size_t rows = 0;
    for (const FrameworkBuild& one : knowledge().framework_builds()) {
      if (one.framework != framework) continue;
      ++rows;
      check_page(framework_page(knowledge(), framework, one.version));
    }
    CHECK(all.tables.front().rows.size() == rows);
  }
  check_page(beam_page(knowledge(), std::nullopt, std::nullopt));
  for (const BeamRelease& one : knowledge().beam_releases()) {
    check_page(beam_page(knowledge(), one.version, std::nullopt));
    check_page(beam_page(knowledge(), one.version, minor("3.8")));
  }
  check_page(python_page(knowledge(), std::nullopt));
  for (const PythonRelease& one : knowledge().python_releases()) check_page(python_page(knowledge(), one.minor));
  check_page(cuda_page(knowledge(), std::nullopt));
  for (const CudaRelease& one : knowledge().cuda_releases()) check_page(cuda_page(knowledge(), one.version));
  check_page(cudnn_page(knowledge(), std::nullopt));
  for (const CudnnRelease& one : knowledge().cudnn_releases()) check_page(cudnn_page(knowledge(), one.version));
  check_page(gpu_page(knowledge(), ""));
  for (const GpuType& one : knowledge().gpus()) check_page(gpu_page(knowledge(), one.type));
  check_page(tpu_page(knowledge(), "", ""));
  for (const TpuType& one : knowledge().tpus()) check_page(tpu_page(knowledge(), one.type, one.topology));
}

TEST_CASE("what the tables do not hold: the nearest, and their range") {
  CHECK(hint_of([] { gpu_page(knowledge(), "nvidia-l40"); }) == "did you mean nvidia-l4?");
  CHECK(hint_of([] { tpu_page(knowledge(), "tpu-v6e-slic", ""); }) == "did you mean tpu-v6e-slice?");
  CHECK(hint_of([] { cuda_page(knowledge(), version("12.7")); }).find("the nearest are 12.6.3 and 12.8.0") !=
        std::string::npos);
  CHECK(hint_of([] { beam_page(knowledge(), version("1.0"), std::nullopt); }).find("the nearest is 2.20.0") !=
        std::string::npos);
  CHECK(hint_of([] { python_page(knowledge(), minor("3.99")); }).find("the tables go from") != std::string::npos);
  CHECK(hint_of([] {
          unknown_version("X", version("5"), {version("3"), version("1")});
        }) == "the tables go from 1 to 3; the nearest is 3");
}

}  // namespace imgforge
