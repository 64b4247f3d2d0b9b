#include "check/target.hpp"

namespace imgforge {

namespace {

constexpr std::uint32_t spark_id = 1099;  // Managed Service for Apache Spark, custom containers: user and group "spark"

bool ends_in_launcher(const Facts& facts) {
  const Fact<Entrypoint>& entrypoint = facts.entrypoint();
  return entrypoint.is_known() && entrypoint->ends_in == Program::launcher;
}

bool is_spark(const Facts& facts) {
  const Fact<User>& user = facts.user();
  return user.is_known() && user->uid == spark_id && facts.boot().is_absent() && facts.beam().is_absent();
}

}  // namespace

JudgedAs judge_target(const Facts& facts, const Recipe* recipe, std::optional<Runner> asked, RecipeFrom from) {
  if (recipe != nullptr && from == RecipeFrom::label && recipe->target.role == Role::launcher && !ends_in_launcher(facts)) {
    return {recipe->target.runner, Role::worker, "its label calls it a launcher, but its entrypoint is none"};
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
