#include <catch2/catch.hpp>
#include <random>

#include "recipe/secret.hpp"
#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// Recipes with keys that are there or not, by chance; lines in any order.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}

  std::vector<std::string> blocks() {
    std::vector<std::string> result = {
        "apiVersion: imgforge/v1\n", "name: " + any({"heron", "a", "x-1"}) + "\n",
        "target: {" +
            shuffled({"runner: " + any({"dataflow", "dataflow-flex"}),
                      maybe("role: " + any({"worker", "launcher", "both"})), maybe("machine_type: n1-standard-4"),
                      maybe("streaming: " + any({"true", "False"})), maybe("disk_size_gb: " + any({"50", "\"100\""})),
                      maybe("provisioning: " + any({"standard", "flex-start"})),
                      maybe("options: {" + shuffled({"experiments: [b, a]", "save_main_session: true", "api_key: k1"}) +
                            "}"),
                      maybe("launch: {python: \"3.10\", beam: " + any({"2.48.0", "\"2.48\"", "2.60.0RC1"}) + "}")}) +
            "}\n"};
    if (chance()) {
      result[2] = "target: {" +
                  shuffled({"runner: spark-serverless", maybe("runtime_version: \"2.2\""),
                            maybe("properties: {spark.executor.cores: 4, spark.x.secret: k1}")}) +
                  "}\n";
    } else if (chance()) {
      result[2] = "target: {runner: " + any({"portable", "generic"}) + "}\n";
    }
    const auto add = [&](const std::string& text) {
      if (chance()) result.push_back(text + "\n");
    };
    add("base: {image: \"" +
        any({"docker.io/library/python:3.11", "python", "h.io:5000/a/b:c@sha256:" + std::string(64, '1')}) + "\"}");
    add("python: {" +
        shuffled(
            {maybe("version: \"3.11\""), maybe("from: " + any({"base", "apt", "deadsnakes", "conda", "uv", "auto"}))}) +
        "}");
    add("beam: {" +
        shuffled({maybe("version: " + any({"2.48.0", "v2.70.0", "auto"})), maybe("extras: [gcp, Dataframe]"),
                  maybe("boot: inherit")}) +
        "}");
    add(chance() ? "accelerator: {tpu: {type: tpu-v6e-slice, topology: 2x4}}"
                 : "accelerator: {gpu: {" +
                       shuffled({maybe("type: nvidia-l4"), maybe("count: 4"),
                                 maybe("cuda: {from: wheels, version: \"12.4\"}"),
                                 maybe("driver: " + any({"latest", "570", "\"570.124.06\""})), maybe("mps: true"),
                                 maybe("cudnn: {from: archive, file: a/b.tar.xz}")}) +
                       "}}");
    add("frameworks: {" + shuffled({maybe("torch: 2.8.0+CPU"), maybe("tensorflow: 2.15.0"), maybe("jax: 0.6.2")}) +
        "}");
    add("packages: {" +
        shuffled({maybe("apt: [curl, \"g++\"]"),
                  maybe("pip: [\"B_c [y,x] >=2 ; os.name=='posix' and (extra=='a' or extra=='b')\", a]"),
                  maybe("requirements: r.txt"), maybe("constraints: null"), maybe("indexes: [\"https://h/simple\"]"),
                  maybe("find_links: [\"https://h/x.html\"]")}) +
        "}");
    add("files: [{from: a, to: /b}, {to: /d, from: c}]");
    add("env: {" +
        shuffled({maybe("A: \"$x \\\" \\t é\""), maybe("B: 3.10"), maybe("HF_TOKEN: hunter2"),
                  maybe("C: ghp_0123456789abcdef")}) +
        "}");
    add("labels: {" + shuffled({maybe("org.example.a: \"1\""), maybe("b: ''")}) + "}");
    add("workdir: /w");
    add("flex: {" + shuffled({maybe("launcher_image: python"), maybe("py_file: /t/main.py")}) + "}");
    add("checks: {" + shuffled({maybe("max_size: " + any({"12GB", "1.5 GiB"})), maybe("ignore: [{rule: a/hunter2}]")}) +
        "}");
    add("push: {repository: h.io/hunter2}");
    add("matrix: {axes: {python.version: [\"3.10\"]}}");
    return result;
  }

  std::string text(std::vector<std::string> blocks) {
    std::shuffle(blocks.begin(), blocks.end(), random_);
    std::string result;
    for (const std::string& block : blocks) result += block;
    return result;
  }

 private:
  bool chance() { return random_() % 2 == 0; }
  std::string any(const std::vector<std::string>& choices) { return choices[random_() % choices.size()]; }
  std::string maybe(const std::string& text) { return chance() ? text : std::string(); }
  std::string shuffled(std::vector<std::string> items) {
    std::shuffle(items.begin(), items.end(), random_);
    std::string result;
    for (const std::string& item : items) {
      if (!item.empty()) result += (result.empty() ? "" : ", ") + item;
    }
    return result;
  }

  std::mt19937 random_;
};

