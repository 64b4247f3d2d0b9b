#include "recipe/parse.hpp"

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("every key of a recipe arrives", "[recipe]") {
  const std::string sum(64, 'a');
  const Recipe recipe = good(R"(# A comment.
apiVersion: imgforge/v1
name: landsat-tf
target:
  runner: dataflow-flex
  role: both
  launch: {python: "3.11", beam: 2.48.0}
base: {image: "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"}
python: {version: "3.10", from: deadsnakes}
beam: {version: 2.48.0, extras: [gcp, interactive], boot: inherit}
accelerator:
  gpu:
    type: nvidia-tesla-t4
    count: 2
    cuda: {version: "12.2", from: runfile, url: "https://example.org/cuda.run", sha256: )" +
                             sum + R"(}
    cudnn: {version: 8.9.7, from: archive, file: cudnn.tar.xz, sha256: )" +
                             sum + R"(}
frameworks: {tensorflow: 2.15.0, torch: 2.8.0+cpu, jax: 0.6.2}
packages:
  apt: [curl, libcudnn8=8.9.7.29-1+cuda12.2, g++]
  pip: ["Pandas>=2,<3; python_version >= '3.9'", ipython]
  requirements: requirements.txt
  constraints: ./deep/constraints.txt
  indexes: ["https://download.pytorch.org/whl/cpu"]
  find_links: ["https://storage.googleapis.com/jax-releases/libtpu_releases.html"]
files:
  - {from: src/, to: /app/}
  - from: main.py
    to: /app/main.py
env:
  GREETING: "\"; RUN id; echo $(id) `id` \\ # \t é"
  COUNT: 3
  FLAG: false
  VERSION: 3.10
  EMPTY: ""
labels: {org.example.team: birds}
workdir: /app
)");
  CHECK(recipe.name == "landsat-tf");
  CHECK(recipe.target.runner == Runner::dataflow_flex);
  CHECK(recipe.target.role == Role::both);
  CHECK(recipe.target.launch.python == PythonMinor{3, 11});
  CHECK(recipe.target.launch.beam->to_string() == "2.48.0");
  CHECK(recipe.base_image->repository() == "nvidia/cuda");
  CHECK(recipe.python_version == PythonMinor{3, 10});
  CHECK(recipe.python_from == PythonFrom::deadsnakes);
  CHECK(recipe.beam_version->to_string() == "2.48.0");
  CHECK(recipe.beam_extras == std::vector<std::string>{"gcp", "interactive"});
  CHECK(recipe.boot == BootFrom::inherit);
  REQUIRE(recipe.gpu);
  CHECK(recipe.gpu->type == "nvidia-tesla-t4");
  CHECK(recipe.gpu->count == 2);
  CHECK(recipe.gpu->cuda.version->to_string() == "12.2");
  CHECK(recipe.gpu->cuda.from == CudaFrom::runfile);
  CHECK(recipe.gpu->cuda.url == "https://example.org/cuda.run");
  CHECK(recipe.gpu->cuda.sha256 == sum);
  CHECK(recipe.gpu->cudnn.version->to_string() == "8.9.7");
  CHECK(recipe.gpu->cudnn.from == CudnnFrom::archive);
  CHECK(recipe.gpu->cudnn.file == "cudnn.tar.xz");
  CHECK(recipe.gpu->cudnn.sha256 == sum);
  CHECK_FALSE(recipe.tpu);
  CHECK(recipe.frameworks.tensorflow->to_string() == "2.15.0");
  CHECK(recipe.frameworks.torch->local() == "cpu");
  CHECK(recipe.frameworks.jax->to_string() == "0.6.2");
  CHECK(recipe.packages.apt == std::vector<std::string>{"curl", "libcudnn8=8.9.7.29-1+cuda12.2", "g++"});
  REQUIRE(recipe.packages.pip.size() == 2);
  CHECK(recipe.packages.pip[0].normalised() == "pandas");
  CHECK(recipe.packages.requirements == "requirements.txt");
  CHECK(recipe.packages.constraints == "./deep/constraints.txt");
  CHECK(recipe.packages.indexes.size() == 1);
  CHECK(recipe.packages.find_links.size() == 1);
  REQUIRE(recipe.files.size() == 2);
  CHECK(recipe.files[0].from == "src/");
  CHECK(recipe.files[1].to == "/app/main.py");
  const std::vector<std::pair<std::string, std::string>> env = {
      {"GREETING", "\"; RUN id; echo $(id) `id` \\ # \t \xc3\xa9"},
      {"COUNT", "3"},
      {"FLAG", "false"},
      {"VERSION", "3.10"},
      {"EMPTY", ""}};
  CHECK(recipe.env == env);
  CHECK(recipe.labels.front().first == "org.example.team");
  CHECK(recipe.workdir == "/app");
}

