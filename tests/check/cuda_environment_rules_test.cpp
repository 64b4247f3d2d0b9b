// The driver's folder, the loader's path, compilers, tags and keys: each rule with its twin.
#include <catch2/catch.hpp>

#include "check/cuda_tags.hpp"
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

Facts with_path(const std::string& path) {
  return with([&](GpuWorker& w) { w.library_path = path; });
}

/// No CUDA of the base: frameworks with wheels on a slim Python.
Facts slim(const std::string& path) {
  return with([&](GpuWorker& w) {
    w.image = "python:3.11-slim";
    w.frameworks.front().brings_cuda = true;
    w.cuda = {cuda_of("12.2", CudaToolkit::From::wheels)};
    w.cudnn.clear();
    w.library_path = path;
  });
}

}  // namespace

TEST_CASE("the driver's folder", "[rules][cuda]") {
  CHECK(said("cuda/driver-path-missing", GpuWorker{}.facts()) == "pass");
  CHECK(said("cuda/driver-path-missing", slim("/usr/local/nvidia/lib64/")) == "pass");
  CHECK(all_of("cuda", slim("")) == "cuda/driver-path-missing:error");
  CHECK(all_of("cuda", slim("/usr/local/nvidia/lib")) == "cuda/driver-path-missing:error");
  // NVIDIA's images have a line in ld.so.conf.d, which needs ldconfig at start.
  CHECK(all_of("cuda", with_path("/usr/local/cuda/lib64")) == "cuda/driver-path-missing:warning");
  CHECK(fix_of("cuda/driver-path-missing", with_path("/usr/local/cuda/lib64")) ==
        "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/cuda/lib64");
  CHECK(said("cuda/driver-path-missing", slim(""), {.accelerator = Accelerator::none}) == "not applicable");
  CHECK(said("cuda/driver-path-missing", slim(""), {.runner = Runner::portable}) == "not applicable");
  // What an unknown base, a build argument or a start script may do is not known.
  Facts facts = slim("");
  facts.env_open = "the variables of registry.example.com/base:1";
  CHECK(said("cuda/driver-path-missing", facts) == "undecided");
  facts = slim("");
  facts.env_unknown["LD_LIBRARY_PATH"] = "ARG FOLDERS has no value";
  CHECK(said("cuda/driver-path-missing", facts) == "undecided");
  CHECK(said("cuda/driver-path-missing", with([](GpuWorker& w) {
               w.library_path.clear();
               w.worker.entrypoint.chain = {"/start.sh", "/opt/apache/beam/boot"};
             })) == "undecided");
}

TEST_CASE("a driver in the image", "[rules][cuda]") {
  CHECK(all_of("cuda", with([](GpuWorker& w) { w.build.driver_installs = {step(3, "RUN sh /cuda.run --driver")}; })) ==
        "cuda/driver-baked-in:error");
  CHECK(said("cuda/driver-baked-in", with([](GpuWorker& w) {
               w.build.driver_installs = {step(3)};
               w.build.driver_installs.front().in_image = false;
             })) == "pass");
}

TEST_CASE("stubs on the path", "[rules][cuda]") {
  CHECK(all_of("cuda", with_path("/usr/local/nvidia/lib64:/usr/local/cuda/lib64/stubs")) == "cuda/stubs-on-path:error");
  CHECK(fix_of("cuda/stubs-on-path", with_path("/usr/local/nvidia/lib64:/usr/local/cuda/lib64/stubs"))
            .starts_with("ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64"));
  CHECK(said("cuda/stubs-on-path", with_path("/usr/local/nvidia/lib64:/usr/local/cuda/lib64")) == "pass");
}

