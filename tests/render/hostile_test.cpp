// Text that other tools have tripped over: whatever it is, it comes out of the Dockerfile as it went into the recipe.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "render/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::vector<std::string> texts = {
    "",
    "plain",
    "two words",
    " spaces around ",
    "\"; rm -rf / #",
    "$(reboot)",
    "${PATH}",
    "$PATH and $$",
    "`id`",
    "\\",
    "ends with \\",
    "\\n is no line break",
    "\\\"",
    "it's",
    "'quoted'",
    "\"quoted\"",
    "'\"'\"'",
    "# no comment",
    "a=b c=d",
    "<<EOF",
    "{{name}} {{{name}}} {{#list}} {{> file}} {{=<% %>=}}",
    "&lt;&amp;",
    "*?[x]{a,b}~",
    "!history",
    "%s%n",
    "a && b || c; d | e > f < g",
    "gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x9a\x80",
    "-e",
    "--flag=value",
    "[\"json\"]",
};

std::string in_quotes(const std::string& text) { return nlohmann::json(text).dump(); }

std::string with(const std::string& more) {
  return "apiVersion: imgforge/v1\nname: heron\ntarget: {runner: dataflow}\npython: {version: \"3.11\"}\nbeam: "
         "{version: 2.74.0}\n" +
         more;
}

std::string name_of(std::size_t index) { return "V" + std::to_string(100 + index); }

}  // namespace

TEST_CASE("values of variables and labels come back as they were") {
  std::string env = "env:\n";
  std::string labels = "labels:\n";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    env += "  " + name_of(i) + ": " + in_quotes(texts[i]) + "\n";
    labels += "  org.example." + name_of(i) + ": " + in_quotes(texts[i]) + "\n";
  }
  const std::string dockerfile = dockerfile_of(with(env + labels));
  INFO(dockerfile);
  std::size_t variables = 0;
  for (const std::string& arguments : all(dockerfile, "ENV")) {
    const auto list = pairs(arguments);
    REQUIRE(list.size() == 1);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (list.front().first != name_of(i)) continue;
      CHECK(list.front().second == texts[i]);
      ++variables;
    }
  }
  CHECK(variables == texts.size());
  std::size_t found = 0;
  for (const std::string& arguments : all(dockerfile, "LABEL")) {
    if (!arguments.starts_with("org.example.") && !arguments.starts_with("\"org.example.")) continue;
    const auto list = pairs(arguments);
    REQUIRE(list.size() == 1);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (list.front().first != "org.example." + name_of(i)) continue;
      CHECK(list.front().second == texts[i]);
      ++found;
    }
  }
  CHECK(found == texts.size());
}

TEST_CASE("paths of files come back as they were") {
  for (const std::string& text : texts) {
    const std::string path = "dir/" + text + "x";
    INFO(path);
    const std::string recipe = with("files: [{from: " + in_quotes(path) + ", to: " + in_quotes("/" + path) + "}]\n");
    if (path.find_first_of("\\*?[") != std::string::npos) {
      // COPY reads a source as a pattern, and buildah does so twice: there is no way to say it that all builders read
      // alike.
      const std::string said = said_of(recipe);
      CHECK(has(said, "recipe.yaml:6:"));
      CHECK(has(said, "error:"));
      continue;
    }
    const auto copies = all(dockerfile_of(recipe), "COPY");
    REQUIRE(copies.size() == 1);
    const auto words = nlohmann::json::parse(copies.front());
    REQUIRE(words.size() == 2);
    CHECK(unquoted(words[0]) == path);
    CHECK(unquoted(words[1]) == "/" + path);
  }
}

TEST_CASE("the working directory comes back as it was") {
  for (const char* folder : {"/work space", "/a$b", "/it's", "/\"x\""}) {
    const auto found = all(dockerfile_of(with("workdir: " + in_quotes(folder) + "\n")), "WORKDIR");
    REQUIRE(found.size() == 1);
    CHECK(unquoted(found.front()) == folder);
  }
}

TEST_CASE("requirements reach pip as words of their own") {
  const std::vector<std::string> requirements = {"attrs", "numpy!=1.25.*,>=1.24,<3", "foo[bar,baz]==1.0",
                                                 "tomli>=2; python_version < \"3.11\"",
                                                 "a; sys_platform == 'linux' and extra == \"x;y\""};
  std::string recipe = "packages:\n  pip:\n";
  for (const std::string& requirement : requirements) recipe += "    - " + in_quotes(requirement) + "\n";
  recipe += "  indexes: [\"https://example.com/simple?a=$(id)&b=;*~#c\"]\n";
  std::vector<std::string> words;
  for (const std::string& command : all(dockerfile_of(with(recipe)), "RUN")) {
    if (!has(command, "pip install")) continue;
    for (std::string& word : words_given(command, "python")) words.push_back(std::move(word));
  }
  for (const std::string& requirement : requirements) {
    const std::string canonical = Requirement::parse(requirement)->to_string();
    INFO(canonical);
    CHECK(std::count(words.begin(), words.end(), canonical) >= 1);
  }
  CHECK(std::count(words.begin(), words.end(), "https://example.com/simple?a=$(id)&b=;*~#c") >= 1);
}

TEST_CASE("packages reach apt-get sorted, as words of their own") {
  const std::vector<std::string> packages = {"curl", "g++", "libfoo++=1:2.3~rc1+b1"};
  std::vector<std::string> words;
  for (const std::string& command :
       all(dockerfile_of(with("packages: {apt: [\"libfoo++=1:2.3~rc1+b1\", g++, curl]}\n")), "RUN")) {
    // dash takes no dash in the name of a function.
    if (has(command, "apt-get"))
      words = words_given(std::regex_replace(command, std::regex("apt-get"), "apt_get"), "apt_get", {"rm"});
  }
  REQUIRE(words.size() > packages.size());
  CHECK(std::vector<std::string>(words.end() - 3, words.end()) == packages);
}

TEST_CASE("each escaper says what it means, and none takes a line break") {
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(unquoted(dockerfile_word(text).text()) == text);
    CHECK(nlohmann::json::parse(json_string(text).text()) == text);
    const auto words = words_given("show x" + shell_word(text).text(), "show");
    REQUIRE(words.size() == 1);
    CHECK(words.front() == "x" + text);
  }
  CHECK(shell_word("3.11").text() == "3.11");
  CHECK(shell_word("").text() == "''");
  for (const std::string& text :
       {std::string("a\nRUN b"), std::string("\r"), std::string("\0x", 2), std::string("\x1b[2J")}) {
    CHECK_THROWS_AS(dockerfile_word(text), Error);
    CHECK_THROWS_AS(shell_word(text), Error);
    CHECK_THROWS_AS(json_string(text), Error);
  }
}
