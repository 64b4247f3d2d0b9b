// What is printed: hostile names never reach the output raw, and programs can rely on the shape.
#include "report/report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/facts_json.hpp"

using namespace imgforge;
using nlohmann::json;

namespace {

const std::string hostile = "evil\x1b[2J\x07\xc2\x9b\xe2\x80\xae\xff\n";

Report report_of(Subject subject) { return {{std::move(subject)}, *Date::parse("2026-11-30"), "2026.11.30"}; }

Subject failed() {
  Subject subject;
  subject.name = hostile;
  subject.digest = "sha256:" + std::string(64, 'a');
  subject.platform = "linux/amd64";
  subject.judged_as = JudgedAs{Runner::dataflow, Role::worker, "nothing says otherwise"};
  subject.outcome.verdict = Verdict::fail;
  subject.outcome.findings = {{"beam/boot-missing", Level::error, "no boot " + hostile, "COPY it " + hostile,
                               {Evidence::in_layer("sha256:bb", "/opt/" + hostile), Evidence::in_config("Env." + hostile), Evidence::in_label(hostile), Evidence::at({hostile, 3, 4})}}};
  subject.outcome.undecided = {{"beam/entrypoint", Level::error, "something " + hostile}};
  subject.recipe = RecipeUsed{hostile, "", {hostile}, hostile};
  return subject;
}

bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
    if (text.substr(i).starts_with("\xe2\x80\xae") || byte == 0xff) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("hostile names are escaped in text", "[report]") {
  const std::string text = to_text(report_of(failed()), {});
  CHECK_FALSE(has_control_characters(text));
  CHECK(text.find("evil\\x1b[2J") != std::string::npos);
  CHECK(text.find("beam/boot-missing") != std::string::npos);
}

TEST_CASE("hostile names are escaped in JSON, and their bytes are kept beside", "[report]") {
  const std::string text = to_json(report_of(failed()));
  CHECK_FALSE(has_control_characters(text));
  const json document = json::parse(text);
  CHECK(document["schema"] == "imgforge.report/v1");
  const json& subject = document["subjects"][0];
  CHECK(subject["verdict"] == "fail");
  CHECK(subject["findings"][0]["evidence"][0].contains("path_base64"));
  CHECK(subject["findings"][0]["fingerprint"].get<std::string>().size() == 16);
}

TEST_CASE("colour only where it was asked for", "[report]") {
  Subject subject = failed();
  subject.name = "oci:x";
  CHECK(to_text(report_of(subject), {.color = true}).find("\x1b[31;1m") != std::string::npos);
  CHECK(to_text(report_of(subject), {}).find('\x1b') == std::string::npos);
}

TEST_CASE("the exit code is the largest", "[report]") {
  Subject good;
  CHECK(exit_code(report_of(good), false) == 0);
  CHECK(exit_code(report_of(failed()), false) == 1);
  Subject open;
  open.outcome.verdict = Verdict::undecided;
  CHECK(exit_code(report_of(open), false) == 0);
  CHECK(exit_code(report_of(open), true) == 1);
  Subject broken;
  broken.error = SubjectError{ErrorKind::image_corrupt, "digest mismatch", ""};
  CHECK(exit_code(report_of(broken), false) == 3);
  Report several = report_of(failed());
  several.subjects.push_back(broken);
  several.subjects.push_back(good);
  CHECK(exit_code(several, false) == 3);
  CHECK(json::parse(to_json(several))["subjects"][1]["error"]["kind"] == "corrupt");
}

TEST_CASE("the fingerprint survives a rebuild", "[report]") {
  Subject one = failed(), other = failed();
  other.outcome.findings[0].evidence[0].layer = "sha256:cc";
  other.outcome.findings[0].message = "another wording";
  const auto print_of = [](const Subject& subject) { return json::parse(to_json(report_of(subject)))["subjects"][0]["findings"][0]["fingerprint"]; };
  CHECK(print_of(one) == print_of(other));
  other.outcome.findings[0].evidence[0].path = "/elsewhere";
  CHECK(print_of(one) != print_of(other));
}

TEST_CASE("facts: known values, and how each is known", "[report]") {
  Facts facts;
  facts.beam_version = LazyFact<Version>(Fact<Version>::known(*Version::parse("2.66.0"), {Evidence::in_layer("sha256:aa", "/x")}));
  facts.boot = LazyFact<Boot>(Fact<Boot>::absent());
  facts.libc = LazyFact<Libc>(Fact<Libc>::unknown("no file says"));
  json values, evidence;
  facts_to_json(facts, values, evidence);
  CHECK(values["beam_version"] == "2.66.0");
  CHECK_FALSE(values.contains("boot"));
  CHECK(evidence["boot"]["state"] == "absent");
  CHECK(evidence["libc"]["reason"] == "no file says");
  CHECK(evidence["beam_version"]["evidence"][0]["path"] == "/x");
}
