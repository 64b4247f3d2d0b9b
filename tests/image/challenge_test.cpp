#include "image/challenge.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

TEST_CASE("one challenge with quoted parameters", "[challenge]") {
  const auto challenges = parse_challenges(
      R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/python:pull,push")");
  REQUIRE(challenges.size() == 1);
  CHECK(challenges[0].scheme == "bearer");
  CHECK(challenges[0].parameters.at("realm") == "https://auth.docker.io/token");
  CHECK(challenges[0].parameters.at("scope") == "repository:library/python:pull,push");
}

TEST_CASE("several challenges in one header, unknown ones among them", "[challenge]") {
  // RFC 9110 section 11.6.1
  const auto challenges = parse_challenges(
      R"(Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"", Negotiate, NTLM TlRMTVNTUAAB==, DIGEST  qop = "auth")");
  REQUIRE(challenges.size() == 5);
  CHECK(challenges[0].scheme == "basic");
  CHECK(challenges[0].parameters.at("realm") == "simple");
  CHECK(challenges[1].scheme == "newauth");
  CHECK(challenges[1].parameters.at("type") == "1");
  CHECK(challenges[1].parameters.at("title") == "Login to \"apps\"");
  CHECK(challenges[2].scheme == "negotiate");
  CHECK(challenges[3].scheme == "ntlm");
  CHECK(challenges[3].parameters.empty());
  CHECK(challenges[4].parameters.at("qop") == "auth");
}

TEST_CASE("a name in a quoted string is no challenge", "[challenge]") {
  const auto challenges = parse_challenges(R"(Bearer realm="x, Basic realm=y")");
  REQUIRE(challenges.size() == 1);
  CHECK(challenges[0].parameters.at("realm") == "x, Basic realm=y");
}

TEST_CASE("of a parameter that is there twice the first counts", "[challenge]") {
  CHECK(parse_challenges(R"(Bearer realm="a", REALM="b")")[0].parameters.at("realm") == "a");
}

TEST_CASE("what is malformed ends the list", "[challenge]") {
  CHECK(parse_challenges("").empty());
  CHECK(parse_challenges(" , ,").empty());
  CHECK(parse_challenges("\"").empty());
  CHECK(parse_challenges("realm=\"x\"").empty());
  CHECK(parse_challenges("Basic").size() == 1);
  CHECK(parse_challenges("Basic realm=\"never closed").size() == 1);
  CHECK(parse_challenges("Basic realm=\"ends in a backslash\\").size() == 1);
  CHECK(parse_challenges("Basic realm=\"a\" realm2=\"b\"").size() == 1);
  CHECK(parse_challenges(std::string(60'000, ',')).empty());
}
