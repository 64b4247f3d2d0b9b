// The cuda and tpu rules of built images: a healthy one, and one fact apart from it.
#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

constexpr const char* site = "/usr/local/lib/python3.11/site-packages";

/// TensorFlow 2.15 in an image of nvidia/cuda, as verify reads it.
struct GpuImage {
  GpuWorker worker{};
  std::vector<LibraryFolder> folders = {mounted("/usr/local/nvidia/lib"), mounted("/usr/local/nvidia/lib64")};
  std::vector<DriverLibrary> drivers;
  bool ptxas = true;
  std::vector<std::string> programs = {"/usr/bin/gcc"};
  std::vector<std::pair<std::string, std::vector<std::string>>> requirements;

  static LibraryFolder mounted(const std::string& path) {
    return {LibraryFolder::By::ld_library_path, path, path, false, false, {}};
  }
  static LibraryFolder there(const std::string& written, const std::string& path, bool libcuda = false) {
    return {LibraryFolder::By::ld_library_path, written, path, true, libcuda, {}};
  }

  /// LD_LIBRARY_PATH of these folders.
  void path(std::vector<LibraryFolder> all) {
    folders = std::move(all);
    worker.library_path.clear();
    for (const LibraryFolder& one : folders) {
      if (one.by != LibraryFolder::By::ld_library_path) continue;
      worker.library_path += (worker.library_path.empty() ? "" : ":") + one.written;
      if (!one.exists && !one.path.starts_with("/usr/local/nvidia")) worker.missing_folders.push_back(one.written);
    }
  }

  Facts facts() const {
    Facts facts = worker.facts();
    facts.build = nullptr;
    facts.library_folders = known(folders);
    facts.driver_libraries = known(drivers);
    facts.ptxas = known(ptxas);
    facts.has_path = [all = programs](const std::string& path) {
      return Fact<bool>::known(std::find(all.begin(), all.end(), path) != all.end());
    };
    std::vector<Distribution> distributions = facts.distributions().value();
    for (const auto& [name, requires_dist] : requirements) {
      for (Distribution& one : distributions) {
        if (one.name == name) one.requires_dist = requires_dist;
      }
    }
    facts.distributions = known(distributions);
    return facts;
  }
};

const Meant gpu_image{.accelerator = Accelerator::gpu, .kind = SubjectKind::image};
const Meant tpu_image{.accelerator = Accelerator::tpu, .kind = SubjectKind::image};

template <class Change>
std::string cuda(Change change) {
  GpuImage image;
  change(image);
  return all_of("cuda", image.facts(), gpu_image);
}

}  // namespace

TEST_CASE("a GPU image that is as tested has no finding", "[gpu][image]") {
  CHECK(cuda([](GpuImage&) {}).empty());
  for (const char* rule :
       {"cuda/framework-mismatch", "cuda/untested-combination", "cuda/cudnn-mismatch", "cuda/cudnn-missing",
        "cuda/driver-path-missing", "cuda/driver-baked-in", "cuda/stubs-on-path", "cuda/compat-on-path",
        "cuda/ld-path-dangling", "cuda/cpu-only-framework", "cuda/compiler-missing"}) {
    INFO(rule);
    CHECK(said(rule, GpuImage{}.facts(), gpu_image) == "pass");
  }
}

TEST_CASE("frameworks of an image against its CUDA and cuDNN", "[gpu][image]") {
  CHECK(cuda([](GpuImage& image) { image.worker.cuda = {cuda_of("11.8")}; }) == "cuda/framework-mismatch:error");
  CHECK(cuda([](GpuImage& image) { image.worker.cuda = {cuda_of("12.4")}; }) == "cuda/untested-combination:warning");
  CHECK(cuda([](GpuImage& image) { image.worker.cudnn = {cudnn_of("9.1.0.70")}; }) == "cuda/cudnn-mismatch:error");
  CHECK(cuda([](GpuImage& image) { image.worker.cudnn = {cudnn_of("8.4.1")}; }) == "cuda/cudnn-mismatch:error");
  CHECK(cuda([](GpuImage& image) { image.worker.cudnn = {}; }) == "cuda/cudnn-missing:error");
  CHECK(cuda([](GpuImage& image) {
          image.worker.cudnn = {};
          image.worker.cuda = {};
        }) == "cuda/cudnn-missing:error");
  // What NVIDIA, conda or somebody at home built, its sonames judge and no table.
  for (const auto build : {Framework::Build::ngc, Framework::Build::conda, Framework::Build::unknown}) {
    CHECK(cuda([&](GpuImage& image) {
            image.worker.cuda = {cuda_of("11.8")};
            image.worker.cudnn = {};
            image.worker.frameworks.front().build = build;
          }).empty());
  }
  GpuImage ngc;
  ngc.worker.frameworks.front().build = Framework::Build::ngc;
  CHECK(said("cuda/framework-mismatch", ngc.facts(), gpu_image) == "not applicable");
  CHECK(said("cuda/framework-mismatch", ngc.facts()) == "undecided");  // of a Dockerfile
}

