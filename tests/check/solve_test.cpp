// Every answer of solve holds by every predicate, and every refusal is as small as it can be.
#include "check/solve.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

const Knowledge& knowledge() {
  static const Knowledge tables = Knowledge::embedded();
  return tables;
}

SolveResult solved(const std::string& words) {
  std::vector<std::string> all;
  for (const std::string_view word : split(words, ' ')) all.emplace_back(word);
  return solve(knowledge(), parse_wish(knowledge(), all));
}

/// What the answer has to satisfy, asked anew; independent of the path that the search took.
void check_solution(const Solution& solution) {
  const VersionSet& set = solution.set;
  REQUIRE(set.python);
  if (set.beam != nullptr) CHECK(beam_supports_python(knowledge(), set.beam->version, *set.python).fits == Fits::yes);
  for (const ChosenFramework& one : set.frameworks) {
    CAPTURE(one.build->framework, one.build->version.to_string());
    CHECK(framework_supports_python(*one.build, *set.python).fits != Fits::no);
    if (set.beam != nullptr) CHECK(requirements_meet(knowledge(), *one.build, *set.beam, *set.python).fits != Fits::no);
    if (set.gpu == nullptr) continue;
    REQUIRE(one.cuda != nullptr);
    CHECK(framework_supports_gpu(*one.build, *set.gpu).fits != Fits::no);
    CHECK(cuda_supports_gpu(knowledge(), one.cuda->cuda, *set.gpu, one.origin).fits != Fits::no);
    if (one.origin == CudaOrigin::base) {
      REQUIRE(set.image != nullptr);
      CHECK(image_serves(*set.image, *one.cuda).fits != Fits::no);
      CHECK(distribution_has_python(knowledge(), set.image->os, *set.python).fits != Fits::no);
    }
  }
  for (const Judgement& one : known_issues_with(knowledge(), set)) CHECK(one.fits != Fits::no);
  for (const Judgement& one : solution.judgements) {
    CAPTURE(one.why);
    CHECK(one.fits != Fits::no);
    CHECK_FALSE(one.why.empty());
    if (one.fits == Fits::yes) CHECK_FALSE(one.rows.empty());
    for (const UsedRow& row : one.rows) CHECK_FALSE(row.source.empty());
  }
}

std::string message_of(const std::string& words) {
  try {
    solved(words);
  } catch (const Error& error) {
    CHECK(exit_code(error.kind()) == 2);
    return error.message() + " = " + error.hint();
  }
  return "";
}

}  // namespace

TEST_CASE("every answer for a framework, a Beam and a GPU holds by every predicate") {
  unsigned answers = 0;
  for (const std::string framework : {"tensorflow", "torch", "jax"}) {
    for (const GpuType& gpu : knowledge().gpus()) {
      for (const BeamRelease& beam : knowledge().beam_releases()) {
        // Every fourth is enough to meet each Python, and each release of a framework from both sides.
        if (beam.version.minor() % 4 != 0) continue;
        const std::string words = "beam=" + beam.version.to_string() + " " + framework + " gpu=" + gpu.type;
        CAPTURE(words);
        const SolveResult result = solved(words);
        if (result.solution) {
          ++answers;
          check_solution(*result.solution);
          CHECK(result.solution->set.beam->version == beam.version);
        } else {
          CHECK_FALSE(result.contradiction.constraints.empty());
          CHECK_FALSE(result.contradiction.reasons.empty());
        }
      }
    }
  }
  CHECK(answers > 100);
}

