// Which daemon docker would talk to. Hashes of names are those that sha256sum gives.
#include "image/docker_context.hpp"

#include <catch2/catch.hpp>

#include "image/environment.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

constexpr const char* colima = "f24fd3749c1368328e2b149bec149cb6795619f244c5b584e844961215dadd16";

/// A docker config folder; no variable leads elsewhere.
struct Configured {
  CleanEnvironment environment;
  TemporaryFolder folder;
  Variable config{"DOCKER_CONFIG", folder.path};

  void write_config(const std::string& text) const { write_file(folder / "config.json", text); }
  void write_context(const std::string& hash, const std::string& text) const {
    write_file(folder / ("contexts/meta/" + hash + "/meta.json"), text);
  }
  void write_colima(const std::string& host) const {
    write_context(colima, R"({"Name":"colima","Metadata":{"Description":"x"},"Endpoints":{"docker":{"Host":")" + host +
                              R"(","SkipTLSVerify":false}}})");
  }
};

Error error_of_resolving() {
  return error_of([] { docker_endpoint(); });
}

}  // namespace

TEST_CASE("without any word about it, the daemon is at the usual place", "[docker-context]") {
  const Configured configured;
  CHECK(docker_endpoint().socket == "/var/run/docker.sock");
  CHECK(docker_endpoint().from.empty());
  configured.write_config(R"({"auths":{}})");
  CHECK(docker_endpoint().socket == "/var/run/docker.sock");
  configured.write_config(R"({"currentContext":"default"})");
  CHECK(docker_endpoint().socket == "/var/run/docker.sock");
}

TEST_CASE("docker's current context names the socket", "[docker-context]") {
  const Configured configured;
  configured.write_config(R"({"auths":{},"currentContext":"colima"})");
  configured.write_colima("unix:///home/joe/.colima/docker.sock");
  CHECK(docker_endpoint().socket == "/home/joe/.colima/docker.sock");
  CHECK(docker_endpoint().from.find("colima") != std::string::npos);
  SECTION("DOCKER_CONTEXT comes before it") {
    const Variable context("DOCKER_CONTEXT", "default");
    CHECK(docker_endpoint().socket == "/var/run/docker.sock");
  }
  SECTION("DOCKER_HOST comes before both") {
    const Variable context("DOCKER_CONTEXT", "no-such-context");
    const Variable host("DOCKER_HOST", "unix:///other.sock");
    CHECK(docker_endpoint().socket == "/other.sock");
  }
  SECTION("an empty variable says nothing") {
    const Variable context("DOCKER_CONTEXT", "");
    const Variable host("DOCKER_HOST", "");
    CHECK(docker_endpoint().socket == "/home/joe/.colima/docker.sock");
  }
}

TEST_CASE("contexts lie in the home where no variable says otherwise", "[docker-context]") {
  const CleanEnvironment environment;
  const TemporaryFolder home;
  const Variable variable("HOME", home.path);
  const Variable context("DOCKER_CONTEXT", "colima");
  write_file(home / (std::string(".docker/contexts/meta/") + colima + "/meta.json"),
             R"({"Endpoints":{"docker":{"Host":"unix:///a.sock"}}})");
  CHECK(docker_endpoint().socket == "/a.sock");
}

TEST_CASE("contexts that lead nowhere", "[docker-context]") {
  const Configured configured;
  SECTION("it is not there") {
    const Variable context("DOCKER_CONTEXT", "colima");
    const Error error = error_of_resolving();
    CHECK(error.kind() == ErrorKind::image_not_found);
    CHECK(mentions(error, "the docker context colima (DOCKER_CONTEXT) is not there"));
    CHECK(mentions(error, colima));
  }
  SECTION("it is over something else than a socket") {
    configured.write_config(R"({"currentContext":"colima"})");
    for (const char* host :
         {"ssh://someone@host", "tcp://10.0.0.1:2376", "npipe:////./pipe/docker_engine", "unix://"}) {
      INFO(host);
      configured.write_colima(host);
      const Error error = error_of_resolving();
      CHECK(error.kind() == ErrorKind::image_unsupported);
      CHECK(mentions(error, "currentContext in "));
      CHECK(mentions(error, std::string(host).substr(0, std::string(host).find(':'))));
      CHECK_FALSE(mentions(error, "someone"));
    }
  }
  SECTION("it has no endpoint of docker") {
    const Variable context("DOCKER_CONTEXT", "colima");
    for (const char* text : {"{}", R"({"Endpoints":{"kubernetes":{"Host":"unix:///x"}}})", R"({"Endpoints":[]})", "[]",
                             R"({"Endpoints":{"docker":{"Host":7}}})"}) {
      INFO(text);
      configured.write_context(colima, text);
      CHECK(error_of_resolving().kind() == ErrorKind::image_unsupported);
    }
  }
  SECTION("it is no JSON") {
    const Variable context("DOCKER_CONTEXT", "colima");
    configured.write_context(colima, R"({"secret":)");
    const Error error = error_of_resolving();
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "meta.json"));
  }
  SECTION("docker's config is no JSON") {
    configured.write_config("{");
    CHECK(error_of_resolving().kind() == ErrorKind::image_access);
  }
  SECTION("there is no home") {
    const CleanEnvironment without;
    const Variable home("HOME", "");
    const Variable context("DOCKER_CONTEXT", "colima");
    CHECK(error_of_resolving().kind() == ErrorKind::image_not_found);
  }
}

TEST_CASE("hostile: the name of a context is no path, and is shown escaped", "[docker-context][hostile]") {
  const Configured configured;
  const Variable context("DOCKER_CONTEXT", "../../../etc/\x1b[31m");
  const Error error = error_of_resolving();
  CHECK(error.kind() == ErrorKind::image_not_found);
  CHECK(error.message().find('\x1b') == std::string::npos);
}

TEST_CASE("an error about a socket says who named it", "[docker-context]") {
  const Configured configured;
  configured.write_config(R"({"currentContext":"colima"})");
  configured.write_colima("unix:///nonexistent/docker.sock");
  CHECK(mentions(error_of_opening("docker-daemon:worker:1"), "the docker context colima"));
}
