// Where a start script ends: certain, or honestly not known.
#include "facts/start_script.hpp"

#include <catch2/catch.hpp>

#include "facts/shebang.hpp"

using namespace imgforge;

namespace {

std::string shown(const CommandLine& line) {
  std::string text;
  for (const CommandWord& word : line) {
    if (!text.empty()) text += ' ';
    text += word.kind == CommandWord::Kind::arguments ? "ARGS"
            : word.kind == CommandWord::Kind::unknown ? "?"
                                                      : word.text;
  }
  return text;
}

/// The ends of a script, joined by " / "; $@ is `before` and the runtime's arguments.
std::string ends(const std::string& script, const std::vector<std::string>& before = {}) {
  ShellContext context;
  context.variables["PATH"] = CommandLine{CommandWord::of("/usr/bin")};
  context.variables["BEAM"] = CommandLine{CommandWord::of("/opt/apache/beam")};
  context.folder = "/";
  CommandLine arguments;
  for (const std::string& word : before) arguments.push_back(CommandWord::of(word));
  arguments.push_back(CommandWord::all_arguments());
  const auto is_boot = [](const CommandLine& line, const ShellContext&) {
    return line.front().text.ends_with("/boot");
  };
  std::string text;
  for (const ScriptEnd& end : read_start_script(script, "/start.sh", arguments, context, is_boot)) {
    if (!text.empty()) text += " / ";
    text += end.kind == ScriptEnd::Kind::runs    ? shown(end.command)
            : end.kind == ScriptEnd::Kind::exits ? "exit"
                                                 : "unknown: " + end.why;
  }
  return text;
}

}  // namespace

TEST_CASE("scripts that end in boot", "[script]") {
  CHECK(ends("#!/bin/sh\nset -e\nexport OMP_NUM_THREADS=1\nexec /opt/apache/beam/boot \"$@\"\n") ==
        "/opt/apache/beam/boot ARGS");
  CHECK(ends("#!/bin/sh\n/opt/apache/beam/boot \"$@\"") == "/opt/apache/beam/boot ARGS");
  CHECK(ends("/b/boot \"${@}\"; exit $?") == "/b/boot ARGS");
  CHECK(ends("exec /b/boot $*") == "/b/boot ARGS");
  CHECK(ends("exec /b/boot $@ >>/log 2>&1") == "/b/boot ARGS");
  CHECK(ends("/b/boot \"$@\" | tee /log") == "/b/boot ARGS");
  CHECK(ends("/b/boot \"$@\" || exit 1") == "/b/boot ARGS");
  CHECK(ends("main() {\n  exec /b/boot \"$@\"\n}\nmain \"$@\"\n") == "/b/boot ARGS");
  CHECK(ends("while true; do /b/boot \"$@\"; sleep 1; done") == "/b/boot ARGS");
  CHECK(ends("/b/boot \"$@\" &\npid=$!\ntrap 'kill $pid' TERM\nwait $pid") == "/b/boot ARGS");
  CHECK(ends("cat <<EOF\nexec /bin/bash \"\nEOF\nexec /b/boot \\\n  \"$@\"") == "/b/boot ARGS");
  CHECK(ends("exec -a worker /b/boot --x=1 \"$@\"") == "/b/boot --x=1 ARGS");
}

TEST_CASE("values that the script itself or the image's environment sets are followed", "[script]") {
  CHECK(ends("BOOT=/b/boot\nexec \"$BOOT\" \"$@\"") == "/b/boot ARGS");
  CHECK(ends("exec ${BEAM}/boot \"$@\"") == "/opt/apache/beam/boot ARGS");
  CHECK(ends("CMD='/b/boot --x'\nexec $CMD \"$@\"") == "/b/boot --x ARGS");
  CHECK(ends("args=(\"$@\")\nexec /b/boot \"${args[@]}\"") == "/b/boot ARGS");
  CHECK(ends("ARGS=$@\nexec /b/boot $ARGS") == "/b/boot ARGS");
  CHECK(ends("set -- /b/boot \"$@\"\nexec \"$@\"") == "/b/boot ARGS");
}

TEST_CASE("arguments that do not arrive", "[script]") {
  CHECK(ends("exec /b/boot") == "/b/boot");
  CHECK(ends("main() { exec /b/boot \"$@\"; }\nmain") == "/b/boot");  // the function's own arguments
  CHECK(ends("shift\nexec /b/boot \"$@\"") == "/b/boot ?");
  CHECK(ends("ARGS=\"$@\"\nexec /b/boot \"$ARGS\"") == "/b/boot ?");
}

TEST_CASE("a script that hands over to its arguments", "[script]") {
  CHECK(ends("exec \"$@\"", {"/b/boot"}) == "/b/boot ARGS");
  CHECK(ends("exec \"$@\"") == "ARGS");
  CHECK(ends("shift\nexec \"$@\"", {"serve", "/b/boot"}) == "/b/boot ARGS");
  // The shape of NVIDIA's entrypoint.
  CHECK(ends("#!/bin/bash\nshopt -s nullglob extglob\n_DIR=\"$(dirname $(readlink -f \"${BASH_SOURCE[0]}\"))\"\n"
             "declare -a _PARTS=( \"${_DIR}/entrypoint.d\"/*@(.txt|.sh) )\n"
             "print_repeats() {\n  local -r char=\"$1\" count=\"$2\"\n  local i\n  for ((i=1; i<=$count; i++)); do "
             "echo -n \"$char\"; done\n  echo\n}\n"
             "for _file in \"${_PARTS[@]}\"; do\n  case \"${_file}\" in\n    *.txt) cat \"${_file}\";;\n    *.sh) "
             "source \"${_file}\";;\n  esac\ndone\n"
             "if [[ $# -eq 0 ]]; then\n  exec \"/bin/bash\"\nelse\n  exec \"$@\"\nfi\n",
             {"/b/boot"}) == "/b/boot ARGS");
}

