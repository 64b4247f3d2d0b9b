// Each rule: one fact that trips it, and its twin, one fact apart, that does not. Every case starts from a worker with
// which nothing is wrong, so a change has to give exactly the findings that are named.
#include <catch2/catch.hpp>

#include "worker_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

struct Example {
  std::string what;
  Worker worker;
  std::string findings;  // ids, errors first; empty: silent
};

Worker with(const std::function<void(Worker&)>& change) {
  Worker worker;
  change(worker);
  return worker;
}

void check_all(const std::vector<Example>& examples, const Judging& judging = {}) {
  for (const Example& example : examples) {
    INFO(example.what);
    CHECK(only(judge(example.worker.facts(), judging)) == example.findings);
  }
}

const Judging portable{.target = Runner::portable};

}  // namespace

TEST_CASE("nothing is wrong with the healthy worker", "[rules]") {
  const Outcome outcome = judge(Worker{}.facts());
  CHECK(only(outcome).empty());
  CHECK(outcome.undecided.empty());
  CHECK(outcome.verdict == Verdict::pass);
}

TEST_CASE("boot", "[rules]") {
  check_all({
      {"not there", with([](Worker& w) { w.boot.reset(); }), "beam/boot-missing"},
      {"a dangling link", with([](Worker& w) { w.boot->broken_link = "/opt/beam/boot"; w.boot->regular = w.boot->elf = false; }), "beam/boot-not-executable"},
      {"a folder", with([](Worker& w) { w.boot->regular = w.boot->elf = false; }), "beam/boot-not-executable"},
      {"mode 0644", with([](Worker& w) { w.boot->executable = false; }), "beam/boot-not-executable"},
      {"a script", with([](Worker& w) { w.boot->elf = false; w.boot->machine = 0; }), "beam/boot-wrong-arch"},
      {"arm64 in amd64", with([](Worker& w) { w.boot->machine = 183; }), "beam/boot-wrong-arch"},
      {"arm64 in arm64", with([](Worker& w) { w.boot->machine = 183; w.platform.architecture = "arm64"; w.site_machines = {{183, 9}}; }), ""},
      {"dynamic, no loader", with([](Worker& w) { w.boot->dynamic = true; w.boot->interpreter = "/lib64/ld-linux-x86-64.so.2"; }), "beam/boot-loader-missing"},
      {"dynamic, newer glibc", with([](Worker& w) { w.boot->dynamic = w.boot->interpreter_found = true; w.boot->missing_versions = {"GLIBC_2.38"}; }), "beam/boot-loader-missing"},
      {"dynamic, all there", with([](Worker& w) { w.boot->dynamic = w.boot->interpreter_found = true; w.boot->glibc_versions = {"GLIBC_2.34"}; }), ""},
  });
}

TEST_CASE("entrypoint", "[rules]") {
  const auto entry = [](Program ends_in, bool dropped = false, bool cmd_only = false) {
    return with([=](Worker& w) {
      w.entrypoint.ends_in = ends_in;
      w.entrypoint.arguments_dropped = dropped;
      w.entrypoint.boot_in_cmd_only = cmd_only;
      if (cmd_only) w.entrypoint.cmd = std::exchange(w.entrypoint.entrypoint, {});
    });
  };
  check_all({
      {"none", with([](Worker& w) { w.entrypoint = Entrypoint{}; }), "beam/entrypoint"},
      {"bash", entry(Program::other), "beam/entrypoint"},
      {"a missing program", entry(Program::missing), "beam/entrypoint"},
      {"boot in CMD only", entry(Program::boot, false, true), "beam/entrypoint"},
      {"a script that drops arguments", entry(Program::boot, true), "beam/entrypoint-drops-arguments"},
      {"the launcher", entry(Program::launcher), "beam/entrypoint-is-launcher"},
      {"a launcher without boot launches", with([](Worker& w) { w.entrypoint.ends_in = Program::launcher; w.boot.reset(); }), ""},
  });
  Facts facts = Worker{}.facts();
  facts.entrypoint = unknown<Entrypoint>("/start.sh builds its command from variables");
  const Outcome outcome = judge(facts);
  CHECK(is_undecided(outcome, "beam/entrypoint"));
  CHECK(outcome.verdict == Verdict::undecided);
}

