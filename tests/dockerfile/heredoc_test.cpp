#include <catch2/catch.hpp>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/parsed.hpp"

namespace imgforge::dockerfile {

using Texts = std::vector<std::string>;

TEST_CASE("heredoc: RUN that is nothing but one") {
  const Dockerfile file = parsed("FROM a\nRUN <<EOF\napt-get update\n  # inside\n\nx \\\nEOF\nUSER b\n");
  REQUIRE(file.instructions.size() == 3);
  const Instruction& run = file.instructions[1];
  CHECK(run.command.text() == "apt-get update\n  # inside\n\nx \\\n");
  CHECK(run.last_line == 7);
  CHECK(at(run.command.place_at(4)) == "3:5");
  CHECK(at(run.command.place_at(run.command.text().find("inside"))) == "4:5");
  CHECK(at(run.command.place_at(run.command.text().find("x \\"))) == "6:1");
  REQUIRE(run.heredocs.size() == 1);
  CHECK(run.heredocs[0].name == "EOF");
  CHECK(run.heredocs[0].expand);
  CHECK(run.heredocs[0].content == run.command.text());
  CHECK(at(run.heredocs[0].place) == "3:1");
  CHECK(at(file.instructions[2].place) == "8:1");
}

TEST_CASE("heredoc: quoted names, numbers, white space and tabs") {
  const auto heredoc = [](const std::string& text) {
    return parsed("FROM a\n" + text).instructions.at(1).heredocs.at(0);
  };
  CHECK_FALSE(heredoc("RUN <<'EOF'\n$x\nEOF\n").expand);
  CHECK_FALSE(heredoc("RUN <<\"EOF\"\n$x\nEOF\n").expand);
  CHECK_FALSE(heredoc("RUN <<E\"O\"F\n$x\nEOF\n").expand);
  CHECK(heredoc("RUN 2<<EOF cat\nx\nEOF\n").content == "x\n");
  CHECK(heredoc("RUN << EOF\nx\nEOF\n").name == "EOF");
  CHECK(heredoc("RUN cat <<-EOF\n\t\tx\n\t y\n z\n\tEOF\n").content == "x\n y\n z\n");
  CHECK(heredoc("RUN <<-EOF\n\tx\n\tEOF\n").content == "x\n");
  CHECK(heredoc("RUN <<EOF\n\tx\n\tEOF\nEOF\n").content == "\tx\n\tEOF\n");
  CHECK(heredoc("RUN <<EOF\nEOF").content.empty());
  CHECK(heredoc("RUN <<EOF\r\nx\r\nEOF\r\n").content == "x\r\n");
  CHECK(heredoc("RUN python3 <<'END OF IT'\nx\nEND OF IT\n").name == "END OF IT");
}

TEST_CASE("heredoc: in a command the shell gets it with the text around") {
  const Dockerfile file = parsed("FROM a\nRUN cat <<-A >/x && \\\n  cat <<'B' >/y\n\t1\n\tA\n2 $x\nB\nUSER z");
  const Instruction& run = file.instructions[1];
  CHECK(run.command.text() == "cat <<-A >/x &&   cat <<'B' >/y\n\t1\nA\n2 $x\nB");
  REQUIRE(run.heredocs.size() == 2);
  CHECK(run.heredocs[0].content == "1\n");
  CHECK(run.heredocs[1].content == "2 $x\n");
  CHECK_FALSE(run.heredocs[1].expand);
  CHECK(at(run.heredocs[1].place) == "6:1");
  CHECK(at(run.command.place_at(run.command.text().find("cat <<'B'"))) == "3:3");
  CHECK(at(run.command.place_at(run.command.text().find("1\nA"))) == "4:2");
  CHECK(at(run.command.place_at(run.command.text().find("A\n2"))) == "5:2");
  CHECK(at(run.command.place_at(run.command.text().find("$x"))) == "6:3");
  CHECK(run.last_line == 7);
}

TEST_CASE("heredoc: a script with an interpreter of its own is told by its first line") {
  const Dockerfile file = parsed("FROM a\nRUN <<EOF\n#!/usr/bin/env python3\nprint(1)\nEOF\n");
  CHECK(file.instructions[1].command.text() == "#!/usr/bin/env python3\nprint(1)\n");
}

TEST_CASE("heredoc: COPY and ADD take several as sources") {
  const Dockerfile file =
      parsed("FROM a\nCOPY --chmod=755 <<a.sh <<'b.txt' c /dest/\n#!/bin/sh\na.sh\n$b\nb.txt\nADD <<EOF /x\n1\nEOF\n");
  const Instruction& copy = file.instructions[1];
  CHECK(texts(copy.words) == Texts{"<<a.sh", "<<'b.txt'", "c", "/dest/"});
  REQUIRE(copy.heredocs.size() == 2);
  REQUIRE(find_heredoc(copy, copy.words[0]));
  CHECK(find_heredoc(copy, copy.words[0])->content == "#!/bin/sh\n");
  CHECK(find_heredoc(copy, copy.words[1])->content == "$b\n");
  CHECK_FALSE(find_heredoc(copy, copy.words[1])->expand);
  CHECK(find_heredoc(copy, copy.words[2]) == nullptr);
  CHECK(find_heredoc(copy, copy.words[3]) == nullptr);
  CHECK(file.instructions[2].heredocs[0].content == "1\n");
  CHECK(copy.last_line == 6);
}

TEST_CASE("heredoc: what is none") {
  for (const char* line :
       {"RUN cat <<<word", "RUN echo '<<EOF'", "RUN echo \"a <<EOF\"", "RUN echo \\<<EOF", "RUN [\"cat\", \"<<EOF\"]",
        "CMD cat <<EOF", "ENV A=<<EOF", "RUN echo $((1<<20))", "RUN a<b <c"}) {
    INFO(line);
    const Dockerfile file = parsed(std::string("FROM a\n") + line + "\nUSER b\n");
    CHECK(file.instructions.size() == 3);
    CHECK(file.instructions[1].heredocs.empty());
  }
}

TEST_CASE("heredoc: of an ONBUILD they are its trigger's") {
  const Dockerfile file = parsed("FROM a\nONBUILD RUN <<EOF\nx\nEOF\nUSER b\n");
  REQUIRE(file.instructions.size() == 3);
  REQUIRE(file.instructions[1].trigger);
  CHECK(file.instructions[1].trigger->command.text() == "x\n");
  CHECK(file.instructions[1].trigger->heredocs.size() == 1);
  CHECK(file.instructions[1].last_line == 4);
}

TEST_CASE("heredoc: one without an end ends the reading") {
  CHECK(faults("FROM a\nRUN <<EOF\nx\n EOF\nFOO\n") == Texts{"2:1 unterminated heredoc"});
  CHECK(faults("FROM a\nRUN <<A <<B\nA\nx\nA\n") == Texts{"2:1 unterminated heredoc"});
  CHECK(faults("FROM a\nRUN <<A <<B\nA\nx\nB\n").empty());
  // With a space BuildKits differ about it: then it is one only where it has an end.
  CHECK(faults("FROM a\nRUN x $(( 1 << 20 ))\nUSER b\n").empty());
  CHECK(parsed("FROM a\nRUN x $(( 1 << 20 ))\nUSER b\n").instructions.at(1).command.text() == "x $(( 1 << 20 ))");
  CHECK(parsed("FROM a\nRUN x << E << F\nUSER b\nF\n").instructions.at(1).heredocs.size() == 1);
  std::string many = "FROM a\n";
  for (int i = 0; i < 50; ++i) many += "RUN x << E\n";
  CHECK(faults(many) == Texts{"22:1 unterminated heredoc"});
}

}  // namespace imgforge::dockerfile
