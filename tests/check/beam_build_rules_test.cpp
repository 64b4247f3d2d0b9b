#include <algorithm>

#include "build_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Outcome with_image(const std::string& written, ImageUse::Role role = ImageUse::Role::base) {
  Made made;
  made.build.images.push_back(image_use(role, written, "1", 7));
  return made.outcome();
}

StageContract stage(const std::string& name, bool boot, Program ends_in) {
  StageContract contract;
  contract.stage = name;
  contract.has_boot = Fact<bool>::known(boot);
  contract.entrypoint = Fact<Entrypoint>::known(Entrypoint{.entrypoint = {"x"}, .ends_in = ends_in, .last = "x"});
  return contract;
}

}  // namespace

TEST_CASE("the last stage is what is built") {
  Made made;
  made.build.stages = {stage("worker", true, Program::boot), stage("dev", true, Program::other)};
  made.build.stages.back().last = true;
  made.build.stage = "dev";
  made.worker.entrypoint = Entrypoint{.entrypoint = {"bash"}, .ends_in = Program::other, .last = "bash"};
  const Outcome outcome = made.outcome();
  CHECK(level_of(outcome, "beam/wrong-final-stage") == Level::error);
  CHECK_FALSE(level_of(outcome, "beam/entrypoint"));  // one fault, one finding
  SECTION("asked for by name") {
    made.build.stage = "worker";
    CHECK_FALSE(level_of(made.outcome(), "beam/wrong-final-stage"));
  }
  SECTION("no stage is better") {
    made.build.stages.front().has_boot = Fact<bool>::known(false);
    CHECK_FALSE(level_of(made.outcome(), "beam/wrong-final-stage"));
    CHECK(level_of(made.outcome(), "beam/entrypoint") == Level::error);
  }
}

TEST_CASE("apache-beam without a version beside a pinned SDK image") {
  Made made;
  made.build.pip = {pip_install({"apache-beam[gcp]"})};
  CHECK(level_of(made.outcome(), "beam/version-unpinned") == Level::warning);
  CHECK(message_of(made.outcome(), "beam/version-unpinned").find("| RUN pip install apache-beam[gcp]==2.66.0") != std::string::npos);
  SECTION("constrained") {
    made.build.pip.front().constraints = {pip_request("apache-beam==2.66.0")};
    CHECK(has_passed(made.outcome(), "beam/version-unpinned"));
  }
  SECTION("bounds that keep to the minor release of the SDK image") {
    for (const char* kept : {"apache-beam[gcp]~=2.66.0", "apache-beam==2.66.*", "apache-beam>=2.60,<2.67"}) {
      made.build.pip = {pip_install({kept})};
      CHECK(has_passed(made.outcome(), "beam/version-unpinned"));
    }
    made.build.pip = {pip_install({"apache-beam~=2.66"})};
    CHECK(level_of(made.outcome(), "beam/version-unpinned") == Level::warning);
  }
  SECTION("by a file that is not there") {
    made.build.pip.front().not_known = "constraints.txt is not beside the Dockerfile";
    CHECK(is_undecided(made.outcome(), "beam/version-unpinned"));
  }
  SECTION("the SDK image is not pinned either") {
    made.build.images.pop_back();
    CHECK_FALSE(level_of(made.outcome(), "beam/version-unpinned"));
  }
}

TEST_CASE("boot of another Python's image is a warning, never an error") {
  Made made;
  CHECK(has_passed(made.outcome(), "beam/boot-python-differs"));
  ImageUse copy = image_use(ImageUse::Role::copy, "apache/beam_python3.12_sdk:2.66.0", "0", 3);
  copy.copied = {"/opt/apache/beam"};
  made.build.images.back() = copy;
  CHECK(level_of(made.outcome(), "beam/boot-python-differs") == Level::warning);
  CHECK(made.outcome().verdict != Verdict::fail);
  SECTION("through a stage") {
    made.build.images.back().written = "sdk";
    made.build.images.back().reference.reset();
    made.build.images.back().row.reset();
    made.build.images.push_back(image_use(ImageUse::Role::base, "apache/beam_python3.12_sdk:2.66.0", "sdk", 1));
    CHECK(level_of(made.outcome(), "beam/boot-python-differs") == Level::warning);
  }
}

TEST_CASE("RUN on a distroless SDK image") {
  Made made;
  made.build.images.push_back(image_use(ImageUse::Role::base, "apache/beam_python3.12_sdk_distroless:2.70.0", "1"));
  CHECK(has_passed(made.outcome(), "beam/distroless-run"));
  made.build.images.back().runs_steps = true;
  CHECK(level_of(made.outcome(), "beam/distroless-run") == Level::error);
  CHECK(message_of(made.outcome(), "beam/distroless-run").find("FROM apache/beam_python3.12_sdk:2.70.0") != std::string::npos);
}

TEST_CASE("tags that move") {
  CHECK(level_of(with_image("apache/beam_python3.12_sdk"), "beam/mutable-tag") == Level::warning);
  CHECK(level_of(with_image("python:latest"), "beam/mutable-tag") == Level::warning);
  CHECK(level_of(with_image("apache/beam_python3.12_sdk:latest", ImageUse::Role::copy), "beam/mutable-tag") == Level::warning);
  CHECK_FALSE(level_of(with_image("ghcr.io/astral-sh/uv:latest", ImageUse::Role::copy), "beam/mutable-tag"));  // a tool of the build
  CHECK_FALSE(level_of(with_image("python:3.12"), "beam/mutable-tag"));
  CHECK_FALSE(level_of(with_image("apache/beam_python3.11_sdk@sha256:4f1c0de2b7a95e3368ad0f7714c9b2e85d60a1f37e92c48b0a6d5f83e17b9c24"), "beam/mutable-tag"));
}

