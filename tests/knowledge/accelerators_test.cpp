// Frameworks, CUDA, GPUs, known issues, published images: look-ups, and every row of their tables.
#include <catch2/catch.hpp>
#include <set>

#include "base/requirement.hpp"
#include "knowledge/tables.hpp"
#include "support.hpp"

using namespace imgforge;
using Answer = Publication::Answer;

namespace {

Version version(std::string_view text) { return *Version::parse(text); }
PythonMinor minor(std::string_view text) { return *PythonMinor::parse(text); }
bool has(const std::vector<PythonMinor>& minors, std::string_view text) {
  return std::find(minors.begin(), minors.end(), minor(text)) != minors.end();
}

}  // namespace

TEST_CASE("framework builds: what a release was built for, and what PyPI says of it") {
  const Knowledge knowledge = Knowledge::embedded();
  const FrameworkBuild* tensorflow = knowledge.framework_build("tensorflow", version("2.15.0"));
  REQUIRE(tensorflow != nullptr);
  CHECK(tensorflow->cuda.at(0).cuda == version("12.2"));
  CHECK(*tensorflow->cuda.at(0).cudnn == version("8.9"));
  CHECK(tensorflow->cuda.at(0).on_pypi);
  CHECK_FALSE(tensorflow->cuda.at(0).brings);
  CHECK(tensorflow->cuda_extra == "and-cuda");
  CHECK(tensorflow->cuda_pins.at("nvidia-cudnn-cu12") == "==8.9.4.25");
  CHECK(tensorflow->requires_dist.at("numpy") == ">=1.23.5,<2.0.0");
  CHECK(has(tensorflow->wheels, "3.11"));
  CHECK_FALSE(has(tensorflow->wheels, "3.12"));
  CHECK(*tensorflow->glibc == version("2.17"));
  // By its base version, and the same row each time.
  CHECK(knowledge.framework_build("tensorflow", version("2.15.0rc1")) == tensorflow);
  CHECK(knowledge.framework_build("tensorflow", version("2.15")) == tensorflow);
  CHECK(knowledge.framework_build("tensorflow", version("2.15.7")) == nullptr);
  CHECK(knowledge.framework_build("mxnet", version("2.15.0")) == nullptr);

  const FrameworkBuild* torch = knowledge.framework_build("torch", version("2.4.1+cu118"));
  REQUIRE(torch != nullptr);
  CHECK(torch->cuda.at(0).on_pypi);
  CHECK(torch->cuda.at(0).brings);
  CHECK(torch->cuda.at(0).cuda == version("12.1"));
  CHECK(*torch->cuda.at(0).cudnn == version("9.1.0.70"));
  CHECK(std::any_of(torch->cuda.begin(), torch->cuda.end(), [](const auto& one) { return one.local == "cu118"; }));
  const FrameworkBuild* jax = knowledge.framework_build("jax", version("0.4.35"));
  REQUIRE(jax != nullptr);
  CHECK(jax->requires_dist.at("jaxlib") == ">=0.4.34,<=0.4.35");
  CHECK(jax->cuda_extra == "cuda12");
  CHECK(has(jax->wheels, "3.13"));

  REQUIRE(knowledge.framework_complete("torch"));
  CHECK(knowledge.framework_complete("torch")->covers(version("2.4.1")));
  CHECK_FALSE(knowledge.framework_complete("torch")->covers(version("99.0")));
  CHECK_FALSE(knowledge.framework_complete("mxnet"));
}

