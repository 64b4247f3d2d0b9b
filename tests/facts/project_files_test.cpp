// pyproject.toml, lock files and conda's environment.yml.
#include "facts/project_files.hpp"

#include <catch2/catch.hpp>

using namespace imgforge;

namespace {

std::vector<std::string> shown(const std::vector<ProjectRequirement>& list) {
  std::vector<std::string> texts;
  for (const ProjectRequirement& one : list)
    texts.push_back(one.requirement ? one.requirement->to_string() : "? " + one.written);
  return texts;
}

std::vector<std::string> shown(const LockFile& lock) {
  std::vector<std::string> texts;
  for (const LockedPackage& one : lock.packages) {
    texts.push_back(one.name + " " + one.version + (one.development ? " dev" : "") + (one.local ? " local" : ""));
  }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("pyproject.toml: what a project asks for") {
  std::string why;
  const auto project = read_pyproject(
      "[build-system]\nrequires = [\"setuptools\"]\n"
      "[project]\nname = \"kite\"\nrequires-python = \">=3.9\"\n"
      "dependencies = [\n  \"apache-beam[gcp]==2.66.0\",\n  \"numpy<2 ; python_version < '3.12'\",\n]\n"
      "[project.optional-dependencies]\ngpu = [\"torch==2.4.1\"]\n[dependency-groups]\ndev = [\"pytest\"]\n",
      "pyproject.toml", why);
  REQUIRE(project);
  CHECK(project->name == "kite");
  CHECK(project->requires_python == ">=3.9");
  CHECK(shown(project->dependencies) == Texts{"apache-beam[gcp]==2.66.0", "numpy<2; python_version < \"3.12\""});
  CHECK(project->dependencies[0].place.line == 7);
  CHECK(shown(project->extras.at("gpu")) == Texts{"torch==2.4.1"});
  CHECK(shown(project->groups.at("dev")) == Texts{"pytest"});
  CHECK_FALSE(project->dynamic_dependencies);
  // Twins: the build tells; and a file that says nothing of a project.
  CHECK(read_pyproject("[project]\nname = \"a\"\ndynamic = [\"dependencies\"]\n", "p", why)->dynamic_dependencies);
  CHECK(read_pyproject("[tool.black]\nline-length = 100\n", "p", why)->dynamic_dependencies);
}

TEST_CASE("poetry's constraints as specifiers") {
  const auto of = [](const std::string& constraint) {
    std::string why;
    const auto project =
        read_pyproject("[tool.poetry.dependencies]\npython = \"^3.9\"\na = " + constraint + "\n", "p", why);
    REQUIRE(project);
    CHECK(project->poetry);
    CHECK(project->requires_python == ">=3.9,<4");
    const Texts texts = shown(project->dependencies);
    return texts.empty() ? std::string("none") : texts.front();
  };
  CHECK(of("\"^1.2.3\"") == "a<2,>=1.2.3");
  CHECK(of("\"^0.2.3\"") == "a<0.3,>=0.2.3");
  CHECK(of("\"^0.0.3\"") == "a<0.0.4,>=0.0.3");
  CHECK(of("\"~1.2.3\"") == "a<1.3,>=1.2.3");
  CHECK(of("\"~1\"") == "a<2,>=1");
  CHECK(of("\"1.2.3\"") == "a==1.2.3");
  CHECK(of("\"1.2.*\"") == "a==1.2.*");
  CHECK(of("\"*\"") == "a");
  CHECK(of("\">=1.2,<3\"") == "a<3,>=1.2");
  CHECK(of("{version = \"2.66.0\", extras = [\"gcp\"]}") == "a[gcp]==2.66.0");
  CHECK(of("{version = \"1\", optional = true}") == "none");
  CHECK(of("\"^1 || ^2\"") == "a");  // either: no set of specifiers says that
}

TEST_CASE("lock files: which version of what") {
  std::string why;
  const auto uv = read_lock_file(
      LockFile::Kind::uv,
      "version = 1\nrequires-python = \">=3.11\"\n[[package]]\nname = \"Apache_Beam\"\nversion = \"2.66.0\"\n"
      "source = { registry = \"https://pypi.org/simple\" }\n[[package]]\nname = \"kite\"\nversion = \"0.1\"\n"
      "source = { editable = \".\" }\n",
      "uv.lock", why);
  REQUIRE(uv);
  CHECK(shown(*uv) == Texts{"apache-beam 2.66.0", "kite 0.1 local"});
  CHECK(uv->packages[0].place.line == 3);
  const auto poetry = read_lock_file(
      LockFile::Kind::poetry,
      "[[package]]\nname = \"numpy\"\nversion = \"1.26.4\"\ngroups = [\"main\"]\n[[package]]\nname = \"pytest\"\n"
      "version = \"8\"\ngroups = [\"dev\"]\n[[package]]\nname = \"old\"\nversion = \"1\"\ncategory = \"dev\"\n",
      "poetry.lock", why);
  REQUIRE(poetry);
  CHECK(shown(*poetry) == Texts{"numpy 1.26.4", "pytest 8 dev", "old 1 dev"});
  const auto pipenv =
      read_lock_file(LockFile::Kind::pipenv,
                     R"({"default": {"dill": {"version": "==0.3.1.1"}}, "develop": {"tox": {"version": "==4"}}})",
                     "Pipfile.lock", why);
  REQUIRE(pipenv);
  CHECK(shown(*pipenv) == Texts{"dill 0.3.1.1", "tox 4 dev"});
  CHECK(lock_file_kind("pylock.gpu.toml") == LockFile::Kind::pylock);
  CHECK_FALSE(lock_file_kind("requirements.lock"));
}

TEST_CASE("conda's environment.yml") {
  std::string why;
  const auto environment = read_conda_environment(
      "name: gpu\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - numpy\n  - pip:\n    - "
      "apache-beam[gcp]==2.66.0\n    - -r more.txt\n",
      "environment.yml", why);
  REQUIRE(environment);
  CHECK(environment->name == "gpu");
  REQUIRE(environment->packages.size() == 2);
  CHECK(environment->packages[0].spec.name == "python");
  CHECK(environment->packages[0].spec.pinned() == "3.11");
  REQUIRE(environment->pip.size() == 2);
  CHECK(environment->pip[0].text == "apache-beam[gcp]==2.66.0");
  CHECK(environment->pip[0].place.line == 7);
}

TEST_CASE("files that are none, or hostile, are told so in a line") {
  const std::string hostile[] = {"[project",
                                 "a = \"\\u12\"",
                                 std::string("a = 1\0", 6),
                                 "a = " + std::string(100'000, '['),
                                 "a = " + std::string(100'000, '{'),
                                 std::string(200, 'a') + "." + std::string(5000, '.') + " = 1",
                                 "\xff = 1",
                                 "a = 1\na = 2\n"};
  for (const std::string& text : hostile) {
    std::string why;
    CHECK_FALSE(read_pyproject(text, "pyproject.toml", why));
    CHECK(why.find("pyproject.toml") != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
    why.clear();
    CHECK_FALSE(read_lock_file(LockFile::Kind::uv, text, "uv.lock", why));
    CHECK_FALSE(why.empty());
  }
  std::string why;
  CHECK_FALSE(read_lock_file(LockFile::Kind::pipenv, "[1]", "Pipfile.lock", why));
  CHECK_FALSE(read_conda_environment("- a\n", "environment.yml", why));
}