TEST_CASE("SDK images that never were") {
  const auto level = [](const std::string& image) { return level_of(with_image(image), "beam/image-not-published"); };
  for (const char* image : {"apache/beam_python312_sdk:2.65.0", "apache/beam_python3.11_sdk:2.56.2", "apache/beam_python3.13_sdk:2.60.0", "apache/beam_python3.11_sdk:2.66",
                            "apache/beam_java8_sdk:2.69.0", "apache/beam_java21_sdk:2.50.0", "apache/beam_java12_sdk:2.66.0", "apache/beam_python3.12_sdk_distroless:2.60.0",
                            "gcr.io/cloud-dataflow/v1beta3/beam_python3.13_sdk:2.60.0"}) {
    CAPTURE(image);
    CHECK(level(image) == Level::error);
  }
  for (const char* image : {"apache/beam_python3.11_sdk:2.66.0", "apache/beam_python3.12_sdk:2.70.0rc1", "apache/beam_java11_sdk:2.66.0", "apache/beam_java8_sdk:2.65.0",
                            "apache/beam_go_sdk:2.66.0", "apache/beam_python3.12_sdk_distroless:2.70.0", "registry.example/beam_python312_sdk:1", "apache/beam_python3.11_sdk:latest"}) {
    CAPTURE(image);
    CHECK_FALSE(level(image));
  }
  // Newer than every table: nobody can tell.
  CHECK(is_undecided(with_image("apache/beam_python3.13_sdk:2.99.0"), "beam/image-not-published"));
  CHECK(message_of(with_image("apache/beam_python312_sdk:2.65.0"), "beam/image-not-published").find("FROM apache/beam_python3.12_sdk:2.65.0") != std::string::npos);
}

TEST_CASE("a variable that an unknown base may set makes what hinges on it undecided") {
  Made made;
  made.worker.has_venv = false;
  CHECK(level_of(made.outcome(), "beam/venv-unavailable") == Level::error);
  Facts facts = made.facts();
  facts.env_open = "registry.example/base is not in the tables";
  CHECK(is_undecided(made.outcome(facts), "beam/venv-unavailable"));
  CHECK(is_undecided(made.outcome(facts), "beam/preset-worker-environment"));
  // Where nothing hinges on it, it is no matter.
  Made healthy;
  Facts open = healthy.facts();
  open.env_open = "registry.example/base is not in the tables";
  CHECK(has_passed(healthy.outcome(open), "beam/venv-unavailable"));
}

TEST_CASE("a version that is asked for as a range is not known, and no bad version") {
  Made made;
  Facts facts = made.facts();
  Distribution beam = facts.beam().value();
  beam.version.reset();
  beam.version_text = ">=2.60";
  facts.beam = known(beam);
  const Outcome outcome = made.outcome(facts);
  REQUIRE(is_undecided(outcome, "beam/sdk-version-mismatch"));
  for (const Undecided& one : outcome.undecided) {
    CHECK(one.needs.find("PEP 440") == std::string::npos);
    if (one.rule == "beam/sdk-version-mismatch") CHECK(one.needs.find("apache-beam>=2.60") != std::string::npos);
  }
}

TEST_CASE("evidence of a variable is its line") {
  Made made;
  made.worker.env.emplace_back("WORKER_ID", "sdk-7");
  Facts facts = made.facts();
  facts.env_places["WORKER_ID"] = Evidence::at({"Dockerfile", 9, 5});
  const Outcome outcome = made.outcome(facts);
  const auto finding = std::find_if(outcome.findings.begin(), outcome.findings.end(), [](const Finding& one) { return one.rule == "beam/preset-worker-environment"; });
  REQUIRE(finding != outcome.findings.end());
  CHECK(finding->evidence.at(0).place.line == 9);
}

TEST_CASE("the launch environment of the command line") {
  Made made;
  const Facts facts = made.facts();
  Case subject{facts, knowledge(), nullptr, false, {}, judge_target(facts, nullptr, std::nullopt, RecipeFrom::user, SubjectKind::dockerfile), {}, *Date::parse("2026-11-30"),
               SubjectKind::dockerfile, {}};
  CHECK_FALSE(level_of(check(subject), "beam/launch-mismatch"));
  subject.launch.python = PythonMinor{3, 12};
  CHECK(level_of(check(subject), "beam/launch-mismatch") == Level::error);
  subject.launch.python = PythonMinor{3, 11};
  subject.launch.beam = Version::parse("2.66.0");
  CHECK(has_passed(check(subject), "beam/launch-mismatch"));
}

TEST_CASE("a Java worker needs no Python") {
  Made made;
  made.worker.python.clear();
  made.worker.beam.clear();
  made.build.pip.clear();
  made.build.images = {image_use(ImageUse::Role::base, "apache/beam_java17_sdk:2.66.0")};
  CHECK_FALSE(level_of(made.outcome(), "python/not-found"));
  CHECK_FALSE(level_of(made.outcome(), "beam/not-installed"));
  made.build.images = {image_use(ImageUse::Role::base, "apache/beam_python3.11_sdk:2.66.0")};
  CHECK(level_of(made.outcome(), "python/not-found") == Level::error);
}
