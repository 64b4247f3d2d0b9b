#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// One v5e chip with all that it wants.
struct TpuWorker {
  std::vector<std::pair<std::string, std::string>> variables = {{"TPU_SKIP_MDS_QUERY", "1"},
                                                                {"TPU_HOST_BOUNDS", "1,1,1"},
                                                                {"TPU_WORKER_HOSTNAMES", "localhost"},
                                                                {"TPU_WORKER_ID", "0"},
                                                                {"TPU_ACCELERATOR_TYPE", "v5litepod-1"},
                                                                {"TPU_CHIPS_PER_HOST_BOUNDS", "1,1,1"}};
  bool libtpu = true;
  std::vector<Framework> frameworks;
  std::vector<CudaToolkit> cuda;
  std::vector<StepPlace> env_comments;
  std::string env_open;
  std::map<std::string, std::string, std::less<>> env_unknown;

  std::string& value(const std::string& name) {
    for (auto& [key, value] : variables) {
      if (key == name) return value;
    }
    variables.emplace_back(name, "");
    return variables.back().second;
  }

  void drop(const std::string& name) {
    std::erase_if(variables, [&](const auto& one) { return one.first == name; });
  }

  Facts facts() const {
    Worker worker;
    worker.env.insert(worker.env.end(), variables.begin(), variables.end());
    Facts facts = worker.facts();
    facts.libtpu = known(libtpu);
    facts.frameworks = known(frameworks);
    facts.cuda = known(cuda);
    facts.env_open = env_open;
    facts.env_unknown = env_unknown;
    auto build = std::make_shared<Build>();
    build->env_comments = env_comments;
    facts.build = build;
    return facts;
  }
};

template <class Change>
Facts with(Change change) {
  TpuWorker worker;
  change(worker);
  return worker.facts();
}

const Meant tpu{.accelerator = Accelerator::tpu};

}  // namespace

TEST_CASE("nothing is wrong with the healthy TPU worker", "[rules][tpu]") {
  CHECK(all_of("tpu", TpuWorker{}.facts(), tpu) == "");
  CHECK(said("tpu/environment", TpuWorker{}.facts(), tpu) == "pass");
  CHECK(said("tpu/topology-unknown", TpuWorker{}.facts(), tpu) == "pass");
  CHECK(said("tpu/libtpu-missing", TpuWorker{}.facts(), tpu) == "pass");
}

TEST_CASE("the variables of a TPU", "[rules][tpu]") {
  CHECK(all_of("tpu", with([](TpuWorker& w) { w.value("TPU_HOST_BOUNDS") = ""; }), tpu) == "tpu/environment:error");
  CHECK(all_of("tpu", with([](TpuWorker& w) { w.drop("TPU_WORKER_ID"); }), tpu) == "tpu/environment:error");
  CHECK(all_of("tpu", with([](TpuWorker& w) { w.value("TPU_ACCELERATOR_TYPE") = "v5litepod-4"; }), tpu) ==
        "tpu/environment:error");
  CHECK(fix_of("tpu/environment", with([](TpuWorker& w) { w.value("TPU_ACCELERATOR_TYPE") = "v5litepod-4"; }), tpu) ==
        "ENV TPU_CHIPS_PER_HOST_BOUNDS=2,2,1");
  // What a base may have set, or what a build argument decides, is not known.
  CHECK(said("tpu/environment", with([](TpuWorker& w) {
               w.drop("TPU_WORKER_ID");
               w.env_open = "the variables of registry.example.com/base:1";
             }),
             tpu) == "undecided");
  CHECK(said("tpu/environment", with([](TpuWorker& w) {
               w.drop("TPU_ACCELERATOR_TYPE");
               w.env_unknown["TPU_ACCELERATOR_TYPE"] = "ARG TYPE has no value";
             }),
             tpu) == "undecided");
  // dockerfile/env-inline-comment names it.
  CHECK(said("tpu/environment", with([](TpuWorker& w) {
               w.drop("TPU_WORKER_ID");
               w.env_comments = {step(3)};
             }),
             tpu) == "not applicable");
  CHECK(said("tpu/environment", with([](TpuWorker& w) { w.drop("TPU_WORKER_ID"); })) == "not applicable");  // a GPU
}

