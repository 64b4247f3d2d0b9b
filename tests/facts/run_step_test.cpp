#include "facts/run_step.hpp"

#include <catch2/catch.hpp>

#include "run_commands.hpp"

using namespace imgforge;

namespace {

struct Row {
  const char* text;
  const char* commands;
};

void check(const std::vector<Row>& rows, bool bash = false) {
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(shown(step_of(row.text, bash)) == row.commands);
  }
}

}  // namespace

TEST_CASE("words of a step", "[run_step]") {
  check({
      {"pip install apache-beam[gcp]==$BEAM", "pip install apache-beam[gcp]==2.66.0"},
      {"pip install \"apache-beam[gcp]==${BEAM}\" 'a b'", "pip install apache-beam[gcp]==2.66.0 a b"},
      {"apt-get install -y $TWO", "apt-get install -y curl git"},
      {"apt-get install -y \"$TWO\"", "apt-get install -y curl git"},
      {"pip install x==$UNKNOWN y", "pip install <x==$UNKNOWN> y"},
      {"pip install x==$UNSET $UNSET y", "pip install x== y"},
      {"echo ${UNSET:-a} ${UNSET-b} ${UNSET:+c} ${BEAM:+d} ${BEAM:-e}", "echo a b d 2.66.0"},
      {"echo ${BEAM%.*} ${BEAM%%.*} ${BEAM#*.} ${BEAM##*.} ${#BEAM}", "echo 2.66 2 66.0 0 6"},
      {"echo ${UNSET:-$BEAM} ${UNSET:-\"x y\"}", "echo 2.66.0 x y"},
      {"V=3.11 && python$V -V", "python3.11 -V"},
      {"V=1; W=$V$V; echo $W \"$V\"", "echo 11 1"},
      {"rm -rf /var/lib/apt/lists/*", "rm -rf /var/lib/apt/lists/*"},
      {"touch ~/x", "touch /root/x"},
      {"mkdir -p /srv/{a,b}", "mkdir -p /srv/{a,b}"},
      {"echo a \\\n  b", "echo a b"},
      {"echo a # not b", "echo a"},
      {"FOO=1 BAR=$UNKNOWN make", "FOO=1 BAR=<> make"},
  });
  check({{"mkdir -p /srv/{a,b}/c python3.{10..12}", "mkdir -p /srv/a/c /srv/b/c python3.10 python3.11 python3.12"}},
        true);
}

TEST_CASE("what runs in every step that succeeds", "[run_step]") {
  check({
      {"a && b && c", "a\nb\nc"},
      {"a; b", "! a\nb"},
      {"set -e; a; b", "! set -e\na\nb"},
      {"set -eux\na\nb", "! set -eux\na\nb"},
      {"a || true", "! a\n? true"},
      {"a && b || true", "! a\n? ! b\n? true"},
      {"a || exit 1", "a\n? exit 1"},
      {"a && b || { echo no; exit 1; }", "a\nb\n? ! echo no\n? exit 1"},
      {"a | b", "! a |1\nb"},
      {"set -o pipefail && a | b", "set -o pipefail\na |2\nb"},
      {"! a", "! a"},
      {"a & b", "! a\nb"},
      {"(a; b) && c", "! a\nb\nc"},
      {"{ a && b; } || true", "! a\n? ! b\n? true"},
      {"command -v x && y; z", "! command -v x\n? ! y\nz"},
      {"cd /x && y; z", "! cd /x\n! y\nz"},
      {"[ -n \"$UNKNOWN\" ] && x; y", "! [ -n <\"$UNKNOWN\"> ]\n? ! x\ny"},
      {"if a; then b; else c; fi; d", "! a\n? ! b\n? ! c\nd"},
      {"if a; then b; else exit 1; fi", "! a\nb\n? exit 1"},
      {"if [ \"$BEAM\" = 2.66.0 ]; then b; else c; fi", "! [ 2.66.0 = 2.66.0 ]\nb"},
      {"if [ \"$BEAM\" = 1 ]; then b; else c; fi", "! [ 2.66.0 = 1 ]\nc"},
      {"if [ -z \"$UNSET\" ] && [ -n \"$BEAM\" ]; then b; fi", "! [ -z  ]\n! [ -n 2.66.0 ]\nb"},
      {"if [ \"$UNKNOWN\" = 1 ]; then exit 0; fi\nb", "! [ <\"$UNKNOWN\"> = 1 ]\n? ! exit 0\n? b"},
      {"if [ \"$UNKNOWN\" = 1 ]; then exit 2; fi\nb", "! [ <\"$UNKNOWN\"> = 1 ]\n? ! exit 2\nb"},
      {"exit 0; b", "! exit 0"},
      {"case $BEAM in 2.6*) a;; *) b;; esac", "a"},
      {"case $BEAM in 1|3) a;; *) b;; esac", "b"},
      {"case $UNKNOWN in 1) a;; *) b;; esac", "? a\n? b"},
      {"while a; do b; done; c", "! a\n? ! b\nc"},
      {"for x in a b; do pip install $x; done", "! pip install a\npip install b"},
      {"set -e; for x in $TWO; do pip install $x; done", "! set -e\npip install curl\npip install git"},
      {"for x in /whl/*; do pip install $x; done", "? pip install <$x>"},
      {"for x in 1 2; do if [ $x = 2 ]; then break; fi; a $x; done; b", "! [ 1 = 2 ]\n! a 1\n! [ 2 = 2 ]\n! break\nb"},
      {"V=1; while a; do V=2; done; b $V", "! a\nb <$V>"},
      {"V=1; if a; then V=2; fi; b $V", "! a\nb <$V>"},
      {"if a; then V=2; fi; b $V", "! a\nb <$V>"},
  });
}

