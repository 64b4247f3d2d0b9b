// Rules that judge what is installed: each with a worker that trips it, and a twin one fact apart that does not.
#include "facts/facts.hpp"
#include "worker_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

constexpr const char* broken = "python/broken-requirements";

struct Package {
  std::string name;
  std::string version;
  std::vector<std::string> requires_dist = {};
  std::string site = {};  // the interpreter's own where it is empty
};

/// A healthy worker with these beside what it has.
Facts with_packages(const std::vector<Package>& packages, Worker worker = {}) {
  Facts facts = worker.facts();
  std::vector<Distribution> distributions = facts.distributions().value();
  std::vector<Interpreter> interpreters = facts.interpreters().value();
  for (const Package& one : packages) {
    const std::string site = one.site.empty() ? interpreters.front().site_packages.front() : one.site;
    auto& sites = interpreters.front().site_packages;
    if (std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
    Distribution distribution;
    distribution.name = normalise_name(one.name);
    distribution.version_text = one.version;
    distribution.version = Version::parse(one.version);
    distribution.site = site;
    distribution.metadata_path = site + "/" + one.name + ".dist-info/METADATA";
    distribution.requires_dist = one.requires_dist;
    distributions.push_back(std::move(distribution));
  }
  facts.distributions = known(distributions);
  facts.interpreters = known(interpreters);
  return facts;
}

std::vector<std::string> messages(const Outcome& outcome, std::string_view rule) {
  std::vector<std::string> all;
  for (const Finding& finding : outcome.findings) {
    if (finding.rule == rule) all.push_back(finding.message);
  }
  return all;
}

std::vector<std::string> broken_of(const std::vector<Package>& packages, Worker worker = {}) {
  return messages(judge(with_packages(packages, std::move(worker))), broken);
}

bool passed(const Outcome& outcome, std::string_view rule) {
  return std::find(outcome.passed.begin(), outcome.passed.end(), rule) != outcome.passed.end();
}

}  // namespace

TEST_CASE("requirements between what is installed", "[requirements]") {
  CHECK(passed(judge(with_packages({{"kite", "1.0", {"NumPy>=2"}}})), broken));
  CHECK(broken_of({{"kite", "1.0", {"numpy<2"}}}) ==
        std::vector<std::string>{"kite 1.0 requires numpy<2, and numpy 2.2.6 is installed"});
  CHECK(broken_of({{"kite", "1.0", {"reel>=1 ; python_version > '3'"}}}) ==
        std::vector<std::string>{"kite 1.0 requires reel>=1; python_version > \"3\", which is not installed"});
  CHECK(broken_of({{"kite", "1.0", {"reel"}}, {"reel", "0.1"}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel ; extra == 'line'"}}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel ; sys_platform == 'win32'"}}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel ; platform_machine == 'x86_64'"}}}).size() == 1);
  CHECK(broken_of({{"kite", "1.0", {"reel @ https://example.com/reel.whl"}}, {"reel", "9"}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel==2.0"}}, {"reel", "2.0+cu121"}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel>=2.0"}}, {"reel", "2.0rc1"}}).size() == 1);
  CHECK(broken_of({{"kite", "1.0", {"reel<2"}}, {"reel", "1!1"}}).size() == 1);
}

TEST_CASE("an error where the worker needs it", "[requirements]") {
  // numpy is nothing that this Beam requires.
  CHECK(level_of(judge(with_packages({{"kite", "1.0", {"numpy<2"}}})), broken) == Level::warning);
  Worker worker;
  worker.beam_requires = {"numpy>=1", "reel"};
  CHECK(level_of(judge(with_packages({{"kite", "1.0", {"numpy<2"}}, {"reel", "1"}}, worker)), broken) == Level::error);
  // Two steps away.
  CHECK(level_of(judge(with_packages({{"reel", "1", {"line"}}, {"line", "1", {"hook>2"}}, {"hook", "1"}}, worker)), broken) == Level::error);
  CHECK(level_of(judge(with_packages({{"reel", "1"}, {"line", "1", {"hook>2"}}, {"hook", "1"}}, worker)), broken) == Level::warning);
  CHECK(level_of(judge(with_packages({{"torch", "2.5.1", {"sympy==1.13.1"}}, {"sympy", "1.12"}})), broken) == Level::error);
}

