#include <catch2/catch.hpp>

#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("--set is typed by the schema", "[override]") {
  const Recipe recipe =
      good(least + "packages: {pip: [numpy], apt: [curl]}\nbase: {image: \"Not/Good\"}\n",
           {"python.version=3.10", "beam.version=2.50", "packages.pip=torch>=2,<3", "packages.apt=[wget, git]",
            "base.image=python:3.10", "accelerator.gpu.count=2", "accelerator.gpu.type=nvidia-l4", "env.URL=a=b, c",
            "labels.org.example.a=x", "target.role=both", "files=[{from: a, to: /b}]", "workdir=/w"});
  CHECK(recipe.python_version == PythonMinor{3, 10});  // the command line has no numbers: no quotes needed
  CHECK(recipe.beam_version->to_string() == "2.50");
  REQUIRE(recipe.packages.pip.size() == 1);
  CHECK(recipe.packages.pip[0].to_string() == "torch<3,>=2");
  CHECK(recipe.packages.apt == std::vector<std::string>{"wget", "git"});
  CHECK(recipe.base_image->to_string() == "python:3.10");  // a fault that is set over is none
  CHECK(recipe.gpu->count == 2);
  CHECK(recipe.env.front() == std::pair<std::string, std::string>("URL", "a=b, c"));
  CHECK(recipe.labels.front().first == "org.example.a");
  CHECK(recipe.target.role == Role::both);
  CHECK(recipe.files.front().to == "/b");
  CHECK(recipe.workdir == "/w");
  CHECK(recipe.place_of("python.version") == Place{"--set", 0, 0});
}

TEST_CASE("a later --set wins, null takes away, auto leaves to us", "[override]") {
  CHECK(good(least, {"python.version=3.9", "python.version=3.12"}).python_version == PythonMinor{3, 12});
  const std::string gpu = least + "accelerator: {gpu: {type: nvidia-l4}}\nbeam: {version: 2.70.0}\n";
  const Recipe tpu = good(gpu, {"accelerator.gpu=null", "accelerator.tpu={type: tpu-v6e-slice, topology: 1x1}",
                                "beam.version=auto", "env.N=null"});
  CHECK_FALSE(tpu.gpu);
  CHECK(tpu.tpu->topology == "1x1");
  CHECK_FALSE(tpu.beam_version);
  CHECK(tpu.env.front().second == "null");  // of a variable everything is text
  CHECK(good(least, {"beam.version=null", "accelerator.gpu.cuda=null"}).beam_version == std::nullopt);
  CHECK(good("", {"apiVersion=imgforge/v1", "name=a", "target.runner=portable"}).target.runner == Runner::portable);
}

TEST_CASE("faults of --set name it", "[override]") {
  CHECK(faults("", {"python.version=3.11.2"}) ==
        "--set: error: python.version: \"3.11.2\" is no minor version of Python: a recipe names the minor alone, write "
        "\"3.11\"\n"
        "  = two numbers with a dot between, in quotes: \"3.11\"\n");
  CHECK(has(faults("", {"pyton.version=3.11"}),
            "--set: error: \"pyton.version\" is no key of a recipe, did you mean \"python.version\"?"));
  CHECK(has(faults("", {"python.version"}), "has no \"=\""));
  CHECK(has(faults("", {"packages.pip[0]=x"}), "items of a list cannot be set alone"));
  CHECK(has(faults("", {"files[].to=x"}), "items of a list cannot be set alone"));
  CHECK(has(faults("", {"python=3.11"}), "--set: error: python: a map is expected, this is text"));
  CHECK(has(faults("", {"packages.apt=[a"}), "--set: error: packages.apt: not YAML"));
  CHECK(has(faults("", {"packages.apt=[curl]\nname: b"}), "--set: error: packages.apt: more than one value"));
  CHECK(has(faults("", {"packages.apt=[curl, Wget]"}), "--set: error: packages.apt[1]"));
  CHECK(has(faults("", {"accelerator.gpu.count=zero"}), "is no whole number"));
  CHECK(has(faults("", {"env.1A=x"}), "\"1A\" is no variable name"));
  CHECK(has(faults("", {"env.A=x\ny"}), "line break"));
  CHECK(has(faults("", {"env.A=\xff"}), "not UTF-8"));
  CHECK(has(faults("", {"=x"}), "is no key of a recipe"));
  CHECK(has(faults("", {"frameworks={torch: 2.10}"}), "YAML reads 2.10 as the number 2.1"));
  CHECK(has(faults("", {"frameworks=" + std::string(100'000, '{')}), "--set: error: frameworks: "));
  CHECK(has(faults("workdir: a\n", {"name=A"}), "recipe.yaml:4:10"));  // both are said
}