TEST_CASE("a variable that claims what no file is", "[gpu][image]") {
  const auto claims = [](const std::string& name, const std::string& value) {
    return cuda([&](GpuImage& image) { image.worker.worker.env.emplace_back(name, value); });
  };
  CHECK(claims("CUDA_VERSION", "12.2.2").empty());
  CHECK(claims("CUDA_VERSION", "12.2.140.001").empty());
  CHECK(claims("CUDA_VERSION", "latest").empty());
  CHECK(claims("CUDA_VERSION", "12.4.1") == "cuda/framework-mismatch:note");
  CHECK(claims("NV_CUDNN_VERSION", "8.9.6.50-1+cuda12.2").empty());
  CHECK(claims("NV_CUDNN_VERSION", "9.1.0.70-1") == "cuda/cudnn-mismatch:note");
  GpuImage both;
  both.worker.cuda = {cuda_of("11.8")};
  both.worker.worker.env.emplace_back("CUDA_VERSION", "12.2.2");
  const Answer answer = ask("cuda/framework-mismatch", both.facts(), gpu_image);
  REQUIRE(answer.found().size() == 1);
  CHECK(answer.message().find("CUDA_VERSION says 12.2.2, and the files are of 11.8") != std::string::npos);
}

TEST_CASE("the driver of an image", "[gpu][image]") {
  const auto library = [](const std::string& path) { return DriverLibrary{path, "535.104.05", {}}; };
  CHECK(cuda([&](GpuImage& image) { image.drivers = {library("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05")}; }) ==
        "cuda/driver-baked-in:error");
  CHECK(cuda([&](GpuImage& image) {
          image.drivers = {library("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05")};
        }).empty());
  const LibraryFolder lib64 = GpuImage::there("/usr/local/cuda/lib64", "/usr/local/cuda-12.2/targets/x86_64-linux/lib");
  CHECK(cuda([&](GpuImage& image) { image.path({lib64}); }) == "cuda/driver-path-missing:error");
  CHECK(
      cuda([&](GpuImage& image) {
        image.path(
            {lib64,
             {LibraryFolder::By::ld_so_conf, "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib64", false, false, {}}});
      }) == "cuda/driver-path-missing:warning");
  CHECK(cuda([&](GpuImage& image) { image.path({lib64, GpuImage::mounted("/usr/local/nvidia/lib64/")}); }).empty());
}

