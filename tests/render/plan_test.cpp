// What imgforge makes of what a recipe leaves out, and what it says where a recipe cannot become an image.
#include <algorithm>

#include "render/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// The fourth line is the first of `more`.
std::string with(const std::string& more, const std::string& runner = "dataflow") {
  return "apiVersion: imgforge/v1\nname: heron\ntarget: {runner: " + runner + "}\n" + more;
}

const std::string cuda = "base: {image: \"docker.io/nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\"}\n";

bool derived(const Plan& plan, const std::string& path) {
  return std::any_of(plan.derivations.begin(), plan.derivations.end(), [&](const Derivation& item) {
    CHECK_FALSE(item.because.empty());
    return item.path == path;
  });
}

}  // namespace

TEST_CASE("the base is the SDK image where none is named") {
  const Plan plan = plan_of(with("python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\n"));
  CHECK(plan.recipe.base_image->to_full_string() == "docker.io/apache/beam_python3.11_sdk:2.60.0");
  CHECK(plan.base_is_sdk);
  CHECK(plan.recipe.python_from == PythonFrom::base);
  CHECK(derived(plan, "base.image"));
  CHECK(derived(plan, "python.from"));
}

TEST_CASE("worker and launcher agree where only the launcher is written") {
  const Plan plan = plan_of(
      "apiVersion: imgforge/v1\nname: heron\ntarget: {runner: dataflow, launch: {python: \"3.10\", beam: 2.60.0}}\n");
  CHECK(plan.recipe.python_version->to_string() == "3.10");
  CHECK(plan.recipe.beam_version->to_string() == "2.60.0");
  CHECK(derived(plan, "python.version"));
  CHECK(derived(plan, "beam.version"));
}

TEST_CASE("the source of Python follows from the base") {
  const auto from = [](const std::string& image, const std::string& python) {
    const Plan plan = plan_of(
        with("base: {image: \"" + image + "\"}\npython: {version: \"" + python + "\"}\nbeam: {version: 2.60.0}\n"));
    CHECK(derived(plan, "python.from"));
    return *plan.recipe.python_from;
  };
  CHECK(from("python:3.11-slim-bookworm", "3.11") == PythonFrom::base);
  CHECK(from("tensorflow/tensorflow:2.16.1-gpu", "3.11") == PythonFrom::base);
  CHECK(from("debian:12-slim", "3.11") == PythonFrom::apt);
  CHECK(from("nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04", "3.10") == PythonFrom::apt);
  CHECK(from("nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04", "3.11") == PythonFrom::deadsnakes);
  CHECK(from("nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04", "3.8") == PythonFrom::conda);
  CHECK(from("debian:12-slim", "3.9") == PythonFrom::conda);
}

TEST_CASE("CUDA and cuDNN come from the base where it brings them, else from wheels") {
  const std::string gpu =
      "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\naccelerator: {gpu: {type: nvidia-l4}}\nframeworks: "
      "{tensorflow: 2.15.1}\n";
  const Plan on_cuda = plan_of(with(cuda + gpu));
  CHECK(on_cuda.recipe.gpu->cuda.from == CudaFrom::base);
  CHECK(on_cuda.recipe.gpu->cudnn.from == CudnnFrom::base);
  CHECK(has(render_dockerfile(on_cuda, templates()), "        tensorflow==2.15.1"));
  const Plan on_sdk = plan_of(with(gpu));
  CHECK(on_sdk.recipe.gpu->cuda.from == CudaFrom::wheels);
  CHECK(on_sdk.recipe.gpu->cudnn.from == CudnnFrom::wheels);
  CHECK(has(render_dockerfile(on_sdk, templates()), "'tensorflow[and-cuda]==2.15.1'"));
  CHECK(has(render_dockerfile(on_sdk, templates()), "/usr/local/nvidia/lib64"));
}

TEST_CASE("boot is copied wherever the base is not the SDK image of this Beam") {
  const std::string beam = "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\n";
  CHECK(has(dockerfile_of(with("base: {image: \"apache/beam_python3.11_sdk:2.59.0\"}\n" + beam)),
            "COPY --from=beam_sdk"));
  CHECK_FALSE(has(dockerfile_of(with("base: {image: \"apache/beam_python3.11_sdk:2.60.0\"}\n" + beam)),
                  "COPY --from=beam_sdk"));
  CHECK_FALSE(has(dockerfile_of(with("base: {image: \"example.com/ours:1\"}\npython: {version: \"3.11\", from: "
                                     "base}\nbeam: {version: 2.60.0, boot: inherit}\n")),
                  "beam_sdk AS"));
}