TEST_CASE("which Beam", "[rules]") {
  check_all({
      {"not installed", with([](Worker& w) { w.beam = ""; }), "beam/not-installed"},
      {"another boot", with([](Worker& w) { w.boot_sdk = "2.60.0"; }), "beam/sdk-version-mismatch"},
      {"a candidate and the boot of its release", with([](Worker& w) { w.beam = "2.66.0rc2"; }), "beam/release-candidate"},
      {"a Python that Beam does not know", with([](Worker& w) { w.beam = w.boot_sdk = "2.64.0"; w.python = "3.13.1"; w.packages.pop_back(); }), "beam/python-unsupported"},
      {"a numpy that Beam excludes", with([](Worker& w) { w.packages.back() = {"numpy", "2.4.0"}; w.beam_requires = {"numpy<2.3.0,>=1.14.3"}; }),
       "python/broken-requirements beam/python-pins-conflict"},
      {"another dill", with([](Worker& w) { w.packages.emplace_back("dill", "0.3.8"); }), "beam/python-pins-conflict"},
      {"the dill of the SDK", with([](Worker& w) { w.packages.emplace_back("dill", "0.3.1.1"); }), ""},
      {"a later numpy of the same major", with([](Worker& w) { w.packages.back() = {"numpy", "2.1.0"}; }), ""},
  });
  const Outcome old = judge(with([](Worker& w) { w.beam = ""; w.boot_sdk = "2.49.0"; }).facts());
  CHECK(level_of(old, "beam/not-installed") == Level::warning);
}

TEST_CASE("a release beyond the tables is undecided, never a fault", "[rules]") {
  const Outcome outcome = judge(with([](Worker& w) { w.beam = w.boot_sdk = "2.199.0"; w.python = "3.14.0"; w.packages.pop_back(); }).facts());
  CHECK(only(outcome).empty());
  CHECK(is_undecided(outcome, "beam/python-unsupported"));
  CHECK(outcome.verdict == Verdict::undecided);
}

TEST_CASE("the launch environment", "[rules]") {
  Recipe recipe;
  recipe.target.runner = Runner::dataflow;
  recipe.target.launch = {PythonMinor{3, 11}, Version::parse("2.66.0")};
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})).empty());
  recipe.target.launch.python = PythonMinor{3, 10};
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})) == "beam/launch-mismatch");
  recipe.target.launch = {PythonMinor{3, 11}, Version::parse("2.65.0")};
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})) == "beam/launch-mismatch");
  // Candidates report the base version.
  recipe.target.launch.beam = Version::parse("2.66.0rc1");
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})).empty());
}