TEST_CASE("folders on the loader's path of an image", "[gpu][image]") {
  const LibraryFolder driver = GpuImage::mounted("/usr/local/nvidia/lib64");
  const std::string real = "/usr/local/cuda-12.2/targets/x86_64-linux/lib/stubs";
  CHECK(cuda([&](GpuImage& image) {
          image.path({driver, GpuImage::there("/usr/local/cuda/lib64/stubs", real)});
        }) == "cuda/stubs-on-path:error");
  CHECK(cuda([&](GpuImage& image) {
          image.path({driver, GpuImage::there("/opt/libraries", real)});
        }) == "cuda/stubs-on-path:error");
  CHECK(cuda([&](GpuImage& image) {
          image.path({driver, GpuImage::mounted("/usr/local/cuda/lib64/stubs")});
        }) == "cuda/ld-path-dangling:warning");
  const LibraryFolder compat = GpuImage::there("/usr/local/cuda/compat", "/usr/local/cuda-12.2/compat", true);
  CHECK(cuda([&](GpuImage& image) { image.path({compat, driver}); }) == "cuda/compat-on-path:warning");
  CHECK(cuda([&](GpuImage& image) { image.path({driver, compat}); }).empty());
  CHECK(cuda([&](GpuImage& image) {
          image.path({GpuImage::there("/usr/local/cuda/compat", "/usr/local/cuda-12.2/compat"), driver});
        }).empty());
  // NGC's own path, whose first folder its entrypoint makes where it is needed.
  CHECK(cuda([&](GpuImage& image) {
          image.path({GpuImage::mounted("/usr/local/cuda/compat/lib"), driver});
        }) == "cuda/ld-path-dangling:note");
  CHECK(cuda([&](GpuImage& image) {
          image.path({driver, GpuImage::mounted("/usr/local/cuda-11.0/lib64")});
        }) == "cuda/ld-path-dangling:warning");
  CHECK(cuda([&](GpuImage& image) {
          image.path({driver, GpuImage::there("", "/")});
        }) == "cuda/ld-path-dangling:warning");
}

TEST_CASE("a build for the CPU in a GPU image", "[gpu][image]") {
  const auto cpu = [](GpuImage& image, const std::string& name, const std::string& version) {
    Framework framework = framework_of(name, version);
    framework.cpu_only = true;
    framework.brings_cuda = false;
    image.worker.frameworks.push_back(framework);
    image.worker.packages.emplace_back(name, version);
  };
  CHECK(cuda([&](GpuImage& image) {
          image.worker.frameworks.clear();
          cpu(image, "torch", "2.4.1");
        }) == "cuda/cpu-only-framework:error");
  CHECK(cuda([&](GpuImage& image) { cpu(image, "jax", "0.4.30"); }) == "cuda/cpu-only-framework:warning");
  // TensorFlow 2.12 asked for jax itself: nobody means it to use the GPU.
  CHECK(cuda([&](GpuImage& image) {
          cpu(image, "jax", "0.4.30");
          image.requirements = {{"tensorflow", {"jax>=0.3.15"}}};
        }).empty());
  CHECK(cuda([&](GpuImage& image) {
          cpu(image, "jax", "0.4.30");
          image.requirements = {{"tensorflow", {"jax>=0.3.15; extra == 'jax'"}}};
        }) == "cuda/cpu-only-framework:warning");
}

TEST_CASE("compilers of an image", "[gpu][image]") {
  CHECK(cuda([](GpuImage& image) { image.ptxas = false; }) == "cuda/compiler-missing:warning");
  CHECK(cuda([](GpuImage& image) {
          image.ptxas = false;
          image.worker.frameworks.front().brings_cuda = true;
          image.worker.cuda = {};
        }).empty());
  CHECK(cuda([](GpuImage& image) { image.worker.packages.emplace_back("vllm", "0.6.0"); }).empty());
  CHECK(cuda([](GpuImage& image) {
          image.worker.packages.emplace_back("vllm", "0.6.0");
          image.programs.clear();
        }) == "cuda/compiler-missing:warning");
}

TEST_CASE("CUDA twice in an image", "[gpu][image]") {
  const auto torch = [](GpuImage& image) {
    image.worker.frameworks = {framework_of("torch", "2.4.1")};
    image.worker.packages = {{"torch", "2.4.1"}};
    image.worker.cuda.push_back(cuda_of("12.1", CudaToolkit::From::wheels));
  };
  CHECK(cuda(torch) == "cuda/duplicate-cuda:warning");
  CHECK(cuda([&](GpuImage& image) {
          torch(image);
          image.worker.cuda.front().flavour = CudaToolkit::Flavour::base;
        }).empty());
  CHECK(cuda([&](GpuImage& image) {
          torch(image);
          image.worker.cuda.front().flavour = CudaToolkit::Flavour::devel;
        }).empty());
  CHECK(cuda([&](GpuImage& image) {
          torch(image);
          image.worker.cuda.front().from = CudaToolkit::From::conda;
        }).empty());
}