TEST_CASE("what is not certain is undecided", "[requirements]") {
  Worker worker;
  const std::vector<Package> early = {{"kite", "1.0", {"reel ; python_full_version < '3.11.4'"}}};
  const std::vector<Package> never = {{"kite", "1.0", {"reel ; python_full_version < '3.11.0a7'"}}};
  CHECK(broken_of(early).empty());
  Facts facts = with_packages(early);
  std::vector<Interpreter> interpreters = facts.interpreters().value();
  interpreters.front().version.reset();
  facts.interpreters = known(interpreters);
  CHECK(is_undecided(judge(facts), broken));
  facts = with_packages(never);
  facts.interpreters = known(interpreters);
  CHECK(passed(judge(facts), broken));
  CHECK(is_undecided(judge(with_packages({{"kite", "1.0", {"reel ; platform_release >= '6'"}}})), broken));
  // In one folder twice: nothing tells which of them is imported.
  CHECK(is_undecided(judge(with_packages({{"kite", "1.0", {"reel<2"}}, {"reel", "1.0"}, {"reel", "2.0"}})), broken));
  CHECK(broken_of({{"kite", "1.0", {"reel<2"}}, {"reel", "2.1"}, {"reel", "2.0"}}).size() == 1);
  // In two folders the first counts.
  CHECK(broken_of({{"kite", "1.0", {"reel<2"}}, {"reel", "1.0"}, {"reel", "2.0", {}, "/opt/more"}}).empty());
  CHECK(broken_of({{"kite", "1.0", {"reel<2"}}, {"reel", "2.0"}, {"reel", "1.0", {}, "/opt/more"}}).size() == 1);
}

TEST_CASE("what is no requirement and no version", "[requirements]") {
  const Outcome outcome = judge(with_packages({{"kite", "1.0", {"reel >= one"}}}));
  CHECK(level_of(outcome, broken) == Level::warning);
  CHECK(message_of(outcome, broken).find("reel >= one") != std::string::npos);
  CHECK(broken_of({{"kite", "1.0", {"reel>1"}}, {"reel", "of-today"}}).size() == 1);
  CHECK(broken_of({{"kite", "1.0", {"reel"}}, {"reel", "of-today"}}).empty());
}

TEST_CASE("many broken requirements are not a page each", "[requirements]") {
  std::vector<Package> packages;
  for (int i = 0; i < 500; ++i) packages.push_back({"kite" + std::to_string(i), "1.0", {"reel"}});
  const auto all = broken_of(packages);
  CHECK(all.size() < 300);
  CHECK(all.back().find("more requirements are not met") != std::string::npos);
}

TEST_CASE("modules of another Python", "[abi]") {
  constexpr const char* rule = "python/abi-mismatch";
  const std::string site = "/usr/local/lib/python3.11/site-packages";
  Worker worker;
  CHECK(passed(judge(worker.facts()), rule));
  const auto one = [&](const std::string& name, const std::string& where, const std::string& tag) {
    return ForeignModules{name, where, tag, 2, where + "/" + name + "/x." + tag + ".so", {}};
  };
  worker.foreign_modules = {one("numpy", site, "cpython-310-x86_64-linux-gnu"), one("pandas", site, "cpython-310-x86_64-linux-gnu")};
  Outcome outcome = judge(worker.facts());
  CHECK(level_of(outcome, rule) == Level::error);
  CHECK(messages(outcome, rule).size() == 1);  // one folder, one fault
  CHECK(message_of(outcome, rule).find("numpy, pandas") != std::string::npos);
  worker.foreign_modules = {one("numpy", "/opt/other/lib/python3.12/site-packages", "cpython-310-x86_64-linux-gnu")};
  CHECK(level_of(judge(worker.facts()), rule) == Level::warning);
  // The wheel's tag alone: perhaps they fit all the same.
  worker.foreign_modules = {one("tensorflow", site, "cp310")};
  CHECK(level_of(judge(worker.facts()), rule) == Level::warning);
}

TEST_CASE("several interpreters", "[interpreters]") {
  constexpr const char* rule = "python/multiple-interpreters";
  const Worker worker;
  Facts facts = worker.facts();
  CHECK(passed(judge(facts), rule));
  std::vector<Interpreter> interpreters = facts.interpreters().value();
  Interpreter other = interpreters.front();
  other.path = "/usr/bin/python3.9";
  other.minor = {3, 9};
  other.version.reset();
  other.on_path_as.clear();
  other.kind = Interpreter::Kind::venv;
  interpreters.push_back(other);
  facts.interpreters = known(interpreters);
  CHECK(passed(judge(facts), rule));  // a venv is no interpreter of its own
  interpreters.back().kind = Interpreter::Kind::system;
  facts.interpreters = known(interpreters);
  const Outcome outcome = judge(facts);
  CHECK(level_of(outcome, rule) == Level::note);
  CHECK(message_of(outcome, rule).find("the one that starts is /usr/local/bin/python3.11 (3.11.9)") != std::string::npos);
}
