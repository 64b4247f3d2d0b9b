#include "facts/commands_conda.hpp"

#include <catch2/catch.hpp>

#include "run_commands.hpp"

using namespace imgforge;

TEST_CASE("conda's specifications", "[commands_conda]") {
  const struct {
    const char* text;
    const char* shown;
  } rows[] = {
      {"python=3.11", "|python|3.11||3.11"},
      {"python==3.11.4", "|python|==3.11.4||3.11.4"},
      {"python 3.11.*", "|python|3.11.*||3.11"},
      {"conda-forge::numpy>=1.20,<2", "conda-forge|numpy|>=1.20,<2||"},
      {"pytorch=2.1=py3.11_cuda*", "|pytorch|2.1|py3.11_cuda*|2.1"},
      {"numpy 1.26.4 py311_0", "|numpy|1.26.4|py311_0|1.26.4"},
      {"Numpy >=1", "|numpy|>=1||"},
      {"numpy[version='>=1',build=x]", "|numpy|>=1|x|"},
      {"numpy", "|numpy|||"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const auto spec = parse_conda_spec(row.text);
    REQUIRE(spec);
    CHECK(spec->channel + "|" + spec->name + "|" + spec->version + "|" + spec->build + "|" + spec->pinned() ==
          row.shown);
  }
  for (const char* text : {"", " ", "https://h/x.conda", "./x.tar.bz2", "=1", "[x]"}) {
    INFO(text);
    CHECK(!parse_conda_spec(text));
  }
}

TEST_CASE("conda's commands", "[commands_conda]") {
  const auto made = read_conda(
      command_of("/opt/conda/bin/mamba create -y -n e -c conda-forge --override-channels python=3.11 'numpy<2'"));
  REQUIRE(made);
  CHECK(made->action == CondaCommand::Action::create);
  CHECK(made->program == "mamba");
  CHECK(made->environment == "e");
  CHECK(made->channels == std::vector<std::string>{"conda-forge"});
  REQUIRE(made->packages.size() == 2);
  CHECK(made->packages[1].version == "<2");

  const auto environment = read_conda(command_of("conda env update -n base -f e.yml"));
  REQUIRE(environment);
  CHECK(environment->action == CondaCommand::Action::environment_update);
  REQUIRE(environment->files.size() == 1);
  CHECK(environment->files[0].text == "e.yml");
  CHECK(read_conda(command_of("conda env create"))->files[0].text == "environment.yml");
  CHECK(read_conda(command_of("micromamba install -y -n base -f e.yaml"))->action ==
        CondaCommand::Action::environment_update);
  CHECK(read_conda(command_of("conda install -p /opt/e --file r.txt"))->prefix == "/opt/e");
  CHECK(read_conda(command_of("conda install -y"))->empty());
  CHECK(!read_conda(command_of("conda install $UNKNOWN"))->not_known.empty());
  CHECK(read_conda(command_of("conda clean -afy"))->action == CondaCommand::Action::clean);
  CHECK(!read_conda(command_of("pip install conda")));

  const auto installer = read_conda_installer(command_of("bash /tmp/Miniforge3-Linux-x86_64.sh -b -p /opt/conda"));
  REQUIRE(installer);
  CHECK(installer->prefix == "/opt/conda");
  CHECK(installer->batch);
  CHECK(!read_conda_installer(command_of("bash /tmp/setup.sh -b -p /opt/conda")));
}