TEST_CASE("what is given is kept, and what is open is the newest") {
  const SolveResult result = solved("beam=2.66 tensorflow gpu=nvidia-l4 python=3.11");
  REQUIRE(result.solution);
  check_solution(*result.solution);
  CHECK(result.solution->set.beam->version == *Version::parse("2.66.0"));
  CHECK(result.solution->set.python->to_string() == "3.11");
  const FrameworkBuild* chosen = result.solution->set.frameworks.front().build;
  CHECK(result.solution->pip == std::vector<std::string>{"tensorflow[and-cuda]==" + chosen->version.to_string()});
  CHECK(result.solution->image == "apache/beam_python3.11_sdk:2.66.0");
  // No newer release goes with the same Beam and Python.
  for (const FrameworkBuild& other : knowledge().framework_builds()) {
    if (other.framework != "tensorflow" || other.version <= chosen->version || other.version.is_prerelease()) continue;
    CAPTURE(other.version.to_string());
    const SolveResult newer =
        solved("beam=2.66 tensorflow=" + other.version.to_string() + " gpu=nvidia-l4 python=3.11");
    CHECK((!newer.solution || !newer.solution->certain ||
           std::any_of(newer.solution->judgements.begin(), newer.solution->judgements.end(),
                       [](const Judgement& one) { return one.unverified(); })));
  }
}

TEST_CASE("a Python without a wheel of Beam is taken only where it is asked for, and is not certain") {
  const SolveResult open = solved("beam=2.66 tensorflow");
  REQUIRE(open.solution);
  CHECK(open.solution->certain);
  CHECK(open.solution->set.python->to_string() == "3.12");
  const SolveResult asked = solved("beam=2.66 tensorflow python=3.13");
  REQUIRE(asked.solution);
  CHECK_FALSE(asked.solution->certain);
  const SolveResult later = solved("beam=2.69 python=3.13");
  REQUIRE(later.solution);
  CHECK(later.solution->certain);
}

TEST_CASE("a contradiction is a wish of its own that nothing fulfils") {
  for (const std::string words :
       {"beam=2.66 tensorflow=2.10 gpu=nvidia-l4 cuda=wheels python=3.10", "torch jax tensorflow=2.10 gpu=nvidia-l4",
        "beam=2.77 torch tensorflow=2.10 gpu=nvidia-tesla-t4 cuda=base", "torch=2.15 jax gpu=nvidia-tesla-v100"}) {
    CAPTURE(words);
    const SolveResult result = solved(words);
    REQUIRE_FALSE(result.solution);
    REQUIRE_FALSE(result.contradiction.constraints.empty());
    const SolveResult again = solve(knowledge(), parse_wish(knowledge(), result.contradiction.constraints));
    CHECK_FALSE(again.solution);
    CHECK(again.contradiction.constraints == result.contradiction.constraints);
    CHECK_FALSE(result.contradiction.reasons.empty());
  }
}

TEST_CASE("CUDA of the base image: a tag that has it, with a distribution that has the Python") {
  const SolveResult base = solved("beam=2.50 tensorflow=2.15 gpu=nvidia-tesla-t4 cuda=base python=3.11");
  REQUIRE(base.solution);
  check_solution(*base.solution);
  CHECK(base.solution->image == "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04");
  CHECK(base.solution->pip == std::vector<std::string>{"tensorflow==2.15.1"});
  const SolveResult wheels = solved("beam=2.50 tensorflow=2.15 gpu=nvidia-tesla-t4 cuda=wheels python=3.11");
  REQUIRE(wheels.solution);
  CHECK(wheels.solution->set.image == nullptr);
  CHECK(wheels.solution->pip == std::vector<std::string>{"tensorflow[and-cuda]==2.15.1"});
}

TEST_CASE("several frameworks take CUDA from one place, but for what brings its own") {
  const SolveResult result = solved("beam tensorflow torch jax gpu=nvidia-l4");
  REQUIRE(result.solution);
  check_solution(*result.solution);
  CHECK(result.solution->set.frameworks.size() == 3);
  const auto& all = result.solution->set.frameworks;
  for (const ChosenFramework& one : all) {
    if (!one.cuda->brings) CHECK(one.origin == all.front().origin);
  }
}

TEST_CASE("a TPU asks for the framework's TPU requirement, and no CUDA") {
  const SolveResult result = solved("beam jax tpu=tpu-v6e-slice:1x1");
  REQUIRE(result.solution);
  check_solution(*result.solution);
  REQUIRE(result.solution->set.tpu != nullptr);
  CHECK(result.solution->set.tpu->topology == "1x1");
  CHECK(result.solution->pip.front().starts_with("jax[tpu]=="));
  CHECK(result.solution->set.frameworks.front().cuda == nullptr);
  CHECK_FALSE(solved("tensorflow tpu=tpu-v6e-slice").solution);
}

