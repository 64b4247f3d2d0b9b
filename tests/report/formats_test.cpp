// The formats for CI: what their readers need is there, and names that attack their syntax are only names.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "report/report.hpp"

using namespace imgforge;
using nlohmann::json;

namespace {

const std::string hostile =
    "a\x1b[2J\x07\xff%0A\r\n::error file=x::y, ]]> <b a=\"'&> [x](http://h/) ##vso[x]y \xef\xbf\xbe \xe2\x80\xae";

Report report_of(Subject subject) { return {{std::move(subject)}, *Date::parse("2026-11-30"), "2026.11.30"}; }

Subject dockerfile() {
  Subject subject;
  subject.kind = SubjectKind::dockerfile;
  subject.name = "./sub dir/Dockerfile";
  subject.texts.emplace(subject.name, std::make_shared<const std::string>(
                                          "FROM é x\nRUN é pip install a\nENV TOKEN=ghp_0123456789abcdef\n"));
  subject.judged_as = JudgedAs{Runner::dataflow, Role::worker, "it says so"};
  subject.outcome.verdict = Verdict::fail;
  subject.outcome.findings = {{"beam/boot-missing",
                               Level::error,
                               "no boot",
                               "COPY it",
                               {Evidence::at({subject.name, 2, 8}), Evidence::at({subject.name, 1, 1})}},
                              {"python/end-of-life", Level::warning, "old", "", {Evidence::at({subject.name, 1, 1})}}};
  subject.outcome.undecided = {{"beam/not-installed", Level::error, "a fact"}};
  subject.outcome.passed = {"beam/entrypoint"};
  Ignored ignored;
  ignored.finding = {"beam/pip-missing", Level::error, "no pip", "", {Evidence::at({subject.name, 2, 1})}};
  ignored.reason = "made later";
  ignored.until = Date::parse("2027-01-01");
  ignored.by = Evidence::at({subject.name, 1, 1});
  subject.outcome.ignored = {ignored};
  Diagnostic warning;
  warning.level = Diagnostic::Level::warning;
  warning.place = {subject.name, 1, 1};
  warning.message = "the ignore of x ignores nothing";
  warning.hint = "take it away";
  subject.outcome.warnings = {warning};
  return subject;
}

Subject hostile_image() {
  Subject subject;
  subject.name = hostile;
  subject.digest = "sha256:" + std::string(64, 'a');
  subject.platform = "linux/amd64";
  subject.judged_as = JudgedAs{};
  subject.outcome.verdict = Verdict::fail;
  subject.outcome.findings = {
      {"beam/boot-missing",
       Level::error,
       hostile,
       hostile,
       {Evidence::in_layer("sha256:bb", "/opt/" + hostile), Evidence::in_config("Env." + hostile),
        Evidence::in_label(hostile), Evidence::at({hostile, 3, 4})}},
      {"beam/entrypoint", Level::error, hostile, hostile, {Evidence::at({hostile, 3, 4})}}};
  subject.outcome.undecided = {{"beam/not-installed", Level::error, hostile}};
  Ignored ignored;
  ignored.finding = {"beam/pip-missing", Level::error, hostile, hostile, {Evidence::in_config(hostile)}};
  ignored.reason = hostile;
  subject.outcome.ignored = {ignored};
  Diagnostic warning;
  warning.place = {hostile, 1, 1};
  warning.message = hostile;
  warning.hint = hostile;
  subject.outcome.warnings = {warning};
  return subject;
}

Subject unreadable() {
  Subject subject;
  subject.name = hostile;
  subject.error = SubjectError{ErrorKind::image_corrupt, hostile, hostile};
  return subject;
}

/// Control characters, bytes that are no UTF-8, and what changes the direction of a terminal's text.
bool is_clean(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) return false;
  }
  return is_utf8(text) && text.find("\xe2\x80\xae") == std::string_view::npos;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++number;
  return number;
}

}  // namespace

TEST_CASE("GitHub: one command a line, at its place", "[formats]") {
  const std::string text = to_github(report_of(dockerfile()));
  // The column counts characters: an e with an accent is two bytes.
  CHECK(has(text, "::error file=sub dir/Dockerfile,line=2,col=7,title=beam/boot-missing::no boot%0AFix: COPY it\n"));
  CHECK(has(text, "::warning file=sub dir/Dockerfile,line=1,col=1,title=python/end-of-life::old\n"));
  CHECK(has(text,
            "::warning file=sub dir/Dockerfile,line=1,col=1,title=imgforge::the ignore of x ignores nothing%0Atake it "
            "away\n"));
  CHECK(has(text, "::notice file=sub dir/Dockerfile,title=beam/not-installed is undecided::needs a fact\n"));
  CHECK_FALSE(has(text, "beam/pip-missing"));
}