TEST_CASE("conditions that can be decided are", "[script]") {
  CHECK(ends("if [ $# -gt 0 ]; then exec /b/boot \"$@\"; fi\nexec bash") == "/b/boot ARGS");
  CHECK(ends("if [ \"$1\" = \"bash\" ]; then exec bash; fi\nexec /b/boot \"$@\"") == "/b/boot ARGS");
  CHECK(ends("if [ -z \"$1\" ]; then exec bash; else exec /b/boot \"$@\"; fi") == "/b/boot ARGS");
  CHECK(ends("if [ \"x$1\" = xbash ]; then exec bash; fi\nexec /b/boot \"$@\"") == "/b/boot ARGS");
  CHECK(ends("[ \"$BEAM\" = /opt/apache/beam ] && exec /b/boot \"$@\"\nexec bash") == "/b/boot ARGS");
}

TEST_CASE("conditions of the run leave both ways open", "[script]") {
  CHECK(ends("if [ -n \"$DEBUG\" ]; then exec bash; fi\nexec /b/boot \"$@\"") == "bash / /b/boot ARGS");
  CHECK(ends("case $MODE in worker) exec /b/boot \"$@\";; *) exec python main.py;; esac") ==
        "/b/boot ARGS / python main.py");
  CHECK(ends("test -f /x && X=1 || X=2\nexec /b/boot $X \"$@\"") == "/b/boot ? ARGS");
  // A guard that gives up is no other way to run.
  CHECK(ends("if [ ! -f /key ]; then echo missing >&2; exit 1; fi\nexec /b/boot \"$@\"") == "/b/boot ARGS");
}

TEST_CASE("scripts that end in something else", "[script]") {
  CHECK(ends("exec python -m pipeline") == "python -m pipeline");
  CHECK(ends("echo hello") == "echo hello");
  CHECK(ends("# nothing\n") == "exit");
  CHECK(ends("exit 0") == "exit");
  CHECK(ends("(exec /bin/true)\nexec /bin/false") == "/bin/false");
}

TEST_CASE("what only the run tells is not guessed", "[script]") {
  CHECK(ends("exec $(which boot) \"$@\"") == "? ARGS");
  CHECK(ends("exec ${BOOT:-/b/boot} \"$@\"") == "? ARGS");
  CHECK(ends(". /etc/profile\nexec $BEAM/boot \"$@\"") == "? ARGS");
  CHECK(ends("eval \"exec /b/boot $@\"").starts_with("unknown: it runs text by eval"));
  CHECK(ends("/b/boot \"$@\" &\nsleep infinity").starts_with("unknown: it runs /b/boot in the background"));
  CHECK(ends("if true; then") == "unknown: line 1: expected \"fi\"");
  CHECK(ends("echo \"unclosed") == "unknown: line 1: a quote is not closed");
}

TEST_CASE("hostile scripts end in bounded time and depth", "[script]") {
  CHECK(ends("f() { f; }\nf").starts_with("unknown"));
  CHECK(ends("f() { g; }\ng() { f \"$@\"; f \"$@\"; }\nf").starts_with("unknown"));
  CHECK(ends(std::string(100'000, '(')).starts_with("unknown"));
  CHECK(ends(std::string(100'000, '{')).size() < 200'000);
  CHECK(ends(std::string(300'000, ' ')).starts_with("unknown: the script is too large"));
  CHECK(ends(std::string("echo \0 x", 8)).starts_with("unknown: it is no text"));
  std::string doubling = "X=xxxxxxxxxxxxxxxx\n", conditions, many;
  for (int i = 0; i < 200; ++i) doubling += "X=$X$X\n";
  CHECK(ends(doubling + "exec /b/boot \"$@\"") == "/b/boot ARGS");
  for (int i = 0; i < 100; ++i)
    conditions += "test -f /" + std::to_string(i) + " && exec /bin/" + std::to_string(i) + "\n";
  CHECK(ends(conditions) == "unknown: it has too many ways to end");
  for (int i = 0; i < 4000; ++i) many += "V" + std::to_string(i) + "=1; test -f /x && Y=2\n";
  CHECK_FALSE(ends(many + "exec /b/boot \"$@\"").empty());
}

TEST_CASE("the #! line", "[script]") {
  using Words = std::vector<std::string>;
  CHECK(parse_shebang("#!/bin/sh\nx") == Words{"/bin/sh"});
  CHECK(parse_shebang("#! /bin/bash -e x \n") == Words{"/bin/bash", "-e x"});  // one argument, as the kernel has it
  CHECK(parse_shebang("#!/usr/bin/env -S bash -e\n") == Words{"/usr/bin/env", "-S", "bash", "-e"});
  CHECK(parse_shebang("#!/bin/sh\r\n") == Words{"/bin/sh\r"});  // what CRLF makes of it
  CHECK_FALSE(parse_shebang("echo"));
}
