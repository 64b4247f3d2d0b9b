#include <catch2/catch.hpp>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/parsed.hpp"

namespace imgforge::dockerfile {

using Kind = Instruction::Kind;
using Texts = std::vector<std::string>;

TEST_CASE("reader: lines, comments and continuations") {
  const Dockerfile file = parsed(
      "# a comment\n"
      "FROM debian:12\n"
      "\n"
      "RUN apt-get update \\\n"
      "    # what it needs\n"
      "\n"
      "    && apt-get install -y \\  \n"
      "       curl\n"
      "run true");
  REQUIRE(file.instructions.size() == 3);
  const Instruction& run = file.instructions[1];
  CHECK(run.kind == Kind::run);
  CHECK(at(run.place) == "4:1");
  CHECK(run.last_line == 8);
  CHECK(run.command.text() == "apt-get update     && apt-get install -y        curl");
  CHECK(at(run.command.place_at(0)) == "4:5");
  CHECK(at(run.command.place_at(run.command.text().find("&&"))) == "7:5");
  CHECK(at(run.command.place_at(run.command.text().find("curl"))) == "8:8");
  CHECK(run.command.place_at(0).file == "Dockerfile");
  CHECK(file.instructions[2].command.text() == "true");
  CHECK(at(file.instructions[2].place) == "9:1");
  CHECK(file.instructions[2].last_line == 9);
}

TEST_CASE("reader: what ends a line is continued by, and what does not") {
  const auto command = [](std::string_view text) { return parsed(text).instructions.at(1).command.text(); };
  CHECK(command("FROM a\nRUN a \\\nb") == "a b");
  CHECK(command("FROM a\nRUN a\\\n  b") == "a  b");
  CHECK(command("FROM a\nRUN a \\ \t\nb") == "a b");
  CHECK(command("FROM a\nRUN a \\\\\nRUN b") == "a \\\\");  // an escaped backslash
  CHECK(command("FROM a\nRUN a \\") == "a");                // at the end of the file
  CHECK(command("FROM a\nRUN a \\\n\\\nb") == "a b");
  CHECK(command("FROM a\nRUN a \\\n   \n\t\n# c\nb") == "a b");
  CHECK(command("FROM a\n\\\nRUN a") == "a");  // a backslash alone before it
  CHECK(command("FROM a\nRUN echo '# no comment'") == "echo '# no comment'");
  CHECK(command("FROM a\nRUN a # of the shell") == "a # of the shell");
}

TEST_CASE("reader: line ends, byte order mark, case and white space do not matter") {
  const Dockerfile crlf = parsed(
      "\xEF\xBB\xBF"
      "from a as B\r\n\r\nRun x \\\r\n  y\r\n  CMD [\"a\"]\r\n");
  REQUIRE(crlf.instructions.size() == 3);
  CHECK(at(crlf.instructions[0].place) == "1:1");
  CHECK(at(crlf.instructions[0].words[0].place) == "1:6");
  CHECK(crlf.stages.at(0).name == "b");
  CHECK(crlf.instructions[1].command.text() == "x   y");
  CHECK(at(crlf.instructions[1].command.place_at(4)) == "4:3");
  CHECK(at(crlf.instructions[2].place) == "5:3");
  CHECK(crlf.instructions[2].json);
  CHECK(parsed("FROM\t a \t\nUSER\t x").instructions[1].words[0].text == "x");
  CHECK(parsed("\u00a0FROM a\u00a0").instructions[0].words[0].text == "a");
}

TEST_CASE("reader: directives stand before everything else") {
  const Dockerfile file = parsed("# syntax = docker/dockerfile:1.7 \n#escape=`\nFROM a\nRUN C:\\ `\n  b\nENV A=`\"\n");
  CHECK(file.escape == '`');
  CHECK(file.syntax == "docker/dockerfile:1.7");
  CHECK(file.instructions[1].command.text() == "C:\\   b");
  CHECK(parsed("# comment\n# escape=`\nFROM a\n").escape == '\\');
  CHECK(parsed("\n# escape=`\nFROM a\n").escape == '\\');
  CHECK(parsed("#Escape=`\nFROM a\n").escape == '`');
  CHECK(parsed("# other=1\n# escape=`\nFROM a\n").escape == '\\');
  CHECK(parsed("# check=skip=all\n# escape=`\nFROM a\n").escape == '`');
  CHECK(parsed("FROM a\n# syntax=b\n").syntax.empty());
  CHECK(faults("# escape=x\nFROM a") == Texts{"1:1 invalid escape token 'x' does not match ` or \\"});
  CHECK(faults("# escape=`\n  # escape=`\nFROM a") == Texts{"2:3 only one escape parser directive can be used"});
}

TEST_CASE("reader: stages") {
  const Dockerfile file = parsed(
      "ARG V=1\nARG W\nFROM a:$V AS build\nRUN x\nFROM --platform=$BUILDPLATFORM b\nFROM build as Final-1.x_y\nCOPY "
      "--from=build /a /b\n");
  REQUIRE(file.stages.size() == 3);
  CHECK(file.stages[0].from == 2);
  CHECK(file.stages[0].end == 4);
  CHECK(file.stages[0].name == "build");
  CHECK(file.stages[1].from == 4);
  CHECK(file.stages[1].end == 5);
  CHECK(file.stages[1].name.empty());
  CHECK(file.stages[2].name == "final-1.x_y");
  CHECK(file.stages[2].end == 7);
  CHECK(texts(file.instructions[2].words) == Texts{"a:$V", "AS", "build"});
  CHECK(at(file.instructions[2].words[2].place) == "3:14");
  REQUIRE(file.instructions[4].flags.size() == 1);
  CHECK(file.instructions[4].flags[0].name == "platform");
  CHECK(file.instructions[4].flags[0].value == "$BUILDPLATFORM");
  CHECK(at(file.instructions[4].flags[0].place) == "5:6");
}

TEST_CASE("reader: assignments of ENV, LABEL and ARG") {
  const auto assignments = [](const std::string& line) {
    return pairs(parsed("FROM a\n" + line).instructions.at(1).assignments);
  };
  CHECK(assignments("ENV A=1 B='b c' C=\"d e\" D=a\\ b") == Texts{"A=1", "B='b c'", "C=\"d e\"", "D=a\\ b"});
  CHECK(assignments("ENV A b  c ") == Texts{"A=b  c"});
  CHECK(assignments("ENV A   b=c") == Texts{"A=b=c"});
  CHECK(assignments("ENV A=") == Texts{"A="});
  CHECK(assignments("ENV A=b=c") == Texts{"A=b=c"});
  CHECK(assignments("ENV A=\"x 'y\" B='\"'") == Texts{"A=\"x 'y\"", "B='\"'"});
  CHECK(assignments("ENV A=1 \\\n# c\n    B=2 \\\n\n  C=3") == Texts{"A=1", "B=2", "C=3"});
  CHECK(assignments("LABEL \"a b\"=c d.e=\"f \\\"g\"") == Texts{"\"a b\"=c", "d.e=\"f \\\"g\""});
  CHECK(assignments("ARG A") == Texts{"A"});
  CHECK(assignments("ARG A B=2 C=") == Texts{"A", "B=2", "C="});
  CHECK(assignments("ARG A=\"${B:-c d}\"") == Texts{"A=\"${B:-c d}\""});
}

TEST_CASE("reader: places of assignments, in continuation lines too") {
  const Dockerfile file = parsed("FROM a\nENV A=1 \\\n    BB=22 \\\n  C=\nENV D  e f\n");
  const std::vector<Assignment>& env = file.instructions[1].assignments;
  CHECK(at(env[0].name.place) == "2:5");
  CHECK(at(env[0].value->place) == "2:7");
  CHECK(at(env[1].name.place) == "3:5");
  CHECK(at(env[1].value->place) == "3:8");
  CHECK(at(env[2].name.place) == "4:3");
  CHECK(at(env[2].value->place) == "4:5");
  CHECK(at(file.instructions[2].assignments[0].value->place) == "5:8");
}

TEST_CASE("reader: exec form, and what only looks like it") {
  const Dockerfile file = parsed(
      "FROM a\n"
      "CMD [\"a b\", \"c\\\"d\",\\\n  \"\\u00e9\" ]\n"
      "CMD ['a']\n"
      "CMD [\"a\",]\n"
      "CMD [ \"a\" ] b\n"
      "ENTRYPOINT []\n"
      "ENTRYPOINT\n"
      "RUN [ -f x ] && y\n"
      "SHELL [\"/bin/bash\", \"-c\"]\n"
      "VOLUME [\"/a b\"]\n"
      "COPY [\"a b\", \"/c\"]\n");
  const Instruction& cmd = file.instructions[1];
  CHECK(cmd.json);
  CHECK(texts(cmd.words) == Texts{"a b", "c\"d", "\u00e9"});
  CHECK(at(cmd.words[0].place) == "2:6");
  CHECK(at(cmd.words[1].place) == "2:13");
  CHECK(at(cmd.words[2].place) == "3:3");
  CHECK(cmd.command.text().empty());
  for (const std::size_t shell : {2, 3, 4, 7}) {
    INFO(shell);
    CHECK_FALSE(file.instructions[shell].json);
    CHECK(file.instructions[shell].words.empty());
    CHECK_FALSE(file.instructions[shell].command.text().empty());
  }
  CHECK(file.instructions[5].json);
  CHECK(file.instructions[5].words.empty());
  CHECK_FALSE(file.instructions[6].json);
  CHECK(texts(file.instructions[8].words) == Texts{"/bin/bash", "-c"});
  CHECK(texts(file.instructions[9].words) == Texts{"/a b"});
  CHECK(texts(file.instructions[10].words) == Texts{"a b", "/c"});
}

TEST_CASE("reader: flags") {
  const Dockerfile file = parsed(
      "FROM a\n"
      "RUN --mount=type=cache,target=/root/.cache --mount=type=bind,from=b,target=/b \\\n"
      "  --network=none --security=sandbox make\n"
      "COPY --chown=1:1 --link --from=b --chmod=755 --exclude=*.a --exclude=*.b --parents x y /z/\n"
      "ADD --checksum=sha256:00 --keep-git-dir=true --unpack=FALSE https://x/y /z\n"
      "HEALTHCHECK --interval=1m30s --timeout=1.5s --retries=3 --start-period=0 --start-interval=5ms CMD curl -f x\n"
      "HEALTHCHECK NONE\n"
      "HEALTHCHECK cmd [\"a\"]\n"
      "RUN -- --x\n"
      "COPY --from=\"b\" x y\n");
  const Instruction& run = file.instructions[1];
  REQUIRE(run.flags.size() == 4);
  CHECK(run.flags[1].value == "type=bind,from=b,target=/b");
  CHECK(at(run.flags[1].place) == "2:44");
  CHECK(at(run.flags[2].place) == "3:3");
  CHECK(run.command.text() == "make");
  CHECK(at(run.command.place_at(0)) == "3:37");
  CHECK(texts(file.instructions[2].words) == Texts{"x", "y", "/z/"});
  CHECK_FALSE(file.instructions[2].flags[1].value);
  CHECK(file.instructions[4].command.text() == "curl -f x");
  CHECK(at(file.instructions[4].command.place_at(0)) == "6:99");
  CHECK(file.instructions[5].command.text().empty());
  CHECK(texts(file.instructions[6].words) == Texts{"a"});
  CHECK(file.instructions[7].command.text() == "--x");
  CHECK(file.instructions[8].flags[0].value == "b");
}

TEST_CASE("reader: the other instructions") {
  const Dockerfile file = parsed(
      "FROM a\nWORKDIR /a b\nUSER \"x y\"\nSTOPSIGNAL SIGTERM\nEXPOSE 80 443/tcp 8000-8010/UDP 8080:80 $PORT\n"
      "VOLUME /a /b\nMAINTAINER Some One <x@y>\nONBUILD RUN make \\\n  all\nADD a b /c\n");
  CHECK(texts(file.instructions[1].words) == Texts{"/a b"});
  CHECK(texts(file.instructions[2].words) == Texts{"\"x y\""});
  CHECK(texts(file.instructions[3].words) == Texts{"SIGTERM"});
  CHECK(texts(file.instructions[4].words) == Texts{"80", "443/tcp", "8000-8010/UDP", "8080:80", "$PORT"});
  CHECK(texts(file.instructions[5].words) == Texts{"/a", "/b"});
  const Instruction& onbuild = file.instructions[7];
  REQUIRE(onbuild.trigger);
  CHECK(onbuild.trigger->kind == Kind::run);
  CHECK(onbuild.trigger->command.text() == "make   all");
  CHECK(at(onbuild.trigger->place) == "8:9");
  CHECK(at(onbuild.trigger->command.place_at(7)) == "9:3");
  CHECK(texts(file.instructions[8].words) == Texts{"a", "b", "/c"});
}

TEST_CASE("reader: pragmas name the line that follows") {
  const Dockerfile file = parsed(
      "# imgforge: ignore=a/b first\n"
      "FROM a\n"
      "#ImgForge:ignore=c/d second  \n"
      "# another comment\n"
      "\n"
      "RUN x \\\n"
      "  # imgforge: ignore=e/f third\n"
      "\n"
      "  && y\n"
      "RUN <<EOF\n"
      "# imgforge: ignore=g/h of the script\n"
      "EOF\n"
      "# imgforgery: no\n"
      "# imgforge: last\n");
  REQUIRE(file.pragmas.size() == 4);
  CHECK(file.pragmas[0].text == "ignore=a/b first");
  CHECK(at(file.pragmas[0].place) == "1:1");
  CHECK(file.pragmas[0].next_line == 2);
  CHECK(file.pragmas[1].text == "ignore=c/d second");
  CHECK(file.pragmas[1].next_line == 6);
  CHECK(at(file.pragmas[2].place) == "7:3");
  CHECK(file.pragmas[2].next_line == 9);
  CHECK(file.pragmas[3].text == "last");
  CHECK(file.pragmas[3].next_line == 0);
}

TEST_CASE("looks like a Dockerfile: the first instruction is FROM or ARG") {
  for (const char* text : {"FROM a", "from a", "# c\n\n  FROM a\nRUN b", "ARG A=1\nFROM $A", "# syntax=x\nFROM a",
                           "\xEF\xBB\xBF"
                           "FROM a",
                           "FROM \\\n a"}) {
    INFO(text);
    CHECK(looks_like_dockerfile(text));
  }
  for (const char* text : {"", "# c", "apiVersion: imgforge/v1\nname: x", "from: a", "arguments: 1", "FROM",
                           "RUN a\nFROM b", "{\"from\": 1}", "---\nfrom: x", "- FROM a"}) {
    INFO(text);
    CHECK_FALSE(looks_like_dockerfile(text));
  }
}

TEST_CASE("every kind of instruction has its keyword") {
  CHECK(to_string(Kind::add) == "ADD");
  CHECK(to_string(Kind::healthcheck) == "HEALTHCHECK");
  CHECK(to_string(Kind::workdir) == "WORKDIR");
}

}  // namespace imgforge::dockerfile