TEST_CASE("a TPU, and the least recipe", "[recipe]") {
  const Recipe tpu = good(least + "accelerator: {tpu: {type: tpu-v5-lite-podslice, topology: 1x1}}\n");
  CHECK(tpu.tpu->type == "tpu-v5-lite-podslice");
  CHECK(tpu.tpu->topology == "1x1");
  CHECK_FALSE(tpu.gpu);

  const Recipe recipe = good(least);
  CHECK(recipe.target.role == Role::worker);
  CHECK(recipe.boot == BootFrom::copy);
  CHECK_FALSE(recipe.base_image);
  CHECK_FALSE(recipe.gpu);
  CHECK(recipe.frameworks.empty());
  CHECK(recipe.workdir.empty());
  CHECK(good("apiVersion: imgforge/v1\nname: a\ntarget: {runner: generic}\n").target.runner == Runner::portable);
}

TEST_CASE("auto, and null where it is allowed, are the same as left out", "[recipe]") {
  const Recipe recipe = good(least + R"(base: {image: auto}
python: {version: auto, from: auto}
beam: auto
accelerator: {gpu: {type: nvidia-l4, cuda: auto, cudnn: {version: auto, from: auto}}}
packages: {requirements: null, constraints: ~}
workdir:
)");
  CHECK(to_label_json(recipe) == to_label_json(good(least + "accelerator: {gpu: {type: nvidia-l4}}\n")));
  CHECK(has(faults("name2: x\npackages: {apt: null}\n"), "packages.apt has no value"));
  CHECK(has(faults("env:\n"),
            "recipe.yaml:4:1: error: env has no value\n  env:\n  ^\n  = write {}, or leave the key out"));
  CHECK(has(faults("beam: {boot: auto}\n"), "\"auto\" is no way to get boot"));
  CHECK(has(faults("frameworks: {torch: auto}\n"), "\"auto\" is no version"));
}

TEST_CASE("places: where each key stands", "[recipe]") {
  const Recipe recipe =
      good(least + "packages:\n  pip:\n    - numpy\n    - scipy\nlabels: {a.b.c: x}\nfiles: [{from: a, to: /b}]\n");
  CHECK(recipe.place_of("packages.pip[1]") == Place{"recipe.yaml", 7, 7});
  CHECK(recipe.place_of("packages.pip[7]") == Place{"recipe.yaml", 5, 3});
  CHECK(recipe.place_of("packages.apt[0]") == Place{"recipe.yaml", 4, 1});
  CHECK(recipe.place_of("target.runner") == Place{"recipe.yaml", 3, 18});
  CHECK(recipe.place_of("target.role") == Place{"recipe.yaml", 3, 1});
  CHECK(recipe.place_of("labels.a.b.c") == Place{"recipe.yaml", 8, 17});
  CHECK(recipe.place_of("files[0].to") == Place{"recipe.yaml", 9, 23});
  CHECK(recipe.place_of("beam.version") == Place{"recipe.yaml", 0, 0});
}