TEST_CASE("shells, functions and wrappers", "[run_step]") {
  check({
      {"sh -c 'pip install x && y'", "pip install x\ny"},
      {"bash -euxo pipefail -c \"a $BEAM; b\"", "a 2.66.0\nb"},
      {"bash -lc 'a'", "a"},
      {"sh -c \"$UNKNOWN\"", "sh -c <\"$UNKNOWN\">"},
      {"bash <<EOF\na $BEAM\nb\nEOF\nc", "! a 2.66.0\n! b\nc"},
      {"bash <<'EOF'\nX=1\na $X\nEOF", "a 1"},
      {"sh x.sh", "sh x.sh"},
      {"eval 'a b'", "a b"},
      {"f() { pip install \"$@\" $1; }; f a b", "pip install a b a"},
      {"f() { if a; then return; fi; b; }; f; c", "! a\n? ! return\n? ! b\nc"},
      {"sudo -E A=1 apt-get update", "A=1 apt-get update"},
      {"sudo -u root pip install x", "pip install x"},
      {"env A=1 B=2 pip install x", "A=1 B=2 pip install x"},
      {"DEBIAN_FRONTEND=x time nice -n 5 command pip install x", "DEBIAN_FRONTEND=x pip install x"},
      {"conda run -n e pip install x", "CONDA_DEFAULT_ENV=e pip install x"},
      {"timeout 60 pip install x", "pip install x"},
      {"cat r.txt | xargs -n 1 pip install", "! cat r.txt |1\npip install <what xargs reads>"},
      {"exec a; b", "a"},
      {"command -v pip", "command -v pip"},
      {"X=$(a b) && c $X", "$ a b\nc <$X>"},
      {"c \"$(a | b)\" `d`", "$ ! a |1\n$ ! b\n$ ! d\nc <\"$(a | b)\"> <`d`>"},
  });
}

TEST_CASE("redirections, heredocs, pipes", "[run_step]") {
  const RunStep step =
      step_of("pip install scikit-learn>=0.24 && cat > /etc/x <<'EOT'\none\n\ttwo\nEOT\necho z >> ./y 2>&1");
  REQUIRE(step.commands.size() == 3);
  REQUIRE(step.commands[0].redirections.size() == 1);
  CHECK(step.commands[0].redirections[0].operation == ">");
  CHECK(step.commands[0].redirections[0].target.text == "=0.24");
  CHECK(step.commands[0].redirections[0].written == "scikit-learn>=0.24");
  CHECK(step.commands[0].redirections[0].offset == 12);
  CHECK(step.commands[1].heredoc == "one\n\ttwo\n");
  CHECK(step.commands[2].redirections.size() == 2);
  CHECK(step.commands[2].redirections[1].written == "2>&1");
  CHECK(shown(step_of("{ echo a; echo b; } > /f")) == "! echo a >/f\necho b >>/f");
  CHECK(shown(step_of("a | { b; c; } | tee x")) == "! a |1\n! b |3\n! c |3\ntee x");
  CHECK(step_of("cat <<EOF\n$BEAM \\$x\nEOF").commands[0].heredoc == "2.66.0 $x\n");
  CHECK(!step_of("cat <<EOF\n$UNKNOWN\nEOF").commands[0].heredoc);
}

TEST_CASE("places are those of the step's text", "[run_step]") {
  const std::string text = "V=1 && sh -c 'cd /x; pip install  \"n==$V\"' && bash <<'E'\n apt install q\nE\n";
  const RunStep step = step_of(text);
  REQUIRE(step.commands.size() == 3);
  CHECK(step.commands[1].offset == text.find("pip"));
  CHECK(step.commands[1].offsets[2] == text.find("\"n=="));
  CHECK(step.commands[1].folder == "/x");
  CHECK(step.commands[1].written == "pip install  \"n==$V\"");
  CHECK(step.commands[2].offsets[2] == text.find("q\n"));
  CHECK(step.commands[2].folder == "/");
}