TEST_CASE("types and topologies of Dataflow", "[rules][tpu]") {
  const auto typed = [](const std::string& type) {
    return with([&](TpuWorker& w) { w.value("TPU_ACCELERATOR_TYPE") = type; });
  };
  CHECK(all_of("tpu", typed("v5litepod-16"), tpu) == "tpu/topology-unknown:error");
  CHECK(all_of("tpu", typed("v5e-1"), tpu) == "tpu/environment:error");
  CHECK(all_of("tpu", typed("tpu-v5-lite-podslice"), tpu) == "tpu/environment:error");
  CHECK(all_of("tpu", typed("v9x-8"), tpu) == "");  // perhaps newer than the tables
  CHECK(said("tpu/topology-unknown", typed("v9x-8"), tpu) == "undecided");
  // The type that --accelerator asks for is not the one that the image is for.
  CHECK(all_of("tpu", typed("v6e-1"), {.accelerator = Accelerator::tpu, .type = "tpu-v5-lite-podslice"}) ==
        "tpu/environment:error");
  CHECK(all_of("tpu", typed("v5litepod-1"), {.accelerator = Accelerator::tpu, .type = "tpu-v5-lite-podslice"}) == "");
  CHECK(said("tpu/topology-unknown", typed("v5litepod-1"),
             {.accelerator = Accelerator::tpu, .type = "tpu-v5-podslice"}) == "error");
  Recipe recipe;
  recipe.tpu = TpuSpec{"tpu-v5-lite-podslice", "4x4"};
  const Meant asked{.accelerator = Accelerator::tpu, .recipe = &recipe, .kind = SubjectKind::recipe};
  CHECK(all_of("tpu", TpuWorker{}.facts(), asked) == "tpu/topology-unknown:error");
  recipe.tpu->topology = "1x1";
  CHECK(all_of("tpu", TpuWorker{}.facts(), asked) == "");
}

TEST_CASE("an XLA stack for the TPU", "[rules][tpu]") {
  const auto plain = [](TpuWorker& w) {
    w.libtpu = false;
    w.frameworks = {framework_of("jax", "0.7.1")};
    w.frameworks.front().cpu_only = true;
  };
  CHECK(all_of("tpu", with(plain), tpu) == "tpu/libtpu-missing:error");
  CHECK(fix_of("tpu/libtpu-missing", with(plain), tpu).find("jax[tpu]==0.7.1") != std::string::npos);
  CHECK(all_of("tpu", with([](TpuWorker& w) { w.libtpu = false; }), tpu) == "tpu/libtpu-missing:error");
  Facts facts = TpuWorker{}.facts();
  facts.libtpu = unknown<bool>("requirements.txt is not beside the Dockerfile");
  CHECK(said("tpu/libtpu-missing", facts, tpu) == "undecided");
}

TEST_CASE("CUDA where a TPU is meant", "[rules][tpu]") {
  CHECK(all_of("tpu", with([](TpuWorker& w) { w.cuda = {cuda_of("12.6.3")}; }), tpu) == "tpu/gpu-software:warning");
  // torch of PyPI brings its wheels wherever it goes.
  CHECK(said("tpu/gpu-software", with([](TpuWorker& w) { w.cuda = {cuda_of("12.6", CudaToolkit::From::wheels)}; }),
             tpu) == "pass");
}

TEST_CASE("TPU_LIBRARY_PATH", "[rules][tpu]") {
  const auto path = [](const std::string& value) {
    return with([&](TpuWorker& w) { w.value("TPU_LIBRARY_PATH") = value; });
  };
  CHECK(said("tpu/libtpu-path", path("/usr/local/lib/python3.11/site-packages/libtpu/libtpu.so"), tpu) == "pass");
  CHECK(said("tpu/libtpu-path", path("/usr/local/lib/python3.10/site-packages/libtpu/libtpu.so"), tpu) == "error");
  CHECK(fix_of("tpu/libtpu-path", path("/usr/local/lib/python3.10/site-packages/libtpu/libtpu.so"), tpu)
            .starts_with("ENV TPU_LIBRARY_PATH=/usr/local/lib/python3.11/site-packages/libtpu/libtpu.so"));
  CHECK(said("tpu/libtpu-path", path("/opt/libtpu.so"), tpu) == "undecided");
  CHECK(said("tpu/libtpu-path", TpuWorker{}.facts(), tpu) == "not applicable");
}
