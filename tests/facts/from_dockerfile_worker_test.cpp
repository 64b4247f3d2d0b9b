// A Dockerfile's boot, entrypoint, interpreter and Beam.
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "read_dockerfile.hpp"

using namespace imgforge;
using test::read_dockerfile;
using test::shown;

namespace {

std::string program(const Entrypoint& entrypoint) {
  static const char* names[] = {"boot", "launcher", "other", "missing"};
  return std::string(names[static_cast<int>(entrypoint.ends_in)]) + (entrypoint.arguments_dropped ? " dropped" : "") +
         (entrypoint.boot_in_cmd_only ? " cmd" : "");
}

std::string version(const Version& version) { return version.to_string(); }

/// "boot, boot's release, entrypoint, worker's Python, apache-beam".
std::string worker(const Facts& facts) {
  std::string text = shown(facts.boot(), [](const Boot&) { return std::string("boot"); });
  text += ", " + shown(facts.boot_version(), version);
  text += ", " + shown(facts.entrypoint(), program);
  text += ", " + shown(facts.worker_python(), [&](const WorkerPython& python) {
            const Interpreter* interpreter = facts.worker_interpreter();
            return interpreter == nullptr ? "none" : python.by + " " + interpreter->path;
          });
  text += ", " + shown(facts.beam(),
                       [](const Distribution& beam) { return beam.version ? beam.version->to_string() : "any"; });
  return text;
}

const std::string copy = "COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam /opt/apache/beam\n";
const std::string start = "ENTRYPOINT [\"/opt/apache/beam/boot\"]\n";
const std::string python = "FROM python:3.11-slim-bookworm\n";
const std::string pip = "RUN pip install apache-beam[gcp]==2.66.0\n";

}  // namespace

