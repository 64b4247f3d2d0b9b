// Waivers: what they take away, what they leave, and what is said of the waivers themselves.
#include "check/ignores.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "recipe/parse.hpp"

using namespace imgforge;

namespace {

const Date today = *Date::parse("2026-11-30");

Finding finding(const std::string& rule, std::size_t line, Level level = Level::error) {
  return {rule, level, "message", "fix", {Evidence::at({"Dockerfile", line, 1})}};
}

Outcome outcome_of(std::vector<Finding> findings) {
  Outcome outcome;
  outcome.findings = std::move(findings);
  outcome.verdict = verdict_of(outcome, {});
  return outcome;
}

struct Applied {
  Outcome outcome;
  std::string said;
};

std::string said(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic);
  return text;
}

Applied apply(Ignores ignores, Outcome outcome, SubjectKind kind) {
  ignores.apply(outcome, today, {}, kind);
  return {std::move(outcome), said(ignores.warnings(today))};
}

Applied in_dockerfile(const std::string& text, std::vector<Finding> findings) {
  const dockerfile::DockerfileParse parse = dockerfile::parse_dockerfile(text, "Dockerfile");
  REQUIRE(parse.dockerfile);
  Ignores ignores;
  ignores.add(*parse.dockerfile);
  return apply(std::move(ignores), outcome_of(std::move(findings)), SubjectKind::dockerfile);
}

Applied in_recipe(const std::string& checks, std::vector<Finding> findings) {
  const RecipeParse parse = parse_recipe(
      "apiVersion: imgforge/v1\nname: a\ntarget: {runner: dataflow}\nchecks: {ignore: [" + checks + "]}\n", "r.yaml");
  REQUIRE(parse.recipe);
  Ignores ignores;
  ignores.add(*parse.recipe);
  return apply(std::move(ignores), outcome_of(std::move(findings)), SubjectKind::recipe);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string boot = "beam/boot-missing";
const std::string life = "python/end-of-life";

}  // namespace

TEST_CASE("a comment waives what stands on the instruction that follows", "[ignores]") {
  const std::string text =
      "FROM a\n"
      "# imgforge: ignore=beam/boot-missing made later\n"
      "\n"
      "RUN b && \\\n"
      "    c\n"
      "RUN d\n";
  for (const std::size_t line : {4, 5}) {
    const Applied applied = in_dockerfile(text, {finding(boot, line)});
    CHECK(applied.outcome.findings.empty());
    CHECK(applied.outcome.verdict == Verdict::pass);
    REQUIRE(applied.outcome.ignored.size() == 1);
    CHECK(applied.outcome.ignored[0].reason == "made later");
    CHECK(applied.outcome.ignored[0].finding.rule == boot);
    CHECK(applied.outcome.ignored[0].by == Evidence::at({"Dockerfile", 2, 1}));
    CHECK(applied.said.empty());
  }
  // One line further, another rule, another file: not waived.
  const Applied further = in_dockerfile(text, {finding(boot, 6)});
  CHECK(further.outcome.findings.size() == 1);
  CHECK(further.outcome.verdict == Verdict::fail);
  CHECK(
      has(further.said,
          "Dockerfile:2:1: warning: the ignore of beam/boot-missing ignores nothing: its finding stands in line 6\n"));
  CHECK(has(further.said, "ignore-file=beam/boot-missing"));
  const Applied other = in_dockerfile(text, {finding(life, 4)});
  CHECK(other.outcome.findings.size() == 1);
  CHECK(has(other.said, "warning: the ignore of beam/boot-missing ignores nothing\n"));
  Finding elsewhere = finding(boot, 4);
  elsewhere.evidence[0].place.file = "requirements.txt";
  CHECK(in_dockerfile(text, {elsewhere}).outcome.findings.size() == 1);
}

TEST_CASE("a comment within an instruction is about that instruction", "[ignores]") {
  const std::string text = "FROM a\nRUN b && \\\n# imgforge: ignore=beam/boot-missing why\n    c\nRUN d\n";
  CHECK(in_dockerfile(text, {finding(boot, 4)}).outcome.findings.empty());
  CHECK(in_dockerfile(text, {finding(boot, 5)}).outcome.findings.size() == 1);
}

TEST_CASE("several rules, several comments, and the whole file", "[ignores]") {
  const std::string two = "FROM a\n# imgforge: ignore=beam/boot-missing, python/end-of-life both of them\nRUN b\n";
  const Applied both = in_dockerfile(two, {finding(boot, 3), finding(life, 3, Level::warning)});
  CHECK(both.outcome.findings.empty());
  CHECK(both.outcome.ignored.at(1).reason == "both of them");
  CHECK(both.said.empty());
  const std::string stacked =
      "FROM a\n# imgforge: ignore=beam/boot-missing one\n# imgforge: ignore=python/end-of-life other\nRUN b\n";
  CHECK(in_dockerfile(stacked, {finding(boot, 4), finding(life, 4)}).outcome.findings.empty());
  const std::string file = "FROM a\nRUN b\n# imgforge: ignore-file=beam/boot-missing everywhere\n";
  Finding placeless = finding(boot, 1);
  placeless.evidence.clear();
  const Applied whole = in_dockerfile(file, {finding(boot, 1), finding(boot, 2), placeless});
  CHECK(whole.outcome.findings.empty());
  CHECK(whole.outcome.ignored.size() == 3);
}

