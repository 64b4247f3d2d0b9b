// What makes a worker of a Dockerfile.
#include "check/target.hpp"

#include <catch2/catch.hpp>

#include "facts/from_dockerfile.hpp"
#include "worker_facts.hpp"

using namespace imgforge;

namespace {

JudgedAs judged(const std::string& text, std::optional<Runner> asked = std::nullopt) {
  const auto parse = dockerfile::parse_dockerfile(text, "Dockerfile");
  REQUIRE(parse.dockerfile);
  const Facts facts = facts_from_dockerfile(*parse.dockerfile, {}, {}, test::knowledge());
  return judge_target(facts, nullptr, asked, RecipeFrom::user, SubjectKind::dockerfile);
}

}  // namespace

TEST_CASE("apache-beam alone is a sign of a worker, and the weakest: what submits jobs has it, too") {
  const JudgedAs package =
      judged("FROM python:3.11-slim\nRUN pip install apache-beam==2.66.0\nCMD [\"jupyter\", \"lab\"]\n");
  CHECK(package.is_beam_worker());
  CHECK(package.because == "it installs apache-beam");
  CHECK(package.by_package);

  const JudgedAs boot = judged(
      "FROM python:3.11-slim\nRUN pip install apache-beam==2.66.0\n"
      "COPY --from=apache/beam_python3.11_sdk:2.66.0 /opt/apache/beam /opt/apache/beam\n");
  CHECK(boot.is_beam_worker());
  CHECK_FALSE(boot.by_package);
  CHECK_FALSE(judged("FROM python:3.11-slim\nRUN pip install flask\n").by_package);
}

TEST_CASE("--target wins over the package") {
  const JudgedAs asked =
      judged("FROM python:3.11-slim\nRUN pip install apache-beam==2.66.0\n", Runner::spark_serverless);
  CHECK_FALSE(asked.is_beam_worker());
  CHECK_FALSE(asked.by_package);
}
