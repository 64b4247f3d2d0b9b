// Ways in which people write what the facts are read from.
#include <catch2/catch.hpp>
#include <stdexcept>

#include "read_dockerfile.hpp"

using namespace imgforge;
using test::read_dockerfile;

namespace {

const std::string noble = "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3 python3-pip curl\n";

bool refuses(const std::string& steps) {
  const Facts facts = read_dockerfile(noble + steps);
  const auto& installs = facts.build->pip;
  return !installs.empty() && installs.back().interpreter.externally_managed && !installs.back().break_system_packages;
}

std::string start_python(const std::string& text) {
  const Facts facts = read_dockerfile(text);
  const Interpreter* interpreter = facts.worker_interpreter();
  return interpreter == nullptr ? "none" : facts.worker_python()->by + " " + interpreter->path;
}

}  // namespace

TEST_CASE("what makes pip install into a Python of the distribution") {
  CHECK(refuses("RUN pip3 install numpy\n"));
  CHECK_FALSE(refuses("RUN rm /usr/lib/python3*/EXTERNALLY-MANAGED && pip3 install numpy\n"));
  CHECK(refuses("RUN rm /usr/lib/python2*/EXTERNALLY-MANAGED && pip3 install numpy\n"));
  CHECK_FALSE(refuses("RUN python3 -m pip config set global.break-system-packages true\nRUN pip3 install numpy\n"));
  CHECK(refuses("RUN python3 -m pip config set global.timeout 60\nRUN pip3 install numpy\n"));
  CHECK(refuses("RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3\n"));
  CHECK(refuses("RUN curl -o get-pip.py https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py\n"));
  CHECK_FALSE(
      refuses("RUN curl -o get-pip.py https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py "
              "--break-system-packages\n"));
}

TEST_CASE("pip takes itself away") {
  const auto has_pip = [](const std::string& step) {
    const Facts facts = read_dockerfile("FROM python:3.11-slim-bookworm\n" + step);
    return facts.interpreters().value().front().has_pip;
  };
  CHECK(has_pip("RUN pip uninstall -y wheel\n"));
  CHECK_FALSE(has_pip("RUN pip uninstall -y pip setuptools\n"));
}

TEST_CASE("a link to what the shell finds") {
  const std::string before =
      "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
      "RUN pip3 install apache-beam==2.49.0\n"
      "COPY --from=apache/beam_python3.10_sdk:2.49.0 /opt/apache/beam /opt/apache/beam\n"
      "ENTRYPOINT [\"/opt/apache/beam/boot\"]\n";
  CHECK(start_python(before) == "none");
  CHECK(start_python(before + "RUN ln -s $(which python3) /usr/local/bin/python\n") == "python /usr/bin/python3.10");
}

TEST_CASE("every file of the SDK's folder is known") {
  const auto boot = [](const std::string& step) {
    return read_dockerfile("FROM python:3.11-slim-bookworm\n" + step).boot().is_absent();
  };
  CHECK(boot("COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam /opt/apache\n"));
  CHECK(boot("COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam/LICENSE /opt/apache/beam/\n"));
  CHECK_FALSE(boot("COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache /opt/apache\n"));
  const Facts facts =
      read_dockerfile("FROM apache/beam_python3.11_sdk:2.66.0\nENTRYPOINT [\"/opt/apache/beam/boot.sh\"]\n");
  REQUIRE(facts.entrypoint().is_known());
  CHECK(facts.entrypoint()->ends_in == Program::missing);
}

TEST_CASE("a test runner is no start of boot, wherever it is") {
  const Facts facts = read_dockerfile("FROM apache/beam_python3.11_sdk:2.66.0\nENTRYPOINT [\"pytest\"]\n");
  REQUIRE(facts.entrypoint().is_known());
  CHECK(facts.entrypoint()->ends_in == Program::other);
  CHECK(
      read_dockerfile("FROM apache/beam_python3.11_sdk:2.66.0\nENTRYPOINT [\"start-it\"]\n").entrypoint().is_unknown());
}

TEST_CASE("candidates by tag") {
  const auto prerelease = [](const std::string& tag) {
    const Facts facts = read_dockerfile("FROM python:" + tag + "\n");
    const auto& version = facts.interpreters().value().front().version;
    return version && version->is_prerelease();
  };
  CHECK(prerelease("3.15-rc-slim"));
  CHECK(prerelease("3.15.0a2-slim-bookworm"));
  CHECK_FALSE(prerelease("3.13-slim"));
}