TEST_CASE("framework builds: every row; picked alone it is the same as among all") {
  const Knowledge knowledge = Knowledge::embedded();
  CHECK(knowledge.framework_builds().size() > 250);
  const FrameworkBuild* before = nullptr;
  for (const FrameworkBuild& row : knowledge.framework_builds()) {
    INFO(row.framework << " " << row.version.to_string());
    if (before != nullptr && before->framework == row.framework) CHECK(before->version < row.version);
    before = &row;
    const FrameworkBuild* picked = knowledge.framework_build(row.framework, row.version);
    REQUIRE(picked != nullptr);
    CHECK(picked->version == row.version);
    CHECK(picked->source == row.source);
    CHECK(picked->cuda_pins == row.cuda_pins);
    CHECK(picked->wheels == row.wheels);
    CHECK(knowledge.framework_complete(row.framework)->covers(row.version));
    for (const PythonMinor& wheel : row.wheels) CHECK(knowledge.python_release(wheel) != nullptr);
    for (const FrameworkBuild::Cuda& cuda : row.cuda) {
      CHECK(knowledge.cuda_release(cuda.cuda) != nullptr);
      // cu126 is 12.6.
      if (!cuda.local.empty())
        CHECK(cuda.local == "cu" + std::to_string(cuda.cuda.major()) + std::to_string(cuda.cuda.minor()));
      CHECK(cuda.brings == (row.framework == "torch"));
    }
    if (row.cuda_extra.empty() && row.framework != "torch") CHECK(row.cuda_pins.empty());
    for (const auto* packages : {&row.cuda_pins, &row.requires_dist}) {
      for (const auto& [name, specifiers] : *packages) {
        CHECK(name == normalise_name(name));
        CHECK(SpecifierSet::parse(specifiers));
      }
    }
  }
  CHECK(knowledge.framework_build("tensorflow", version("2.0.0"))->cuda.at(0).on_pypi == false);
  CHECK(knowledge.framework_build("tensorflow", version("2.1.0"))->cuda.at(0).on_pypi);
}

TEST_CASE("frameworks and framework builds name the same extras") {
  const Knowledge knowledge = Knowledge::embedded();
  for (const FrameworkBuild& row : knowledge.framework_builds()) {
    const FrameworkRelease* asked = knowledge.framework(row.framework, row.version);
    if (asked == nullptr || asked->gpu_requirement.empty()) continue;
    INFO(row.framework << " " << row.version.to_string());
    const auto requirement = Requirement::parse(asked->gpu_requirement);
    REQUIRE(requirement);
    if (requirement->extras().empty() || row.cuda_extra.empty()) continue;
    // JAX 0.4.22 to 0.4.29 had two: cuda12-pip, and cuda12 with the plugin.
    const std::string extra = normalise_name(requirement->extras()[0]);
    CHECK(extra.substr(0, 6) == row.cuda_extra.substr(0, 6));
  }
}

TEST_CASE("CUDA images: a tag is looked up as a whole") {
  const Knowledge knowledge = Knowledge::embedded();
  const CudaImage* image = knowledge.cuda_image("12.2.2-cudnn8-runtime-ubuntu22.04");
  REQUIRE(image != nullptr);
  CHECK(image->cuda == version("12.2.2"));
  CHECK(image->flavour == "runtime");
  CHECK(image->os == "ubuntu22.04");
  CHECK(*image->cudnn == version("8.9.6.50"));
  CHECK(image->library_path.find("/usr/local/nvidia/lib64") != std::string::npos);
  CHECK_FALSE(image->withdrawn);
  CHECK(knowledge.cuda_image("12.2.2-cudnn8-runtime-ubuntu22.04") == image);

  CHECK_FALSE(knowledge.cuda_image("12.4.1-runtime-ubuntu22.04")->cudnn);
  CHECK(*knowledge.cuda_image("12.4.1-cudnn-runtime-ubuntu22.04")->cudnn == version("9.1.0.70"));
  CHECK(knowledge.cuda_image("12.4.1-cudnn8-runtime-ubuntu22.04") == nullptr);  // never was
  CHECK(knowledge.cuda_image("10.1-cudnn7-devel-ubuntu18.04")->withdrawn);
  CHECK(*knowledge.cuda_image("10.1-cudnn8-devel-ubuntu18.04")->cudnn == version("8.0.5.39"));
  for (const char* tag :
       {"", "-", "12.2.2", "12.2.2-runtime", "12.2.2-runtime-ubuntu22.04-x", "x12.2.2-base-ubuntu22.04",
        "12.2.2--ubuntu22.04", "12.2.2-ubuntu22.04", "2.2.2-base-ubuntu22.04"}) {
    INFO(tag);
    CHECK(knowledge.cuda_image(tag) == nullptr);
  }
  CHECK(knowledge.cuda_images_complete()->covers(version("12.2.2")));
  CHECK_FALSE(knowledge.cuda_images_complete()->covers(version("13.3.0")));
}

