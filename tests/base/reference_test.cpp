#include "base/reference.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace imgforge;

namespace {

const std::string hex64(64, 'a');

std::string why_not(std::string_view text) {
  std::string why;
  CHECK_FALSE(Reference::parse(text, &why));
  return why;
}

}  // namespace

TEST_CASE("references as Docker reads them", "[reference]") {
  struct Case {
    std::string text, host, repository, tag, shortest;
  };
  const Case cases[] = {
      {"python", "docker.io", "library/python", "", "python"},
      {"python:3.11-slim", "docker.io", "library/python", "3.11-slim", "python:3.11-slim"},
      {"library/python", "docker.io", "library/python", "", "python"},
      {"apache/beam_python3.11_sdk:2.48.0", "docker.io", "apache/beam_python3.11_sdk", "2.48.0",
       "apache/beam_python3.11_sdk:2.48.0"},
      {"docker.io/python", "docker.io", "library/python", "", "python"},
      {"index.docker.io/a/b", "docker.io", "a/b", "", "a/b"},
      {"localhost/x", "localhost", "x", "", "localhost/x"},
      {"localhost:5000/x:1", "localhost:5000", "x", "1", "localhost:5000/x:1"},
      {"localhost:5000", "docker.io", "library/localhost", "5000", "localhost:5000"},
      {"[::1]:5000/x", "[::1]:5000", "x", "", "[::1]:5000/x"},
      {"nvcr.io/nvidia/tensorflow:20.11-tf2-py3", "nvcr.io", "nvidia/tensorflow", "20.11-tf2-py3",
       "nvcr.io/nvidia/tensorflow:20.11-tf2-py3"},
      {"Registry.Example.org/a--b/c__d/e.f/g_h:T", "Registry.Example.org", "a--b/c__d/e.f/g_h", "T",
       "Registry.Example.org/a--b/c__d/e.f/g_h:T"},
      // Without the host these would be read as something else.
      {"docker.io/a.b/c", "docker.io", "a.b/c", "", "docker.io/a.b/c"},
      {"docker.io/localhost/c:1", "docker.io", "localhost/c", "1", "docker.io/localhost/c:1"},
      {"docker.io/" + hex64, "docker.io", "library/" + hex64, "", "docker.io/library/" + hex64},
      {"docker.io/library/a/b", "docker.io", "library/a/b", "", "library/a/b"},
  };
  for (const Case& item : cases) {
    INFO(item.text);
    const std::optional<Reference> reference = Reference::parse(item.text);
    REQUIRE(reference);
    CHECK(reference->host() == item.host);
    CHECK(reference->repository() == item.repository);
    CHECK(reference->tag() == item.tag);
    CHECK(reference->to_string() == item.shortest);
    CHECK(Reference::parse(reference->to_string())->to_full_string() == reference->to_full_string());
  }
}

TEST_CASE("what a registry is asked for", "[reference]") {
  CHECK(Reference::parse("python")->identifier() == "latest");
  CHECK(Reference::parse("python")->to_full_string() == "docker.io/library/python:latest");
  CHECK(Reference::parse("python:3")->identifier() == "3");
  const Reference both = *Reference::parse("python:3@sha256:" + hex64);
  CHECK(both.identifier() == "sha256:" + hex64);
  CHECK(both.tag() == "3");
  CHECK(both.to_string() == "python:3@sha256:" + hex64);
  CHECK(Reference::parse("python@sha256:" + hex64)->to_full_string() == "docker.io/library/python@sha256:" + hex64);
  CHECK(Reference::parse("x@sha512:" + hex64 + hex64)->digest()->algorithm() == Digest::Algorithm::sha512);
  CHECK(Reference::parse("docker.io/python")->has_explicit_host());
  CHECK_FALSE(Reference::parse("python")->has_explicit_host());
}

TEST_CASE("what is wrong with a reference is said", "[reference]") {
  CHECK(why_not("") == "it is empty");
  CHECK(why_not("Apache/Beam_Python3.12_SDK:2.70.0") ==
        "a repository name is lower case: write \"apache/beam_python3.12_sdk\"");
  CHECK(why_not("python:3.12-slim@sha256:abc123") ==
        "a sha256 digest has 64 hexadecimal digits, this one has 6 characters");
  CHECK(why_not("python@md5:abc").find("sha256: or sha512:") != std::string::npos);
  CHECK(why_not("python@sha256:" + std::string(64, 'A')).find("lower-case") != std::string::npos);
  CHECK(why_not("python:") == "the tag after the colon is empty");
  CHECK(why_not("python:-x").find("no tag") != std::string::npos);
  CHECK(why_not("python:" + std::string(129, 'x')).find("no tag") != std::string::npos);
  CHECK(why_not("docker://python").find("leave out \"docker://\"") != std::string::npos);
  CHECK(why_not("a//b").find("empty component") != std::string::npos);
  CHECK(why_not("a/").find("empty component") != std::string::npos);
  CHECK(why_not("localhost:5000/").find("missing") != std::string::npos);
  CHECK(why_not("host.example:port/x").find("no registry host") != std::string::npos);
  CHECK(why_not("host.example:99999/x").find("no registry host") != std::string::npos);
  CHECK(why_not("-host.example/x").find("no registry host") != std::string::npos);
  CHECK(why_not("a___b").find("no component") != std::string::npos);
  CHECK(why_not("a..b").find("no component") != std::string::npos);
  CHECK(why_not("a b").find("the character \" \"") != std::string::npos);
  CHECK(why_not("python\nRUN id").find("\\n") != std::string::npos);
  CHECK(why_not("\xc3\xa9").find("\\xc3") != std::string::npos);
  CHECK(why_not(hex64).find("image id") != std::string::npos);
  CHECK(why_not(std::string(300, 'a')).find("255") != std::string::npos);
  CHECK(why_not("$IMAGE").find("no component") != std::string::npos);
}