TEST_CASE("venv", "[rules]") {
  const auto beam = [](const std::string& version, const std::function<void(Worker&)>& change) {
    return with([&](Worker& w) {
      w.beam = w.boot_sdk = version;
      w.python = "3.10.14";
      w.packages.pop_back();
      change(w);
    });
  };
  const auto opt_out = [](Worker& w) { w.env.emplace_back("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "1"); };
  check_all({
      {"no venv module", beam("2.66.0", [](Worker& w) { w.has_venv = false; }), "beam/venv-unavailable python/end-of-life"},
      {"no ensurepip", beam("2.44.0", [](Worker& w) { w.has_ensurepip = false; }), "beam/venv-unavailable python/end-of-life"},
      {"before 2.44 none is made", beam("2.43.0", [](Worker& w) { w.has_ensurepip = false; }), "python/end-of-life"},
      {"opted out", beam("2.48.0", [&](Worker& w) { w.has_venv = false; opt_out(w); }), "python/end-of-life"},
      {"opted out too early", beam("2.47.0", [&](Worker& w) { w.has_venv = false; opt_out(w); }), "beam/venv-unavailable beam/default-environment-ignored python/end-of-life"},
      {"the author's venv", beam("2.66.0", [](Worker& w) { w.kind = Interpreter::Kind::venv; }), "beam/author-venv-ignored python/end-of-life"},
      {"the author's venv, opted out", beam("2.66.0", [&](Worker& w) { w.kind = Interpreter::Kind::venv; opt_out(w); }), "python/end-of-life"},
      {"a conda environment is a base interpreter", beam("2.66.0", [](Worker& w) { w.kind = Interpreter::Kind::conda; }), "python/end-of-life"},
  });
}

TEST_CASE("python on PATH", "[rules]") {
  const auto only_python3 = [](const std::string& version, bool opted_out = false) {
    return with([&](Worker& w) {
      w.beam = w.boot_sdk = version;
      w.packages.pop_back();
      w.python_on_path = false;
      if (opted_out) w.env.emplace_back("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "1");
    });
  };
  check_all({
      {"2.48 runs python", only_python3("2.48.0"), "beam/python-not-on-path"},
      {"2.50 does, too", only_python3("2.50.0"), "beam/python-not-on-path"},
      {"from 2.51 python3 is enough", only_python3("2.51.0"), ""},
      {"but not with the opt-out", only_python3("2.51.0", true), "beam/python-not-on-path"},
      {"PYTHON_PATH is a list", with([](Worker& w) { w.env.emplace_back("PYTHON_PATH", "/app:/app/lib"); }), "beam/python-path-misused"},
      {"PYTHON_PATH names nothing", with([](Worker& w) { w.env.emplace_back("PYTHON_PATH", "/usr/lib/nothing"); }), "beam/python-path-misused"},
      {"PYTHON_PATH before 2.51 is not read", with([](Worker& w) { w.beam = w.boot_sdk = "2.50.0"; w.packages.pop_back(); w.env.emplace_back("PYTHON_PATH", "/app:/lib"); }), ""},
  });
}

TEST_CASE("pip", "[rules]") {
  const auto beam = [](const std::string& version, const std::function<void(Worker&)>& change) {
    return with([&](Worker& w) {
      w.beam = w.boot_sdk = version;
      w.python = "3.8.18";
      w.packages.pop_back();
      change(w);
    });
  };
  const auto elsewhere = [](Worker& w) { w.usr_local_pip = false; };
  check_all({
      {"2.28 wants /usr/local/bin/pip", beam("2.28.0", elsewhere), "beam/pip-location python/end-of-life"},
      {"unless the variable names it", beam("2.28.0", [&](Worker& w) { elsewhere(w); w.env.emplace_back("pip", "/usr/bin/pip"); }), "python/end-of-life"},
      {"2.30 looks along PATH", beam("2.30.0", elsewhere), "python/end-of-life"},
      {"2.43 without pip", beam("2.43.0", [](Worker& w) { w.has_pip = false; }), "beam/pip-missing python/end-of-life"},
      {"2.44 has the venv's", beam("2.44.0", [](Worker& w) { w.has_pip = false; }), "python/end-of-life"},
  });
  CHECK(level_of(judge(beam("2.29.0", elsewhere).facts()), "beam/pip-location") == Level::warning);
  check_all({{"without pip but opted out", with([](Worker& w) { w.has_pip = false; w.env.emplace_back("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "y"); }), "beam/pip-missing"}});
}

TEST_CASE("users and folders", "[rules]") {
  const auto user = [](bool writable) {
    return with([=](Worker& w) {
      w.user = {"65532:65532", 65532, 65532, "/"};
      w.venv_folder_writable = writable;
    });
  };
  check_all({{"cannot make the venv", user(false), "beam/venv-not-creatable"}, {"can", user(true), ""}}, portable);
  const Outcome dataflow = judge(user(false).facts());
  CHECK(level_of(dataflow, "beam/venv-not-creatable") == Level::note);
  CHECK(level_of(dataflow, "beam/user-ignored") == Level::note);
  CHECK(dataflow.verdict == Verdict::pass);

  const auto workdir = [](const std::string& beam, bool writable, std::uint32_t uid) {
    return with([=](Worker& w) {
      w.beam = w.boot_sdk = beam;
      w.packages = {{"setuptools", "75.0.0"}};
      w.user = {std::to_string(uid), uid, uid, "/"};
      w.workdir = {"/srv", true, true, writable};
    });
  };
  check_all({{"2.73 writes there", workdir("2.73.0", false, 1000), "beam/workdir-not-writable"},
             {"writable", workdir("2.73.0", true, 1000), ""},
             {"root can", workdir("2.73.0", false, 0), ""},
             {"2.72 does not", workdir("2.72.0", false, 1000), ""}},
            portable);
}

TEST_CASE("the worker's environment", "[rules]") {
  const auto variable = [](const std::string& name, const std::string& value) { return with([=](Worker& w) { w.env.emplace_back(name, value); }); };
  check_all({
      {"PIPELINE_OPTIONS", variable("PIPELINE_OPTIONS", "{}"), "beam/preset-worker-environment"},
      {"another variable", variable("PIPELINE", "x"), ""},
      {"PIP_NO_DEPS", variable("PIP_NO_DEPS", "True"), "beam/pip-no-deps"},
      {"PIP_NO_DEPS off", variable("PIP_NO_DEPS", "0"), ""},
      {"musl", with([](Worker& w) { w.libc.family = Libc::Family::musl; }), "beam/unsupported-libc"},
  });
  const auto backend = [](const std::string& beam, const std::string& python, std::vector<std::pair<std::string, std::string>> packages) {
    return with([&](Worker& w) {
      w.beam = w.boot_sdk = beam;
      w.python = python;
      w.packages = std::move(packages);
    });
  };
  check_all({
      {"2.75 on 3.12 without setuptools", backend("2.75.0", "3.12.7", {}), "beam/build-backend-missing"},
      {"with a setuptools that makes wheels", backend("2.75.0", "3.12.7", {{"setuptools", "75.0.0"}}), ""},
      {"with an older one, and wheel", backend("2.75.0", "3.12.7", {{"setuptools", "69.5.1"}, {"wheel", "0.43.0"}}), ""},
      {"2.74 isolates", backend("2.74.0", "3.12.7", {}), ""},
  });
}

TEST_CASE("the interpreter", "[rules]") {
  check_all({
      {"none", with([](Worker& w) { w.python = ""; }), "python/not-found"},
      {"ended", with([](Worker& w) { w.python = "3.9.19"; }), "python/end-of-life"},
      {"a candidate", with([](Worker& w) { w.python = "3.13.0rc2"; }), "python/pre-release"},
  });
  CHECK(only(judge(with([](Worker& w) { w.python = "3.10.14"; }).facts(), {.today = "2026-10-01"})).empty());
  Recipe recipe;
  recipe.python_version = PythonMinor{3, 12};
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})) == "python/minor-mismatch");
  recipe.python_version = PythonMinor{3, 11};
  CHECK(only(judge(Worker{}.facts(), {.recipe = &recipe})).empty());
  CHECK(is_undecided(judge(Worker{}.facts(), {.recipe_problem = "it does not parse"}), "python/minor-mismatch"));
}

TEST_CASE("a worker of another language needs no Python", "[rules]") {
  const Worker go = with([](Worker& w) {
    w.beam = w.boot_sdk = w.python = "";
    w.packages.clear();
    w.site_machines.clear();
  });
  CHECK(only(judge(go.facts())).empty());
}

TEST_CASE("TPU", "[rules]") {
  const std::vector<std::pair<std::string, std::string>> all = {{"TPU_SKIP_MDS_QUERY", "1"}, {"TPU_HOST_BOUNDS", "1,1,1"}, {"TPU_WORKER_HOSTNAMES", "localhost"},
                                                                {"TPU_WORKER_ID", "0"}, {"TPU_ACCELERATOR_TYPE", "v5litepod-1"}, {"TPU_CHIPS_PER_HOST_BOUNDS", "1,1,1"}};
  Recipe recipe;
  recipe.tpu = TpuSpec{"tpu-v5-lite-podslice", "1x1"};
  Worker worker;
  worker.env.insert(worker.env.end(), all.begin(), all.end());
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})).empty());
  CHECK(only(judge(worker.facts())).empty());  // TPU_ACCELERATOR_TYPE says which it is
  recipe.tpu->topology = "2x2";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "tpu/environment");
  CHECK(message_of(judge(worker.facts(), {.recipe = &recipe}), "tpu/environment").find("ENV TPU_CHIPS_PER_HOST_BOUNDS=2,2,1") != std::string::npos);
  recipe.tpu->topology = "1x1";
  worker.env.back().second = "";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "tpu/environment");
  worker.env.pop_back();
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "tpu/environment");
  CHECK(only(judge(worker.facts(), {.target = Runner::portable})).empty());
  CHECK(only(judge(with([](Worker& w) { w.packages.emplace_back("libtpu", "0.0.17"); }).facts())) == "tpu/environment");
}

