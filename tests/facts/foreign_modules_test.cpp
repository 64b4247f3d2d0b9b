// Extension modules against the interpreter of their folder; pyenv's shims.
#include "facts/foreign_modules.hpp"

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "facts/fake_image.hpp"
#include "layer/small_elf.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string site = "usr/local/lib/python3.11/site-packages";

/// A distribution with these files, RECORD and WHEEL as pip leaves them.
Files installed(const std::string& folder, const std::string& name, const std::vector<std::string>& paths,
                const std::string& tag = "cp311-cp311-linux_x86_64", bool record = true) {
  Files files = distribution_files(folder, name, "1.0");
  std::string lines;
  for (const std::string& path : paths) {
    files.push_back(file(folder + "/" + path, path.ends_with(".so") ? small_elf({}) : "x"));
    lines += path + ",sha256=x,1\n";
  }
  const std::string info = folder + "/" + name + "-1.0.dist-info";
  if (record) files.push_back(file(info + "/RECORD", lines));
  files.push_back(file(info + "/WHEEL", "Wheel-Version: 1.0\nTag: " + tag + "\n"));
  return files;
}

/// "numpy cpython-310-x86_64-linux-gnu 2, ..."
std::string foreign(const Files& files, const std::string& path = "/usr/local/bin:/usr/bin:/bin") {
  FakeImage image;
  image.layer(debian_files() + python_files("usr/local", "3.11.9") + files);
  image.env("PATH", path);
  const FactsOf facts(image);
  const auto& fact = facts->foreign_modules();
  REQUIRE(fact.is_known());
  std::vector<std::string> all;
  for (const ForeignModules& one : fact.value()) {
    CHECK_FALSE(one.evidence.layer.empty());
    all.push_back((one.distribution.empty() ? "?" : one.distribution) + " " + one.tag + " " +
                  std::to_string(one.modules));
  }
  return join(all, ", ");
}

const std::string of_310 = ".cpython-310-x86_64-linux-gnu.so";
const std::string of_311 = ".cpython-311-x86_64-linux-gnu.so";

}  // namespace

TEST_CASE("which modules fit", "[abi]") {
  const PythonMinor minor{3, 11};
  for (const char* tag : {"", "abi3", "cpython-311", "cpython-311d"}) CHECK(module_fits(tag, minor, false));
  for (const char* tag : {"cpython-310", "cpython-312", "cpython-311t", "cpython-31", "cpython-3111", "pypy311"})
    CHECK_FALSE(module_fits(tag, minor, false));
  CHECK(module_fits("cpython-36m", {3, 6}, false));
  CHECK(module_fits("cpython-313t", {3, 13}, true));
  CHECK_FALSE(module_fits("cpython-313", {3, 13}, true));
  CHECK_FALSE(module_fits("abi3", {3, 13}, true));
}

TEST_CASE("what a module's name says", "[abi]") {
  CHECK(module_tag("x.cpython-310-x86_64-linux-gnu.so") == "cpython-310");
  CHECK(module_tag("x.abi3.so") == "abi3");
  CHECK(module_tag("x.so") == "");
  CHECK_FALSE(module_tag("libx.cpython-310-x86_64-linux-gnu.so"));
  CHECK_FALSE(module_tag("x.so.1"));
}

TEST_CASE("modules of another Python", "[abi]") {
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310, "kite/b" + of_310, "kite/__init__.py"})) ==
        "kite cpython-310-x86_64-linux-gnu 2");
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_311})).empty());
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310, "kite/a" + of_311})).empty());  // of several Pythons
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310, "kite/b.abi3.so"})).empty());
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310, "kite.libs/libz.so"})) ==
        "kite cpython-310-x86_64-linux-gnu 1");                                  // a library is no module
  CHECK(foreign(installed("opt/unused", "kite", {"kite/a" + of_310})).empty());  // nobody's site folder
  // Two distributions in one folder of a namespace.
  CHECK(foreign(installed(site, "kite", {"sky/kite/a" + of_310}) + installed(site, "reel", {"sky/reel/a" + of_311})) ==
        "kite cpython-310-x86_64-linux-gnu 1");
}

TEST_CASE("without a RECORD the folder counts", "[abi]") {
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310}, "x", false)) == "? cpython-310-x86_64-linux-gnu 1");
  CHECK(foreign(installed(site, "kite", {"kite/a" + of_310, "kite/a" + of_311}, "x", false)).empty());
}

