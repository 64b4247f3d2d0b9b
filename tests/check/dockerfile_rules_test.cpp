#include <algorithm>

#include "build_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("a Dockerfile that does nothing wrong has no finding") {
  const Made made;
  CHECK(only(made.outcome()) == "");
  CHECK(made.outcome().verdict != Verdict::fail);
}

TEST_CASE("a Dockerfile that does not parse is dockerfile/syntax and nothing else") {
  Made made;
  made.worker.boot = std::nullopt;
  CHECK(only(made.outcome()).find("beam/boot-missing") != std::string::npos);
  made.build.syntax.push_back({{"Dockerfile", 3, 1}, "unknown instruction: &&", "", "&& pip check", Diagnostic::Level::error});
  const Outcome outcome = made.outcome();
  CHECK(only(outcome) == "dockerfile/syntax");
  CHECK(outcome.undecided.empty());
  CHECK(outcome.findings.at(0).evidence.at(0).place.line == 3);
}

TEST_CASE("a comment behind an ENV value is named as such, and not as syntax too") {
  Made made;
  made.build.env_comments.push_back(step(4, "ENV TPU_WORKER_ID=0 # the first"));
  CHECK(level_of(made.outcome(), "dockerfile/env-inline-comment") == Level::error);
  CHECK(message_of(made.outcome(), "dockerfile/env-inline-comment").find("| ENV TPU_WORKER_ID=0  (") != std::string::npos);
  made.build.env_comments.clear();
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/env-inline-comment"));
  made.build.syntax.push_back({{"Dockerfile", 4, 1}, "Syntax error - can't find = in \"#\". Must be of the form: name=value", "", "ENV A=1 # b", Diagnostic::Level::error});
  CHECK(only(made.outcome()) == "dockerfile/env-inline-comment");
}

TEST_CASE("COPY --from with a variable") {
  Made made;
  ImageUse use = image_use(ImageUse::Role::copy, "apache/beam_python${PY}_sdk:2.66.0", "0", 5);
  use.has_variable = true;
  use.at.line = "COPY --from=apache/beam_python${PY}_sdk:2.66.0 /opt/apache/beam /opt/apache/beam";
  made.build.images.push_back(use);
  const Outcome outcome = made.outcome();
  CHECK(level_of(outcome, "dockerfile/copy-from-variable") == Level::error);
  CHECK_FALSE(level_of(outcome, "dockerfile/invalid-reference"));  // one fault, one finding
  CHECK(message_of(outcome, "dockerfile/copy-from-variable").find("COPY --from=source /opt/apache/beam /opt/apache/beam") != std::string::npos);
  made.build.images.back().role = ImageUse::Role::base;  // FROM is expanded
  made.build.images.back().wrong.clear();
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/copy-from-variable"));
}

TEST_CASE("a variable that nothing declares is a fault where the word breaks") {
  Made made;
  VariableUse use;
  use.at = step(4, "RUN pip install apache-beam==${BEAM}");
  use.name = "BEAM";
  use.instruction = "RUN";
  use.global_arg = true;
  use.result = "apache-beam==";
  use.breaks = true;
  made.build.undeclared.push_back(use);
  CHECK(level_of(made.outcome(), "dockerfile/undeclared-variable") == Level::error);
  CHECK(message_of(made.outcome(), "dockerfile/undeclared-variable").find("| ARG BEAM") != std::string::npos);
  made.build.undeclared.back().breaks = false;
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/undeclared-variable"));
}

TEST_CASE("a search path that grows upon itself is not dockerfile/undeclared-variable") {
  Made made;
  VariableUse use;
  use.at = step(4, "ENV LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/x");
  use.name = "LD_LIBRARY_PATH";
  use.instruction = "ENV";
  use.result = ":/x";
  use.breaks = true;
  made.build.undeclared.push_back(use);
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/undeclared-variable"));
  made.build.undeclared.back().at.line = "ENV HOME=$LD_LIBRARY_PATHS";
  made.build.undeclared.back().name = "LD_LIBRARY_PATHS";
  CHECK(level_of(made.outcome(), "dockerfile/undeclared-variable"));
}

TEST_CASE("a reference that can be no image") {
  Made made;
  made.build.images.push_back(image_use(ImageUse::Role::copy, "apache/beam_python3.12_sdk:", "0", 4));
  CHECK(level_of(made.outcome(), "dockerfile/invalid-reference") == Level::error);
  CHECK(message_of(made.outcome(), "dockerfile/invalid-reference").find("apache/beam_python3.12_sdk:TAG") != std::string::npos);
  made.build.images.back() = image_use(ImageUse::Role::copy, "apache/beam_python3.11_sdk:2.66.0", "0", 4);
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/invalid-reference"));
}

