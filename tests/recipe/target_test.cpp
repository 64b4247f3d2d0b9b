// Keys of running, judging and pushing: what they take, and what they say of what they do not take.
#include "recipe/grammar.hpp"
#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string head = "apiVersion: imgforge/v1\nname: heron\n";

/// What is said of a recipe whose target is `target`, which must not parse.
std::string target_faults(const std::string& target) {
  const RecipeParse parse = parse_recipe(head + "target: {runner: dataflow, " + target + "}\n", "recipe.yaml");
  INFO(target);
  CHECK_FALSE(parse.recipe);
  return said(parse);
}

Target target_of(const std::string& target) {
  return good(head + "target: {runner: dataflow, " + target + "}\n").target;
}

}  // namespace

TEST_CASE("the keys of a Dataflow job", "[target]") {
  const Target target = target_of(
      "machine_type: n1-standard-4, region: europe-west4, zone: europe-west4-a, streaming: true, disk_size_gb: 100, "
      "num_workers: 3, harness_threads: \"40\", single_process: \"true\", prime: False, provisioning: flex-start, "
      "options: {experiments: [use_runner_v2, \"a=b\"], save_main_session: true, max_num_workers: 5}");
  CHECK(target.machine_type == "n1-standard-4");
  CHECK(target.region == "europe-west4");
  CHECK(target.zone == "europe-west4-a");
  CHECK(target.streaming == true);
  CHECK(target.disk_size_gb == 100u);
  CHECK(target.num_workers == 3u);
  CHECK(target.harness_threads == 40u);  // in quotes it means the same
  CHECK(target.single_process == true);
  CHECK(target.prime == false);
  CHECK(target.provisioning == Provisioning::flex_start);
  REQUIRE(target.options.size() == 3);
  CHECK(target.options[0].first == "experiments");
  CHECK(target.options[0].second.list);
  CHECK(target.options[0].second.texts == std::vector<std::string>{"use_runner_v2", "a=b"});
  CHECK_FALSE(target.options[1].second.list);
  CHECK(target.options[1].second.texts == std::vector<std::string>{"true"});
  CHECK(target.options[2].second.texts == std::vector<std::string>{"5"});
  CHECK_FALSE(good(least).target.streaming);
}

TEST_CASE("what a Dataflow job does not take", "[target]") {
  CHECK(has(target_faults("streaming: yes"), "\"yes\" is neither true nor false\n"));
  CHECK(has(target_faults("streaming: yes"), "= write true\n"));
  CHECK(has(target_faults("prime: off"), "= write false\n"));
  CHECK(has(target_faults("prime: tRue"), "neither true nor false"));
  CHECK(has(target_faults("prime: [true]"), "true or false is expected, this is a list"));
  CHECK(has(target_faults("disk_size_gb: plenty"), "\"plenty\" is no whole number from 1 to 65536"));
  CHECK(has(target_faults("disk_size_gb: 100GB"), "no whole number"));
  CHECK(has(target_faults("disk_size_gb: 50.5"), "no whole number"));
  CHECK(has(target_faults("num_workers: 0"), "no whole number"));
  CHECK(has(target_faults("num_workers: -1"), "no whole number"));
  CHECK(has(target_faults("num_workers: 99999999999999999999"), "no whole number"));
  CHECK(has(target_faults("machine_type: N1-Standard-4"), "is no name of a machine type"));
  CHECK(has(target_faults("region: \"a b\""), "target.region"));
  CHECK(has(target_faults("provisioning: flexstart"), "did you mean \"flex-start\"?"));
  CHECK(has(target_faults("options: {dataflow-service-options: [a]}"), "write \"dataflow_service_options\""));
  CHECK(has(target_faults("options: {--streaming: true}"), "leave out \"--\""));
  CHECK(has(target_faults("options: {a: {b: c}}"), "text or a list is expected, this is a map"));
  CHECK(has(target_faults("options: {a: [[b]]}"), "target.options.a[0]: text is expected"));
  CHECK(has(target_faults("options: {a: [\"b\\nc\"]}"), "line break"));
  CHECK(has(target_faults("options: {a: }"), "target.options.a has no value"));
  CHECK(has(target_faults("options: [a]"), "a map of names and values is expected"));
}

