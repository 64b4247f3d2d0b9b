// The entrypoint followed through wrappers and scripts of an image.
#include "facts/entrypoint.hpp"

#include <catch2/catch.hpp>

#include "facts/fake_image.hpp"
#include "layer/small_elf.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

using Words = std::vector<std::string>;

std::string shown(const Fact<Entrypoint>& fact) {
  if (!fact.is_known()) return "unknown: " + fact.reason();
  static const char* names[] = {"boot", "launcher", "other", "missing"};
  std::string text = names[static_cast<int>(fact->ends_in)];
  if (fact->ends_in != Program::boot) text += ": " + fact->last + (fact->why.empty() ? "" : " " + fact->why);
  if (fact->arguments_dropped) text += ", arguments dropped";
  if (fact->boot_in_cmd_only) text += ", boot in Cmd only";
  return text;
}

/// How an image with these scripts, by path, ends for an entrypoint.
std::string ends(const Words& entrypoint, const std::vector<std::pair<std::string, std::string>>& scripts = {},
                 const Words& cmd = {}) {
  FakeImage image = healthy_worker();
  Files files = {file("usr/bin/tini", small_elf({}), 0755),
                 file("usr/bin/dumb-init", small_elf({}), 0755),
                 file("usr/bin/catatonit", small_elf({}), 0755),
                 file("usr/bin/numactl", small_elf({}), 0755),
                 file("opt/conda/bin/conda", "#!/opt/conda/bin/python\n", 0755),
                 file("opt/google/dataflow/python_template_launcher", small_elf({}), 0755),
                 soft_link("usr/bin/worker", "/opt/apache/beam/boot"),
                 file("app/no-x.sh", "#!/bin/sh\nexec /opt/apache/beam/boot \"$@\"\n", 0644)};
  for (const auto& [path, text] : scripts) files.push_back(file(path, text, 0755));
  image.layer(files);
  image.image_config.entrypoint = entrypoint;
  image.image_config.cmd = cmd;
  RootView root(image, {.capture_paths = paths_named_by(image.config())});
  return shown(follow_entrypoint(image.config(), root));
}

const std::string boot = "/opt/apache/beam/boot";

}  // namespace

TEST_CASE("healthy entrypoints", "[entrypoint]") {
  CHECK(ends({boot}) == "boot");
  CHECK(ends({"/opt/apache/../apache/beam//boot"}) == "boot");
  CHECK(ends({"/usr/bin/worker"}) == "boot");
  CHECK(ends({"worker"}) == "boot");
  CHECK(ends({"tini", "--", boot}) == "boot");
  CHECK(ends({"/usr/bin/tini", "-g", "-p", "SIGTERM", "--", boot}) == "boot");
  CHECK(ends({"/usr/bin/dumb-init", "-c", "--rewrite", "15:3", boot}) == "boot");
  CHECK(ends({"catatonit", "-g", "--", boot}) == "boot");
  CHECK(ends({"/usr/bin/env", "-u", "X", "A=b", boot}) == "boot");
  CHECK(ends({"env", "-S", "A=b " + boot}) == "boot");
  CHECK(ends({"/opt/conda/bin/conda", "run", "--no-capture-output", "-n", "worker", boot}) == "boot");
  CHECK(ends({"tini", "--", "/app/start.sh"},
             {{"app/start.sh", "#!/usr/bin/env bash\nset -euo pipefail\nexec " + boot + " \"$@\"\n"}}) == "boot");
  CHECK(ends({"bash", "/app/no-x.sh"}) == "boot");
  CHECK(ends({"/bin/bash", "-lc", "exec " + boot + " \"$@\"", "--"}) == "boot");
}

TEST_CASE("scripts that run scripts and hand over", "[entrypoint]") {
  const std::string hand_over = "#!/bin/bash\nif [[ $# -eq 0 ]]; then exec /bin/bash; else exec \"$@\"; fi\n";
  CHECK(ends({"/opt/nvidia/entrypoint.sh", boot}, {{"opt/nvidia/entrypoint.sh", hand_over}}) == "boot");
  CHECK(ends({"/opt/nvidia/entrypoint.sh"}, {{"opt/nvidia/entrypoint.sh", hand_over}}, {boot}) ==
        "other: \"$@\" runs the runtime's arguments as a command, boot in Cmd only");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\n./b.sh \"$@\"\n"}, {"b.sh", "#!/bin/sh\nexec " + boot + " \"$@\"\n"}}) ==
        "boot");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\n/b.sh\n"}, {"b.sh", "#!/bin/sh\nexec " + boot + " \"$@\"\n"}}) ==
        "boot, arguments dropped");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nexport PATH=/opt/apache/beam:$PATH\nexec boot \"$@\"\n"}}) == "boot");
}