TEST_CASE("forward compatibility in front", "[rules][cuda]") {
  const std::string compat = "/usr/local/cuda/compat";
  CHECK(all_of("cuda", with_path(compat + ":/usr/local/nvidia/lib64")) == "cuda/compat-on-path:warning");
  CHECK(all_of("cuda", with_path("/usr/local/nvidia/lib64:" + compat)) == "");  // the driver's own comes first
  // The folder has to be there, and to hold libcuda.
  CHECK(all_of("cuda", with([&](GpuWorker& w) {
                 w.library_path = compat + ":/usr/local/nvidia/lib64";
                 w.missing_folders = {compat};
               })) == "cuda/ld-path-dangling:warning");
  CHECK(said("cuda/compat-on-path", slim(compat + ":/usr/local/nvidia/lib64")) == "undecided");
}

TEST_CASE("elements that lead nowhere", "[rules][cuda]") {
  CHECK(all_of("cuda", with_path(":/usr/local/nvidia/lib64")) == "cuda/ld-path-dangling:warning");
  CHECK(all_of("cuda", with_path("/usr/local/nvidia/lib64:")) == "cuda/ld-path-dangling:warning");
  CHECK(fix_of("cuda/ld-path-dangling", with_path(":/usr/local/nvidia/lib64")) ==
        "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64");
  const auto missing = [](const std::string& folder) {
    return with([&](GpuWorker& w) {
      w.library_path = "/usr/local/nvidia/lib64:" + folder;
      w.missing_folders = {folder};
    });
  };
  CHECK(all_of("cuda", missing("/usr/local/cuda-11.2/lib64")) == "cuda/ld-path-dangling:warning");
  CHECK(all_of("cuda", missing("/usr/local/nvidia/other")) == "");  // mounted when the worker starts
  CHECK(all_of("cuda", with_path("/usr/local/nvidia/lib64:/usr/local/cuda-12.2/lib64")) == "");
  // What the base itself has on its path is a note.
  CHECK(said("cuda/ld-path-dangling", with([](GpuWorker& w) {
               w.image = "nvidia/cuda:13.0.0-cudnn-runtime-ubuntu22.04";
               w.library_path = "/usr/local/nvidia/lib64:/usr/local/cuda/lib64";
               w.missing_folders = {"/usr/local/cuda/lib64"};
             })) == "note");
}

TEST_CASE("a devel image for nothing", "[rules][cuda]") {
  const auto devel = [](GpuWorker& w) {
    w.image = "nvidia/cuda:12.2.2-cudnn8-devel-ubuntu22.04";
    w.cuda.front().flavour = CudaToolkit::Flavour::devel;
  };
  CHECK(all_of("cuda", with(devel)) == "cuda/devel-flavour:warning");
  CHECK(fix_of("cuda/devel-flavour", with(devel)).starts_with("FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"));
  CHECK(said("cuda/devel-flavour", GpuWorker{}.facts()) == "pass");
  CHECK(said("cuda/devel-flavour", with([&](GpuWorker& w) {
               devel(w);
               w.build.compiles = {step(5)};
             })) == "pass");
  CHECK(said("cuda/devel-flavour", with([&](GpuWorker& w) {
               devel(w);
               w.packages.emplace_back("deepspeed", "0.16.0");
             })) == "pass");
  CHECK(said("cuda/devel-flavour", with([&](GpuWorker& w) {
               devel(w);
               ProgramUse script;
               script.at = step(5);
               script.name = "/build/install.sh";
               w.build.programs = {script};
             })) == "pass");
}

TEST_CASE("what compiles when it runs", "[rules][cuda]") {
  const auto bare = [](GpuWorker& w) { w.packages = {{"tensorflow", "2.15.1"}}; };
  CHECK(all_of("cuda", with(bare)) == "cuda/compiler-missing:warning");
  CHECK(said("cuda/compiler-missing", GpuWorker{}.facts()) == "pass");  // ptxas from wheels counts
  CHECK(fix_of("cuda/compiler-missing", with(bare)).ends_with(" cuda-nvcc-12-2"));
  CHECK(said("cuda/compiler-missing", with([&](GpuWorker& w) {
               bare(w);
               AptInstall install;
               install.at = step(2);
               install.packages.push_back({"cuda-nvcc-12-2", "cuda-nvcc-12-2", "", std::nullopt, {}});
               w.build.apt = {install};
             })) == "pass");
  CHECK(said("cuda/compiler-missing", with([&](GpuWorker& w) {
               bare(w);
               w.frameworks.front().brings_cuda = true;
             })) == "pass");
  CHECK(said("cuda/compiler-missing", slim("")) == "not applicable");
}