TEST_CASE("a wheel whose modules say nothing", "[abi]") {
  CHECK(foreign(installed(site, "kite", {"kite/a.so"}, "cp310-cp310-manylinux_2_17_x86_64")) == "kite cp310 1");
  CHECK(foreign(installed(site, "kite", {"kite/a.so"}, "cp311-cp311-manylinux_2_17_x86_64")).empty());
  CHECK(foreign(installed(site, "kite", {"kite/a.so"}, "cp38-abi3-manylinux_2_17_x86_64")).empty());
  CHECK(foreign(installed(site, "kite", {"kite/a.so"}, "py3-none-any")).empty());
  CHECK(foreign(installed(site, "kite", {"kite/liba.so"}, "cp310-cp310-linux_x86_64")).empty());
}

TEST_CASE("what apt brought is the system's", "[abi]") {
  const std::string shared = "usr/lib/python3/dist-packages";
  Files apt = installed(shared, "kite", {"kite/a" + of_311});
  std::erase_if(apt, [](const File& one) { return one.path.ends_with("INSTALLER"); });
  const Files system = python_files("usr", "3.12.1");
  CHECK(foreign(apt + system, "/usr/bin").empty());
  CHECK(foreign(installed(shared, "kite", {"kite/a" + of_311}) + system, "/usr/bin") ==
        "kite cpython-311-x86_64-linux-gnu 1");  // pip put it there
}

TEST_CASE("wheel tags, direct URLs and editable installs", "[distributions]") {
  FakeImage image;
  const std::string info = site + "/kite-1.0.dist-info";
  image.layer(
      debian_files() + python_files("usr/local", "3.11.9") +
      installed(site, "kite", {"kite/__init__.py"}, "py3-none-any") +
      Files{file(info + "/direct_url.json", R"({"url": "https://user:token@example.com/kite.git", "vcs_info": {}})")} +
      Files{file("src/Old.egg-info/PKG-INFO", "Name: Old\nVersion: 2\n"),
            file("src/Old.egg-info/requires.txt", "kite\n[x]\nreel\n"), file(site + "/easy-install.pth", "/src\n"),
            file(site + "/Old.egg-link", "/src\n.")});
  image.env("PATH", "/usr/local/bin");
  const FactsOf facts(image);
  const auto& all = facts->distributions().value();
  REQUIRE(all.size() == 2);
  CHECK(all[0].wheel_tags == std::vector<std::string>{"py3-none-any"});
  CHECK(all[0].direct_url == "https://example.com/kite.git");
  CHECK_FALSE(all[0].editable);
  CHECK(all[1].name == "old");
  CHECK(all[1].editable);
  CHECK(all[1].requires_dist == std::vector<std::string>{"kite", "reel ; extra == \"x\""});
}

TEST_CASE("pyenv's shims", "[pyenv]") {
  const std::string root = "root/.pyenv";
  const std::string shim =
      "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"/root/.pyenv\"\nexec "
      "\"/root/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
  const auto worker = [&](const Files& more, const std::string& variable = {}) {
    FakeImage image;
    image.layer(debian_files() + python_files(root + "/versions/3.10.14", "3.10.14") +
                python_files(root + "/versions/3.11.9", "3.11.9") +
                python_files(root + "/versions/3.11.10", "3.11.10") + python_files("usr", "3.12.1") +
                Files{file(root + "/shims/python", shim, 0755), file(root + "/shims/python3", shim, 0755)} + more);
    image.env("PATH", "/root/.pyenv/shims:/usr/bin:/bin");
    if (!variable.empty()) image.env("PYENV_VERSION", variable);
    const FactsOf facts(image);
    const auto& fact = facts->worker_python();
    return fact.is_known() ? facts->worker_interpreter()->path : fact.is_absent() ? "absent" : fact.reason();
  };
  CHECK(worker({file(root + "/version", "3.10.14\n")}) == "/root/.pyenv/versions/3.10.14/bin/python3.10");
  CHECK(worker({file(root + "/version", "3.11 # the newest\n")}) == "/root/.pyenv/versions/3.11.10/bin/python3.11");
  CHECK(worker({file(root + "/version", "3.10.14\n")}, "3.11.9:3.10.14") ==
        "/root/.pyenv/versions/3.11.9/bin/python3.11");
  CHECK(worker({file(root + "/version", "3.10.14\n"), file(".python-version", "3.11.9\n")}) ==
        "/root/.pyenv/versions/3.11.9/bin/python3.11");
  CHECK(worker({file(root + "/version", "system\n")}) == "/usr/bin/python3.12");
  CHECK(worker({}) == "/usr/bin/python3.12");
  CHECK(worker({file(root + "/version", "3.9.1\n")}).find("no Python interpreter") != std::string::npos);
}
