#include <catch2/catch.hpp>
#include <thread>

#include "knowledge/knowledge.hpp"

using namespace imgforge;

namespace {

Version version(std::string_view text) { return *Version::parse(text); }
PythonMinor minor(std::string_view text) { return *PythonMinor::parse(text); }

}  // namespace

TEST_CASE("a release is found by its base version, so a candidate has its release's row") {
  const Knowledge knowledge = Knowledge::embedded();
  REQUIRE(knowledge.beam_release(version("2.48.0")) != nullptr);
  CHECK(knowledge.beam_release(version("2.48.0"))->image_base == "bullseye");
  CHECK(knowledge.beam_release(version("2.48.0rc2")) == knowledge.beam_release(version("2.48.0")));
  CHECK(knowledge.beam_release(version("2.48")) == knowledge.beam_release(version("2.48.0")));
  CHECK(knowledge.beam_release(version("2.48.7")) == nullptr);
  CHECK(knowledge.beam_release(version("2.19.0")) == nullptr);
  CHECK(knowledge.beam_release(version("2.99.0")) == nullptr);
}

TEST_CASE("only inside of its range does the table say that a release does not exist") {
  const Knowledge knowledge = Knowledge::embedded();
  REQUIRE(knowledge.beam_complete());
  CHECK(knowledge.beam_complete()->covers(version("2.20.0")));
  CHECK(knowledge.beam_complete()->covers(version("2.48.7")));
  CHECK(knowledge.beam_complete()->covers(version("2.77.0")));
  CHECK_FALSE(knowledge.beam_complete()->covers(version("2.19.0")));
  CHECK_FALSE(knowledge.beam_complete()->covers(version("2.78.0")));
}

TEST_CASE("behaviours change where the source changed") {
  const Knowledge knowledge = Knowledge::embedded();
  struct Border {
    BeamBehaviour behaviour;
    const char* last_without;
    const char* first_with;
  };
  for (const Border& border :
       {Border{BeamBehaviour::pip_on_path, "2.28.0", "2.29.0"},
        Border{BeamBehaviour::pip_as_module, "2.43.0", "2.44.0"}, Border{BeamBehaviour::boot_venv, "2.43.0", "2.44.0"},
        Border{BeamBehaviour::default_environment, "2.47.0", "2.48.0"},
        Border{BeamBehaviour::beam_required, "2.49.0", "2.50.0"},
        Border{BeamBehaviour::multi_arch_image, "2.49.0", "2.50.0"},
        Border{BeamBehaviour::python_fallback, "2.50.0", "2.51.0"},
        Border{BeamBehaviour::options_file, "2.72.0", "2.73.0"},
        Border{BeamBehaviour::no_build_isolation, "2.74.0", "2.75.0"}}) {
    INFO(border.first_with);
    CHECK_FALSE(knowledge.beam_has(border.behaviour, version(border.last_without)));
    CHECK(knowledge.beam_has(border.behaviour, version(border.first_with)));
    // A candidate is built from the same source as its release, though PEP 440 orders it before.
    CHECK(knowledge.beam_has(border.behaviour, version(std::string(border.first_with) + "rc1")));
    CHECK(knowledge.beam_has(border.behaviour, version(std::string(border.first_with) + ".dev0")));
    CHECK(knowledge.beam_has(border.behaviour, version("3.0.0")));
    CHECK(knowledge.beam_since(border.behaviour) == version(border.first_with));
    CHECK_THAT(knowledge.beam_source(border.behaviour), Catch::Contains("apache/beam"));
  }
}

TEST_CASE("pins of the SDK images") {
  const Knowledge knowledge = Knowledge::embedded();
  const BeamImagePins* pins = knowledge.beam_pins(version("2.48.0"), minor("3.11"));
  REQUIRE(pins != nullptr);
  CHECK(pins->packages.at("numpy") == version("1.23.5"));
  CHECK(pins->packages.at("protobuf") == version("4.23.0"));
  CHECK(pins->packages.at("tensorflow") == version("2.12.0"));
  CHECK(knowledge.beam_pins(version("2.48.0rc1"), minor("3.11")) == pins);
  CHECK(knowledge.beam_pins(version("2.48.0"), minor("3.12")) == nullptr);
  // TensorFlow left the image with 2.51.0.
  CHECK(knowledge.beam_pins(version("2.50.0"), minor("3.11"))->packages.count("tensorflow") == 1);
  CHECK(knowledge.beam_pins(version("2.51.0"), minor("3.11"))->packages.count("tensorflow") == 0);
}