RecipeParse label(const std::string& members) {
  return parse_recipe_label(R"({"apiVersion":"imgforge/v1","name":"a","target":{"runner":"dataflow"})" + members + "}");
}

}  // namespace

TEST_CASE("a label is compact JSON with sorted keys", "[label]") {
  const Recipe recipe = good(least + R"(beam: {version: 2.48.0, extras: [gcp]}
accelerator: {gpu: {type: nvidia-l4}}
files: [{from: src/, to: /app/}]
env: {B: "2", A: "1"}
)");
  CHECK(
      to_label_json(recipe) ==
      R"({"accelerator":{"gpu":{"count":1,"type":"nvidia-l4"}},"apiVersion":"imgforge/v1","beam":{"boot":"copy","extras":["gcp"],"version":"2.48.0"},)"
      R"("env":{"A":"1","B":"2"},"files":[{"from":"src/","to":"/app/"}],"name":"heron","target":{"role":"worker","runner":"dataflow"}})");
}

TEST_CASE("recipe to label and back gives the same bytes, whatever the order of keys", "[label]") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    const std::vector<std::string> blocks = dice.blocks();
    const std::string text = dice.text(blocks);
    const std::string first = to_label_json(good(text));
    CHECK(to_label_json(good(dice.text(blocks))) == first);
    const RecipeParse back = parse_recipe_label(first);
    INFO(first << "\n" << said(back));
    REQUIRE(back.recipe);
    CHECK(back.not_understood.empty());
    CHECK(to_label_json(*back.recipe) == first);
    CHECK(first.find("hunter2") == std::string::npos);
    CHECK(first.find("ghp_") == std::string::npos);
    CHECK(first.find("k1") == std::string::npos);
    CHECK(first.find("matrix") == std::string::npos);
  }
}

TEST_CASE("a label of a later imgforge is read as far as it is understood", "[label]") {
  const RecipeParse parse = label(
      R"(,"attest":{"key":"x"},"python":{"version":"3.11","abi":"t"},"files":[{"from":"a","to":"/b","mode":"0644"}])");
  REQUIRE(parse.recipe);
  CHECK(parse.not_understood == std::vector<std::string>{"attest", "files[0].mode", "python.abi"});
  CHECK(parse.recipe->python_version == PythonMinor{3, 11});
  CHECK(parse.recipe->place_of("python.version").file == "label dev.imgforge.recipe");
}