TEST_CASE("CUDA images: every tag has its parts, and is found") {
  const Knowledge knowledge = Knowledge::embedded();
  CHECK(knowledge.cuda_images().size() > 1500);
  std::set<std::string> seen;
  for (const CudaImage& row : knowledge.cuda_images()) {
    INFO(row.tag);
    CHECK(seen.insert(row.tag).second);
    CHECK(row.tag.find("-" + row.flavour + "-" + row.os) != std::string::npos);
    CHECK((row.tag.find("cudnn") != std::string::npos) == row.cudnn.has_value());
    CHECK_FALSE((row.cudnn && row.flavour == "base"));
    CHECK_FALSE(row.library_path.empty());
    CHECK(knowledge.cuda_release(row.cuda) != nullptr);
    const CudaImage* found = knowledge.cuda_image(row.tag);
    REQUIRE(found != nullptr);
    CHECK(found->cuda == row.cuda);
    CHECK(found->cudnn == row.cudnn);
    if (row.os.compare(0, 6, "ubuntu") == 0) CHECK(knowledge.linux_release(row.os) != nullptr);
  }
}

TEST_CASE("CUDA and cuDNN releases") {
  const Knowledge knowledge = Knowledge::embedded();
  REQUIRE(knowledge.cuda_release(version("12.2.2")) != nullptr);
  CHECK(knowledge.cuda_release(version("12.2.2"))->driver == "535.104.05");
  CHECK(knowledge.cuda_release(version("12.2.2"))->driver_minimum == "525.60.13");
  CHECK(knowledge.cuda_release(version("12.2"))->version == version("12.2.0"));
  CHECK(knowledge.cuda_release(version("12.2.140"))->version == version("12.2.0"));  // of its minor
  CHECK(knowledge.cuda_release(version("12.7")) == nullptr);
  CHECK(knowledge.cuda_release(version("10.2.89"))->driver_minimum.empty());
  CHECK(knowledge.cuda_release(version("13.0.0"))->compute_from == "7.5");
  for (std::size_t i = 1; i < knowledge.cuda_releases().size(); ++i)
    CHECK(knowledge.cuda_releases()[i - 1].version < knowledge.cuda_releases()[i].version);
  for (const CudnnRelease& row : knowledge.cudnn_releases()) {
    INFO(row.version.to_string());
    CHECK(row.version.release().size() >= 3);
    for (const unsigned major : row.cuda_majors) CHECK((major >= 8 && major <= 13));
  }
}

TEST_CASE("GPUs: every row fits the toolkits") {
  const Knowledge knowledge = Knowledge::embedded();
  CHECK(knowledge.gpu("nvidia-l4")->compute == "8.9");
  CHECK(*knowledge.gpu("nvidia-tesla-v100")->cuda_through == version("12.9"));
  CHECK(knowledge.gpu("nvidia-tesla-k80")->retired);
  CHECK(knowledge.gpu("nvidia-l5") == nullptr);
  for (const GpuType& row : knowledge.gpus()) {
    INFO(row.type);
    CHECK(row.type.compare(0, 7, "nvidia-") == 0);
    CHECK_FALSE(row.machine_families.empty());
  }
}

TEST_CASE("NGC images") {
  const Knowledge knowledge = Knowledge::embedded();
  REQUIRE(knowledge.ngc_image("tensorflow", "22.05") != nullptr);
  CHECK(*knowledge.ngc_image("tensorflow", "22.05")->cuda == version("11.7.0"));
  CHECK(knowledge.ngc_image("pytorch", "24.03") != nullptr);
  CHECK(knowledge.ngc_image("tensorflow", "25.03") == nullptr);  // ended with 25.02
  CHECK(knowledge.ngc_image("pytorch", "21.01") == nullptr);
}

TEST_CASE("known issues: every row can be decided") {
  const Knowledge knowledge = Knowledge::embedded();
  std::set<std::string> ids;
  for (const KnownIssue& row : knowledge.known_issues()) {
    INFO(row.id);
    CHECK(ids.insert(row.id).second);
    CHECK(row.symptom.size() > 10);
    CHECK(row.fix.size() > 10);
    CHECK((row.level == "error" || row.level == "warning"));
  }
  CHECK(ids.count("tf-2-16-no-gpu") == 1);
}

TEST_CASE("known issues: no SDK image of Beam breaks on what it ships itself") {
  const Knowledge knowledge = Knowledge::embedded();
  for (const BeamRelease& release : knowledge.beam_releases()) {
    for (const PythonMinor& python : release.pythons) {
      const BeamImagePins* pins = knowledge.beam_pins(release.version, python);
      if (pins == nullptr) continue;
      for (const KnownIssue& row : knowledge.known_issues()) {
        if (row.packages.empty() || !row.cuda_from.empty() || !row.gpu.empty() || !row.tpu.empty()) continue;
        if (!row.beam.empty() && !SpecifierSet::parse(row.beam)->contains(release.version)) continue;
        if (!row.python.empty() && !SpecifierSet::parse(row.python)->contains(version(python.to_string()))) continue;
        const bool all = std::all_of(row.packages.begin(), row.packages.end(), [&](const auto& condition) {
          if (condition.first == "apache-beam") return true;
          const auto found = pins->packages.find(condition.first);
          return found != pins->packages.end() && SpecifierSet::parse(condition.second)->contains(found->second);
        });
        INFO(row.id << " in the image of Beam " << release.version.to_string() << ", Python " << python.to_string());
        CHECK_FALSE(all);
      }
    }
  }
}