TEST_CASE("base images: what they stand on and which Python they bring") {
  const Knowledge knowledge = Knowledge::embedded();
  struct Case {
    const char* repository;
    const char* tag;
    const char* kind;
    const char* os;
    const char* python;  // empty: none
    const char* path;
  };
  const char* local = "/usr/local/bin/python";
  const char* conda = "/opt/conda/bin/python";
  for (const Case& want : {
           Case{"docker.io/apache/beam_python3.8_sdk", "2.22.0", "beam-sdk", "debian9", "3.8", local},
           Case{"docker.io/apache/beam_python3.8_sdk", "2.24.0", "beam-sdk", "debian10", "3.8", local},
           Case{"docker.io/apache/beam_python3.11_sdk", "2.48.0", "beam-sdk", "debian11", "3.11", local},
           Case{"docker.io/apache/beam_python3.11_sdk", "2.48.0rc1", "beam-sdk", "debian11", "3.11", local},
           Case{"docker.io/apache/beam_python3.11_sdk", "2.53.0", "beam-sdk", "debian12", "3.11", local},
           Case{"gcr.io/cloud-dataflow/v1beta3/beam_python3.14_sdk", "2.77.0", "beam-sdk", "debian12", "3.14", local},
           Case{"docker.io/apache/beam_python3.12_sdk", "latest", "beam-sdk", "", "3.12", local},
           Case{"docker.io/apache/beam_python3.12_sdk", "2.99.0", "beam-sdk", "", "3.12", local},
           Case{"docker.io/apache/beam_python3.12_sdk_distroless", "2.70.0", "beam-sdk", "debian12", "3.12", local},
           Case{"docker.io/apache/beam_python3.12_sdk_ml", "2.70.0", "beam-sdk", "debian12", "3.12", local},
           Case{"docker.io/library/python", "3.11", "python", "", "3.11", local},
           Case{"docker.io/library/python", "3.11.7-slim", "python", "", "3.11", local},
           Case{"docker.io/library/python", "3.11.7-slim-bookworm", "python", "debian12", "3.11", local},
           Case{"docker.io/library/python", "3.15.0rc2-bookworm", "python", "debian12", "3.15", local},
           Case{"docker.io/library/python", "3.12-alpine3.20", "python", "alpine3", "3.12", local},
           Case{"docker.io/library/debian", "12-slim", "os", "debian12", "", ""},
           Case{"docker.io/library/debian", "bookworm-20240110-slim", "os", "debian12", "", ""},
           Case{"docker.io/library/ubuntu", "22.04", "os", "ubuntu22.04", "", ""},
           Case{"docker.io/library/ubuntu", "noble-20240429", "os", "ubuntu24.04", "", ""},
           Case{"docker.io/library/alpine", "3.20", "os", "alpine3", "", ""},
           Case{"docker.io/nvidia/cuda", "12.2.2-cudnn8-runtime-ubuntu22.04", "cuda", "ubuntu22.04", "", ""},
           Case{"nvcr.io/nvidia/cuda", "11.8.0-base-ubuntu20.04", "cuda", "ubuntu20.04", "", ""},
           Case{"docker.io/nvidia/cuda", "12.4.1-cudnn-devel-rockylinux8", "cuda", "", "", ""},
           Case{"docker.io/tensorflow/tensorflow", "2.5.0-gpu", "tensorflow", "ubuntu18.04", "3.6", "/usr/bin/python3"},
           Case{"docker.io/tensorflow/tensorflow", "2.13.0-gpu", "tensorflow", "ubuntu20.04", "3.8",
                "/usr/bin/python3"},
           Case{"docker.io/tensorflow/tensorflow", "2.16.1-gpu", "tensorflow", "ubuntu22.04", "3.11",
                "/usr/bin/python3"},
           Case{"docker.io/pytorch/pytorch", "1.8.1-cuda11.1-cudnn8-runtime", "pytorch", "", "3.8", conda},
           Case{"docker.io/pytorch/pytorch", "1.9.0-cuda11.1-cudnn8-runtime", "pytorch", "", "3.7", conda},
           Case{"docker.io/pytorch/pytorch", "2.5.1-cuda12.4-cudnn9-runtime", "pytorch", "", "3.11", conda},
           Case{"nvcr.io/nvidia/tensorflow", "20.11-tf2-py3", "ngc-tensorflow", "ubuntu18.04", "3.6",
                "/usr/bin/python3"},
           Case{"nvcr.io/nvidia/tensorflow", "22.12-tf1-py3", "ngc-tensorflow", "ubuntu20.04", "3.8",
                "/usr/bin/python3"},
           Case{"nvcr.io/nvidia/pytorch", "24.05-py3", "ngc-pytorch", "ubuntu22.04", "3.10", "/usr/bin/python"},
           Case{"docker.io/continuumio/miniconda3", "23.5.2-0", "conda", "", "", conda},
       }) {
    INFO(want.repository << ":" << want.tag);
    const auto found = knowledge.base_image(want.repository, want.tag);
    REQUIRE(found);
    CHECK(found->kind == want.kind);
    CHECK(found->os == want.os);
    CHECK((found->python ? found->python->to_string() : "") == want.python);
    CHECK(found->python_path == want.path);
    CHECK(found->repository == want.repository);
    CHECK_FALSE(found->source.empty());
  }
}

