// An image that is too much to be read does not pass for that.
#include <catch2/catch.hpp>

#include "worker_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("hostile: an image with more Python than is read is undecided, and one without Python is not asked",
          "[rules][hostile]") {
  Worker worker;
  worker.boot_sdk = "";  // nothing else says that it is a worker of Python
  Facts facts = worker.facts();
  facts.distributions = unknown<std::vector<Distribution>>("the image holds too many");
  facts.beam = unknown<Distribution>("the image holds too many");
  facts.beam_version = unknown<Version>("the image holds too many");
  const Outcome outcome = judge(facts);
  CHECK(is_undecided(outcome, "beam/not-installed"));
  CHECK(outcome.verdict == Verdict::undecided);

  worker.python = "";
  const Outcome other = judge(worker.facts());
  CHECK_FALSE(is_undecided(other, "beam/not-installed"));

  // Where nobody looked at every layer, it may be a worker of any language.
  facts.site_machines = unknown<SiteMachines>("only named paths were read");
  CHECK_FALSE(is_undecided(judge(facts), "beam/not-installed"));
}

TEST_CASE("hostile: an error does not hide behind very many warnings", "[rules][hostile]") {
  constexpr const char* rule = "python/broken-requirements";
  const auto outcome_of = [](const std::string& reel) {
    Worker worker;
    worker.beam_requires = {"zeppelin"};
    Facts facts = worker.facts();
    std::vector<Distribution> distributions = facts.distributions().value();
    const auto add = [&](const std::string& name, const std::string& version, std::vector<std::string> requires_dist) {
      Distribution one = distributions.back();
      one.name = name;
      one.version_text = version;
      one.version = Version::parse(version);
      one.requires_dist = std::move(requires_dist);
      distributions.push_back(std::move(one));
    };
    for (int i = 0; i < 300; ++i) add("kite" + std::to_string(i), "1.0", {"not-there"});
    add("zeppelin", "1.0", {"reel<2"});  // what Beam requires is an error, and comes last
    add("reel", reel, {});
    facts.distributions = known(distributions);
    return judge(facts);
  };
  CHECK(level_of(outcome_of("2.0"), rule) == Level::error);
  CHECK(level_of(outcome_of("1.0"), rule) == Level::warning);
}