TEST_CASE("/usr/local/bin/pip is there for Beam through 2.29, where the sources disagree") {
  const auto linked = [](const std::string& beam) {
    return plan_of(with("base: {image: \"python:3.8-slim-bookworm\"}\npython: {version: \"3.8\"}\nbeam: {version: " +
                        beam + "}\n"))
        .pip_location;
  };
  CHECK(linked("2.28.0"));
  CHECK(linked("2.29.0"));
  CHECK_FALSE(linked("2.30.0"));
}

TEST_CASE("pip is told to go on only in an interpreter that the distribution keeps for itself") {
  const auto text = [](const std::string& image, const std::string& python, const std::string& from) {
    return dockerfile_of(with("base: {image: \"" + image + "\"}\npython: {version: \"" + python + "\", from: " + from +
                              "}\nbeam: {version: 2.60.0}\n"));
  };
  CHECK(has(text("debian:12-slim", "3.11", "apt"), "PIP_BREAK_SYSTEM_PACKAGES=1"));
  CHECK_FALSE(has(text("ubuntu:22.04", "3.10", "apt"), "PIP_BREAK_SYSTEM_PACKAGES"));
  CHECK_FALSE(has(text("python:3.11-slim-bookworm", "3.11", "base"), "PIP_BREAK_SYSTEM_PACKAGES"));
  CHECK_FALSE(has(text("debian:12-slim", "3.11", "conda"), "PIP_BREAK_SYSTEM_PACKAGES"));
}

TEST_CASE("a download without a known sum is a warning that says how to get it") {
  const std::string url = "https://example.com/cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz";
  const std::string recipe =
      "base: {image: \"nvidia/cuda:12.2.2-runtime-ubuntu22.04\"}\npython: {version: \"3.11\"}\nbeam: {version: "
      "2.60.0}\naccelerator:\n  gpu:\n    type: nvidia-l4\n    cudnn: {from: archive, url: \"" +
      url + "\"";
  const std::string said = said_of(with(recipe + "}\n"));
  CHECK(has(said, "warning"));
  CHECK(has(said, "recipe.yaml:10:"));
  CHECK(has(said, "sha256sum"));
  CHECK(has(said, "accelerator.gpu.cudnn.sha256"));
  const std::string sum(64, 'a');
  CHECK_FALSE(has(said_of(with(recipe + ", sha256: " + sum + "}\n")), "sha256"));
  const std::string text = dockerfile_of(with(recipe + ", sha256: " + sum + "}\n"));
  CHECK(has(text, "ARG CUDNN_ARCHIVE_SHA256=" + sum));
  CHECK(has(text, "sha256sum -c"));
}

TEST_CASE("the installers of the knowledge have their sums") {
  CHECK(has(dockerfile_of(repository_recipe("dataflow-gpu-beam-image")),
            "ARG CUDA_RUNFILE_SHA256=" + knowledge().installer("cuda", Version::parse("12.2.2"))->sha256));
  CHECK(has(dockerfile_of(repository_recipe("dataflow-gpu-conda")),
            "ARG MINIFORGE_SHA256=" + knowledge().installer("miniforge")->sha256));
}