TEST_CASE("what a worker's Dockerfile comes to") {
  struct Row {
    std::string text;
    std::string expected;
  };
  const std::string whole = "boot, 2.66.0, boot, python /usr/local/bin/python3.11, 2.66.0";
  const Row rows[] = {
      {python + pip + copy + start, whole},
      // Twins: one step fewer, or another.
      {python + pip + start, "absent, absent, boot, python /usr/local/bin/python3.11, 2.66.0"},
      {python + copy + start, "boot, 2.66.0, boot, python /usr/local/bin/python3.11, absent"},
      {python + pip + copy, "boot, 2.66.0, other, python /usr/local/bin/python3.11, 2.66.0"},
      {python + pip + copy + start + "RUN rm -rf /opt/apache/beam\n",
       "absent, absent, boot, python /usr/local/bin/python3.11, 2.66.0"},
      // CUDA's folder is on PATH before Python's; what is not listed of it is no Python.
      {"FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 "
       "python3-pip\n" +
           pip + copy + start,
       "boot, 2.66.0, boot, python3 /usr/bin/python3.10, 2.66.0"},
      {python + "RUN pip install apache-beam\n" + copy + start,
       "boot, 2.66.0, boot, python /usr/local/bin/python3.11, any"},
      {python + pip + copy + start + "ENTRYPOINT [\"python\", \"main.py\"]\n",
       "boot, 2.66.0, other, python /usr/local/bin/python3.11, 2.66.0"},
      {python + pip + copy + "ENTRYPOINT /opt/apache/beam/boot\n",
       "boot, 2.66.0, boot dropped, python /usr/local/bin/python3.11, 2.66.0"},
      {python + pip + copy + "CMD [\"/opt/apache/beam/boot\"]\n",
       "boot, 2.66.0, other cmd, python /usr/local/bin/python3.11, 2.66.0"},
      // The SDK image brings it all.
      {"FROM apache/beam_python3.11_sdk:2.66.0\n", whole},
      {"ARG V=2.66.0\nFROM apache/beam_python3.11_sdk:${V}\n", whole},
      {"FROM apache/beam_python3.11_sdk:2.66.0\nENTRYPOINT [\"bash\"]\n",
       "boot, 2.66.0, other, python /usr/local/bin/python3.11, 2.66.0"},
      // Through stages and ARGs.
      {"ARG V=2.66.0\nFROM apache/beam_python3.11_sdk:$V AS SDK\n" + python + pip +
           "COPY --from=sdk /opt/apache/beam /opt/apache/beam\n" + start,
       whole},
      {python + "ARG V\nRUN pip install apache-beam==$V\n" + copy + start,
       "boot, 2.66.0, boot, python /usr/local/bin/python3.11, unknown"},
      {python + "ARG V=2.66.0\nRUN pip install \"apache-beam==${V}\"\n" + copy + start, whole},
      {python + "ARG V=2.60.0\nENV V=2.66.0\nRUN pip install apache-beam==$V\n" + copy + start, whole},
      // A file in the wrong place.
      {python + pip + "COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam/boot /usr/local/bin/boot\n" +
           start,
       "absent, absent, boot, python /usr/local/bin/python3.11, 2.66.0"},
      {python + pip + "COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam/boot /opt/apache/beam/\n" + start,
       whole},
      // Bases that are not known.
      {"ARG BASE\nFROM ${BASE}\n" + pip + copy + start, "boot, 2.66.0, boot, unknown, unknown"},
      {"FROM registry.example.com/team/base:1\n", "unknown, unknown, unknown, unknown, unknown"},
      // Ubuntu: python3 only, then python too.
      {"FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\nRUN pip3 install "
       "apache-beam==2.66.0\n" +
           copy + start,
       "boot, 2.66.0, boot, python3 /usr/bin/python3.10, 2.66.0"},
      {"FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-pip python-is-python3\nRUN pip "
       "install apache-beam==2.66.0\n" +
           copy + start,
       "boot, 2.66.0, boot, python /usr/bin/python3.10, 2.66.0"},
      {"FROM ubuntu:22.04\n" + copy + start, "boot, 2.66.0, boot, absent, absent"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(worker(read_dockerfile(row.text)) == row.expected);
  }
}

TEST_CASE("start scripts are followed where their text is known") {
  const std::string with = python + pip + copy;
  const std::string good = "#!/bin/sh\nset -e\nexec /opt/apache/beam/boot \"$@\"\n";
  const std::string bad = "#!/bin/sh\n/opt/apache/beam/boot\n";
  const std::string use = "COPY start.sh /start.sh\nRUN chmod +x /start.sh\nENTRYPOINT [\"/start.sh\"]\n";
  CHECK(shown(read_dockerfile(with + use, {{"start.sh", good}}).entrypoint(), program) == "boot");
  CHECK(shown(read_dockerfile(with + use, {{"start.sh", bad}}).entrypoint(), program) == "boot dropped");
  CHECK(shown(read_dockerfile(with + use).entrypoint(), program) == "unknown");
  CHECK(
      shown(read_dockerfile(with + "COPY . /app\nENTRYPOINT [\"/app/start.sh\"]\n", {{"start.sh", good}}).entrypoint(),
            program) == "boot");
  CHECK(
      shown(read_dockerfile(with + "COPY --chmod=755 <<'EOF' /start.sh\n" + good + "EOF\nENTRYPOINT [\"/start.sh\"]\n")
                .entrypoint(),
            program) == "boot");
  CHECK(shown(read_dockerfile(with + "RUN printf '#!/bin/sh\\nexec /opt/apache/beam/boot \"$@\"\\n' > /s && chmod 755 "
                                     "/s\nENTRYPOINT [\"/s\"]\n")
                  .entrypoint(),
              program) == "boot");
  CHECK(shown(read_dockerfile(with + "ENTRYPOINT [\"env\", \"A=1\", \"/opt/apache/beam/boot\"]\n").entrypoint(),
              program) == "boot");
}

TEST_CASE("environments and their interpreters") {
  const std::string venv = python + "RUN python -m venv /opt/env\n";
  const Facts inside = read_dockerfile(venv + "ENV PATH=\"/opt/env/bin:$PATH\"\n" + pip + copy + start);
  REQUIRE(inside.worker_interpreter() != nullptr);
  CHECK(inside.worker_interpreter()->kind == Interpreter::Kind::venv);
  CHECK(inside.worker_interpreter()->prefix == "/opt/env");
  CHECK(inside.beam().is_known());
  // Made, but not on PATH.
  const Facts outside = read_dockerfile(venv + pip + copy + start);
  REQUIRE(outside.worker_interpreter() != nullptr);
  CHECK(outside.worker_interpreter()->kind == Interpreter::Kind::system);
  // Installed into the venv, which is not the worker's.
  const Facts other = read_dockerfile(venv + "RUN /opt/env/bin/pip install apache-beam==2.66.0\n" + copy + start);
  CHECK(other.beam().is_absent());

  const std::string jammy =
      "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-pip python-is-python3";
  const Facts without = read_dockerfile(jammy + "\n");
  REQUIRE(without.worker_interpreter() != nullptr);
  CHECK_FALSE(without.worker_interpreter()->has_ensurepip);
  CHECK(without.worker_interpreter()->has_pip);
  const Facts with = read_dockerfile(jammy + " python3-venv\n");
  REQUIRE(with.worker_interpreter() != nullptr);
  CHECK(with.worker_interpreter()->has_ensurepip);

  const Facts conda = read_dockerfile(
      "FROM condaforge/miniforge3:24.11.3-0\nRUN conda create -y -n w python=3.11 && conda run -n w pip install "
      "apache-beam==2.66.0\nENV PATH=/opt/conda/envs/w/bin:$PATH\n");
  CHECK(shown(conda.commands(), [](const auto& commands) { return commands.at("python").canonical; }) ==
        "/opt/conda/envs/w/bin/python3.11");
}

TEST_CASE("requirements files beside the Dockerfile count, others make it unknown") {
  const std::string use = python + "COPY requirements.txt .\nRUN pip install -r requirements.txt\n" + copy + start;
  CHECK(shown(read_dockerfile(use, {{"requirements.txt", "apache-beam[gcp]==2.66.0\n"}}).beam_version(), version) ==
        "2.66.0");
  CHECK(read_dockerfile(use, {{"requirements.txt", "numpy\n"}}).beam().is_absent());
  CHECK(read_dockerfile(use).beam().is_unknown());
  const std::string mount =
      python + "RUN --mount=type=bind,source=requirements.txt,target=/r.txt pip install -r /r.txt\n" + copy + start;
  CHECK(read_dockerfile(mount, {{"requirements.txt", "apache-beam==2.66.0\n"}}).beam().is_known());
  const Facts facts =
      read_dockerfile(use, {{"requirements.txt", "-r more.txt\n"}, {"more.txt", "apache-beam==2.66.0\n"}});
  CHECK(facts.build->pip.size() == 1);
}

TEST_CASE("the stage that is built") {
  const std::string text = python + "RUN true\nFROM python:3.12-slim AS Second\n";
  BuildOptions options;
  options.stage = "second";
  CHECK(read_dockerfile(text, {}, options).build->stage == "second");
  options.stage = "secnd";
  CHECK_THROWS_AS(read_dockerfile(text, {}, options), Error);
  options = {};
  options.arguments["V"] = "3.10";
  CHECK(read_dockerfile("ARG V=3.11\nFROM python:$V-slim\n", {}, options).worker_interpreter()->minor.to_string() ==
        "3.10");
}