TEST_CASE("what is said of comments that do no good", "[ignores]") {
  const auto told = [](const std::string& pragma) {
    return in_dockerfile("FROM a\n# imgforge: " + pragma + "\nRUN b\n", {finding(boot, 3)}).said;
  };
  CHECK(told("ignore=beam/boot-missing a reason").empty());
  CHECK(has(told("ignore=beam/boot-missing"), "the ignore of beam/boot-missing has no reason"));
  CHECK(has(told("ignore=beam/boot-mising x"), "there is no such rule"));
  CHECK(has(told("ignore=beam/boot-mising x"), "did you mean beam/boot-missing?"));
  CHECK(has(told("ignore= x"), "names no rule"));
  CHECK(has(told("ignore beam/boot-missing"), "says nothing that imgforge reads"));
  CHECK(has(told("ignore=a\x1b[2J/b x"), "\\x1b"));
  // Without a reason it counts all the same.
  CHECK(in_dockerfile("FROM a\n# imgforge: ignore=beam/boot-missing\nRUN b\n", {finding(boot, 3)})
            .outcome.findings.empty());
  // Behind the last instruction there is nothing.
  const Applied last = in_dockerfile("FROM a\nRUN b\n# imgforge: ignore=beam/boot-missing x\n", {finding(boot, 2)});
  CHECK(last.outcome.findings.size() == 1);
  CHECK(has(last.said, "its finding stands in line 2"));
}

TEST_CASE("a recipe's ignores hold until their day", "[ignores]") {
  const auto until = [](const std::string& day) {
    return in_recipe("{rule: python/end-of-life, reason: planned, until: " + day + "}", {finding(life, 5)});
  };
  CHECK(until("2027-01-01").outcome.findings.empty());
  CHECK(until("2027-01-01").said.empty());
  CHECK(until("2026-11-30").outcome.ignored.at(0).until == today);
  const Applied expired = until("2026-11-29");
  CHECK(expired.outcome.findings.size() == 1);
  CHECK(expired.outcome.verdict == Verdict::fail);
  CHECK(has(expired.said,
            "r.yaml:4:26: warning: the ignore of python/end-of-life has expired: it counted until 2026-11-29"));
  CHECK(has(in_recipe("{rule: python/end-of-life}", {finding(life, 5)}).said, "has no reason"));
  CHECK(has(in_recipe("{rule: python/end-of-life, reason: x}", {}).said, "ignores nothing"));
  CHECK(has(in_recipe("{rule: python/end-of-lif, reason: x}", {}).said, "did you mean python/end-of-life?"));
  // A rule that judges built images only has its say when one is verified.
  for (const Rule& rule : all_rules()) {
    if (rule.inputs != I) continue;
    CHECK(in_recipe("{rule: " + std::string(rule.id) + ", reason: x}", {}).said.empty());
    break;
  }
}

TEST_CASE("undecided answers are waived with the rule, and lines are given the benefit of the doubt", "[ignores]") {
  Outcome outcome;
  outcome.undecided.push_back({boot, Level::error, "something"});
  outcome.verdict = verdict_of(outcome, {});
  REQUIRE(outcome.verdict == Verdict::undecided);
  Ignores everywhere;
  everywhere.add_option(boot);
  CHECK(apply(everywhere, outcome, SubjectKind::image).outcome.verdict == Verdict::pass);
  const auto parse =
      dockerfile::parse_dockerfile("FROM a\n# imgforge: ignore=beam/boot-missing x\nRUN b\n", "Dockerfile");
  Ignores line;
  line.add(*parse.dockerfile);
  const Applied applied = apply(line, outcome, SubjectKind::dockerfile);
  CHECK(applied.outcome.verdict == Verdict::undecided);
  CHECK(applied.said.empty());
}

TEST_CASE("--ignore takes a rule, perhaps a reason, and nothing else", "[ignores]") {
  Ignores ignores;
  ignores.add_option("beam/boot-missing=known to ops");
  const Applied applied = apply(ignores, outcome_of({finding(boot, 3), finding(life, 3)}), SubjectKind::dockerfile);
  CHECK(applied.outcome.findings.size() == 1);
  CHECK(applied.outcome.ignored.at(0).reason == "known to ops");
  CHECK(applied.said.empty());
  try {
    ignores.add_option("beam/boot-mising");
    FAIL("an unknown rule was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.hint() == "did you mean beam/boot-missing?");
  }
}

TEST_CASE("the cells of a matrix share their ignores", "[ignores]") {
  Ignores ignores;
  const RecipeParse parse = parse_recipe(
      "apiVersion: imgforge/v1\nname: a\ntarget: {runner: dataflow}\nchecks: {ignore: [{rule: python/end-of-life, "
      "reason: x}]}\n",
      "r.yaml");
  ignores.add(*parse.recipe);
  Outcome with = outcome_of({finding(life, 1)}), without = outcome_of({});
  ignores.apply(with, today, {}, SubjectKind::recipe);
  ignores.apply(without, today, {}, SubjectKind::recipe);
  CHECK(ignores.warnings(today).empty());
}