TEST_CASE("published images of Beam") {
  const Knowledge knowledge = Knowledge::embedded();
  const auto answer = [&](const char* repository, const char* tag) {
    return knowledge.beam_publication(repository, tag).answer;
  };
  CHECK(answer("docker.io/apache/beam_python3.12_sdk", "2.65.0") == Answer::yes);
  CHECK(answer("gcr.io/cloud-dataflow/v1beta3/beam_python3.12_sdk", "2.65.0") == Answer::yes);
  const Publication misspelt = knowledge.beam_publication("docker.io/apache/beam_python312_sdk", "2.65.0");
  CHECK(misspelt.answer == Answer::no);
  CHECK(misspelt.instead == "apache/beam_python3.12_sdk:2.65.0");
  CHECK(answer("docker.io/apache/beam-python3.11-sdk", "2.65.0") == Answer::no);
  const Publication patch = knowledge.beam_publication("docker.io/apache/beam_python3.11_sdk", "2.55.2");
  CHECK(patch.answer == Answer::no);
  CHECK(patch.instead == "apache/beam_python3.11_sdk:2.55.1");
  CHECK(answer("docker.io/apache/beam_python3.11_sdk", "2.55.1") == Answer::yes);
  const Publication python = knowledge.beam_publication("docker.io/apache/beam_python3.13_sdk", "2.64.0");
  CHECK(python.answer == Answer::no);
  CHECK(python.instead == "apache/beam_python3.12_sdk:2.64.0");
  CHECK(answer("docker.io/apache/beam_python3.13_sdk", "2.66.0") == Answer::yes);

  CHECK(answer("docker.io/apache/beam_python3.11_sdk_distroless", "2.61.0") == Answer::no);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk_distroless", "2.64.0") == Answer::unknown);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk_distroless", "2.67.0") == Answer::yes);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk_ml", "2.60.0") == Answer::no);
  CHECK(answer("docker.io/apache/beam_python3.13_sdk_ml", "2.72.0") == Answer::yes);
  CHECK(answer("docker.io/apache/beam_python3.14_sdk_ml", "2.73.0") == Answer::no);
  CHECK(answer("docker.io/apache/beam_java8_sdk", "2.65.0") == Answer::yes);
  CHECK(answer("docker.io/apache/beam_java8_sdk", "2.66.0") == Answer::no);
  CHECK(answer("docker.io/apache/beam_java21_sdk", "2.51.0") == Answer::no);
  CHECK(answer("docker.io/apache/beam_java21_sdk", "2.52.0") == Answer::yes);
  CHECK(answer("docker.io/apache/beam_java12_sdk", "2.65.0") == Answer::no);

  // Newer than the tables, candidates, tags that are no version, other people's images.
  CHECK(answer("docker.io/apache/beam_python3.11_sdk", "2.99.0") == Answer::unknown);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk", "2.66.0rc1") == Answer::unknown);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk", "latest") == Answer::unknown);
  CHECK(answer("docker.io/apache/beam_python3.11_sdk", "") == Answer::unknown);
  CHECK(answer("docker.io/apache/beam_flink1.18_job_server", "2.65.0") == Answer::unknown);
  CHECK(answer("docker.io/example/beam_python312_sdk", "2.65.0") == Answer::unknown);
  CHECK(answer("docker.io/apache/", "2.65.0") == Answer::unknown);
}