TEST_CASE("GitHub: hostile names start no command", "[formats]") {
  for (const Subject& subject : {hostile_image(), unreadable()}) {
    const std::string text = to_github(report_of(subject));
    CHECK(is_clean(text));
    CHECK_FALSE(text.empty());
    for (const std::string_view line : lines(text)) {
      INFO(line);
      CHECK(line.starts_with("::"));
      const std::size_t end = line.find("::", 2);
      REQUIRE(end != std::string_view::npos);
      // Between the name of the command and its message: pairs, and none that a name put there.
      const std::string_view properties = line.substr(line.find(' ') + 1, end - line.find(' ') - 1);
      std::vector<std::string_view> keys;
      for (const std::string_view property : split(properties, ','))
        keys.push_back(property.substr(0, property.find('=')));
      const std::vector<std::string_view> all = {"file", "line", "col", "title"}, some = {"title"};
      CHECK((keys == all || keys == some));
      CHECK(count(line, "%") >= count(hostile, "%"));
    }
    CHECK(has(text, "%250A"));  // what was "%0A" is still that
  }
}

TEST_CASE("JUnit: a case a rule and file", "[formats]") {
  const std::string text = to_junit(report_of(dockerfile()));
  CHECK(has(text, "<testsuites name=\"imgforge\" tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"2\" time=\"0\">"));
  CHECK(count(text, "<testcase ") == 5);
  CHECK(has(text,
            "<testcase name=\"beam/boot-missing\" classname=\"./sub dir/Dockerfile\" time=\"0\">\n      <failure "
            "message=\"no boot\" type=\"error\">error: no boot\nat  ./sub dir/Dockerfile:2:8\n"));
  CHECK(has(text, "<skipped message=\"ignored: made later\"/>"));
  CHECK(has(text, "<skipped message=\"undecided: needs a fact\"/>"));
  CHECK(has(text, "<testcase name=\"beam/entrypoint\" classname=\"./sub dir/Dockerfile\" time=\"0\"/>"));
  // A warning is a failure where --fail-on says so.
  Report strict = report_of(dockerfile());
  strict.fail_on = Level::warning;
  CHECK(has(to_junit(strict), "failures=\"2\""));
}

TEST_CASE("JUnit: hostile names are no markup", "[formats]") {
  for (const Subject& subject : {hostile_image(), unreadable()}) {
    const std::string text = to_junit(report_of(subject));
    CHECK(is_clean(text));
    CHECK_FALSE(has(text, "<b"));
    CHECK_FALSE(has(text, "]]>"));
    CHECK_FALSE(has(text, "\xef\xbf\xbe"));
    CHECK(has(text, "&lt;b a=&quot;&apos;&amp;&gt;"));
    CHECK(count(text, "\"") % 2 == 0);
  }
}

TEST_CASE("SARIF: rules, places, fingerprints", "[formats]") {
  const json document = json::parse(to_sarif(report_of(dockerfile())));
  CHECK(document["version"] == "2.1.0");
  REQUIRE(document["runs"].size() == 1);
  const json& run = document["runs"][0];
  CHECK(run["columnKind"] == "unicodeCodePoints");
  std::set<std::string> tripped;
  for (const json& one : run["results"]) tripped.insert(one["ruleId"].get<std::string>());
  // Those with results alone, each once: the whole catalogue is tens of kilobytes.
  CHECK(run["tool"]["driver"]["rules"].size() == tripped.size());
  REQUIRE(run["results"].size() == 2);
  for (const json& one : run["results"]) {
    CHECK(run["tool"]["driver"]["rules"].at(one["ruleIndex"].get<std::size_t>())["id"] == one["ruleId"]);
  }
  const json& result = run["results"][0];
  CHECK(result["ruleId"] == "beam/boot-missing");
  CHECK(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"] == "beam/boot-missing");
  CHECK(result["level"] == "error");
  CHECK(result["message"]["text"] == "no boot\nFix: COPY it");
  const json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "sub%20dir/Dockerfile");
  CHECK(place["region"] == json({{"startLine", 2}, {"startColumn", 7}}));
  CHECK(result["relatedLocations"].size() == 1);
  CHECK(result["partialFingerprints"]["imgforge/v1"].get<std::string>().size() == 16);
  CHECK(run["invocations"][0]["executionSuccessful"] == true);
  CHECK(run["invocations"][0]["toolExecutionNotifications"].size() == 2);
}