TEST_CASE("architecture", "[rules]") {
  check_all({
      {"packages of another machine", with([](Worker& w) { w.site_machines = {{183, 30}, {62, 2}}; }), "image/architecture"},
      {"a few files of another machine", with([](Worker& w) { w.site_machines = {{183, 3}, {62, 20}}; }), ""},
  });
  CHECK(only(judge(Worker{}.facts(), {.platform = Platform::parse("linux/arm64")})) == "image/architecture");
  CHECK(only(judge(Worker{}.facts(), {.platform = Platform::parse("linux/amd64")})).empty());
}

TEST_CASE("the recipe's promises", "[rules]") {
  Recipe recipe;
  recipe.beam_version = Version::parse("2.66.0");
  recipe.frameworks.torch = Version::parse("2.8.0");
  recipe.env = {{"MODE", "fast"}};
  Worker worker;
  worker.env.emplace_back("MODE", "fast");
  worker.packages.emplace_back("torch", "2.8.0+cpu");
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})).empty());
  worker.packages.back().second = "2.7.1";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "image/contract-drift");
  worker.packages.back().second = "2.8.0";
  recipe.workdir = "/app/";
  worker.workdir.path = "/app";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})).empty());
  recipe.workdir = "/srv";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "image/contract-drift");
  recipe.workdir = "";
  worker.env.back().second = "slow";
  CHECK(only(judge(worker.facts(), {.recipe = &recipe})) == "image/contract-drift");
}