TEST_CASE("what a command runs with", "[run_step]") {
  CHECK(command_of("export PATH=/opt/x/bin:$PATH && a").variable("PATH") == "/opt/x/bin:/usr/local/bin:/usr/bin:/bin");
  CHECK(command_of("PATH=/y a").variable("PATH") == "/y");
  CHECK(command_of(". /opt/v/bin/activate && a").variable("PATH") == "/opt/v/bin:/usr/local/bin:/usr/bin:/bin");
  CHECK(command_of(". /opt/v/bin/activate && a").variable("VIRTUAL_ENV") == "/opt/v");
  CHECK(command_of("conda activate e && a").variable("CONDA_DEFAULT_ENV") == "e");
  CHECK(!command_of("conda activate e && a").variable("PATH"));
  CHECK(!command_of(". ./any.sh && a").variable("PATH"));
  CHECK(!command_of("bash -lc a").variable("PATH"));
  CHECK(command_of("(cd /x && PATH=/z b); a").variable("PATH") == "/usr/local/bin:/usr/bin:/bin");
  CHECK(command_of("cd /a/b && cd ../c && x").folder == "/a/c");
  CHECK(!command_of("cd $UNKNOWN && x").folder);
}

TEST_CASE("variables that are not set", "[run_step]") {
  const RunStep step =
      step_of("X=1; pip install a==$NONE $X ${NONE2:-y} && [ -n \"$Q\" ] && echo $HOSTNAME && read L && echo $L");
  REQUIRE(step.unset.size() == 2);
  CHECK(step.unset[0].name == "NONE");
  CHECK(step.unset[0].result == "a==");
  CHECK(step.unset[0].offset == 17);
  CHECK(!step.unset[0].in_test);
  CHECK(step.unset[1].name == "Q");
  CHECK(step.unset[1].in_test);
  CHECK(step_of(". ./env && echo $NONE").unset.empty());
}

TEST_CASE("what only bash has", "[run_step]") {
  const auto uses = [](const std::string& text, bool bash = false) {
    std::string found;
    for (const BashUse& one : step_of(text, bash).bash_uses) found += one.what + "@" + std::to_string(one.offset) + " ";
    return found;
  };
  CHECK(uses("set -o pipefail && a") == "pipefail@7 ");
  CHECK(uses("[[ a == b ]]") == "[[@0 ");
  CHECK(uses("[ a == b ]") == "==@4 ");
  CHECK(uses("[ a = b ]").empty());
  CHECK(uses("source x") == "source@0 ");
  CHECK(uses(". x").empty());
  CHECK(uses("a <<< b") == "<<<@2 ");
  CHECK(uses("function f { a; }") == "function@0 ");
  CHECK(uses("X=(a b)") == "array@0 ");
  CHECK(uses("echo {1..3} {a,b} {c}") == "{1..3}@5 {a,b}@12 ");
  CHECK(uses("echo '{a,b}' \"[[\" # source").empty());
  CHECK(uses("bash -c '[[ a == b ]]'").empty());
  CHECK(uses("bash -c 'sh -c \"[[ a ]]\"'") == "[[@16 ");
  CHECK(uses("[[ a == b ]]", true).empty());
  CHECK(uses("echo ${V//a/b} ${V:1:2} ${V:-x} ${V%a}") == "${.../...}@5 ${...:...}@15 ");
  CHECK(uses("diff <(a) <(b) &> c") == "<(...)@5 <(...)@10 &>@15 ");
}

TEST_CASE("exec forms", "[run_step]") {
  CHECK(shown(read_run_step(std::vector<std::string>{"pip", "install", "$X"}, {})) == "pip install $X");
  const RunStep step = read_run_step(std::vector<std::string>{"/bin/bash", "-c", "a && b"}, {});
  CHECK(shown(step) == "a\nb");
  CHECK(step.commands[1].offset == 2);
}

TEST_CASE("what is not understood is said", "[run_step]") {
  CHECK(!step_of("if a; then").not_understood.empty());
  CHECK(!step_of("f() { f; }; f").not_understood.empty());
  CHECK(step_of("f() { a; }; f").not_understood.empty());
  std::string many =
      "for a in 0 1 2 3 4 5 6 7 8 9; do for b in 0 1 2 3 4 5 6 7 8 9; do for c in 0 1 2 3 4 5 6 7 8 9; do "
      "x; y; z; done; done; done";
  const RunStep step = step_of(many);
  CHECK(step.commands.size() == 2000);
  CHECK(!step.not_understood.empty());
  RunShell shell;
  shell.kind = RunShell::Kind::other;
  CHECK(!read_run_step("Write-Host x", shell, {}).not_understood.empty());
}