TEST_CASE("where nothing fits, the constraints that exclude each other, and no other") {
  struct Case {
    std::string words;
    std::vector<std::string> constraints;
    std::string reason;
  };
  for (const Case& one : std::vector<Case>{
           {"beam=2.66 tensorflow python=3.6 gpu=nvidia-l4",
            {"beam=2.66", "python=3.6"},
            "does not support Python 3.6"},
           {"beam=2.77 tensorflow=2.10 gpu=nvidia-tesla-t4", {"beam=2.77", "tensorflow=2.10"}, "agree on no protobuf"},
           {"beam torch=2.15 gpu=nvidia-tesla-v100", {"torch=2.15", "gpu=nvidia-tesla-v100"}, "no code for V100"},
           {"python=3.13 beam tensorflow=2.15", {"python=3.13", "tensorflow=2.15"}, "no wheel for Python 3.13"},
           {"tensorflow=2.10 gpu=nvidia-l4", {"tensorflow=2.10", "gpu=nvidia-l4"}, "needs CUDA 11.8 or later"},
           {"tensorflow=2.10 gpu=nvidia-tesla-t4 cuda=wheels",
            {"tensorflow=2.10", "gpu=nvidia-tesla-t4", "cuda=wheels"},
            "no extra"},
       }) {
    CAPTURE(one.words);
    const SolveResult result = solved(one.words);
    REQUIRE_FALSE(result.solution);
    CHECK(result.contradiction.constraints == one.constraints);
    REQUIRE_FALSE(result.contradiction.reasons.empty());
    CAPTURE(result.contradiction.reasons.front().why);
    CHECK(result.contradiction.reasons.front().why.find(one.reason) != std::string::npos);
    CHECK_FALSE(result.contradiction.reasons.front().rows.empty());
    // Each taken away makes room.
    for (std::size_t without = 0; without < one.constraints.size(); ++without) {
      std::vector<std::string> rest;
      for (std::size_t index = 0; index < one.constraints.size(); ++index) {
        if (index != without) rest.push_back(one.constraints[index]);
      }
      CAPTURE(rest);
      const bool asks = std::any_of(rest.begin(), rest.end(), [](const std::string& word) {
        return word.starts_with("beam") || word.starts_with("tensorflow") || word.starts_with("torch");
      });
      const bool accelerator_alone =
          rest.back().starts_with("cuda=") && rest.size() == 2 && rest[0].starts_with("tensorflow");
      if (asks && !accelerator_alone) CHECK(solved(join(rest, " ")).solution);
    }
  }
}

TEST_CASE("words that are none of solve's are told, with what may be meant") {
  CHECK(message_of("beam=2.66 tensorflw").find("did you mean tensorflow?") != std::string::npos);
  CHECK(message_of("beam gpu=nvidia-l40 torch").find("did you mean nvidia-l4?") != std::string::npos);
  CHECK(message_of("beam=2.99").find("the tables go from") != std::string::npos);
  CHECK(message_of("tensorflow=2.99").find("the nearest is") != std::string::npos);
  CHECK(message_of("beam=two").find("is no version") != std::string::npos);
  CHECK(message_of("beam=").find("no value") != std::string::npos);
  CHECK(message_of("beam beam").find("given twice") != std::string::npos);
  CHECK(message_of("beam gpu=nvidia-l4").find("needs a framework") != std::string::npos);
  CHECK(message_of("torch gpu=nvidia-l4 tpu=tpu-v6e-slice").find("exclude each other") != std::string::npos);
  CHECK(message_of("torch cuda=wheels").find("about a GPU") != std::string::npos);
  CHECK(message_of("python=3.11").find("nothing to choose") != std::string::npos);
  CHECK(message_of("torch gpu=nvidia-l4 cuda=wheel").find("did you mean wheels?") != std::string::npos);
  CHECK(message_of("torch tpu=tpu-v6e-slice:9x9").find("9x9") != std::string::npos);
}

}  // namespace imgforge