TEST_CASE("SARIF: hostile names are text, and paths of images are URIs", "[formats]") {
  const std::string text = to_sarif(report_of(hostile_image()));
  CHECK(is_clean(text));
  const json run = json::parse(text)["runs"][0];
  for (const json& result : run["results"]) {
    CHECK_FALSE(has(result["message"]["text"].get<std::string>(), "]("));
    const std::string uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    INFO(uri);
    CHECK(uri.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/%") ==
          std::string::npos);
  }
  const json& location = run["results"][0]["locations"][0];
  CHECK(location["physicalLocation"]["artifactLocation"]["uri"].get<std::string>().starts_with(
      "sha256%3Abb/opt/a%1B%5B2J%07%FF%250A%0D%0A"));
  CHECK(has(location["logicalLocations"][0]["name"].get<std::string>(), "/opt/a\\x1b[2J"));
  const json broken = json::parse(to_sarif(report_of(unreadable())))["runs"][0];
  CHECK(broken["invocations"][0]["executionSuccessful"] == false);
  CHECK(broken["results"].empty());
}

TEST_CASE("text: place, line and caret; secrets are not shown", "[formats]") {
  Subject subject = dockerfile();
  const std::string text = to_text(report_of(subject), {});
  CHECK(has(text,
            "\n./sub dir/Dockerfile:2:8: error beam/boot-missing\n  no boot\n    RUN é pip install a\n          ^\n"));
  CHECK(has(text, "ignored\n  beam/pip-missing  ./sub dir/Dockerfile:2:1  (made later, until 2027-01-01)\n"));
  CHECK(has(text, ":1:1: warning the ignore of x ignores nothing\n"));
  CHECK(has(text, "1 error, 1 warning, 0 notes, 1 undecided, 1 passed, 1 ignored\n"));
  CHECK_FALSE(has(text, "layers"));
  subject.outcome.findings = {{"dockerfile/secret", Level::error, "a token", "", {Evidence::at({subject.name, 3, 5})}},
                              {"python/end-of-life", Level::error, "x", "", {Evidence::at({subject.name, 3, 5})}}};
  CHECK_FALSE(has(to_text(report_of(subject), {}), "ghp_"));
  CHECK(is_clean(to_text(report_of(hostile_image()), {})));
}

TEST_CASE("text: where a package alone makes it a worker, it says what would win", "[formats]") {
  Subject subject = dockerfile();
  CHECK(has(to_text(report_of(subject), {}), "judged as dataflow worker (it says so)\n"));
  subject.judged_as->by_package = true;
  CHECK(has(to_text(report_of(subject), {}), "judged as dataflow worker (it says so; --target says otherwise)\n"));
}

TEST_CASE("JSON: kind, waivers and warnings", "[formats]") {
  const json subject = json::parse(to_json(report_of(dockerfile())))["subjects"][0];
  CHECK(subject["kind"] == "dockerfile");
  CHECK_FALSE(subject.contains("assurance"));
  REQUIRE(subject["ignored"].size() == 1);
  CHECK(subject["ignored"][0]["rule"] == "beam/pip-missing");
  CHECK(subject["ignored"][0]["reason"] == "made later");
  CHECK(subject["ignored"][0]["until"] == "2027-01-01");
  CHECK(subject["ignored"][0]["by"]["line"] == 1);
  CHECK(subject["warnings"][0]["message"] == "the ignore of x ignores nothing");
  CHECK(subject["findings"][0]["url"] == "https://imgforge.dev/docs/rules.md#beamboot-missing");
  const json hostile_subject = json::parse(to_json(report_of(hostile_image())))["subjects"][0];
  CHECK(hostile_subject["ignored"][0]["until"].is_null());
  CHECK(hostile_subject["ignored"][0]["by"].is_null());
}

TEST_CASE("hostile: no format gives a command to the service that keeps the log", "[formats][hostile]") {
  for (const std::string_view name : {"text", "json", "sarif", "junit", "github"}) {
    for (const Subject& subject : {hostile_image(), unreadable()}) {
      const std::string text = write(report_of(subject), *parse_report_format(name));
      CAPTURE(text);
      CHECK(text.find("#vso[x]y") != std::string::npos);
      CHECK(text.find("##vso[") == std::string::npos);
    }
  }
}

TEST_CASE("every format has a name, and is its own", "[formats]") {
  for (const std::string_view name : {"text", "json", "sarif", "junit", "github"}) {
    REQUIRE(parse_report_format(name));
    CHECK(to_string(*parse_report_format(name)) == name);
    CHECK_FALSE(write(report_of(dockerfile()), *parse_report_format(name)).empty());
  }
  CHECK_FALSE(parse_report_format("xml"));
  CHECK(json::parse(report_json_schema())["title"] == "imgforge.report/v1");
}