TEST_CASE("an install command without packages") {
  Made made;
  AptInstall install = apt_install("debian12", {});
  install.empty = true;
  made.build.apt.push_back(install);
  CHECK(level_of(made.outcome(), "dockerfile/empty-install-list") == Level::error);
  made.build.apt.back().not_known = "the list is in a variable";
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/empty-install-list"));
}

TEST_CASE("a version bound that the shell takes for a redirection") {
  Made made;
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/version-redirect"));
  made.build.redirects.push_back({step(4, "RUN pip install scikit-learn>=0.24 tqdm"), "scikit-learn>=0.24"});
  CHECK(level_of(made.outcome(), "dockerfile/version-redirect") == Level::error);
  CHECK(message_of(made.outcome(), "dockerfile/version-redirect").find("| RUN pip install \"scikit-learn>=0.24\" tqdm") != std::string::npos);
}

TEST_CASE("bash under sh is judged where /bin/sh is dash") {
  Made made;
  made.build.constructs.push_back({step(4, "RUN [[ -f x ]]"), "[[", StepShell::posix, "debian12"});
  CHECK(level_of(made.outcome(), "dockerfile/bash-under-sh") == Level::error);
  SECTION("not where SHELL is bash") { made.build.constructs.back().shell = StepShell::bash; }
  SECTION("not on Alpine, whose sh knows it") { made.build.constructs.back().os = "alpine3"; }
  SECTION("not on Rocky Linux, whose sh is bash") { made.build.constructs.back().os = "rocky9"; }
  CHECK_FALSE((made.build.constructs.back().os == "debian12" && made.build.constructs.back().shell == StepShell::posix && level_of(made.outcome(), "dockerfile/secret")));
  if (made.build.constructs.back().os != "debian12" || made.build.constructs.back().shell == StepShell::bash) {
    CHECK(has_passed(made.outcome(), "dockerfile/bash-under-sh"));
  }
}

TEST_CASE("which shell an unknown base has is undecided") {
  Made made;
  made.build.images.clear();
  made.build.constructs.push_back({step(4, "RUN [[ -f x ]]"), "[[", StepShell::posix, ""});
  Facts facts = made.facts();
  facts.os_release = unknown<OsRelease>("the base image is not in the tables");
  const Outcome outcome = made.outcome(facts);
  CHECK(is_undecided(outcome, "dockerfile/bash-under-sh"));
  CHECK_FALSE(level_of(outcome, "dockerfile/bash-under-sh"));
}

TEST_CASE("a program that is proven not to be there is a warning, unless its failing is expected") {
  Made made;
  made.build.programs.push_back({step(4, "RUN curl -O https://x"), "curl", ProgramUse::There::no, false});
  CHECK(level_of(made.outcome(), "dockerfile/command-not-installed") == Level::warning);
  SECTION("guarded") { made.build.programs.back().guarded = true; }
  SECTION("not known") { made.build.programs.back().there = ProgramUse::There::unknown; }
  SECTION("there") { made.build.programs.back().there = ProgramUse::There::yes; }
  SECTION("a Python is python/not-found") { made.build.programs.back().name = "python3.13"; }
  const bool changed = made.build.programs.back().guarded || made.build.programs.back().there != ProgramUse::There::no || made.build.programs.back().name != "curl";
  CHECK(level_of(made.outcome(), "dockerfile/command-not-installed").has_value() == !changed);
}

TEST_CASE("a credential is named and its value never shown") {
  Made made;
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/secret"));
  made.build.secrets.push_back({step(4, "ENV HF_TOKEN=***"), "HF_TOKEN", "ENV"});
  CHECK(level_of(made.outcome(), "dockerfile/secret") == Level::error);
  CHECK(message_of(made.outcome(), "dockerfile/secret").find("HF_TOKEN in ENV") == 0);
}

TEST_CASE("files of another C library are a warning") {
  Made made;
  CHECK_FALSE(level_of(made.outcome(), "dockerfile/libc-mixed"));
  made.build.libc_copies.push_back({step(4, "COPY --from=build /venv /venv"), "build", Libc::Family::musl, {"/venv"}});
  CHECK(level_of(made.outcome(), "dockerfile/libc-mixed") == Level::warning);
}

