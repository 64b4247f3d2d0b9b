#include <catch2/catch.hpp>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/parsed.hpp"

namespace imgforge::dockerfile {

using Texts = std::vector<std::string>;

namespace {

Texts comments(const Dockerfile& file) {
  Texts result;
  for (const Place& place : file.env_comments) result.push_back(at(place));
  return result;
}

Dockerfile recovered(const std::string& text) {
  DockerfileParse parse = parse_dockerfile(text, "Dockerfile");
  INFO(text);
  REQUIRE(parse.dockerfile);
  return std::move(*parse.dockerfile);
}

}  // namespace

TEST_CASE("comments behind ENV's values: BuildKit's error, and a Dockerfile all the same") {
  const std::string text = "FROM a\nENV A=1 # one host\nENV B=2\nENV C=3 #x\n";
  const Dockerfile file = recovered(text);
  CHECK(faults(text) == Texts{"2:9 Syntax error - can't find = in \"#\". Must be of the form: name=value",
                              "4:9 Syntax error - can't find = in \"#x\". Must be of the form: name=value"});
  CHECK(parse_dockerfile(text, "Dockerfile").diagnostics[0].line_text == "ENV A=1 # one host");
  CHECK(comments(file) == Texts{"2:9", "4:9"});
  CHECK(pairs(file.instructions[1].assignments) == Texts{"A=1"});
  CHECK(pairs(file.instructions[3].assignments) == Texts{"C=3"});
}

TEST_CASE("comments behind ENV's values: in continuation lines what follows is kept") {
  const Dockerfile file = recovered("FROM a\nENV A=1 # don't \\\n    B=2 # x=y \\\n    C=3\n");
  CHECK(comments(file) == Texts{"2:9", "3:9"});
  CHECK(pairs(file.instructions[1].assignments) == Texts{"A=1", "B=2", "C=3"});
  CHECK(at(file.instructions[1].assignments[2].name.place) == "4:5");
}

TEST_CASE("comments behind ENV's values: what BuildKit takes is kept, and told") {
  const Dockerfile commented_out = recovered("FROM a\nENV A=1 #B=2 C=3\n");
  CHECK(faults("FROM a\nENV A=1 #B=2 C=3\n").empty());
  CHECK(comments(commented_out) == Texts{"2:9"});
  CHECK(pairs(commented_out.instructions[1].assignments) == Texts{"A=1", "#B=2", "C=3"});
  const Dockerfile old_form = recovered("FROM a\nENV A 1 # one host\n");
  CHECK(comments(old_form) == Texts{"2:9"});
  CHECK(pairs(old_form.instructions[1].assignments) == Texts{"A=1 # one host"});
  CHECK(comments(recovered("FROM a\nENV A=1 #B=2 and\n")) == Texts{"2:9"});
}

TEST_CASE("comments behind ENV's values: what is none") {
  for (const char* line : {"ENV A=\"1 # x\"", "ENV A='#'", "ENV A=1#x", "ENV A=#fff B=1", "ENV A #fff",
                           "ENV A=1 \\\n# x\n  B=2", "ENV A 1 #2", "ENV MSG Issue number # five", "ENV PS1 \\w # x",
                           "ENV A \"a # b\"", "ENV A=a\\ #b", "ENV A ### title", "RUN A=1 # x", "ARG A=1 # x"}) {
    INFO(line);
    CHECK(parsed(std::string("FROM a\n") + line + "\n").env_comments.empty());
  }
}

TEST_CASE("comments behind ENV's values: another fault beside them is none of that kind") {
  CHECK_FALSE(parse_dockerfile("FROM a\nENV A=1 B # x\n", "f").dockerfile);
  CHECK(faults("FROM a\nENV A=1 B # x\n") ==
        Texts{"2:9 Syntax error - can't find = in \"B\". Must be of the form: name=value"});
  CHECK_FALSE(parse_dockerfile("FROM a\nENV A=1 # x\nFOO\n", "f").dockerfile);
  CHECK_FALSE(parse_dockerfile("FROM a\nLABEL A=1 # x\n", "f").dockerfile);
  CHECK_FALSE(parse_dockerfile("ENV A=1 # x\n", "f").dockerfile);
}

}  // namespace imgforge::dockerfile
