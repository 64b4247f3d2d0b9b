#include <algorithm>

#include "build_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Outcome with_apt(AptInstall install) {
  Made made;
  made.build.apt.push_back(std::move(install));
  return made.outcome();
}

Outcome with_pip(PipInstall install) {
  Made made;
  made.build.pip.push_back(std::move(install));
  return made.outcome();
}

}  // namespace

TEST_CASE("apt has one Python for a release, and what is added") {
  CHECK(level_of(with_apt(apt_install("ubuntu24.04", {"python3.11"})), "python/not-in-distro") == Level::error);
  CHECK(has_passed(with_apt(apt_install("ubuntu24.04", {"python3.12", "python3.12-venv"})), "python/not-in-distro"));
  CHECK(has_passed(with_apt(apt_install("ubuntu22.04", {"python3.11"})), "python/not-in-distro"));  // universe
  AptInstall install = apt_install("ubuntu24.04", {"python3.11"});
  install.repositories = {"deadsnakes"};
  CHECK(has_passed(with_apt(install), "python/not-in-distro"));
  install.repositories = {"cuda"};
  CHECK(level_of(with_apt(install), "python/not-in-distro") == Level::error);
  install.repositories = {"https://packages.example.com/apt"};  // who knows
  CHECK(is_undecided(with_apt(install), "python/not-in-distro"));
  install.repositories.clear();
  install.os = "mint21";
  CHECK(is_undecided(with_apt(install), "python/not-in-distro"));
}

TEST_CASE("the PPA of Ubuntu has nothing for Debian, and perhaps an old Python still") {
  AptInstall install = apt_install("debian12", {"python3.12"});
  install.repositories = {"ppa:deadsnakes/ppa"};
  CHECK(level_of(with_apt(install), "python/not-in-distro") == Level::error);
  install = apt_install("ubuntu22.04", {"python3.8"});
  install.repositories = {"deadsnakes"};
  CHECK(level_of(with_apt(install), "python/not-in-distro") == Level::warning);
}

TEST_CASE("PEP 668") {
  PipInstall install = pip_install({"h3==4.1.2"}, "3.12");
  CHECK_FALSE(level_of(with_pip(install), "python/externally-managed"));
  install.interpreter.externally_managed = true;
  CHECK(level_of(with_pip(install), "python/externally-managed") == Level::error);
  SECTION("overridden") {
    install.break_system_packages = true;
    CHECK_FALSE(level_of(with_pip(install), "python/externally-managed"));
  }
  SECTION("elsewhere") {
    install.elsewhere = true;
    CHECK_FALSE(level_of(with_pip(install), "python/externally-managed"));
  }
  SECTION("not known") {
    install.interpreter.externally_managed = false;
    install.interpreter.not_known = "the base image";
    CHECK(is_undecided(with_pip(install), "python/externally-managed"));
  }
}

TEST_CASE("get-pip.py and the Python that runs it") {
  Made made;
  ScriptDownload script;
  script.url = "https://bootstrap.pypa.io/get-pip.py";
  script.at = step(4, "RUN curl " + script.url + " | python3.8");
  script.run_by = step_python("3.8");
  made.build.scripts.push_back(script);
  CHECK(level_of(made.outcome(), "python/get-pip-too-new") == Level::error);
  CHECK(message_of(made.outcome(), "python/get-pip-too-new").find("RUN curl https://bootstrap.pypa.io/pip/3.8/get-pip.py | python3.8") != std::string::npos);
  SECTION("its own script") { made.build.scripts.back().url = "https://bootstrap.pypa.io/pip/3.8/get-pip.py"; }
  SECTION("a Python that it takes") { made.build.scripts.back().run_by = step_python("3.11"); }
  SECTION("another script") { made.build.scripts.back().url = "https://example.com/get-pip.py"; }
  const bool same = made.build.scripts.back().url == script.url && made.build.scripts.back().run_by->minor == PythonMinor{3, 8};
  CHECK(level_of(made.outcome(), "python/get-pip-too-new").has_value() == same);
}