TEST_CASE("a label cannot waive, vary or push", "[label]") {
  const RecipeParse parse = label(
      R"(,"matrix":{"axes":{}},"checks":{"ignore":[{"rule":"beam/boot-missing","reason":"x"}],"max_size":"1GB"},"push":{"repository":"h.io/a"})");
  REQUIRE(parse.recipe);
  CHECK(parse.recipe->checks.ignore.empty());
  CHECK(parse.recipe->checks.max_size == 1'000'000'000);
  CHECK(parse.recipe->matrix.empty());
  CHECK(parse.recipe->push.repository.empty());
}

TEST_CASE("a label is checked as a recipe is", "[label]") {
  CHECK(has(said(label(R"(,"workdir":"x")")), "label dev.imgforge.recipe: error: workdir: \"x\" is no absolute path"));
  CHECK(has(said(label(R"(,"python":{"version":3.10})")), "as a number"));
  CHECK(has(said(label(R"(,"env":{"A":"x\ny"})")), "line break"));
  CHECK(has(said(label(R"(,"accelerator":{"gpu":{"count":-1}})")), "whole number"));
  CHECK(has(said(label(R"(,"env":["A"])")), "a map"));
  CHECK(has(said(parse_recipe_label(R"({"apiVersion":"imgforge/v9","name":"a","target":{"runner":"dataflow"}})")),
            "is no version of the recipe format"));
  CHECK(has(said(parse_recipe_label("{}")), "name is missing"));
}

TEST_CASE("hostile labels end in one message", "[label]") {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("1"), std::string("{"),
        std::string("{\"a\":1,\"a\":2}"), std::string("\xff"), std::string("{\"\xff\":1}"), std::string(60'000, '['),
        std::string(60'000, '{'), std::string(2'000'000, ' '), std::string("\0", 1)}) {
    const RecipeParse parse = parse_recipe_label(text);
    CHECK_FALSE(parse.recipe);
    CHECK_FALSE(parse.diagnostics.empty());
    CHECK(parse.diagnostics.size() < 10);
  }
  std::string deep = R"({"name":)";
  for (int i = 0; i < 30'000; ++i) deep += "{\"a\":";
  CHECK(has(said(parse_recipe_label(deep)), "nested deeper"));
  std::string many = "{";
  for (int i = 0; i < 50'000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  CHECK(parse_recipe_label(many + "\"z\":0}").not_understood.size() <= 1000);
}

TEST_CASE("what looks like a secret is left out of the label", "[label]") {
  for (const std::string_view name :
       {"API_TOKEN", "token", "MySecret", "DB_PASSWORD", "PASSWD", "API_KEY", "apikey", "AWS_CREDENTIALS",
        "SSH_PRIVATE_KEY", "org.example.api-key", "AWS_SECRET_ACCESS_KEY"}) {
    INFO(name);
    CHECK(looks_secret(name, "x"));
  }
  for (const std::string_view value :
       {"ghp_abcdefghij0123456789", "hf_abcdefghijklmnop", "AKIAABCDEFGHIJKLMNOP", "ya29.a0AfH6SMBx",
        "-----BEGIN RSA PRIVATE KEY-----", "AIzaSyA-0123456789abcdef", "glpat-0123456789abcdef", "xoxb-1234567890-abc",
        "Bearer ghp_abcdefghij", "https://u:p@h/x"}) {
    INFO(value);
    CHECK(looks_secret("PLAIN", value));
  }
  for (const std::string_view value :
       {"", "hf_home", "https://h/a@b", "https://bot@h/x", "AKI", "GHP", "graph_abcdefghijkl", "xoxo-1234567"}) {
    INFO(value);
    CHECK_FALSE(looks_secret("PLAIN", value));
  }
  CHECK_FALSE(looks_secret("TOKENIZERS_PARALLELISM", "false"));
  CHECK_FALSE(looks_secret("PATH", "/usr/bin"));
  const std::string json =
      to_label_json(good(least + "env: {DB_PASSWORD: hunter2, A: b}\nlabels: {my-token: hunter2}\n"));
  CHECK(has(json, R"("env":{"A":"b"},"name")"));
  CHECK_FALSE(has(json, "hunter2"));
  CHECK_FALSE(has(json, "labels"));
}
