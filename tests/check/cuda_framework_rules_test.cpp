// Frameworks against CUDA, cuDNN and GPU: each rule with its twin, and each sentence of "not to cry wolf".
#include <catch2/catch.hpp>

#include "check/cuda.hpp"
#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

template <class Change>
Facts with(Change change) {
  GpuWorker worker;
  change(worker);
  return worker.facts();
}

/// TensorFlow of a version on a base of a CUDA and perhaps a cuDNN.
Facts tensorflow_on(const std::string& tensorflow, const std::string& cuda, const std::string& cudnn) {
  return with([&](GpuWorker& w) {
    w.frameworks = {framework_of("tensorflow", tensorflow)};
    w.packages = {{"tensorflow", tensorflow}, {"nvidia-cuda-nvcc-cu12", "12.2.140"}};
    w.cuda = {cuda_of(cuda)};
    w.cudnn.clear();
    if (!cudnn.empty()) w.cudnn = {cudnn_of(cudnn)};
  });
}

Framework bringing(const std::string& name, const std::string& version) {
  Framework framework = framework_of(name, version);
  framework.brings_cuda = true;
  return framework;
}

}  // namespace

TEST_CASE("nothing is wrong with the healthy GPU worker", "[rules][cuda]") {
  CHECK(all_of("cuda", GpuWorker{}.facts()) == "");
  CHECK(said("cuda/framework-mismatch", GpuWorker{}.facts()) == "pass");
  CHECK(said("cuda/cudnn-mismatch", GpuWorker{}.facts()) == "pass");
  CHECK(said("cuda/untested-combination", GpuWorker{}.facts()) == "pass");
}

TEST_CASE("which CUDA loads by its sonames", "[cuda]") {
  const auto loads = [](const char* built, const char* found) { return loads_cuda(version(built), version(found)); };
  CHECK(loads("12.2", "12.9.1") == true);
  CHECK(loads("12.2", "12.0.1") == true);
  CHECK(loads("12.2", "12") == true);
  CHECK(loads("12.2", "11.8.0") == false);
  CHECK(loads("12.2", "13.0.0") == false);
  CHECK(loads("11.2", "11.8.0") == true);
  CHECK(loads("11.8", "11.1.1") == true);
  CHECK(loads("11.0", "11.2.2") == false);  // libcusolver.so.10 against .so.11
  CHECK(loads("11.2", "11.0.3") == false);
  CHECK(loads("11.2", "11") == std::nullopt);
  CHECK(loads("10.1", "10.2") == false);
  CHECK(loads("10.1", "10.1.243") == true);
}

TEST_CASE("cuDNN: the same major, at least the minor", "[cuda]") {
  CHECK(fits_cudnn(version("8.6"), cudnn_of("8.9.6.50")) == true);
  CHECK(fits_cudnn(version("8.9"), cudnn_of("8.6.0.163")) == false);
  CHECK(fits_cudnn(version("8.9"), cudnn_of("9.1.0.70")) == false);
  CHECK(fits_cudnn(version("8.9"), cudnn_of("8")) == std::nullopt);
  CHECK(fits_cudnn(version("7"), cudnn_of("7.6.5.32")) == true);
}