TEST_CASE("without a sign of a worker only dockerfile/* and python/* apply") {
  Made made;
  made.worker.boot = std::nullopt;
  made.worker.boot_sdk.clear();
  made.worker.beam.clear();
  made.worker.entrypoint = Entrypoint{.entrypoint = {"nginx"}, .ends_in = Program::other, .last = "nginx"};
  made.build.images.resize(1);
  made.build.pip.clear();
  made.build.stages.clear();
  made.build.secrets.push_back({step(4, "ENV HF_TOKEN=***"), "HF_TOKEN", "ENV"});
  const Facts facts = made.facts();
  CHECK(judge_target(facts, nullptr, std::nullopt, RecipeFrom::user, SubjectKind::dockerfile).without_sign);
  CHECK_FALSE(judge_target(facts, nullptr, Runner::dataflow, RecipeFrom::user, SubjectKind::dockerfile).without_sign);
  CHECK_FALSE(judge_target(facts, nullptr, std::nullopt).without_sign);  // an image is assumed to be a worker
  CHECK(only(made.outcome()) == "dockerfile/secret");
  for (const std::string& rule : made.outcome().passed) CHECK((rule.starts_with("dockerfile/") || rule.starts_with("python/")));
  made.target = Runner::dataflow;
  CHECK(level_of(made.outcome(), "beam/boot-missing") == Level::error);
}

TEST_CASE("signs of a worker") {
  Made made;
  made.worker.boot = std::nullopt;
  made.worker.boot_sdk.clear();
  made.worker.beam.clear();
  made.worker.entrypoint = Entrypoint{.entrypoint = {"sh"}, .ends_in = Program::other, .last = "sh"};
  made.build.images.resize(1);
  made.build.stages.clear();
  made.build.pip.clear();
  SECTION("apache-beam") { made.build.pip.push_back(pip_install({"apache-beam==2.66.0"})); }
  SECTION("an SDK image") { made.build.images.push_back(image_use(ImageUse::Role::copy, "apache/beam_python3.11_sdk:2.66.0")); }
  SECTION("a copied folder") {
    made.build.images.push_back(image_use(ImageUse::Role::copy, "registry.example/base:1"));
    made.build.images.back().copied = {"/opt/apache/beam/boot"};
  }
  SECTION("an entrypoint that names boot") { made.worker.entrypoint.entrypoint = {"/opt/apache/beam/boot"}; }
  const bool sign = !made.build.pip.empty() || made.build.images.size() > 1 || made.worker.entrypoint.entrypoint.front() != "sh";
  CHECK(judge_target(made.facts(), nullptr, std::nullopt, RecipeFrom::user, SubjectKind::dockerfile).without_sign == !sign);
}

TEST_CASE("what the worker is meant to compute on") {
  const auto of = [](const Made& made) { return judge_target(made.facts(), nullptr, std::nullopt, RecipeFrom::user, SubjectKind::dockerfile, made.accelerator).accelerator; };
  Made made;
  CHECK(of(made) == Accelerator::none);
  SECTION("plain torch and tensorflow on a CPU base ask for nothing") {
    made.build.pip.push_back(pip_install({"torch==2.6.0", "tensorflow==2.16.1"}));
    CHECK(of(made) == Accelerator::none);
  }
  SECTION("a CUDA base") {
    made.build.images.front() = image_use(ImageUse::Role::base, "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04");
    CHECK(of(made) == Accelerator::gpu);
    made.worker.env.emplace_back("TPU_WORKER_ID", "0");  // wins over a CUDA base
    CHECK(of(made) == Accelerator::tpu);
  }
  SECTION("extras and local versions") {
    for (const char* request : {"tensorflow[and-cuda]==2.15.1", "jax[cuda12]==0.5.0", "torch==2.4.1+cu121", "cupy-cuda12x", "vllm==0.8.0", "onnxruntime-gpu", "tensorflow-gpu==2.4.0"}) {
      Made other;
      other.build.pip.push_back(pip_install({request}));
      CAPTURE(request);
      CHECK(of(other) == Accelerator::gpu);
    }
    for (const char* request : {"jax[tpu]==0.7.1", "torch_xla[tpu]==2.5.0"}) {
      Made other;
      other.build.pip.push_back(pip_install({request}));
      CHECK(of(other) == Accelerator::tpu);
    }
    Made cpu;
    cpu.build.pip.push_back(pip_install({"torch==2.4.1+cpu"}));
    CHECK(of(cpu) == Accelerator::none);
  }
  SECTION("an index of CUDA builds") {
    made.build.pip.front().indexes = {"https://download.pytorch.org/whl/cu121"};
    CHECK(of(made) == Accelerator::gpu);
  }
  SECTION("--accelerator") {
    made.accelerator = "nvidia-l4";
    CHECK(of(made) == Accelerator::gpu);
    made.accelerator = "tpu-v6e-slice";
    CHECK(of(made) == Accelerator::tpu);
  }
}