TEST_CASE("distutils has no package where it no longer exists") {
  CHECK(level_of(with_apt(apt_install("ubuntu24.04", {"python3-distutils"})), "python/distutils-missing") == Level::error);
  CHECK(has_passed(with_apt(apt_install("ubuntu22.04", {"python3-distutils"})), "python/distutils-missing"));
  const Outcome outcome = with_apt(apt_install("ubuntu22.04", {"python3.12-distutils"}));
  CHECK(level_of(outcome, "python/distutils-missing") == Level::error);
  CHECK_FALSE(level_of(outcome, "python/not-in-distro"));  // one fault, one finding
  CHECK(is_undecided(with_apt(apt_install("", {"python3-distutils"})), "python/distutils-missing"));
}

TEST_CASE("Requires-Python, and no finding for the wheel beside it") {
  const Outcome outcome = with_pip(pip_install({"jax==0.7.0"}, "3.10"));
  CHECK(level_of(outcome, "python/requires-python") == Level::error);
  CHECK_FALSE(level_of(outcome, "python/no-wheel"));
  CHECK(has_passed(with_pip(pip_install({"jax==0.7.0"}, "3.11")), "python/requires-python"));
  CHECK_FALSE(level_of(with_pip(pip_install({"jax>=0.4"}, "3.10")), "python/requires-python"));
}

TEST_CASE("no wheel for this Python") {
  CHECK(level_of(with_pip(pip_install({"torch==2.4.1"}, "3.13")), "python/no-wheel") == Level::error);
  CHECK_FALSE(level_of(with_pip(pip_install({"torch==2.4.1"}, "3.12")), "python/no-wheel"));
  CHECK(is_undecided(with_pip(pip_install({"torch==99.0.0"}, "3.13")), "python/no-wheel"));  // outside of the table
  CHECK_FALSE(level_of(with_pip(pip_install({"torch"}, "3.13")), "python/no-wheel"));
}

TEST_CASE("the check of the interpreter that a file makes itself") {
  Made made;
  MinorCheck check;
  check.at = step(4, "RUN python --version | grep 3.12");
  check.wanted = PythonMinor{3, 12};
  check.interpreter = step_python("3.11");
  made.build.minor_checks.push_back(check);
  CHECK(level_of(made.outcome(), "python/minor-mismatch") == Level::error);
  made.build.minor_checks.back().wanted = PythonMinor{3, 11};
  CHECK(has_passed(made.outcome(), "python/minor-mismatch"));
  made.build.minor_checks.back().interpreter.minor.reset();
  CHECK(is_undecided(made.outcome(), "python/minor-mismatch"));
}

TEST_CASE("a Python that is used before anything installs it") {
  Made made;
  made.build.programs.push_back({step(4, "RUN python3.13 -m venv /x"), "python3.13", ProgramUse::There::no, false});
  CHECK(level_of(made.outcome(), "python/not-found") == Level::error);
  SECTION("guarded") {
    made.build.programs.back().guarded = true;
    CHECK(has_passed(made.outcome(), "python/not-found"));
  }
  SECTION("apt was asked for it in vain: one fault, one finding") {
    made.build.apt.push_back(apt_install("ubuntu24.04", {"python3.13"}));
    CHECK_FALSE(level_of(made.outcome(), "python/not-found"));
    CHECK(level_of(made.outcome(), "python/not-in-distro") == Level::error);
  }
}

TEST_CASE("a tag that names the minor alone is no pre-release") {
  Made made;
  Facts facts = made.facts();
  std::vector<Interpreter> interpreters = facts.interpreters().value();
  interpreters.front().version.reset();
  facts.interpreters = known(interpreters);
  CHECK(has_passed(made.outcome(facts), "python/pre-release"));
  interpreters.front().version = Version::parse("3.11.0rc1");
  facts.interpreters = known(interpreters);
  CHECK(level_of(made.outcome(facts), "python/pre-release") == Level::warning);
}