TEST_CASE("base images: launchers, notebooks, uv") {
  const Knowledge knowledge = Knowledge::embedded();
  const auto launcher =
      knowledge.base_image("gcr.io/dataflow-templates-base/python311-template-launcher-base", "20240101");
  REQUIRE(launcher);
  CHECK(launcher->kind == "launcher");
  CHECK(*launcher->python == minor("3.11"));
  CHECK_FALSE(knowledge.base_image("gcr.io/dataflow-templates-base/java17-template-launcher-base", "latest")->python);
  CHECK(knowledge.base_image("docker.io/apache/beam_java11_sdk", "2.48.0")->kind == "beam-java");
  CHECK_FALSE(knowledge.base_image("docker.io/apache/beam_java11_sdk", "2.48.0")->python);
  CHECK(*knowledge.base_image("quay.io/jupyter/base-notebook", "python-3.11.9")->python == minor("3.11"));
  CHECK_FALSE(knowledge.base_image("quay.io/jupyter/base-notebook", "latest")->python);
  CHECK(knowledge.base_image("ghcr.io/astral-sh/uv", "python3.12-bookworm-slim")->os == "debian12");
  CHECK(*knowledge.base_image("us-docker.pkg.dev/deeplearning-platform-release/gcr.io/tf2-gpu.2-15.py310", "m1")
             ->python == minor("3.10"));
}

TEST_CASE("tables against each other: a CUDA, a cuDNN, an os that no table has") {
  test::TableFolder folder;
  folder.write(
      "cuda_images.yaml",
      "table: cuda_images\nabout: Tags of a test, one of each kind.\nas_of: 2026-11-30\nrows:\n"
      "  - {cuda: 12.2.2, os: ubuntu22.04, flavours: [base, cudnn8-runtime], cudnn: 8.9.6.50, source: a test}\n");
  CHECK(folder.fault().empty());
  const auto fault = [&](const std::string& row) {
    folder.write(
        "cuda_images.yaml",
        "table: cuda_images\nabout: Tags of a test, one of each kind.\nas_of: 2026-11-30\nrows:\n  - " + row + "\n");
    return folder.fault();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(fault("{cuda: 12.7.0, os: ubuntu22.04, flavours: [base], source: a test}"), Contains("12.7.0"));
  CHECK_THAT(fault("{cuda: 12.2.2, os: ubuntu21.11, flavours: [base], source: a test}"), Contains("ubuntu21.11"));
  CHECK_THAT(fault("{cuda: 12.2.2, os: ubuntu22.04, flavours: [cudnn8-base], cudnn: 8.99.1, source: a test}"),
             Contains("8.99.1"));
  CHECK_THAT(fault("{cuda: 12.2.2, os: ubuntu22.04, flavours: [cudnn9-base], cudnn: 8.9.6.50, source: a test}"),
             Contains("does not fit"));
  CHECK_THAT(fault("{cuda: 12.2.2, os: ubuntu22.04, flavours: [slim], source: a test}"), Contains("slim"));
}

TEST_CASE("a framework's row from a folder is found as one that is compiled in") {
  test::TableFolder folder;
  folder.write(
      "framework_builds.yaml",
      "table: framework_builds\nabout: One release of a test, and no more.\nas_of: 2026-11-30\n"
      "complete: {torch: {from: 9.0.0, through: 9.0.0}}\nrows:\n"
      "  - {framework: torch, version: 9.0.0, wheels: [\"3.11\"], cuda: [{cuda: \"12.6\", on_pypi: true, brings: "
      "true}], source: a test}\n");
  const Knowledge knowledge = Knowledge::with_directory(folder.path());
  REQUIRE(knowledge.framework_build("torch", version("9.0.0")) != nullptr);
  CHECK(knowledge.framework_build("torch", version("2.4.1")) == nullptr);
  CHECK(knowledge.framework_complete("torch")->covers(version("9.0")));
  CHECK_FALSE(knowledge.framework_complete("tensorflow"));

  folder.write("framework_builds.yaml",
               "table: framework_builds\nabout: One release of a test, and no more.\nas_of: 2026-11-30\n"
               "complete: {torch: {from: 9.0.0, through: 9.1.0}}\nrows:\n"
               "  - {framework: torch, version: 9.0.0, cuda: [{cuda: \"12.7\", brings: maybe}], source: a test}\n");
  using Catch::Matchers::Contains;
  CHECK_THAT(folder.fault(), Contains("brings"));
  folder.write("framework_builds.yaml",
               "table: framework_builds\nabout: One release of a test, and no more.\nas_of: 2026-11-30\n"
               "complete: {torch: {from: 9.0.0, through: 9.1.0}}\nrows:\n"
               "  - {framework: torch, version: 9.0.0, cuda: [{cuda: \"12.6\", cudnn: 1.2.3}], source: a test}\n");
  CHECK_THAT(folder.fault(), Contains("9.1.0") && Contains("1.2.3"));
}