TEST_CASE("arguments that do not reach boot", "[entrypoint]") {
  CHECK(ends({"/bin/sh", "-c", boot}) == "boot, arguments dropped");              // the shell form
  CHECK(ends({"/bin/sh", "-c", boot + " \"$@\""}) == "boot, arguments dropped");  // the first of them is $0 there
  CHECK(ends({"/bin/sh", "-c", "exec " + boot + " \"$0\" \"$@\""}) == "boot");       // and so both are all of them
  CHECK(ends({"/bin/sh", "-c", "shift; exec " + boot + " \"$0\" \"$@\""}) != "boot");
  CHECK(ends({"/bin/sh", "-c", "exec " + boot + " \"$0\""}) == "boot, arguments dropped");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\n" + boot + "\n"}}) == "boot, arguments dropped");
}

TEST_CASE("entrypoints that are not boot", "[entrypoint]") {
  CHECK(ends({}) == "other: ");
  CHECK(ends({}, {}, {boot}) == "other: , boot in Cmd only");
  CHECK(ends({"/bin/bash"}) == "other: /bin/bash is a shell that takes the runtime's arguments for a script");
  CHECK(ends({"python", "-m", "pipeline"}) == "other: python");
  CHECK(ends({"/opt/google/dataflow/python_template_launcher"}) ==
        "launcher: /opt/google/dataflow/python_template_launcher");
  CHECK(ends({"/nothing"}) == "missing: /nothing is not in the image");
  CHECK(ends({"tini", "--"}) == "other: \"$@\" runs the runtime's arguments as a command");
  CHECK(ends({"/app/no-x.sh"}) == "other: /app/no-x.sh is not executable");
  CHECK(ends({"/a.sh"}, {{"a.sh", "exec " + boot + " \"$@\"\n"}}) ==
        "other: /a.sh is neither a program nor a script with a #! line");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\r\nexec " + boot + " \"$@\"\r\n"}}) ==
        "missing: /bin/sh\r is the interpreter of /a.sh and not in the image");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/zsh\nexec " + boot + " \"$@\"\n"}}) ==
        "missing: /bin/zsh is the interpreter of /a.sh and not in the image");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nexec /b.sh \"$@\"\n"}, {"b.sh", "#!/bin/sh\nexec /a.sh \"$@\"\n"}}) ==
        "other: /a.sh runs itself in a circle");
}

TEST_CASE("what cannot be followed is unknown", "[entrypoint]") {
  CHECK(ends({"numactl", "--interleave=all", boot}) ==
        "unknown: whether numactl runs the boot that it is given cannot be told");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nexec $(cat /which) \"$@\"\n"}}) ==
        "unknown: the entrypoint runs $(cat /which), which only the run tells");
  CHECK(
      ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nif [ -n \"$DEBUG\" ]; then exec bash; fi\nexec " + boot + " \"$@\"\n"}}) ==
      "unknown: how /a.sh ends depends on conditions that only the run tells");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nexec " + boot + " \"$1\" \"$2\"\n"}}) ==
        "unknown: whether the arguments reach /opt/apache/beam/boot only the run tells");
  CHECK(ends({"/a.sh"}, {{"a.sh", "#!/bin/sh\nif\n"}}).starts_with("unknown: /a.sh cannot be followed: line"));
}

TEST_CASE("a boot that is missing is no fault of the entrypoint", "[entrypoint]") {
  FakeImage image;
  image.layer({file("usr/bin/sh", small_elf({}), 0755), soft_link("usr/bin/worker", "/opt/apache/beam/boot")});
  for (const Words& entrypoint : {Words{boot}, Words{"/usr/bin/worker"}}) {
    image.image_config.entrypoint = entrypoint;
    RootView root(image, {});
    CHECK(shown(follow_entrypoint(image.config(), root)) == "boot");
  }
}

TEST_CASE("scripts that call each other many times end in bounded time", "[entrypoint]") {
  std::vector<std::pair<std::string, std::string>> scripts;
  for (int i = 0; i < 14; ++i) {
    std::string text = "#!/bin/sh\n";
    for (int k = 0; k < 50; ++k) text += "/s" + std::to_string(i + 1) + ".sh " + std::to_string(k) + "\n";
    scripts.emplace_back("s" + std::to_string(i) + ".sh", text);
  }
  scripts.emplace_back("s14.sh", "#!/bin/sh\necho end\n");
  CHECK(ends({"/s0.sh"}, scripts) == "unknown: the entrypoint runs too many programs to be followed");
}