TEST_CASE("tags that exist", "[cuda]") {
  using There = TagVerdict::There;
  const auto there = [](const char* tag) { return judge_cuda_tag(knowledge(), tag).there; };
  CHECK(there("12.2.2-cudnn8-runtime-ubuntu22.04") == There::yes);
  CHECK(there("12.4.1-cudnn-runtime-ubuntu22.04") == There::yes);
  CHECK(there("12.4.1-cudnn8-runtime-ubuntu22.04") == There::no);
  CHECK(there("12.2.2-cudnn8-runtime-ubuntu24.04") == There::no);
  CHECK(there("12.7.0-runtime-ubuntu22.04") == There::no);
  CHECK(there("12.2.2-cudnn8-base-ubuntu22.04") == There::no);
  CHECK(there("12.2.2-runtime") == There::no);
  CHECK(there("latest") == There::no);
  CHECK(there("14.9.0-runtime-ubuntu24.04") == There::unknown);  // newer than the table
  CHECK(there("my-own-tag") == There::unknown);
  CHECK(there("10.1-cudnn7-runtime-ubuntu18.04") == There::withdrawn);
  const TagVerdict verdict = judge_cuda_tag(knowledge(), "12.4.1-cudnn8-runtime-ubuntu22.04");
  CHECK(verdict.instead ==
        std::vector<std::string>{"12.4.1-cudnn-runtime-ubuntu22.04", "12.2.2-cudnn8-runtime-ubuntu22.04"});
  CHECK(verdict.why.find("cudnn8 ends with 12.2.2") != std::string::npos);
}

TEST_CASE("images that do not exist", "[rules][cuda]") {
  const auto on = [](const std::string& image) { return with([&](GpuWorker& w) { w.image = image; }); };
  CHECK(all_of("cuda", on("nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04")) == "cuda/image-not-published:error");
  CHECK(said("cuda/image-not-published", on("nvcr.io/nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04")) == "error");
  CHECK(said("cuda/image-not-published", GpuWorker{}.facts()) == "pass");
  CHECK(said("cuda/image-not-published", on("nvidia/cuda:14.9.0-runtime-ubuntu24.04")) == "undecided");
  CHECK(said("cuda/image-not-published", on("nvidia/cuda:10.1-cudnn7-runtime-ubuntu18.04")) == "warning");
  // Another registry's mirror is not judged, nor a tag beside a digest.
  CHECK(said("cuda/image-not-published", on("registry.example.com/nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04")) ==
        "not applicable");
  CHECK(said("cuda/image-not-published",
             on("nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04@sha256:" + std::string(64, 'a'))) == "not applicable");
}

TEST_CASE("the key of before 2022-04-28", "[rules][cuda]") {
  const auto on = [](const std::string& image, bool renewed = false) {
    return with([&](GpuWorker& w) {
      w.image = image;
      AptUpdate update;
      update.at = step(2, "RUN apt-get update");
      update.nvidia_key_renewed = renewed;
      w.build.apt_updates = {update};
    });
  };
  CHECK(said("cuda/revoked-apt-key", on("nvidia/cuda:11.1.1-cudnn8-runtime-ubuntu20.04")) == "warning");
  CHECK(said("cuda/revoked-apt-key", on("nvidia/cuda:11.1.1-cudnn8-runtime-ubuntu20.04", true)) == "pass");
  CHECK(said("cuda/revoked-apt-key", on("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04")) == "pass");
  CHECK(said("cuda/revoked-apt-key", on("nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04")) == "pass");
  CHECK(said("cuda/revoked-apt-key", on("python:3.11-slim")) == "not applicable");
}