TEST_CASE("one fault of CUDA or cuDNN is one finding", "[rules][cuda]") {
  CHECK(all_of("cuda", tensorflow_on("2.15.1", "11.8.0", "8.9.6.50")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.15.1", "11.8.0", "")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.12.0", "12.4.1", "9.1.0.70")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.17.0", "12.2.2", "8.9.6.50")) == "cuda/untested-combination:warning");
  CHECK(all_of("cuda", tensorflow_on("2.15.1", "12.4.1", "9.1.0.70")) == "cuda/cudnn-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.15.1", "12.4.1", "")) == "cuda/cudnn-missing:error");
  CHECK(all_of("cuda", tensorflow_on("2.15.1", "12.2.2", "8.6.0.163")) == "cuda/cudnn-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.4.0", "11.0.3", "8.0.5.39")) == "");
  CHECK(all_of("cuda", tensorflow_on("2.4.0", "11.2.2", "8.1.1.33")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", tensorflow_on("2.13.0", "11.7.1", "8.6.0.163")) == "cuda/untested-combination:warning");
  CHECK(all_of("cuda", tensorflow_on("2.12.0", "11.8.0", "8.6.0.163")) == "");
  // The base flavour has libcudart alone; without any CUDA there is no cuDNN either.
  CHECK(all_of("cuda", with([](GpuWorker& w) {
                 w.cuda.front().flavour = CudaToolkit::Flavour::base;
                 w.cudnn.clear();
               })) == "cuda/cudnn-missing:error");
  CHECK(all_of("cuda", with([](GpuWorker& w) {
                 w.image = "python:3.11-slim";
                 w.cuda.clear();
                 w.cudnn.clear();
               })) == "cuda/cudnn-missing:error");
}

TEST_CASE("the fix is the line to write", "[rules][cuda]") {
  CHECK(fix_of("cuda/framework-mismatch", tensorflow_on("2.15.1", "11.8.0", "8.9.6.50"))
            .starts_with("FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"));
  CHECK(fix_of("cuda/cudnn-mismatch", tensorflow_on("2.15.1", "12.4.1", "9.1.0.70"))
            .starts_with("FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"));
  CHECK(fix_of("cuda/cudnn-missing", tensorflow_on("2.19.0", "12.6.3", "")).find("-cudnn-runtime-ubuntu22.04") !=
        std::string::npos);
  // There is no image with CUDA 12.3 and cuDNN 8: the wheels are the way.
  CHECK(fix_of("cuda/untested-combination", tensorflow_on("2.17.0", "12.2.2", "8.9.6.50"))
            .find("RUN pip install --no-cache-dir \"tensorflow[and-cuda]==2.17.0\"") != std::string::npos);
  const Facts nvcr = with([](GpuWorker& w) {
    w.image = "nvcr.io/nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04";
    w.cuda = {cuda_of("11.8.0")};
  });
  CHECK(fix_of("cuda/framework-mismatch", nvcr).starts_with("FROM nvcr.io/nvidia/cuda:12.2.2-"));
  Recipe recipe;
  recipe.base_image = Reference::parse("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04");
  CHECK(fix_of("cuda/framework-mismatch", tensorflow_on("2.15.1", "11.8.0", "8.9.6.50"),
               {.recipe = &recipe, .kind = SubjectKind::recipe})
            .starts_with("base: {image: \"nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\"}"));
}

TEST_CASE("cuda/* speaks only for a GPU worker", "[rules][cuda]") {
  const Facts wrong = tensorflow_on("2.15.1", "11.8.0", "8.9.6.50");
  CHECK(all_of("cuda", wrong, {.accelerator = Accelerator::none}) == "");
  CHECK(all_of("cuda", wrong, {.accelerator = Accelerator::tpu}) == "");
  CHECK(all_of("cuda", wrong, {.role = Role::launcher}) == "");
  CHECK(all_of("cuda", wrong, {.without_sign = true}) == "");
  CHECK(all_of("cuda", wrong, {.runner = Runner::spark_serverless}) == "cuda/framework-mismatch:error");
}

TEST_CASE("upstream's tables judge PyPI's wheels alone", "[rules][cuda]") {
  for (const Framework::Build build : {Framework::Build::ngc, Framework::Build::conda, Framework::Build::unknown}) {
    const Facts facts = with([&](GpuWorker& w) {
      w.frameworks.front().build = build;
      w.cuda = {cuda_of("11.8.0")};
      w.cudnn.clear();
    });
    CHECK(all_of("cuda", facts) == "");
    CHECK(said("cuda/framework-mismatch", facts) == "undecided");
    CHECK(said("cuda/cudnn-missing", facts) == "undecided");
  }
}

TEST_CASE("what brings its CUDA as wheels is not judged against the base's", "[rules][cuda]") {
  const auto on = [](const std::string& cuda, CudaToolkit::Flavour flavour) {
    return with([&](GpuWorker& w) {
      w.frameworks = {bringing("torch", "2.5.1")};
      w.packages = {{"torch", "2.5.1"}};
      w.cuda = {cuda_of(cuda, CudaToolkit::From::base, flavour), cuda_of("12.4", CudaToolkit::From::wheels)};
      w.cudnn = {cudnn_of("9.1.0.70", CudaToolkit::From::wheels, "")};
    });
  };
  CHECK(all_of("cuda", on("11.8.0", CudaToolkit::Flavour::runtime)) == "cuda/duplicate-cuda:warning");
  CHECK(all_of("cuda", on("11.8.0", CudaToolkit::Flavour::base)) == "");  // libcudart alone
}

TEST_CASE("duplicate CUDA", "[rules][cuda]") {
  const auto both = [](GpuWorker& w) {
    w.frameworks = {bringing("tensorflow", "2.19.0")};
    w.packages = {{"tensorflow", "2.19.0"}};
    w.cuda = {cuda_of("12.6.3"), cuda_of("12.5", CudaToolkit::From::wheels)};
    w.cudnn = {cudnn_of("9.5.1.17"), cudnn_of("9.3.0.75", CudaToolkit::From::wheels, "")};
  };
  CHECK(said("cuda/duplicate-cuda", with(both)) == "warning");
  CHECK(fix_of("cuda/duplicate-cuda", with(both)) == "FROM python:3.11-slim");
  CHECK(said("cuda/duplicate-cuda", with([&](GpuWorker& w) {
               both(w);
               w.cuda.erase(w.cuda.begin());
             })) == "pass");
  // The toolkit is what something is compiled with, or what another framework loads.
  CHECK(said("cuda/duplicate-cuda", with([&](GpuWorker& w) {
               both(w);
               w.build.compiles = {step(5)};
             })) == "pass");
  CHECK(said("cuda/duplicate-cuda", with([&](GpuWorker& w) {
               both(w);
               w.frameworks = {framework_of("tensorflow", "2.15.1"), bringing("torch", "2.3.0")};
             })) == "pass");
  CHECK(said("cuda/duplicate-cuda", with([&](GpuWorker& w) {
               both(w);
               w.frameworks.front().in_base = true;  // its maker's matter
             })) == "pass");
}

TEST_CASE("a base image's own framework is its maker's matter", "[rules][cuda]") {
  const auto in_base = [](const std::string& cuda, CudaToolkit::From from) {
    return with([&](GpuWorker& w) {
      w.frameworks = {framework_of("tensorflow", "2.2.0")};
      w.frameworks.front().in_base = true;
      w.packages = {{"tensorflow", "2.2.0"}};
      w.cuda.clear();
      if (!cuda.empty()) w.cuda = {cuda_of(cuda, from)};
      w.cudnn = {cudnn_of("7.6.5", CudaToolkit::From::files, "/usr/local/cudnn/lib64")};
    });
  };
  CHECK(said("cuda/framework-mismatch", in_base("11.0.3", CudaToolkit::From::base)) == "not applicable");
  CHECK(said("cuda/cudnn-missing", in_base("", CudaToolkit::From::base)) == "not applicable");
  // The SDK image has TensorFlow and no CUDA: what the build adds for it has to fit.
  CHECK(said("cuda/framework-mismatch", in_base("10.1", CudaToolkit::From::runfile)) == "pass");
  CHECK(said("cuda/framework-mismatch", in_base("11.0.3", CudaToolkit::From::runfile)) == "error");
}

TEST_CASE("what is not known is undecided", "[rules][cuda]") {
  CHECK(said("cuda/framework-mismatch", tensorflow_on("2.99.0", "12.2.2", "8.9.6.50")) == "undecided");
  CHECK(said("cuda/framework-mismatch", tensorflow_on("2.15.1", "", "8.9.6.50")) == "undecided");
  CHECK(said("cuda/cudnn-mismatch", tensorflow_on("2.15.1", "12.2.2", "8")) == "undecided");
  CHECK(said("cuda/framework-mismatch", with([](GpuWorker& w) { w.frameworks = {framework_of("tensorflow", "")}; })) ==
        "undecided");
  Facts facts = GpuWorker{}.facts();
  facts.cuda = unknown<std::vector<CudaToolkit>>("what registry.example.com/base:1 holds");
  CHECK(said("cuda/framework-mismatch", facts) == "undecided");
  facts = GpuWorker{}.facts();
  facts.frameworks = unknown<std::vector<Framework>>("requirements.txt is not beside the Dockerfile");
  CHECK(said("cuda/cpu-only-framework", facts) == "undecided");
}

TEST_CASE("JAX takes every later CUDA of its major", "[rules][cuda]") {
  const auto jax_on = [](const std::string& jax, const std::string& cuda, const std::string& cudnn) {
    return with([&](GpuWorker& w) {
      w.frameworks = {framework_of("jax", jax)};
      w.packages = {{"jax", jax}, {"nvidia-cuda-nvcc-cu12", "12.2.140"}};
      w.cuda = {cuda_of(cuda)};
      w.cudnn = {cudnn_of(cudnn)};
    });
  };
  CHECK(all_of("cuda", jax_on("0.10.1", "12.9.1", "9.10.2.21")) == "");
  CHECK(all_of("cuda", jax_on("0.10.1", "13.0.0", "9.12.0.46")) == "");
  CHECK(all_of("cuda", jax_on("0.10.1", "12.0.1", "9.10.2.21")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", jax_on("0.10.1", "11.8.0", "9.10.2.21")) == "cuda/framework-mismatch:error");
  CHECK(all_of("cuda", jax_on("0.10.1", "12.4.1", "9.1.0.70")) == "cuda/cudnn-mismatch:error");
}

TEST_CASE("another cuDNN first on the loader's path", "[rules][cuda]") {
  const auto two = [](const std::string& first, const std::string& path) {
    return with([&](GpuWorker& w) {
      w.cudnn.push_back(cudnn_of(first, CudaToolkit::From::files, "/opt/cudnn/lib64"));
      w.library_path = path;
    });
  };
  CHECK(said("cuda/cudnn-shadowed", two("8.2.0", "/opt/cudnn/lib64:/usr/local/nvidia/lib64")) == "error");
  CHECK(said("cuda/cudnn-shadowed", two("8.9.7", "/opt/cudnn/lib64:/usr/local/nvidia/lib64")) == "pass");
  CHECK(said("cuda/cudnn-shadowed", two("8.2.0", "/usr/local/nvidia/lib64")) == "pass");  // no loader looks there
  CHECK(said("cuda/cudnn-shadowed", two("9.1.0", "/opt/cudnn/lib64:/usr/local/nvidia/lib64")) ==
        "pass");  // another name
  CHECK(all_of("cuda", two("8.2.0", "/opt/cudnn/lib64:/usr/local/nvidia/lib64")) == "cuda/cudnn-shadowed:error");
}

TEST_CASE("the GPU and the CUDA", "[rules][cuda]") {
  const auto cuda = [](const std::string& version) {
    return with([&](GpuWorker& w) {
      w.frameworks.clear();
      w.packages.clear();
      w.cuda = {cuda_of(version)};
    });
  };
  CHECK(said("cuda/gpu-unsupported", cuda("13.0.0"), {.type = "nvidia-tesla-v100"}) == "error");
  CHECK(said("cuda/gpu-unsupported", cuda("12.9.1"), {.type = "nvidia-tesla-v100"}) == "pass");
  CHECK(said("cuda/gpu-unsupported", cuda("13.0.0"), {.type = "nvidia-tesla-t4"}) == "pass");
  CHECK(said("cuda/gpu-unsupported", cuda("11.0.3"), {.type = "nvidia-l4"}) == "error");
  CHECK(said("cuda/gpu-unsupported", cuda("12.2.2"), {.type = "nvidia-l4"}) == "pass");
  CHECK(said("cuda/gpu-unsupported", cuda("13.0.0"), {.type = "nvidia-tesla-p100"}) == "warning");  // an unverified row
  CHECK(said("cuda/gpu-unsupported", cuda("13.0.0")) == "not applicable");  // a Dockerfile does not say which GPU
  CHECK(fix_of("cuda/gpu-unsupported", cuda("13.0.0"), {.type = "nvidia-tesla-v100"})
            .starts_with("FROM nvidia/cuda:12."));
  // Where all bring their own, the base's CUDA is not what is loaded.
  CHECK(said("cuda/gpu-unsupported", with([](GpuWorker& w) {
               w.frameworks = {bringing("torch", "2.12.0")};
               w.frameworks.front().local = "cu126";
               w.packages.clear();
               w.cuda = {cuda_of("13.0.0"), cuda_of("12.6", CudaToolkit::From::wheels)};
             }),
             {.type = "nvidia-tesla-v100"}) == "pass");
}

TEST_CASE("a CPU build for a GPU", "[rules][cuda]") {
  const auto cpu = [](GpuWorker& w) {
    w.frameworks = {framework_of("torch", "2.6.0")};
    w.frameworks.front().brings_cuda = false;
    w.frameworks.front().cpu_only = true;
    w.frameworks.front().local = "cpu";
    w.packages = {{"torch", "2.6.0"}};
  };
  CHECK(all_of("cuda", with(cpu)) == "cuda/cpu-only-framework:error");
  CHECK(said("cuda/cpu-only-framework", with(cpu), {.accelerator = Accelerator::none}) == "not applicable");
  CHECK(said("cuda/cpu-only-framework", GpuWorker{}.facts()) == "pass");
  CHECK(fix_of("cuda/cpu-only-framework", with(cpu)).starts_with("RUN pip install --no-cache-dir \"torch==2.6.0\""));
  // Beside a framework that uses the GPU it may be meant.
  CHECK(said("cuda/cpu-only-framework", with([&](GpuWorker& w) {
               cpu(w);
               w.frameworks.push_back(framework_of("tensorflow", "2.15.1"));
             })) == "warning");
  CHECK(said("cuda/cpu-only-framework", with([&](GpuWorker& w) {
               cpu(w);
               w.packages.emplace_back("cupy-cuda12x", "13.3.0");
             })) == "warning");
}

TEST_CASE("tensorflow-gpu where it is gone", "[rules][cuda]") {
  const auto asks = [](const std::string& requirement) {
    return with([&](GpuWorker& w) {
      PipInstall install;
      install.at = step(4);
      install.requests.push_back(
          {requirement, "tensorflow-gpu", "", Requirement::parse(requirement), {"Dockerfile", 4, 9}});
      w.build.pip = {install};
      w.frameworks = {framework_of("tensorflow", "2.12.0")};
      w.frameworks.front().package = "tensorflow-gpu";
      w.cuda = {cuda_of("12.2.2")};
      w.packages.clear();
    });
  };
  CHECK(all_of("cuda", asks("tensorflow-gpu==2.12.0")) == "cuda/obsolete-package:error");
  CHECK(said("cuda/obsolete-package", asks("tensorflow-gpu")) == "error");
  CHECK(said("cuda/obsolete-package", asks("tensorflow-gpu>=2.8")) == "error");
  CHECK(said("cuda/obsolete-package", asks("tensorflow-gpu<2.12")) == "pass");
  CHECK(said("cuda/obsolete-package", asks("tensorflow-gpu==2.10.1")) == "pass");
  CHECK(said("cuda/obsolete-package", GpuWorker{}.facts()) == "not applicable");
  CHECK(fix_of("cuda/obsolete-package", asks("tensorflow-gpu==2.12.0")) ==
        "RUN pip install --no-cache-dir \"tensorflow==2.12.0\"");
}

TEST_CASE("known to be broken", "[rules][cuda]") {
  const auto wheels = [](const std::string& tensorflow, const std::string& path = "/usr/local/nvidia/lib64") {
    return with([&](GpuWorker& w) {
      w.image = "python:3.11-slim";
      w.library_path = path;
      w.frameworks = {bringing("tensorflow", tensorflow)};
      w.packages = {{"tensorflow", tensorflow}};
      w.cuda = {cuda_of("12.3", CudaToolkit::From::wheels)};
      w.cudnn = {cudnn_of("8.9.7.29", CudaToolkit::From::wheels, "")};
    });
  };
  CHECK(all_of("cuda", wheels("2.16.1")) == "cuda/known-broken:error");
  CHECK(all_of("cuda", wheels("2.17.0")) == "");
  // The remedy of the row itself.
  const std::string remedy = "/usr/local/lib/python3.11/site-packages/nvidia/cudnn/lib:/usr/local/nvidia/lib64";
  CHECK(said("cuda/known-broken", wheels("2.16.1", remedy)) != "error");
  CHECK(said("cuda/known-broken", wheels("2.16.1", "/opt/cudnn/lib:/usr/local/nvidia/lib64")) == "error");
  CHECK(all_of("cuda", wheels("2.16.1"), {.accelerator = Accelerator::none}) == "");  // the row is about the GPU
  // With the CUDA of the base it works.
  CHECK(said("cuda/known-broken", tensorflow_on("2.16.1", "12.2.2", "8.9.6.50")) == "not applicable");
  // A row that no accelerator matters to speaks of every worker.
  const auto numpy = [](const std::string& version) {
    return with([&](GpuWorker& w) {
      w.frameworks.clear();
      w.worker.packages = {{"torch", "2.2.0"}, {"numpy", version}};
      w.packages.clear();
    });
  };
  CHECK(said("cuda/known-broken", numpy("2.0.1"), {.accelerator = Accelerator::none}) == "error");
  CHECK(said("cuda/known-broken", numpy("1.26.4"), {.accelerator = Accelerator::none}) == "not applicable");
  // Two frameworks, one cuDNN: the rule that names it is the more specific one.
  const auto two = [](const std::string& torch) {
    return with([&](GpuWorker& w) {
      w.image = "python:3.11-slim";
      w.frameworks = {bringing("tensorflow", "2.18.0"), bringing("torch", torch)};
      w.packages = {{"tensorflow", "2.18.0"}, {"torch", torch}};
      w.cuda = {cuda_of("12.5", CudaToolkit::From::wheels)};
      w.cudnn = {cudnn_of("9.1.0.70", CudaToolkit::From::wheels, "")};
    });
  };
  CHECK(all_of("cuda", two("2.5.1")) == "cuda/cudnn-mismatch:warning");
  CHECK(all_of("cuda", two("2.7.1")) == "");
  // TPU rows speak of TPU workers.
  const Facts jax = with([](GpuWorker& w) {
    w.frameworks = {framework_of("jax", "0.4.36")};
    w.frameworks.front().tpu = true;
    w.packages = {{"jax", "0.4.36"}};
  });
  CHECK(said("cuda/known-broken", jax, {.accelerator = Accelerator::tpu, .type = "tpu-v6e-slice"}) == "error");
  CHECK(said("cuda/known-broken", jax, {.accelerator = Accelerator::tpu, .type = "tpu-v5p-slice"}) == "not applicable");
  CHECK(said("cuda/known-broken", jax) == "not applicable");
}