TEST_CASE("a base image that is not known is not guessed") {
  const Knowledge knowledge = Knowledge::embedded();
  for (const auto& [repository, tag] :
       {std::pair{"docker.io/library/python", "latest"}, std::pair{"docker.io/library/python", "3"},
        std::pair{"docker.io/library/python", "3.11-windowsservercore"}, std::pair{"dockerXio/library/python", "3.11"},
        std::pair{"docker.io/library/python/extra", "3.11"}, std::pair{"example.com/library/python", "3.11"},
        std::pair{"docker.io/nvidia/cuda", "latest"},
        std::pair{"docker.io/nvidia/cuda", "12.2.2-cudnn8-runtime-ubuntu22.04-extra"},
        std::pair{"docker.io/tensorflow/tensorflow", "nightly"},
        std::pair{"nvcr.io/nvidia/tensorflow", "25.03-tf2-py3"},
        std::pair{"docker.io/apache/beam_flink1.18_job_server", "2.48.0"}, std::pair{"", ""}}) {
    INFO(repository << ":" << tag);
    CHECK_FALSE(knowledge.base_image(repository, tag));
  }
}

TEST_CASE("Linux releases") {
  const Knowledge knowledge = Knowledge::embedded();
  const LinuxRelease* jammy = knowledge.linux_release("ubuntu22.04");
  REQUIRE(jammy != nullptr);
  CHECK(jammy->code_name == "jammy");
  CHECK(*jammy->python == minor("3.10"));
  CHECK(std::count(jammy->deadsnakes.begin(), jammy->deadsnakes.end(), minor("3.11")) == 1);
  // The PPA leaves out what the release has itself.
  CHECK(std::count(jammy->deadsnakes.begin(), jammy->deadsnakes.end(), minor("3.10")) == 0);
  CHECK_FALSE(jammy->externally_managed);
  CHECK(jammy->has_distutils);
  CHECK(knowledge.linux_release("debian12")->externally_managed);
  CHECK_FALSE(knowledge.linux_release("ubuntu24.04")->has_distutils);
  CHECK(knowledge.linux_release("ubuntu20.04")->deadsnakes.empty());
  CHECK(knowledge.linux_release("ubuntu22.10") == nullptr);
}

TEST_CASE("frameworks: the newest row at or below the version") {
  const Knowledge knowledge = Knowledge::embedded();
  const auto gpu = [&](const char* name, const char* text) {
    const FrameworkRelease* row = knowledge.framework(name, version(text));
    return row == nullptr ? std::string("none") : row->gpu_requirement;
  };
  CHECK(gpu("tensorflow", "1.15.0") == "none");
  CHECK(gpu("tensorflow", "2.13.1") == "");
  CHECK(gpu("tensorflow", "2.14.0rc1") == "tensorflow[and-cuda]");
  CHECK(gpu("tensorflow", "2.15.0") == "tensorflow[and-cuda]");
  CHECK(gpu("torch", "2.8.0+cu126") == "torch");
  CHECK(gpu("jax", "0.4.6") == "");
  CHECK(gpu("jax", "0.4.20") == "jax[cuda12_pip]");
  CHECK(gpu("jax", "0.6.0") == "jax[cuda12]");
  CHECK(gpu("mxnet", "1.0") == "none");

  // Links are named exactly where PyPI does not have the wheels.
  CHECK_FALSE(knowledge.framework("jax", version("0.5.0"))->tpu_find_links.empty());
  CHECK(knowledge.framework("jax", version("0.5.1"))->tpu_find_links.empty());
  CHECK_FALSE(knowledge.framework("torch", version("2.6.0"))->tpu_find_links.empty());
  CHECK(knowledge.framework("torch", version("2.8.0"))->tpu_find_links.empty());
  CHECK(knowledge.framework("torch", version("2.8.0"))->tpu_requirement == "torch_xla[tpu]");
  CHECK(knowledge.framework("torch", version("2.10.0"))->tpu_requirement.empty());
}

TEST_CASE("installers: one of a version, or the newest") {
  const Knowledge knowledge = Knowledge::embedded();
  const Installer* newest = knowledge.installer("miniforge");
  REQUIRE(newest != nullptr);
  CHECK(newest->version == version("26.1.1-3"));
  CHECK(newest->url.find("Miniforge3-26.1.1-3-Linux-x86_64.sh") != std::string::npos);
  REQUIRE(knowledge.installer("cuda", version("12.2.2")) != nullptr);
  CHECK(knowledge.installer("cuda", version("12.2.2"))->url.find("cuda_12.2.2_535.104.05_linux.run") != std::string::npos);
  CHECK(knowledge.installer("cuda", version("12.2.9")) == nullptr);
  CHECK(knowledge.installer("conda") == nullptr);
}

TEST_CASE("the version is the newest day of the tables") {
  CHECK_THAT(Knowledge::embedded().version(), Catch::Matches("20[0-9][0-9]\\.[01][0-9]\\.[0-3][0-9]"));
}

TEST_CASE("a table is decoded once, whoever asks first") {
  const Knowledge knowledge = Knowledge::embedded();
  std::vector<std::thread> threads;
  std::vector<const BeamRelease*> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = knowledge.beam_release(version("2.48.0")); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const BeamRelease* release : seen) CHECK(release == seen[0]);
  CHECK(seen[0] != nullptr);
}
