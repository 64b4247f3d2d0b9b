// Small proofs of a Python's version, each from the form that its tool writes.
#include "facts/python_version.hpp"

#include <catch2/catch.hpp>

#include "facts/commands.hpp"
#include "facts/site_packages.hpp"
#include "facts/survey.hpp"

using namespace imgforge;

namespace {

std::string shown(const std::optional<Version>& version) { return version ? version->to_string() : "none"; }

}  // namespace

TEST_CASE("patchlevel.h", "[python]") {
  CHECK(shown(version_of_patchlevel(
            "#define PY_MAJOR_VERSION 3\n#define PY_VERSION_HEX 1\n#define PY_VERSION      \t\"3.13.0rc2\"\n")) ==
        "3.13.0rc2");
  CHECK(shown(version_of_patchlevel("#define PY_VERSION \"3.12.0+\"\n")) == "3.12.0");
  CHECK(shown(version_of_patchlevel("#define PY_VERSION \"3.12")) == "none");
  CHECK(shown(version_of_patchlevel("")) == "none");
}

TEST_CASE("conda's record and uv's folder", "[python]") {
  CHECK(shown(version_of_conda_record("python-3.11.9-h955ad1f_0_cpython.json")) == "3.11.9");
  CHECK(shown(version_of_conda_record("python-dateutil-2.9.0-pyhd8ed1ab_0.json")) == "none");
  CHECK(shown(version_of_conda_record("python_abi-3.11-5_cp311.json")) == "none");
  CHECK(shown(version_of_standalone_folder("cpython-3.11.9-linux-x86_64-gnu")) == "3.11.9");
  CHECK(shown(version_of_standalone_folder("cpython-3.13.0rc2+freethreaded-linux-x86_64-gnu")) == "3.13.0rc2");
  CHECK(shown(version_of_standalone_folder("pypy-3.10.14-linux")) == "none");
}

TEST_CASE("minors in names", "[python]") {
  const auto text = [](std::string_view name) {
    const auto minor = minor_in_name(name);
    return minor ? minor->to_string() : "none";
  };
  CHECK(text("python3.11") == "3.11");
  CHECK(text("libpython3.9.so.1.0") == "3.9");
  CHECK(text("platform-python3.6") == "3.6");
  CHECK(text("python3") == "none");
  CHECK(is_python_name("python3.13t"));
  CHECK_FALSE(is_python_name("python3.11-config"));
  CHECK_FALSE(is_python_name("pythonw"));
  CHECK_FALSE(is_python_name("python3.6m"));
}

TEST_CASE("pyvenv.cfg of venv, virtualenv and uv", "[python]") {
  const VenvConfig venv =
      parse_venv_config("home = /usr/local/bin\ninclude-system-site-packages = TRUE\nversion = 3.11.9\n");
  CHECK(venv.home == "/usr/local/bin");
  CHECK(venv.system_site);
  CHECK(venv.version == "3.11.9");
  CHECK(parse_venv_config("version_info = 3.11.9.final.0\n").version == "3.11.9.final.0");
  CHECK_FALSE(parse_venv_config("garbage\n= x\n").system_site);
}

TEST_CASE("paths are made absolute without leaving the root", "[paths]") {
  CHECK(absolute_path("../../x//y/./z/..", "/srv/app") == "/x/y");
  CHECK(absolute_path("/a/../..", "/srv") == "/");
  CHECK(absolute_path("", "/srv") == "/srv");
  CHECK(path_folders("/a:b::", "/srv") == std::vector<std::string>{"/a", "/srv/b", "/srv", "/srv"});
}
