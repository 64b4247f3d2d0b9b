// What the steps of a build do on the way: the lists that rules judge.
#include <catch2/catch.hpp>

#include "read_dockerfile.hpp"

using namespace imgforge;
using test::read_dockerfile;

namespace {

const std::string slim = "FROM python:3.12-slim-bookworm\n";

std::shared_ptr<const Build> build_of(const std::string& text, const std::map<std::string, std::string>& files = {}) {
  return read_dockerfile(text, files).build;
}

ProgramUse::There there(const Build& build, const std::string& name) {
  for (const ProgramUse& use : build.programs) {
    if (use.name == name) return use.there;
  }
  return ProgramUse::There::unknown;
}

}  // namespace

TEST_CASE("programs that a step runs, and whether anything brought them") {
  CHECK(there(*build_of(slim + "RUN curl -o /x https://example.com\n"), "curl") == ProgramUse::There::no);
  CHECK(there(*build_of(slim + "RUN apt-get update && apt-get install -y curl && curl -o /x https://example.com\n"),
              "curl") == ProgramUse::There::yes);
  CHECK(there(*build_of("FROM python:3.12-bookworm\nRUN curl -o /x https://example.com\n"), "curl") ==
        ProgramUse::There::yes);
  CHECK(there(*build_of("FROM registry.example.com/x:1\nRUN curl -o /x https://example.com\n"), "curl") ==
        ProgramUse::There::unknown);
  CHECK(there(*build_of(slim + "COPY get.sh /\nRUN ./get.sh && curl https://example.com\n"), "curl") ==
        ProgramUse::There::unknown);
  CHECK(there(*build_of("FROM ubuntu:22.04\nRUN apt-get install -y python3 && python3.13 -V\n"), "python3.13") ==
        ProgramUse::There::no);
}

TEST_CASE("pip installs, with the interpreter that runs them") {
  const auto noble = build_of(
      "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install numpy==1.26.4\n");
  REQUIRE(noble->pip.size() == 1);
  CHECK(noble->pip[0].interpreter.externally_managed);
  CHECK(noble->pip[0].interpreter.path == "/usr/bin/python3.12");
  CHECK_FALSE(noble->pip[0].break_system_packages);
  CHECK(noble->pip[0].at.place.line == 3);
  const auto overridden = build_of(
      "FROM ubuntu:24.04\nENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN apt-get update && apt-get install -y python3-pip\nRUN "
      "pip install numpy==1.26.4\n");
  REQUIRE(overridden->pip.size() == 1);
  CHECK(overridden->pip[0].break_system_packages);

  const auto jammy = build_of(
      "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN python3.13 -m pip install numpy\n");
  REQUIRE(jammy->pip.size() == 1);
  CHECK(jammy->pip[0].interpreter.missing);

  const auto markers = build_of(slim + "COPY r.txt .\nRUN pip install -r r.txt\n",
                                {{"r.txt", "a==1; python_version < '3.10'\nb==2; python_version >= '3.10'\n"}});
  REQUIRE(markers->pip.size() == 1);
  REQUIRE(markers->pip[0].requests.size() == 1);
  CHECK(markers->pip[0].requests[0].name == "b");
  CHECK(markers->pip[0].requests[0].place.file == "r.txt");
  CHECK(markers->pip[0].requests[0].place.line == 2);

  CHECK_FALSE(build_of(slim + "COPY r.txt .\nRUN pip install -r r.txt\n")->pip.at(0).not_known.empty());
  CHECK(build_of(slim + "RUN pip install --no-cache-dir\n")->pip.at(0).empty);
}

TEST_CASE("undeclared variables: a global ARG, and what is in scope") {
  const auto lost = build_of("ARG V=1.0\nFROM ubuntu:22.04\nENV X=app-$V\n");
  REQUIRE(lost->undeclared.size() == 1);
  CHECK(lost->undeclared[0].name == "V");
  CHECK(lost->undeclared[0].global_arg);
  CHECK(lost->undeclared[0].breaks);
  CHECK(lost->undeclared[0].result == "app-");
  CHECK(build_of("ARG V=1.0\nFROM ubuntu:22.04\nARG V\nENV X=app-$V\n")->undeclared.empty());
  CHECK(build_of("FROM ubuntu:22.04\nENV X=app-${V:-1}\n")->undeclared.empty());
  CHECK(build_of("FROM registry.example.com/x:1\nENV X=app-$V\n")->undeclared.empty());
  const auto run = build_of("ARG V=2.66.0\nFROM python:3.12-slim\nRUN pip install apache-beam==$V\n");
  REQUIRE(run->undeclared.size() == 1);
  CHECK(run->undeclared[0].breaks);
  CHECK(build_of("FROM python:3.12-slim\nRUN V=1 && echo $V $HOME\n")->undeclared.empty());
}

