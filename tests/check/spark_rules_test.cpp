#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Fact<bool> yes() { return Fact<bool>::known(true, {line(3)}); }
Fact<bool> no() { return Fact<bool>::known(false, {line(1)}); }

/// What the service documents, and no more.
SparkNeeds healthy() {
  SparkNeeds needs;
  needs.procps = needs.tini = yes();
  needs.spark = needs.java = no();
  User spark;
  spark.written = "spark";
  spark.uid = spark.gid = 1099;
  spark.home = "/home/spark";
  needs.user_spark = Fact<User>::known(spark, {line(5)});
  return needs;
}

template <class Change>
Facts with(Change change) {
  SparkNeeds needs = healthy();
  change(needs);
  Worker worker;
  worker.beam.clear();
  worker.boot_sdk.clear();
  worker.boot.reset();
  Facts facts = worker.facts();
  facts.spark = known(needs);
  return facts;
}

Facts with_user(std::uint32_t uid, std::uint32_t gid, bool home = true) {
  return with([&](SparkNeeds& needs) {
    User spark = needs.user_spark.value();
    spark.uid = uid;
    spark.gid = gid;
    needs.user_spark = Fact<User>::known(spark, {line(5)});
    needs.home_exists = home;
  });
}

Facts with_pyspark_python(const std::string& value) {
  Worker worker;
  worker.env.emplace_back("PYSPARK_PYTHON", value);
  Facts facts = worker.facts();
  facts.spark = known(healthy());
  return facts;
}

const Meant spark{.accelerator = Accelerator::none, .runner = Runner::spark_serverless};

}  // namespace

TEST_CASE("nothing is wrong with the documented Spark image", "[rules][spark]") {
  CHECK(all_of("spark", with([](SparkNeeds&) {}), spark) == "");
  CHECK(said("spark/user", with([](SparkNeeds&) {}), spark) == "pass");
  CHECK(said("spark/spark-in-image", with([](SparkNeeds&) {}), spark) == "pass");
}

TEST_CASE("the user spark", "[rules][spark]") {
  CHECK(all_of("spark", with_user(1000, 1000), spark) == "spark/user:error");
  CHECK(all_of("spark", with_user(1099, 1000), spark) == "spark/user:error");
  CHECK(all_of("spark", with_user(1099, 1099, false), spark) == "spark/user:error");
  CHECK(all_of("spark", with_user(1099, 1099), spark) == "");
  CHECK(all_of("spark", with([](SparkNeeds& needs) { needs.user_spark = Fact<User>::absent(); }), spark) ==
        "spark/user:error");
  CHECK(said("spark/user", with([](SparkNeeds& needs) { needs.user_spark = Fact<User>::unknown("the base"); }),
             spark) == "undecided");
  CHECK(fix_of("spark/user", with_user(1000, 1000), spark).find("useradd -u 1099 -g 1099") != std::string::npos);
  CHECK(said("spark/user", with_user(1000, 1000), {.accelerator = Accelerator::none}) == "not applicable");
}

TEST_CASE("the group spark", "[rules][spark]") {
  const auto with_group = [](Fact<std::uint32_t> group) {
    return with([&](SparkNeeds& needs) { needs.group_spark = group; });
  };
  CHECK(said("spark/user", with_group(Fact<std::uint32_t>::known(1099)), spark) == "pass");
  CHECK(said("spark/user", with_group(Fact<std::uint32_t>::known(1000)), spark) == "error");
  CHECK(said("spark/user", with_group(Fact<std::uint32_t>::absent()), spark) == "error");
}

TEST_CASE("procps and tini", "[rules][spark]") {
  CHECK(all_of("spark", with([](SparkNeeds& needs) { needs.procps = no(); }), spark) == "spark/procps-missing:error");
  CHECK(all_of("spark", with([](SparkNeeds& needs) { needs.tini = no(); }), spark) == "spark/tini-missing:error");
  CHECK(said("spark/tini-missing", with([](SparkNeeds& needs) { needs.tini = Fact<bool>::unknown("the base"); }),
             spark) == "undecided");
  CHECK(fix_of("spark/tini-missing", with([](SparkNeeds& needs) { needs.tini = no(); }), spark).ends_with(" tini"));
}

TEST_CASE("Spark is mounted, not built in", "[rules][spark]") {
  CHECK(all_of("spark", with([](SparkNeeds& needs) { needs.spark = yes(); }), spark) == "spark/spark-in-image:error");
  CHECK(all_of("spark", with([](SparkNeeds& needs) { needs.java = yes(); }), spark) == "spark/spark-in-image:warning");
  CHECK(said("spark/spark-in-image", with([](SparkNeeds& needs) { needs.spark = Fact<bool>::unknown("the base"); }),
             spark) == "undecided");
}

TEST_CASE("where a Spark image is hosted", "[rules][spark]") {
  Recipe recipe;
  recipe.name = "ibis";
  const Meant meant{.accelerator = Accelerator::none,
                    .runner = Runner::spark_serverless,
                    .recipe = &recipe,
                    .kind = SubjectKind::recipe};
  const Facts facts = with([](SparkNeeds&) {});
  CHECK(said("spark/registry", facts, meant) == "not applicable");  // it does not say where
  for (const char* good : {"europe-docker.pkg.dev/acme/spark", "gcr.io/acme/spark", "eu.gcr.io/acme/spark"}) {
    recipe.push.repository = good;
    CHECK(said("spark/registry", facts, meant) == "pass");
  }
  for (const char* bad : {"docker.io/acme/spark", "acme/spark", "ghcr.io/acme/spark", "notgcr.io/acme/spark"}) {
    recipe.push.repository = bad;
    CHECK(said("spark/registry", facts, meant) == "error");
  }
}

TEST_CASE("PYSPARK_PYTHON", "[rules][spark]") {
  for (const char* good :
       {"/usr/local/bin/python3.11", "/usr/local/bin/python", "python3", "/opt/dataproc/conda/bin/python"}) {
    INFO(good);
    CHECK(said("spark/pyspark-python", with_pyspark_python(good), spark) == "pass");
  }
  for (const char* bad : {"/opt/conda/bin/python", "/usr/local/bin/python3.12", "pypy3"}) {
    INFO(bad);
    CHECK(said("spark/pyspark-python", with_pyspark_python(bad), spark) == "warning");
  }
  Facts facts = with_pyspark_python("/opt/conda/bin/python");
  facts.interpreters = unknown<std::vector<Interpreter>>("what the base has");
  CHECK(said("spark/pyspark-python", facts, spark) == "undecided");
  CHECK(said("spark/pyspark-python", with([](SparkNeeds&) {}), spark) == "not applicable");
}