TEST_CASE("unknown keys are errors, with the nearest known one", "[recipe]") {
  CHECK(has(faults("pyhton: {version: \"3.11\"}\n"),
            "recipe.yaml:4:1: error: unknown key \"pyhton\", did you mean \"python\"?\n"));
  CHECK(has(faults("python: {versoin: \"3.11\"}\n"),
            "recipe.yaml:4:10: error: unknown key \"versoin\" in python, did you mean \"version\"?\n"));
  CHECK(has(faults("accelerator: {gpu: {divers: latest}}\n"), "did you mean \"driver\"?"));
  CHECK(has(faults("accelerator: {cuda: {version: \"12.2\"}}\n"), "cuda stands under accelerator.gpu"));
  CHECK(has(faults("packages: {workdir: /x}\n"), "workdir stands at the top of the recipe"));
  CHECK(has(faults("python.version: \"3.11\"\n"), "unknown key \"python.version\""));
  CHECK(has(faults("\"files[]\": x\n"), "unknown key \"files[]\""));
  CHECK(has(faults("\"\": x\n"), "unknown key \"\""));
  CHECK(has(faults("\"a\\e[2J\": x\n"), "unknown key \"a\\x1b[2J\""));
  // What is misspelt is not missing too.
  const RecipeParse parse = parse_recipe("apiVersion: imgforge/v1\nname: a\ntarget: {runer: dataflow}\n", "r.yaml");
  REQUIRE(parse.diagnostics.size() == 1);
  CHECK(parse.diagnostics[0].message == "unknown key \"runer\" in target, did you mean \"runner\"?");
}

TEST_CASE("all that is required and missing is said at once", "[recipe]") {
  const std::string text = said(parse_recipe("beam: {version: 2.70.0}\n", "recipe.yaml"));
  CHECK(has(text, "recipe.yaml:1:1: error: apiVersion is missing"));
  CHECK(has(text, "name is missing"));
  CHECK(has(text, "target.runner is missing"));
  CHECK(has(said(parse_recipe("apiVersion: imgforge/v1\nname: a\ntarget: {role: worker}\n", "r.yaml")),
            "r.yaml:3:1: error: target.runner is missing"));
  CHECK(has(said(parse_recipe("apiVersion: imgforge/v1\nname: a\ntarget:\n", "r.yaml")), "target has no value"));
  CHECK(has(faults("accelerator: {tpu: {type: tpu-v6e-slice}}\n"), "accelerator.tpu.topology is missing"));
  CHECK(has(faults("files: [{from: a}]\n"), "recipe.yaml:4:9: error: files[0].to is missing"));
}

TEST_CASE("all faults at once, in the order of the text", "[recipe]") {
  const RecipeParse parse = parse_recipe(
      "apiVersion: imgforge/v2\nname: Heron\ntarget: {runner: dataflo}\nbase: {image: \"Python\"}\nname: "
      "twice\nworkdir: app\n",
      "r.yaml");
  std::vector<std::size_t> lines;
  for (const Diagnostic& diagnostic : parse.diagnostics) lines.push_back(diagnostic.place.line);
  CHECK(lines == std::vector<std::size_t>{1, 2, 3, 4, 5, 6});
  CHECK(has(
      said(parse),
      "\"imgforge/v2\" is no version of the recipe format that this imgforge reads, did you mean \"imgforge/v1\"?"));
  CHECK(has(said(parse), "\"dataflo\" is no runner, did you mean \"dataflow\"?"));
}