TEST_CASE("images that are named") {
  const auto build = build_of("ARG T=2.66.0\nFROM apache/beam_python3.12_sdk:${T} AS sdk\n" + slim +
                              "COPY --from=sdk /opt/apache/beam /opt/apache/beam\nCOPY --from=busybox:1.36 "
                              "/bin/busybox /bin/\nCOPY --from=x:$T /a /b\n");
  REQUIRE(build->images.size() == 4);
  CHECK(build->images[0].expanded == "apache/beam_python3.12_sdk:2.66.0");
  CHECK_FALSE(build->images[0].at.in_image);
  CHECK(build->images[1].at.in_image);
  CHECK(build->images[2].role == ImageUse::Role::copy);
  CHECK(build->images[3].has_variable);
  CHECK(build->stages.size() == 2);
  CHECK(build_of("FROM python:\n")->images.at(0).wrong != "");
  CHECK_FALSE(build_of("ARG B\nFROM ${B}\n")->images.at(0).not_known.empty());
}

TEST_CASE("secrets, bash, redirections, updates, drivers, own checks") {
  CHECK(build_of(slim + "RUN pip install hf_transfer==0.1.8 hf_xet\n")->secrets.empty());
  CHECK(build_of(slim + "ENV HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n")->secrets.size() == 1);
  CHECK(build_of(slim + "ENV HF_TOKEN_FILE=/run/secrets/hf\nENV TOKEN=\n")->secrets.empty());
  CHECK(build_of(slim + "RUN [[ -f /x ]] || true\n")->constructs.size() == 1);
  CHECK(build_of(slim + "SHELL [\"/bin/bash\", \"-c\"]\nRUN [[ -f /x ]] || true\n")->constructs.empty());
  CHECK(build_of(slim + "RUN pip install scikit-learn>=0.24\n")->redirects.size() == 1);
  CHECK(build_of(slim + "RUN pip install 'scikit-learn>=0.24' >/dev/null\n")->redirects.empty());
  CHECK(build_of(slim + "RUN apt-get update || true\n")->apt_updates.at(0).fails_harmlessly);
  CHECK(build_of(slim + "RUN sh /cuda_12.2.2_535.104.05_linux.run --silent --driver --toolkit\n")
            ->driver_installs.size() == 1);
  CHECK(build_of(slim + "RUN sh /cuda_12.2.2_535.104.05_linux.run --silent --toolkit\n")->driver_installs.empty());
  const auto check = build_of(slim + "RUN python --version | grep -q \"3.11\"\n");
  REQUIRE(check->minor_checks.size() == 1);
  CHECK(check->minor_checks[0].wanted.to_string() == "3.11");
  CHECK(check->minor_checks[0].interpreter.minor->to_string() == "3.12");
  CHECK(build_of(slim + "RUN python --version | grep -q \"3.11\" || true\n")->minor_checks.empty());
}

TEST_CASE("accounts, folders and libraries") {
  const std::string user =
      "FROM debian:12-slim\nRUN groupadd -g 1099 spark && useradd -u 1099 -g 1099 -m spark\nUSER spark\n";
  const Facts facts = read_dockerfile(user);
  REQUIRE(facts.user().is_known());
  CHECK(facts.user()->uid == 1099);
  REQUIRE(facts.spark().is_known());
  CHECK(facts.spark()->user_spark.is_known());
  CHECK(facts.spark()->home_exists);
  CHECK_FALSE(facts.spark()->tini.value());
  CHECK(read_dockerfile("FROM debian:12-slim\n").spark()->user_spark.is_absent());
  const Facts sdk = read_dockerfile("FROM apache/beam_python3.12_sdk:2.66.0\nUSER 65532:65532\n");
  REQUIRE(sdk.venv_folder_writable().is_known());
  CHECK_FALSE(sdk.venv_folder_writable().value());
  const Facts mine = read_dockerfile(
      "FROM apache/beam_python3.12_sdk:2.66.0\nRUN mkdir -p /opt/apache/beam-venv && chown 65532 "
      "/opt/apache/beam-venv\nUSER 65532:65532\n");
  REQUIRE(mine.venv_folder_writable().is_known());
  CHECK(mine.venv_folder_writable().value());
  const Facts libraries = read_dockerfile(slim + "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/opt/none/lib\n");
  REQUIRE(libraries.missing_library_folders().is_known());
  CHECK(libraries.missing_library_folders().value() == std::vector<std::string>{"/opt/none/lib"});
  CHECK(read_dockerfile(slim + "RUN mkdir -p /opt/none/lib\nENV LD_LIBRARY_PATH=/opt/none/lib\n")
            .missing_library_folders()
            ->empty());
}

TEST_CASE("a variable that doubles itself is let go before it fills the memory", "[from_dockerfile]") {
  std::string text = "FROM docker.io/library/python:3.11-slim\nENV A=aaaaaaaaaa B=kept\n";
  for (int i = 0; i < 64; ++i) text += "ENV A=$A$A\n";
  for (int i = 0; i < 2000; ++i) text += "ENV C" + std::to_string(i) + "=$A$A$A$A$A$A$A$A\n";
  const Facts facts = read_dockerfile(text);
  CHECK(facts.variable("B") == "kept");
  CHECK_FALSE(facts.variable("A"));
  CHECK(facts.env_unknown.contains("A"));
}