TEST_CASE("a program in a pipe, a key with a slash") {
  const std::string slim = "FROM python:3.12-slim-bookworm\nSHELL [\"/bin/bash\", \"-c\"]\n";
  const auto guarded = [&](const std::string& step) {
    const Facts facts = read_dockerfile(slim + step);
    for (const ProgramUse& use : facts.build->programs) {
      if (use.name == "curl") return use.guarded;
    }
    throw std::runtime_error("no curl");
  };
  CHECK_FALSE(guarded("RUN curl -fsSL https://example.com/install | bash\n"));
  CHECK(guarded("RUN curl -fsSL https://example.com/install || true\n"));

  const auto secrets = [&](const std::string& line) { return read_dockerfile(slim + line).build->secrets.size(); };
  CHECK(secrets("ENV AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzqzqzqKEYA\n") == 1);
  CHECK(secrets("ENV AWS_SECRET_ACCESS_KEY=/run/secrets/aws/K7MDENG/bPxRfiCYzqzq\n") == 0);
}

TEST_CASE("a marker that is removed in a folder of a package") {
  const std::string bookworm = "FROM debian:12\nRUN apt-get update && apt-get install -y python3-full python3-pip\n";
  const auto managed = [&](const std::string& steps) {
    const Facts facts = read_dockerfile(bookworm + steps + "RUN pip install numpy\n");
    return facts.build->pip.back().interpreter.externally_managed;
  };
  CHECK(managed(""));
  CHECK_FALSE(managed("RUN rm /usr/lib/python3.11/EXTERNALLY-MANAGED\n"));
  CHECK_FALSE(managed("RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED\n"));
  CHECK(managed("RUN rm -f /usr/lib/python3.12/EXTERNALLY-MANAGED\n"));
}

TEST_CASE("programs that an unknown image may bring into a folder of the PATH are not missing") {
  const auto uv = [](const std::string& steps) {
    const Facts facts = read_dockerfile("FROM ubuntu:24.04\n" + steps + "RUN uv venv\n");
    for (const ProgramUse& use : facts.build->programs) {
      if (use.name == "uv") return use.there;
    }
    return ProgramUse::There::unknown;
  };
  CHECK(uv("") == ProgramUse::There::no);
  CHECK(uv("COPY --from=example.com/tools:1 /uv /uvx /usr/local/bin/\n") != ProgramUse::There::no);
  CHECK(uv("COPY --from=example.com/tools:1 /uv /uvx /srv/\n") == ProgramUse::There::no);
}

TEST_CASE("the Python of an environment that is copied and not known is not missing") {
  const std::string stage =
      "FROM mambaorg/micromamba:1.5.8 AS env\nCOPY environment.yml /tmp/environment.yml\n"
      "RUN micromamba install -y -n base -f /tmp/environment.yml\nFROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
  CHECK(read_dockerfile(stage + "COPY --from=env /opt/conda /opt/conda\n").interpreters().is_unknown());
  CHECK(read_dockerfile(stage + "COPY --from=env /tmp/environment.yml /srv/\n").interpreters().is_known());
}

TEST_CASE("a folder of an unknown image may hold the Python, and the SDK's folder does not") {
  const std::string start = "FROM example.com/pixi:1 AS env\nFROM ubuntu:24.04\n";
  CHECK(read_dockerfile(start + "COPY --from=env /app/envs/prod /app/envs/prod\n").interpreters().is_unknown());
  CHECK(read_dockerfile(start + "COPY --from=env /app/settings.json /app/\n").interpreters().is_known());
  CHECK(read_dockerfile(start + "COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam /opt/apache/beam\n")
            .interpreters()
            .is_known());
}

TEST_CASE("a link that is made in a copied folder does not empty that folder") {
  const auto pip = [](const std::string& source) {
    const Facts facts =
        read_dockerfile("FROM example.com/x:1 AS py\nFROM debian:12-slim\nCOPY --from=py /opt/py " + source +
                        "\nENV PATH=/opt/py/bin:$PATH\nRUN ln -s python3 /opt/py/bin/python\n"
                        "RUN pip3 install numpy\n");
    for (const ProgramUse& use : facts.build->programs) {
      if (use.name == "pip3") return use.there;
    }
    return ProgramUse::There::unknown;
  };
  CHECK(pip("/opt/py") != ProgramUse::There::no);
  CHECK(pip("/srv/py") == ProgramUse::There::no);
}
