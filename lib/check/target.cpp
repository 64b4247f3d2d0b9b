#include "check/target.hpp"

#include <algorithm>

namespace imgforge {

namespace {

constexpr std::uint32_t spark_id = 1099;  // Managed Service for Apache Spark, custom containers: user and group "spark"

bool ends_in_launcher(const Facts& facts) {
  const Fact<Entrypoint>& entrypoint = facts.entrypoint();
  return entrypoint.is_known() && entrypoint->ends_in == Program::launcher;
}

bool has_beam(const Facts& facts) {
  if (!facts.boot().is_absent()) return true;
  const auto& distributions = facts.distributions();
  return distributions.is_known() && std::any_of(distributions->begin(), distributions->end(), [](const Distribution& one) { return one.name == "apache-beam"; });
}

bool is_spark(const Facts& facts) {
  const Fact<User>& user = facts.user();
  return user.is_known() && user->uid == spark_id && !has_beam(facts);
}

}  // namespace

JudgedAs judge_target(const Facts& facts, const Recipe* recipe, std::optional<Runner> asked, RecipeFrom from) {
  if (recipe != nullptr && from == RecipeFrom::label) {
    const Runner runner = asked.value_or(recipe->target.runner);
    if (runner == Runner::spark_serverless && !asked && has_beam(facts)) {
      return {Runner::dataflow, Role::worker, "its label calls it Spark's, but Apache Beam is in it"};
    }
    if (recipe->target.role == Role::launcher && !ends_in_launcher(facts)) {
      return {runner, Role::worker, "its label calls it a launcher, but its entrypoint is none"};
    }
    return {runner, recipe->target.role, asked ? "--target says so" : "the recipe in its label says so"};
  }
  if (recipe != nullptr) return {recipe->target.runner, recipe->target.role, "the recipe says so"};
  JudgedAs judged;
  if (asked) {
    judged.runner = *asked;
    judged.because = "--target says so";
  } else if (is_spark(facts)) {
    return {Runner::spark_serverless, Role::worker, "its user is 1099 and it has neither boot nor apache-beam"};
  } else {
    judged.because = "nothing says otherwise";
  }
  if (judged.runner != Runner::spark_serverless && ends_in_launcher(facts) && facts.boot().is_absent()) {
    judged.role = Role::launcher;
    judged.because = "its entrypoint is the Flex Template launcher and it has no boot";
  }
  return judged;
}

}  // namespace imgforge