TEST_CASE("an unquoted version that is a number is caught, with the advice to quote", "[recipe]") {
  CHECK(faults("python: {version: 3.10}\n") ==
        "recipe.yaml:4:19: error: python.version: YAML reads 3.10 as the number 3.1, not as a version\n"
        "  python: {version: 3.10}\n"
        "                    ^\n"
        "  = write it in quotes: \"3.10\"\n");
  CHECK(has(faults("python:\n  version: 3.9\n"), "YAML reads 3.9 as a number, not as a version (and 3.10 as 3.1)"));
  CHECK(has(faults("python: {version: 3}\n"), "write it in quotes: \"3\""));
  CHECK(has(faults("beam: {version: 2.0}\n"), "YAML reads 2.0 as the number 2, not as a version"));
  CHECK(has(faults("frameworks: {jax: 1e3}\n"), "YAML reads 1e3 as a number"));
  CHECK(has(faults("accelerator: {gpu: {type: x, cuda: {version: 12.10}}}\n"), "12.1,"));
  CHECK(has(said(parse_recipe("apiVersion: imgforge/v1\nname: a\ntarget: {runner: dataflow, launch: {python: 3.10}}\n",
                              "r.yaml")),
            "r.yaml:3:45: error: target.launch.python: YAML reads 3.10 as the number 3.1"));
  CHECK(good(least + "python: {version: '3.10'}\n").python_version == PythonMinor{3, 10});
  CHECK(good(least + "python:\n  version: |-\n    3.10\n").python_version == PythonMinor{3, 10});
  CHECK(good(least + "beam: {version: 2.48.0}\n").beam_version->to_string() == "2.48.0");
}

TEST_CASE("gpu and tpu exclude each other; what would be ignored is refused", "[recipe]") {
  CHECK(has(faults("accelerator: {gpu: {type: a}, tpu: {type: b, topology: 1x1}}\n"),
            "recipe.yaml:4:31: error: accelerator: gpu and tpu are both there"));
  CHECK(has(faults("accelerator: {gpu: {type: a, cuda: {url: \"https://x.org/c\"}}}\n"),
            "accelerator.gpu.cuda.url is only read with from: runfile"));
  CHECK(has(faults("accelerator: {gpu: {type: a, cudnn: {from: apt, file: c.tar.xz}}}\n"),
            "cudnn.file is only read with from: archive"));
  CHECK(has(faults("accelerator: {gpu: {type: a, cudnn: {from: archive, file: c, url: \"https://x.org/c\"}}}\n"),
            "file and url are both there"));
  good(least +
       "accelerator: {gpu: {type: a, cuda: {version: \"10.1\", from: runfile}, cudnn: {version: \"7.6\", from: "
       "archive}}}\n");
}

TEST_CASE("wrong kinds of values", "[recipe]") {
  CHECK(has(faults("packages: {apt: curl}\n"),
            "recipe.yaml:4:17: error: packages.apt: a list is expected, this is text\n  packages: {apt: curl}\n        "
            "          ^\n  = write [\"curl\"]"));
  CHECK(has(faults("packages: []\n"), "packages: a map is expected, this is a list"));
  CHECK(has(faults("workdir: [/a]\n"), "workdir: text is expected, this is a list"));
  CHECK(has(faults("env: {A: [b]}\n"), "env.A: text is expected, this is a list"));
  CHECK(has(faults("env: {A: }\n"), "env.A has no value\n"));
  CHECK(has(faults("files: [a]\n"), "files[0]: a map is expected, this is text"));
  for (const std::string_view count : {"0", "-1", "1.5", "many", "1025", "99999999999999999999", "0x1", "\"\""}) {
    CHECK(has(faults("accelerator: {gpu: {type: a, count: " + std::string(count) + "}}\n"),
              "is no whole number from 1 to 1024"));
  }
  CHECK(has(said(parse_recipe("- a\n", "r.yaml")), "a recipe is a map of keys, this is a list"));
  CHECK(has(said(parse_recipe("text\n", "r.yaml")), "this is text"));
  for (const std::string_view empty : {"", "\n", "# nothing\n", "---\n", "~\n"}) {
    CHECK(has(said(parse_recipe(empty, "r.yaml")), "r.yaml: error: the recipe is empty"));
  }
}
