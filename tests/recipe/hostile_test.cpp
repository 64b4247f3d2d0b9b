// Text that means harm: one clear error each, in bounded time and memory, whatever it is.
#include <catch2/catch.hpp>
#include <random>

#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("YAML that nobody means to write", "[hostile]") {
  CHECK(has(faults("name: twice\n"), "recipe.yaml:4:1: error: the key \"name\" is there twice, first in line 2"));
  CHECK(has(faults("---\nname: a\n"), "recipe.yaml:4:1: error: a second document"));
  CHECK(has(faults("env:\n  <<: {A: \"1\"}\n  B: \"2\"\n"), "recipe.yaml:5:3: error: a merge key"));
  CHECK(has(faults("packages: &p {pip: [numpy], apt: *p}\n"),
            "recipe.yaml:4:34: error: an alias to something that it is itself a part of"));
  CHECK(has(faults("workdir: !!str /a\n"), "a tag"));
  CHECK(has(faults("? [a, b]\n: c\n"), "a key has to be text"));
  CHECK(has(faults("packages: {pip: [numpy\n"), "not YAML"));
  CHECK(has(faults("\tworkdir: /a\n"), "not YAML"));
  CHECK(has(said(parse_recipe(std::string("name: plo\0ver\n", 14), "r.yaml")), "r.yaml:1: error: a control character"));
  CHECK(has(said(parse_recipe("name: \xff\n", "r.yaml")), "not UTF-8"));
  CHECK(has(said(parse_recipe("\xff\xfe"
                              "a\n",
                              "r.yaml")),
            "not UTF-8"));
}

TEST_CASE("aliases that are plain repetition are read", "[hostile]") {
  const Recipe recipe = good(least + "packages: {pip: &p [numpy, scipy]}\nbeam: {extras: *p}\n");
  CHECK(recipe.beam_extras == std::vector<std::string>{"numpy", "scipy"});
}

TEST_CASE("bombs end in one error", "[hostile]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias + ", " + alias + ", " + alias + ", " +
            alias + "]\n";
  }
  CHECK(has(faults(bomb), "more than 100000 values"));

  std::string wide = "labels: {a: &a \"" + std::string(500'000, 'x') + "\"}\npackages: {pip: [";
  for (int i = 0; i < 10'000; ++i) wide += "*a, ";
  CHECK(has(faults(wide + "]}\n"), "of text"));
}

TEST_CASE("depth never reaches the stack", "[hostile]") {
  for (const std::size_t depth : {std::size_t{65}, std::size_t{200}, std::size_t{100'000}, std::size_t{900'000}}) {
    for (const std::string_view open : {"[", "{", "- ", "? ", "{a: ", "[[", "&a ["}) {
      std::string more = "labels: ";
      if (open == "- " || open == "? ") more += "\n";
      while (more.size() < std::min<std::size_t>(depth * open.size(), 1'000'000)) more += open;
      faults(more);
    }
    faults("workdir: " + std::string(std::min<std::size_t>(depth, 1'000'000), ']') + "\n");
  }
}

TEST_CASE("size is bounded", "[hostile]") {
  CHECK(has(said(parse_recipe(std::string((1 << 20) + 1, '#'), "r.yaml")), "the limit is"));
  CHECK(has(said(parse_recipe(std::string(1 << 20, '#'), "r.yaml")), "is empty"));
}

TEST_CASE("a great many faults stay a few messages", "[hostile]") {
  std::string one_line = "{";
  for (int i = 0; i < 40'000; ++i) one_line += "k" + std::to_string(i) + ": v, ";
  const RecipeParse line = parse_recipe(one_line + "}\n", "r.yaml");
  CHECK(line.diagnostics.size() <= 101);
  CHECK(said(line).size() < 100'000);

  std::string many;
  for (int i = 0; i < 40'000; ++i) many += "k" + std::to_string(i) + ": v\n";
  const RecipeParse parse = parse_recipe(least + many, "r.yaml");
  CHECK(parse.diagnostics.size() == 101);
  CHECK(has(parse.diagnostics.back().message, "only the first 100"));

  std::string env = "env:\n";
  for (int i = 0; i < 40'000; ++i) env += "  \"1" + std::to_string(i) + "\": v\n";
  CHECK(said(parse_recipe(least + env, "r.yaml")).size() < 100'000);
}

TEST_CASE("a long key is cut, not compared", "[hostile]") {
  const std::string text = faults(std::string(900, 'k') + ": v\n");
  CHECK(has(text, "unknown key \"" + std::string(64, 'k') + "...\""));
}

TEST_CASE("any damage to a recipe is a value or a message, never a crash", "[hostile]") {
  const std::string whole = least + R"(base: {image: "python:3.11-slim"}
python: {version: "3.11", from: base}
accelerator: {gpu: {type: nvidia-l4, count: 1, cuda: {version: "12.2"}}}
packages: {apt: &a [curl], pip: ["numpy>=1; os_name == 'posix'"], find_links: *a}
files: [{from: a, to: /b}]
env: {A: "\u00e9\x41", B: 'c'}
)";
  std::mt19937 random(20261130);  // the same on every machine
  const std::string bytes = "{}[]:,-&*!|>'\"%@`#?\\\n\t \0\xff<~a1.";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(at, 1 + random() % 5); break;
        case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
        default: text[at] = bytes[random() % bytes.size()];
      }
      if (text.empty()) break;
    }
    const RecipeParse parse = parse_recipe(text, "r.yaml");
    if (parse.recipe.has_value() == has_errors(parse.diagnostics)) FAIL(text);  // one or the other
    if (parse.recipe && to_label_json(*parse.recipe).empty()) FAIL(text);
  }
}
