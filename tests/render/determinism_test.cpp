// Same recipe, knowledge and templates: the same bytes, whatever the order of keys and the state of the machine.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/yaml.hpp"
#include "render/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// The node as YAML in flow style, with the keys of every map in another order.
std::string shuffled(const YamlNode& node, std::mt19937& random) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.plain ? node.text : in_quotes(node.text);
  std::string result;
  if (node.is_sequence()) {
    for (const YamlNode& item : node.items) result += (result.empty() ? "" : ", ") + shuffled(item, random);
    return "[" + result + "]";
  }
  std::vector<const YamlEntry*> entries;
  for (const YamlEntry& entry : node.entries) entries.push_back(&entry);
  std::shuffle(entries.begin(), entries.end(), random);
  for (const YamlEntry* entry : entries) {
    result += (result.empty() ? "" : ", ") + in_quotes(entry->key) + ": " + shuffled(entry->value, random);
  }
  return "{" + result + "}";
}

const std::string rich = R"(apiVersion: imgforge/v1
name: rich
target: {runner: dataflow, launch: {beam: 2.60.0, python: "3.11"}}
base: {image: "docker.io/nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"}
python: {version: "3.11", from: deadsnakes}
beam: {version: 2.60.0, extras: [gcp, interactive]}
accelerator: {gpu: {type: nvidia-l4, count: 2}}
frameworks: {torch: 2.3.1, tensorflow: 2.15.1, jax: 0.4.30}
packages: {apt: [zlib1g, curl, libgomp1], pip: [scipy, "attrs>=22"], requirements: requirements.txt, constraints: limits.txt}
files: [{from: src/, to: /app/}, {from: model, to: /model}]
env: {Z: "1", A: "2", M: "3"}
labels: {org.example.z: "1", org.example.a: "2"}
workdir: /app
)";

}  // namespace

TEST_CASE("the order of keys does not matter") {
  std::mt19937 random(20261201);
  std::vector<std::string> recipes = {rich};
  for (const std::string& name : repository_recipes()) recipes.push_back(repository_recipe(name));
  for (const std::string& recipe : recipes) {
    const std::string wanted = dockerfile_of(recipe);
    std::vector<Diagnostic> faults;
    const auto tree = parse_yaml(recipe, "recipe.yaml", faults);
    REQUIRE(tree);
    for (int i = 0; i < 20; ++i) {
      const std::string text = shuffled(*tree, random);
      INFO(text);
      CHECK(dockerfile_of(text) == wanted);
    }
  }
}

TEST_CASE("the order of apt packages and a package that is there twice do not matter") {
  CHECK(dockerfile_of(rich, {"packages.apt=[libgomp1, zlib1g, curl, zlib1g]"}).find("libgomp1 \\\n") !=
        std::string::npos);
  const auto without_label = [](const std::string& text) {
    std::string kept;
    for (const Instruction& item : instructions(text)) {
      if (item.keyword != "LABEL") kept += item.keyword + ' ' + item.arguments + '\n';
    }
    return kept;
  };
  CHECK(without_label(dockerfile_of(rich, {"packages.apt=[libgomp1, zlib1g, curl, zlib1g]"})) ==
        without_label(dockerfile_of(rich)));
}

TEST_CASE("machine, place and time do not matter") {
  const std::string wanted = dockerfile_of(rich);
  const std::filesystem::path folder = std::filesystem::current_path();
  const mode_t mask = umask(077);
  std::filesystem::current_path("/");
  for (const char* locale : {"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"}) {
    for (const char* zone : {"UTC", "Pacific/Kiritimati", "America/St_Johns"}) {
      setenv("TZ", zone, 1);
      setenv("LANG", locale, 1);
      setenv("LC_ALL", locale, 1);
      setenv("SOURCE_DATE_EPOCH", "1", 1);
      std::setlocale(LC_ALL, locale);  // fails where the locale is not installed; the variables count all the same
      CHECK(dockerfile_of(rich) == wanted);
      CHECK(render_dockerfile(make_plan(recipe_of(rich), Knowledge::embedded()).plan.value(), Templates::embedded()) ==
            wanted);
    }
  }
  std::setlocale(LC_ALL, "C");
  for (const char* name : {"TZ", "LANG", "LC_ALL", "SOURCE_DATE_EPOCH"}) unsetenv(name);
  std::filesystem::current_path(folder);
  umask(mask);
}

TEST_CASE("the label holds the recipe as it was written, and rendering from it gives the same file") {
  for (const std::string& name : repository_recipes()) {
    INFO(name);
    const std::string text = dockerfile_of(repository_recipe(name));
    std::string label;
    for (const std::string& arguments : all(text, "LABEL")) {
      const auto [key, value] = pairs(arguments, true).front();
      if (key == "dev.imgforge.recipe") label = value;
    }
    REQUIRE_FALSE(label.empty());
    CHECK(label == to_label_json(recipe_of(repository_recipe(name))));
    const RecipeParse parse = parse_recipe_label(label);
    REQUIRE(parse.recipe);
    const PlanResult result = make_plan(*parse.recipe, knowledge());
    REQUIRE(result.plan);
    CHECK(render_dockerfile(*result.plan, templates()) == text);
  }
}