TEST_CASE("the keys of a Spark batch", "[target]") {
  const std::string spark = head + "target: {runner: spark-serverless, ";
  const Target target =
      good(spark + "runtime_version: \"2.2\", properties: {spark.executor.instances: 5, spark.x: \"750g\"}}\n").target;
  CHECK(target.runtime_version == Version::parse("2.2"));
  CHECK(target.properties ==
        std::vector<std::pair<std::string, std::string>>{{"spark.executor.instances", "5"}, {"spark.x", "750g"}});
  const auto fault = [&](const std::string& keys) { return said(parse_recipe(spark + keys + "}\n", "r.yaml")); };
  CHECK(has(fault("runtime_version: 2.2"), "YAML reads 2.2 as a number"));
  CHECK(has(fault("runtime_version: latest"), "is no runtime version"));
  CHECK(has(fault("properties: {\"spark executor\": 1}"), "is no name of a Spark property"));
  CHECK(has(fault("properties: {spark.a: [1]}"), "text is expected, this is a list"));
}

TEST_CASE("a key that the runner does not read is a warning", "[target]") {
  RecipeParse parse = parse_recipe(head + "target: {runner: dataflow, runtime_version: \"2.2\"}\n", "r.yaml");
  REQUIRE(parse.recipe);
  CHECK(has(said(parse), "r.yaml:3:45: warning: target.runtime_version is not read with runner: dataflow\n"));
  parse = parse_recipe(head + "target: {runner: spark-serverless, disk_size_gb: 100}\n", "r.yaml");
  REQUIRE(parse.recipe);
  CHECK(has(said(parse), "warning: target.disk_size_gb is not read with runner: spark-serverless\n"));
  CHECK(said(parse_recipe(head + "target: {runner: spark-serverless, region: europe-west4}\n", "r.yaml")).empty());
}

TEST_CASE("drivers and MPS", "[target]") {
  const auto driver = [](const std::string& text) {
    return good(least + "accelerator: {gpu: {type: nvidia-l4, driver: " + text + "}}\n").gpu->driver;
  };
  for (const std::string text : {"default", "latest", "none", "5xx", "570", "570.124.06", "535.288.01"})
    CHECK(driver(text) == text);
  CHECK(driver("\"570\"") == "570");
  for (const std::string text : {"newest", "5.x", "570.", "-1", "57", "570.124.06.1", "\"570 \""})
    CHECK(has(faults("accelerator: {gpu: {driver: " + text + "}}\n"), "is no driver"));
  CHECK(good(least + "accelerator: {gpu: {mps: true}}\n").gpu->mps == true);
  CHECK_FALSE(good(least + "accelerator: {gpu: {type: nvidia-l4}}\n").gpu->mps);
}

