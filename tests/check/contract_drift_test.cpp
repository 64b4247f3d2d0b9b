#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

std::string drift(const Facts& facts, const Recipe& recipe) {
  return said("image/contract-drift", facts, {.recipe = &recipe, .kind = SubjectKind::image});
}

}  // namespace

TEST_CASE("contract-drift: pip packages", "[rules][drift]") {
  Worker worker;
  worker.packages.emplace_back("pandas", "2.2.3");
  Recipe recipe;
  const auto with = [&](const char* requirement) {
    recipe.packages.pip = {*Requirement::parse(requirement)};
    return drift(worker.facts(), recipe);
  };
  CHECK(with("pandas==2.2.3") == "pass");
  CHECK(with("pandas>=2,<3") == "pass");
  CHECK(with("Pandas[excel]") == "pass");
  CHECK(with("pandas==2.1.0") == "error");
  CHECK(with("polars") == "error");
  CHECK(with("polars; python_version < '3'") == "pass");  // a marker: not certain
}

TEST_CASE("contract-drift: apt packages", "[rules][drift]") {
  Facts facts = Worker{}.facts();
  facts.system_packages = known(std::map<std::string, std::string>{{"curl", "7.88.1-10"}, {"awk", ""}});
  Recipe recipe;
  const auto with = [&](const char* package) {
    recipe.packages.apt = {package};
    return drift(facts, recipe);
  };
  CHECK(with("curl") == "pass");
  CHECK(with("curl=7.88.1-10") == "pass");
  CHECK(with("curl=7.88*") == "pass");
  CHECK(with("awk") == "pass");  // provided
  CHECK(with("curl=8.0") == "error");
  CHECK(with("git") == "error");
  facts.system_packages = absent<std::map<std::string, std::string>>();
  CHECK(with("git") == "undecided");
}

TEST_CASE("contract-drift: labels and files", "[rules][drift]") {
  Facts facts = Worker{}.facts();
  facts.labels = known(std::map<std::string, std::string>{{"team", "vision"}});
  facts.has_path = [](const std::string& path) { return Fact<bool>::known(path == "/app/"); };
  Recipe recipe;
  recipe.labels = {{"team", "vision"}};
  recipe.files = {{"src/", "/app/"}};
  CHECK(drift(facts, recipe) == "pass");
  recipe.labels = {{"team", "audio"}};
  CHECK(drift(facts, recipe) == "error");
  recipe.labels = {{"owner", "vision"}};
  CHECK(drift(facts, recipe) == "error");
  recipe.labels.clear();
  recipe.files = {{"src/", "/srv/"}};
  CHECK(drift(facts, recipe) == "error");
}

TEST_CASE("contract-drift: frameworks and CUDA", "[rules][drift]") {
  Worker worker;
  worker.packages.emplace_back("torch", "2.4.1+cu121");
  Recipe recipe;
  recipe.frameworks.torch = version("2.4.1");
  recipe.gpu = GpuSpec{};
  recipe.gpu->cuda.version = version("12.1");
  recipe.gpu->cuda.from = CudaFrom::wheels;
  CHECK(drift(worker.facts(), recipe) == "pass");
  worker.packages.back().second = "2.4.1+cu118";
  CHECK(drift(worker.facts(), recipe) == "error");
  worker.packages.back().second = "2.4.0+cu121";
  CHECK(drift(worker.facts(), recipe) == "error");
  worker.packages.back().second = "2.4.1";
  Facts facts = worker.facts();
  facts.cuda = known(std::vector<CudaToolkit>{cuda_of("12.1.105", CudaToolkit::From::wheels)});
  CHECK(drift(facts, recipe) == "pass");
  facts.cuda = known(std::vector<CudaToolkit>{cuda_of("11.8.89")});
  CHECK(drift(facts, recipe) == "error");
  facts.cuda = known(std::vector<CudaToolkit>{cuda_of("12.1.105")});
  recipe.gpu->cudnn.version = version("8.9");
  facts.cudnn = known(std::vector<Cudnn>{cudnn_of("8.9.7.29")});
  CHECK(drift(facts, recipe) == "pass");
  facts.cudnn = known(std::vector<Cudnn>{cudnn_of("9.1.0.70")});
  CHECK(drift(facts, recipe) == "error");
  // NVIDIA's own builds have versions of a commit.
  worker.packages.back().second = "2.4.1a0+40ec155e58.nv24.3";
  CHECK(drift(worker.facts(), recipe) == "pass");
}

TEST_CASE("architecture: the machines that the recipe asks for", "[rules][drift]") {
  Recipe recipe;
  recipe.target.machine_type = "n1-standard-4";
  const Meant meant{.recipe = &recipe, .kind = SubjectKind::image};
  CHECK(said("image/architecture", Worker{}.facts(), meant) == "pass");
  recipe.target.machine_type = "t2a-standard-4";
  CHECK(said("image/architecture", Worker{}.facts(), meant) == "error");
  recipe.target.machine_type = "x9-standard-4";  // of no family that is known
  CHECK(said("image/architecture", Worker{}.facts(), meant) == "pass");
}