TEST_CASE("what breaks an image, and what broke only its build", "[gpu][image]") {
  const auto tensorflow = [](const std::string& version) {
    return [version](GpuImage& image) {
      image.worker.frameworks = {framework_of("tensorflow", version)};
      image.worker.frameworks.front().brings_cuda = true;
      image.worker.packages = {{"tensorflow", version}};
      image.worker.cuda = {cuda_of("12.2", CudaToolkit::From::wheels)};
      image.worker.cudnn = {};
    };
  };
  CHECK(cuda(tensorflow("2.16.1")) == "cuda/known-broken:error");
  // The two remedies of TensorFlow's documentation.
  CHECK(cuda([&](GpuImage& image) {
          tensorflow("2.16.1")(image);
          const std::string folder = std::string(site) + "/nvidia/cudnn/lib";
          image.path({GpuImage::mounted("/usr/local/nvidia/lib64"), GpuImage::there(folder, folder)});
        }).empty());
  CHECK(cuda([&](GpuImage& image) {
          tensorflow("2.16.1")(image);
          image.programs = {std::string(site) + "/tensorflow/libcudnn.so.8"};
        }).empty());
  // A row about upstream's wheels says less of what somebody else built.
  CHECK(cuda([&](GpuImage& image) {
          tensorflow("2.16.1")(image);
          image.worker.frameworks.front().build = Framework::Build::unknown;
        }) == "cuda/known-broken:warning");
  CHECK(cuda(tensorflow("2.15.1")).empty());
  CHECK(cuda(tensorflow("2.15.0")).empty());  // pip did find all that it asks for
  GpuImage source;
  tensorflow("2.15.0")(source);
  CHECK(said("cuda/known-broken", source.facts()) == "warning");  // of a Dockerfile
}

TEST_CASE("the TPU of an image", "[tpu][image]") {
  Worker worker;
  worker.env.emplace_back("TPU_LIBRARY_PATH", std::string(site) + "/libtpu/libtpu.so");
  Facts facts = worker.facts();
  facts.libtpu = known(true);
  facts.tpu_library = known(true);
  facts.frameworks = known(std::vector<Framework>{});
  facts.cuda = known(std::vector<CudaToolkit>{});
  CHECK(said("tpu/libtpu-missing", facts, tpu_image) == "pass");
  CHECK(said("tpu/libtpu-path", facts, tpu_image) == "pass");
  CHECK(said("tpu/gpu-software", facts, tpu_image) == "pass");
  facts.libtpu = known(false);
  CHECK(said("tpu/libtpu-missing", facts, tpu_image) == "error");
  facts.libtpu = known(true);
  facts.tpu_library = known(false);  // installed, says its record; the file says otherwise
  CHECK(said("tpu/libtpu-path", facts, tpu_image) == "error");
  facts.cuda = known(std::vector<CudaToolkit>{cuda_of("12.2")});
  CHECK(said("tpu/gpu-software", facts, tpu_image) == "warning");
  facts.cuda = known(std::vector<CudaToolkit>{cuda_of("12.2", CudaToolkit::From::wheels)});
  CHECK(said("tpu/gpu-software", facts, tpu_image) == "pass");
}

TEST_CASE("signs of a GPU in an image", "[target][image]") {
  const auto sign = [](const std::string& name, const std::string& value) {
    Worker worker;
    if (!name.empty()) worker.env.emplace_back(name, value);
    return judge_target(worker.facts(), nullptr, std::nullopt).accelerator;
  };
  CHECK(sign("", "") == Accelerator::none);
  CHECK(sign("CUDA_VERSION", "12.2.2") == Accelerator::gpu);
  CHECK(sign("NVIDIA_VISIBLE_DEVICES", "all") == Accelerator::gpu);
  CHECK(sign("NVIDIA_VISIBLE_DEVICES", "void") == Accelerator::none);
  const auto with_cuda_in = [](const std::string& folder) {
    Facts facts = Worker{}.facts();
    CudaToolkit toolkit = cuda_of("12.2", CudaToolkit::From::files);
    toolkit.folder = folder;
    facts.cuda = known(std::vector<CudaToolkit>{toolkit});
    return judge_target(facts, nullptr, std::nullopt).accelerator;
  };
  CHECK(with_cuda_in("/usr/local/cuda-12.2") == Accelerator::gpu);
  CHECK(with_cuda_in("/opt/some-program/lib") == Accelerator::none);
}
