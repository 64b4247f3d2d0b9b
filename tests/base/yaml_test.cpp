#include "base/yaml.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

namespace {

struct Parsed {
  std::optional<YamlNode> node;
  std::vector<Diagnostic> diagnostics;
};

Parsed parse(std::string_view text, const YamlLimits& limits = {}) {
  Parsed parsed;
  parsed.node = parse_yaml(text, "a.yaml", parsed.diagnostics, limits);
  return parsed;
}

std::string repeat(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

// The one fault of a text that cannot be read.
Diagnostic refused(std::string_view text, const YamlLimits& limits = {}) {
  const Parsed parsed = parse(text, limits);
  REQUIRE_FALSE(parsed.node.has_value());
  REQUIRE_FALSE(parsed.diagnostics.empty());
  return parsed.diagnostics.back();
}

}  // namespace

TEST_CASE("a document keeps its text, its order and its places") {
  const Parsed parsed = parse("b: 3.10\na:\n  - 'x y'\n  - {k: ~}\n");
  REQUIRE(parsed.node);
  CHECK(parsed.diagnostics.empty());
  REQUIRE(parsed.node->entries.size() == 2);
  CHECK(parsed.node->entries[0].key == "b");
  const YamlNode& number = parsed.node->entries[0].value;
  CHECK(number.text == "3.10");
  CHECK(number.plain);
  CHECK(number.line == 1);
  CHECK(number.column == 4);
  const YamlNode* list = parsed.node->find("a");
  REQUIRE(list != nullptr);
  REQUIRE(list->items.size() == 2);
  CHECK(list->items[0].text == "x y");
  CHECK_FALSE(list->items[0].plain);
  CHECK(list->items[1].line == 4);
  REQUIRE(list->items[1].find("k") != nullptr);
  CHECK(list->items[1].find("k")->is_null());
  CHECK(parsed.node->find("c") == nullptr);
}

TEST_CASE("an empty text is a null node") {
  for (const char* text : {"", "\n", "# nothing\n", "---\n"}) {
    const Parsed parsed = parse(text);
    REQUIRE(parsed.node);
    CHECK(parsed.node->is_null());
    CHECK(parsed.diagnostics.empty());
  }
}

TEST_CASE("a block scalar counts as quoted") {
  const Parsed parsed = parse("a: |\n  1.0\nb: >-\n  2.0\n");
  REQUIRE(parsed.node);
  CHECK(parsed.node->find("a")->text == "1.0\n");
  CHECK_FALSE(parsed.node->find("a")->plain);
  CHECK_FALSE(parsed.node->find("b")->plain);
}

TEST_CASE("aliases are followed") {
  const Parsed parsed = parse("a: &x [1, 2]\nb: *x\n? &k key\n: 1\n");
  REQUIRE(parsed.node);
  REQUIRE(parsed.node->find("b")->items.size() == 2);
  CHECK(parsed.node->find("b")->items[1].text == "2");
  CHECK(parsed.node->find("b")->line == 2);
}

TEST_CASE("faults that leave a document are all told, and the first of two keys counts") {
  const Parsed parsed = parse("a: 1\na: 2\nb: !!str 3\n<<: {c: 1}\n~: 4\nd: 5\n");
  REQUIRE(parsed.node);
  REQUIRE(parsed.diagnostics.size() == 4);
  CHECK(parsed.diagnostics[0].place == Place{"a.yaml", 2, 1});
  CHECK_THAT(parsed.diagnostics[0].message, Catch::Contains("twice, first in line 1"));
  CHECK(parsed.diagnostics[0].line_text == "a: 2");
  CHECK(parsed.diagnostics[1].place.line == 3);
  CHECK_THAT(parsed.diagnostics[1].message, Catch::Contains("tag"));
  CHECK_THAT(parsed.diagnostics[2].message, Catch::Contains("merge key"));
  CHECK_THAT(parsed.diagnostics[3].message, Catch::Contains("has to be text"));
  CHECK(parsed.node->find("a")->text == "1");
  CHECK(parsed.node->find("d")->text == "5");
  CHECK(parsed.node->find("c") == nullptr);
}

TEST_CASE("what is no document at all is refused with its place") {
  CHECK(refused("a: [1, 2\nb: 3\n").place.line != 0);
  CHECK_THAT(refused("a: 1\n---\nb: 2\n").message, Catch::Contains("second document"));
  CHECK(refused("a: 1\n---\nb: 2\n").place.line == 2);
  CHECK_THAT(refused("a: &x {b: *x}\n").message, Catch::Contains("itself a part of"));
  CHECK_THAT(refused("a: *nobody\n").message, Catch::Contains("not YAML"));
  CHECK_THAT(refused("{a: 1}: 2\n").message, Catch::Contains("key has to be text"));
  CHECK_THAT(refused("a: &x [1]\n*x : 2\n").message, Catch::Contains("key has to be text"));
  CHECK_THAT(refused("a: b\nc: \xff\n").message, Catch::Contains("UTF-8"));
  CHECK(refused("a: b\nc: \xff\n").place.line == 2);
}

TEST_CASE("a character that would end or recode the text early is refused") {
  // yaml-cpp stops at 0x04 as if the file ended there.
  CHECK(refused(std::string_view("a: 1\nb: \x04\nc: 2\n")).place.line == 2);
  CHECK_THAT(refused(std::string_view("a\0: 1\n", 7)).message, Catch::Contains("control character"));
}

TEST_CASE("limits end in one fault") {
  YamlLimits limits;
  limits.bytes = 1000;
  CHECK_THAT(refused("a: " + repeat("x", 1000), limits).message, Catch::Contains("limit"));
  CHECK_THAT(refused(repeat("[", 65) + repeat("]", 65)).message, Catch::Contains("deeper than 64"));
  CHECK(parse(repeat("[", 64) + repeat("]", 64)).node);
  CHECK_FALSE(parse(repeat("[", 100'000)).node);
  CHECK_THAT(refused(repeat("- ", 100'000)).message, Catch::Contains("deeper than 64"));
  CHECK_THAT(refused("[" + repeat("1,", 100'001) + "]").message, Catch::Contains("more than 100000"));

  CHECK(parse(repeat("a: 1\n", 5000)).diagnostics.size() == 101);
  CHECK(parse("{" + repeat("a: 1, ", 50) + "}").diagnostics.front().line_text.size() > 100);
  CHECK(parse("{" + repeat("a: 1, ", 5000) + "}").diagnostics.front().line_text.empty());

  // A billion laughs: ten levels of ten.
  std::string laughs = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeat(below + ", ", 9) + below + "]\n";
  }
  CHECK_THAT(refused(laughs).message, Catch::Contains("more than 100000"));
  // Few nodes, much text.
  CHECK_THAT(refused("a: &a " + repeat("x", 500'000) + "\nb: [" + repeat("*a, ", 1000) + "*a]\n").message,
             Catch::Contains("of text"));
  // Depth by aliases: each anchor is 40 deep, the second stands on the first.
  CHECK_THAT(
      refused("a: &a " + repeat("[", 40) + repeat("]", 40) + "\nb: " + repeat("[", 40) + "*a" + repeat("]", 40) + "\n")
          .message,
      Catch::Contains("deeper than 64"));
}

TEST_CASE("what YAML 1.2 reads as a number") {
  for (const char* text : {"3.10", "3", "-1", "+1.5e3", ".5", "5.", "1e3", "0x1F", "0o17", ".inf", "-.INF", ".nan"}) {
    INFO(text);
    CHECK(is_yaml_number(text));
  }
  for (const char* text :
       {"", "3.10.1", "2.48.0", "v3", ".", "-", "1e", "0x", "0xZ", "inf", "3.10rc1", "1_000", "e3"}) {
    INFO(text);
    CHECK_FALSE(is_yaml_number(text));
  }
}
