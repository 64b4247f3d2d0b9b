#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Facts with(const Variables& variables, bool launcher, const std::string& launcher_python = "3.11") {
  Worker worker;
  worker.env.insert(worker.env.end(), variables.begin(), variables.end());
  Facts facts = worker.facts();
  FlexLauncher binary;
  binary.path = "/opt/google/dataflow/python_template_launcher";
  if (!launcher_python.empty()) binary.python = PythonMinor::parse(launcher_python);
  binary.evidence = {line(6)};
  facts.flex_launcher = launcher ? known(binary) : absent<FlexLauncher>();
  return facts;
}

const Variables py_file = {{"FLEX_TEMPLATE_PYTHON_PY_FILE", "/template/main.py"}};
const Meant worker{.accelerator = Accelerator::none};
const Meant flex{.accelerator = Accelerator::none, .runner = Runner::dataflow_flex};

}  // namespace

TEST_CASE("a template needs its launcher", "[rules][flex]") {
  CHECK(all_of("flex", with(py_file, true), flex) == "");
  CHECK(all_of("flex", with(py_file, false), flex) == "flex/launcher-missing:error");
  CHECK(all_of("flex", with(py_file, false), worker) == "flex/launcher-missing:warning");  // harmless on a worker
  CHECK(all_of("flex", with({}, false), flex) == "");
  CHECK(fix_of("flex/launcher-missing", with(py_file, false), flex)
            .starts_with("COPY --from=gcr.io/dataflow-templates-base/python311-template-launcher-base:TAG "
                         "/opt/google/dataflow/python_template_launcher"));
  Facts facts = with(py_file, false);
  facts.flex_launcher = unknown<FlexLauncher>("what the base has");
  CHECK(said("flex/launcher-missing", facts, flex) == "undecided");
  CHECK(said("flex/launcher-missing", with(py_file, false), {.runner = Runner::portable}) == "not applicable");
  CHECK(said("flex/launcher-missing", with(py_file, false), {.without_sign = true}) == "not applicable");
  // A recipe that says "worker" means it.
  Recipe recipe;
  recipe.places["target.role"] = {"recipe.yaml", 5, 3};
  CHECK(said("flex/launcher-missing", with(py_file, false),
             {.runner = Runner::dataflow_flex, .recipe = &recipe, .kind = SubjectKind::recipe}) == "warning");
}

TEST_CASE("FLEX_TEMPLATES_ is another family", "[rules][flex]") {
  CHECK(all_of("flex", with({{"FLEX_TEMPLATES_TAIL_CMD_TIMEOUT_IN_SECS", "30"}}, false), flex) == "");
}

TEST_CASE("the launcher's Python", "[rules][flex]") {
  CHECK(all_of("flex", with(py_file, true, "3.12"), flex) == "flex/launcher-python-differs:warning");
  CHECK(said("flex/launcher-python-differs", with(py_file, true, "3.11"), flex) == "pass");
  CHECK(said("flex/launcher-python-differs", with(py_file, true, ""), flex) == "not applicable");
}

TEST_CASE("variables that the launcher does not read", "[rules][flex]") {
  const Variables misnamed = {{"FLEX_TEMPLATE_PYTHON_MAIN_FILE", "/t/main.py"}};
  CHECK(all_of("flex", with(misnamed, true), worker) == "flex/unknown-variable:error");
  CHECK(fix_of("flex/unknown-variable", with(misnamed, true), worker) == "ENV FLEX_TEMPLATE_PYTHON_PY_FILE=/t/main.py");
  Variables beside = py_file;
  beside.emplace_back("FLEX_TEMPLATE_PYTHON_REQUIREMENT_FILE", "/template/requirements.txt");
  CHECK(all_of("flex", with(beside, true), worker) == "flex/unknown-variable:warning");
  CHECK(fix_of("flex/unknown-variable", with(beside, true), worker) ==
        "ENV FLEX_TEMPLATE_PYTHON_REQUIREMENTS_FILE=/template/requirements.txt");
  Variables all = py_file;
  all.emplace_back("FLEX_TEMPLATE_PYTHON_REQUIREMENTS_FILE", "/template/requirements.txt");
  CHECK(said("flex/unknown-variable", with(all, true), worker) == "pass");
  // A base that is not known may have set the one that counts.
  Facts facts = with(misnamed, true);
  facts.env_open = "the variables of registry.example.com/base:1";
  CHECK(said("flex/unknown-variable", facts, worker) == "warning");
}
