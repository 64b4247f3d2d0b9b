#include "facts/commands_pip.hpp"

#include <catch2/catch.hpp>

#include "run_commands.hpp"

using namespace imgforge;

namespace {

std::string joined(const std::vector<Argument>& list) {
  std::string text;
  for (const Argument& one : list) text += (text.empty() ? "" : " ") + one.text;
  return text;
}

PipCommand pip_of(const std::string& text) {
  INFO(text);
  const auto pip = read_pip(command_of(text));
  REQUIRE(pip);
  return *pip;
}

}  // namespace

TEST_CASE("who runs pip", "[commands_pip]") {
  const struct {
    const char* text;
    const char* program;
    const char* python;
    const char* subcommand;
  } rows[] = {
      {"pip install x", "pip", "", "install"},
      {"pip3.11 install x", "pip3.11", "", "install"},
      {"/opt/venv/bin/pip --no-color install x", "/opt/venv/bin/pip", "", "install"},
      {"python3.11 -m pip install x", "python3.11 -m pip", "python3.11", "install"},
      {"/opt/p/bin/python -I -X utf8 -m pip download x", "/opt/p/bin/python -m pip", "/opt/p/bin/python", "download"},
      {"python -Im pip uninstall -y x", "python -m pip", "python", "uninstall"},
      {"uv pip install --system x", "uv pip", "", "install"},
      {"uv --directory /a pip install -p 3.11 x", "uv pip", "3.11", "install"},
      {"pip --python /opt/venv install x", "pip", "/opt/venv", "install"},
      {"pip --version", "pip", "", ""},
  };
  for (const auto& row : rows) {
    const PipCommand pip = pip_of(row.text);
    INFO(row.text);
    CHECK(pip.program == row.program);
    CHECK(pip.python == row.python);
    CHECK(pip.subcommand == row.subcommand);
  }
  for (const char* text :
       {"pipx install x", "pipenv install", "python x.py -m pip", "python -m venv pip", "uv venv", "pip-compile"}) {
    INFO(text);
    CHECK(!read_pip(command_of(text)));
  }
}

TEST_CASE("what pip is asked for", "[commands_pip]") {
  const std::string text =
      "pip install --no-cache-dir -U -i https://a --extra-index-url=https://b -f https://c -r r.txt -cc.txt -e . "
      "\"n>=1\" x[y]==2 "
      "--break-system-packages --no-deps --target /t --only-binary :all: -- z";
  const PipCommand pip = pip_of(text);
  CHECK(joined(pip.packages) == "n>=1 x[y]==2 z");
  CHECK(pip.packages[1].offset == text.find("x[y]"));
  CHECK(joined(pip.requirements_files) == "r.txt");
  CHECK(joined(pip.constraint_files) == "c.txt");
  CHECK(joined(pip.editables) == ".");
  CHECK(pip.index_urls == std::vector<std::string>{"https://a", "https://b"});
  CHECK(pip.replaces_index);
  CHECK(pip.find_links == std::vector<std::string>{"https://c"});
  CHECK(pip.break_system_packages);
  CHECK(pip.no_deps);
  CHECK(pip.upgrade);
  CHECK(pip.no_cache);
  CHECK(pip.target == "/t");
  CHECK(pip.elsewhere());
  CHECK(pip.only_binary == ":all:");
  CHECK(pip.not_known.empty());

  CHECK(!pip_of("pip install --extra-index-url https://b x").replaces_index);
  CHECK(!pip_of("pip install x").elsewhere());
  CHECK(!pip_of("pip install x").break_system_packages);
  CHECK(pip_of("PIP_BREAK_SYSTEM_PACKAGES=1 pip install x").break_system_packages);
  CHECK(!pip_of("PIP_BREAK_SYSTEM_PACKAGES=0 pip install x").break_system_packages);
  CHECK(pip_of("PIP_INDEX_URL=https://i pip install x").index_urls.size() == 1);
  CHECK(pip_of("pip install").empty());
  CHECK(!pip_of("pip install $UNKNOWN").empty());
  CHECK(!pip_of("pip install x==$UNKNOWN y").not_known.empty());
  CHECK(joined(pip_of("pip install x==$UNKNOWN y").packages) == "y");
  CHECK(joined(pip_of("uv pip sync a.txt b.txt").requirements_files) == "a.txt b.txt");
  CHECK(pip_of("pip list x").packages.empty());
}

TEST_CASE("project installers", "[commands_pip]") {
  const auto poetry = read_project_install(command_of("poetry install --no-root --only main -E gpu"));
  REQUIRE(poetry);
  CHECK(poetry->tool == ProjectInstall::Tool::poetry);
  CHECK(poetry->no_dev);
  CHECK(poetry->extras == std::vector<std::string>{"gpu"});
  const auto pipenv = read_project_install(command_of("pipenv install --system --deploy"));
  REQUIRE(pipenv);
  CHECK(pipenv->system);
  CHECK(pipenv->locked);
  const auto uv = read_project_install(command_of("uv sync --frozen --no-dev --extra a"));
  REQUIRE(uv);
  CHECK(uv->locked);
  CHECK(uv->no_dev);
  CHECK(!read_project_install(command_of("uv pip install x")));
  CHECK(!read_project_install(command_of("poetry config virtualenvs.create false")));
}