TEST_CASE("waivers and limits", "[target]") {
  const Recipe recipe = good(least +
                             "checks:\n  ignore:\n    - {rule: python/end-of-life, reason: \"moving: soon\", until: "
                             "2027-01-01}\n    - {rule: beam/nothing}\n  max_size: 1.5GiB\n");
  REQUIRE(recipe.checks.ignore.size() == 2);
  CHECK(recipe.checks.ignore[0].rule == "python/end-of-life");
  CHECK(recipe.checks.ignore[0].reason == "moving: soon");
  CHECK(recipe.checks.ignore[0].until == Date::parse("2027-01-01"));
  CHECK(recipe.checks.ignore[1].reason.empty());
  CHECK(recipe.checks.max_size == 1'610'612'736);
  CHECK(has(faults("checks: {ignore: [{reason: x}]}\n"), "checks.ignore[0].rule is missing"));
  CHECK(has(faults("checks: {ignore: [python/end-of-life]}\n"), "checks.ignore[0]: a map is expected"));
  CHECK(has(faults("checks: {ignore: [{rule: end-of-life}]}\n"), "is no id of a rule"));
  CHECK(has(faults("checks: {ignore: [{rule: a/b, until: 2027-02-30}]}\n"), "\"2027-02-30\" is no date"));
  CHECK(has(faults("checks: {ignore: [{rule: a/b, untill: 2027-02-20}]}\n"), "did you mean \"until\"?"));
  CHECK(has(faults("checks: {max_size: large}\n"), "\"large\" is no size"));
  CHECK(has(faults("checks: {max_size: 0}\n"), "nothing is that small"));
}

TEST_CASE("sizes", "[target]") {
  CHECK(parse_size("17") == 17u);
  CHECK(parse_size("12GB") == 12'000'000'000u);
  CHECK(parse_size("12 gb") == 12'000'000'000u);
  CHECK(parse_size("2G") == 2'000'000'000u);
  CHECK(parse_size("2Gi") == 2u << 30);
  CHECK(parse_size("0.5kB") == 500u);
  for (const std::string_view text : {"", "GB", "1.2.3GB", "-1GB", "1EB", "1.GB", "9999999TB", "1 G B"})
    CHECK_FALSE(parse_size(text));
  for (const std::uint64_t bytes : {1ULL, 999ULL, 1000ULL, 1024ULL, 12'000'000'000ULL, 1ULL << 40, 1'610'612'736ULL})
    CHECK(parse_size(spell_size(bytes)) == bytes);
  CHECK(spell_size(12'000'000'000) == "12GB");
}

TEST_CASE("Flex Templates, and where the image goes", "[target]") {
  const Recipe recipe =
      good(least +
           "flex: {launcher_image: \"gcr.io/a/launcher:1\", py_file: /t/main.py, setup_file: "
           "/t/setup.py}\npush: {repository: h.io/p/r, tags: [\"{{beam.version}}-{{digest12}}\", v1]}\n");
  CHECK(recipe.flex.launcher_image->to_string() == "gcr.io/a/launcher:1");
  CHECK(recipe.flex.py_file == "/t/main.py");
  CHECK(recipe.push.tags.size() == 2);
  CHECK(has(faults("flex: {py_file: main.py}\n"), "is no absolute path"));
  CHECK(has(faults("push: {repository: \"h.io/p/r:tag\"}\n"), "push.tags"));
  CHECK(has(faults("push: {tags: [v1]}\n"), "push.repository is missing"));
  const auto tag = [](const std::string& text) {
    return faults("push: {repository: h.io/a, tags: ['" + text + "']}\n");
  };
  CHECK(has(tag("{{beam.versoin}}"), "{{beam.versoin}} is neither digest12 nor a key"));
  CHECK(has(tag("{{packages.pip}}"), "neither digest12 nor a key"));
  CHECK(has(tag("{{beam.version"), "has no \"}}\""));
  CHECK(has(tag("a b"), "is no tag"));
  CHECK(has(tag("-a"), "is no tag"));
}

TEST_CASE("--set reaches every kind of key", "[target]") {
  const Recipe recipe =
      good(least, {"target.streaming=true", "target.disk_size_gb=80", "target.options.experiments=[a, b]",
                   "target.options.x=[\"1\"]", "target.options.y=3.10", "checks.ignore=[{rule: a/b, reason: c}]"});
  CHECK(recipe.target.streaming == true);
  CHECK(recipe.target.disk_size_gb == 80u);
  REQUIRE(recipe.target.options.size() == 3);
  CHECK(recipe.target.options[0].second.texts == std::vector<std::string>{"a", "b"});
  CHECK(recipe.target.options[2].second.texts == std::vector<std::string>{"3.10"});
  CHECK(recipe.checks.ignore.size() == 1);
  const std::string spark = head + "target: {runner: spark-serverless}\n";
  CHECK(good(spark, {"target.properties.spark.executor.cores=4"}).target.properties.front().first ==
        "spark.executor.cores");
  CHECK(has(faults("", {"target.streaming=maybe"}),
            "--set: error: target.streaming: \"maybe\" is neither true nor false"));
}