TEST_CASE("what cannot become an image is said with its place and the way out") {
  struct Case {
    const char* what;
    std::string recipe;
    const char* place;
    std::vector<const char*> parts;
  };
  const std::vector<Case> cases = {
      {"deadsnakes on Debian",
       "base: {image: \"debian:12-slim\"}\npython: {version: \"3.11\", from: deadsnakes}\nbeam: {version: 2.60.0}\n",
       "recipe.yaml:5:",
       {"deadsnakes", "Ubuntu", "debian12", "from: apt"}},
      {"a minor that deadsnakes has not",
       "base: {image: \"ubuntu:22.04\"}\npython: {version: \"3.8\", from: deadsnakes}\nbeam: {version: 2.40.0}\n",
       "recipe.yaml:5:",
       {"3.8", "ubuntu22.04", "3.11"}},
      {"another Python in the base",
       "base: {image: \"python:3.11-slim-bookworm\"}\npython: {version: \"3.12\", from: base}\nbeam: {version: "
       "2.60.0}\n",
       "recipe.yaml:5:",
       {"3.11", "3.12"}},
      {"no Python in the base",
       cuda + "python: {version: \"3.11\", from: base}\nbeam: {version: 2.60.0}\n",
       "recipe.yaml:5:",
       {"no Python"}},
      {"a Python that Beam does not support",
       "python: {version: \"3.9\"}\nbeam: {version: 2.74.0}\n",
       "recipe.yaml:4:",
       {"2.74.0", "3.9", "3.10"}},
      {"a Beam that was never released",
       "python: {version: \"3.11\"}\nbeam: {version: 2.60.7}\n",
       "recipe.yaml:5:",
       {"2.60.7", "no release"}},
      {"a TPU that there is not",
       "accelerator: {tpu: {type: tpu-v6-slice, topology: 1x1}}\n",
       "recipe.yaml:4:",
       {"tpu-v6-slice", "did you mean tpu-v6e-slice"}},
      {"a topology that there is not",
       "accelerator: {tpu: {type: tpu-v6e-slice, topology: 4x4}}\n",
       "recipe.yaml:4:",
       {"4x4", "1x1, 2x2 and 2x4"}},
      {"an archive without one",
       cuda + "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\naccelerator: {gpu: {type: nvidia-l4, cudnn: "
              "{from: archive}}}\n",
       "recipe.yaml:7:",
       {"archive", "file"}},
      {"an installer that is not known",
       "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\naccelerator: {gpu: {type: nvidia-l4, cuda: {from: "
       "runfile, version: \"9.9\"}}}\n",
       "recipe.yaml:6:",
       {"9.9", "url"}},
      {"Alpine", "base: {image: \"alpine:3.19\"}\npython: {version: \"3.11\"}\n", "recipe.yaml:4:", {"Alpine", "musl"}},
      {"an unknown base without a Python",
       "base: {image: \"example.com/ours:1\"}\n",
       "recipe.yaml:4:",
       {"example.com/ours:1", "python.version"}},
      {"a variable that contradicts the TPU",
       "python: {version: \"3.11\"}\nbeam: {version: 2.74.0}\naccelerator: {tpu: {type: tpu-v6e-slice, topology: "
       "2x2}}\nenv: {TPU_ACCELERATOR_TYPE: v6e-8}\n",
       "recipe.yaml:7:",
       {"TPU_ACCELERATOR_TYPE", "v6e-4"}},
  };
  for (const Case& item : cases) {
    INFO(item.what);
    const std::string said = said_of(with(item.recipe));
    INFO(said);
    CHECK(has(said, item.place));
    CHECK(has(said, "error:"));
    for (const char* part : item.parts) {
      INFO(part);
      CHECK(has(said, part));
    }
  }
}

TEST_CASE("runners and roles that are not rendered yet say so") {
  for (const char* runner : {"spark-serverless", "dataflow-flex"}) {
    const std::string said = said_of(with("", runner));
    CHECK(has(said, runner));
    CHECK(has(said, "recipe.yaml:3:"));
  }
  CHECK(has(said_of("apiVersion: imgforge/v1\nname: heron\ntarget: {runner: dataflow, role: launcher}\n"), "launcher"));
}

TEST_CASE("a launcher with other versions is a warning at the version that differs") {
  const std::string recipe =
      "apiVersion: imgforge/v1\nname: heron\ntarget: {runner: dataflow, launch: {python: \"3.11\", beam: 2.60.0}}\n";
  const std::string python = said_of(recipe + "python: {version: \"3.10\"}\nbeam: {version: 2.60.0}\n");
  CHECK(has(python, "recipe.yaml:4:"));
  CHECK(has(python, "warning: the job is launched with Python 3.11, and the worker has 3.10"));
  CHECK_FALSE(has(python, "Beam"));
  const std::string beam = said_of(recipe + "python: {version: \"3.11\"}\nbeam: {version: 2.61.0}\n");
  CHECK(has(beam, "recipe.yaml:5:"));
  CHECK(has(beam, "the job is launched with Beam 2.60.0, and the worker has 2.61.0"));
  CHECK(said_of(recipe + "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\n").empty());
}

TEST_CASE("what is from memory alone does not stop a recipe") {
  // The row of this tag is unverified.
  const std::string said =
      said_of(with("base: {image: \"pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime\"}\npython: {version: \"3.11\", "
                   "from: base}\nbeam: {version: 2.60.0}\n"));
  CHECK(has(said, "warning"));
  CHECK_FALSE(has(said, "error:"));
}

TEST_CASE("--explain says of each derived value why, and where the row is from") {
  const Plan plan = plan_of(
      with(cuda + "python: {version: \"3.11\"}\nbeam: {version: 2.60.0}\naccelerator: {gpu: {type: nvidia-l4}}\n"));
  const std::string text = to_string(plan.derivations);
  for (const char* part : {"python.from", "deadsnakes", "accelerator.gpu.cuda.from", "accelerator.gpu.cuda.version",
                           "12.2.2", "source:"}) {
    INFO(part);
    CHECK(has(text, part));
  }
}