TEST_CASE("a Spark image is no Beam worker", "[rules]") {
  Worker spark;
  spark.beam = spark.boot_sdk = "";
  spark.boot.reset();
  spark.entrypoint = Entrypoint{};
  spark.user = {"spark", 1099, 1099, "/home/spark"};
  const Facts facts = spark.facts();
  CHECK(judge_target(facts, nullptr, std::nullopt).runner == Runner::spark_serverless);
  CHECK(only(judge(facts)).empty());
}

TEST_CASE("an image cannot call itself a launcher to do without boot", "[rules]") {
  Recipe recipe;
  recipe.target.role = Role::launcher;
  Worker worker;
  worker.boot.reset();
  const Facts facts = worker.facts();
  CHECK(judge_target(facts, &recipe, std::nullopt, RecipeFrom::label).role == Role::worker);
  CHECK(judge_target(facts, &recipe, std::nullopt, RecipeFrom::user).role == Role::launcher);
  worker.entrypoint.ends_in = Program::launcher;
  const Facts launcher = worker.facts();
  CHECK(judge_target(launcher, &recipe, std::nullopt, RecipeFrom::label).role == Role::launcher);
}

TEST_CASE("an image cannot call itself Spark's to do without boot", "[rules]") {
  Recipe recipe;
  recipe.target.runner = Runner::spark_serverless;
  Worker worker;
  worker.boot.reset();
  const Facts facts = worker.facts();
  CHECK(judge_target(facts, &recipe, std::nullopt, RecipeFrom::label).runner == Runner::dataflow);
  CHECK(judge_target(facts, &recipe, Runner::portable, RecipeFrom::label).runner == Runner::portable);
  CHECK(judge_target(facts, &recipe, std::nullopt, RecipeFrom::user).runner == Runner::spark_serverless);
  worker.beam = worker.boot_sdk = "";
  const Facts nothing_of_beam = worker.facts();
  CHECK(judge_target(nothing_of_beam, &recipe, std::nullopt, RecipeFrom::label).runner == Runner::spark_serverless);
}

TEST_CASE("an apache-beam that boot's interpreter does not see makes it a Python worker all the same", "[rules]") {
  Worker worker;
  worker.boot_sdk = "";
  Facts facts = worker.facts();
  facts.beam = absent<Distribution>();
  facts.worker_python = absent<WorkerPython>();
  facts.beam_version = absent<Version>();
  facts.commands = known(std::map<std::string, Command>{});
  CHECK(only(judge(facts)) == "beam/python-not-on-path");
  facts.commands = known(std::map<std::string, Command>{{"python3", {"/usr/bin/python3", "/usr/bin/python3.11", false, true}}});
  CHECK(is_undecided(judge(facts), "beam/python-not-on-path"));
}

TEST_CASE("no other interpreter is judged where boot's is not known", "[rules]") {
  Recipe recipe;
  recipe.python_version = PythonMinor{3, 12};
  Facts facts = Worker{}.facts();
  facts.worker_python = unknown<WorkerPython>("python is a script");
  const Outcome outcome = judge(facts, {.recipe = &recipe});
  CHECK(only(outcome).empty());
  CHECK(is_undecided(outcome, "python/minor-mismatch"));
}

TEST_CASE("every rule explains itself", "[rules]") {
  std::string before;
  for (const Rule& rule : all_rules()) {
    INFO(rule.id);
    CHECK(std::string(rule.id) > before);  // sorted, and no id twice
    before = rule.id;
    CHECK(rule.title.size() > 10);
    CHECK(rule.why.size() > 10);
    CHECK(rule.mend.size() > 3);
    CHECK_FALSE(rule.source.empty());
    CHECK(find_rule(rule.id) == &rule);
  }
  CHECK(find_rule("beam/no-such-rule") == nullptr);
}
