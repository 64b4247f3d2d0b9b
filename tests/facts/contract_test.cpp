// --depth contract: what named paths tell, and that no layer is read for more.
#include <catch2/catch.hpp>
#include <set>

#include "facts/fake_image.hpp"
#include "layer/small_elf.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string glibc_python = small_elf({.interpreter = "/lib64/ld-linux-x86-64.so.2", .needed = {"libc.so.6"}});

/// With an entry for each folder, as every builder writes them: without, a layer below could make a link of one.
Files with_folders(const Files& files) {
  Files all;
  std::set<std::string> seen;
  for (const File& one : files) {
    for (std::size_t slash = one.path.find('/'); slash != std::string::npos; slash = one.path.find('/', slash + 1)) {
      const std::string path = one.path.substr(0, slash);
      if (seen.insert(path).second) all.push_back(folder(path));
    }
    if (!one.path.ends_with('/')) all.push_back(one);
  }
  return all;
}

/// A system and CUDA below, Python and boot above: only the upper two are needed.
FakeImage layered(const Files& python, const Files& boot = {}) {
  FakeImage image;
  image.layer(debian_files());
  image.layer({file("usr/local/cuda/lib64/libcudart.so.12", small_elf({}))});
  image.layer(with_folders(python));
  image.layer(with_folders(boot_files("2.66.0") + boot));
  image.env("PATH", "/usr/local/bin:/usr/bin:/bin");
  image.image_config.entrypoint = {"/opt/apache/beam/boot"};
  return image;
}

const Files python311 = {file("usr/local/bin/python3.11", glibc_python, 0755),
                         soft_link("usr/local/bin/python3", "python3.11"), soft_link("usr/local/bin/python", "python3"),
                         file("usr/local/lib/python3.11/os.py"),
                         file("usr/local/lib/python3.11/site-packages/pip/__init__.py")};

std::size_t layers_read(const FactsOf& facts) { return facts.root.cost().layers_read; }

}  // namespace

TEST_CASE("the contract is answered without the layers below Python", "[contract]") {
  const FakeImage image = layered(python311);
  const FactsOf facts(image, Depth::contract);
  CHECK(facts->boot()->executable);
  CHECK(layers_read(facts) == 1);
  CHECK(facts->entrypoint()->ends_in == Program::boot);
  CHECK(facts->beam_version()->to_string() == "2.66.0");
  CHECK(layers_read(facts) == 1);
  REQUIRE(facts->worker_python().is_known());
  CHECK(facts->worker_python()->by == "python");
  CHECK(facts->worker_interpreter()->path == "/usr/local/bin/python3.11");
  CHECK(facts->worker_interpreter()->minor == PythonMinor{3, 11});
  CHECK(facts->commands()->at("python").executable);
  CHECK(facts->libc()->family == Libc::Family::glibc);
  CHECK(layers_read(facts) == 2);
  CHECK(facts->distributions().is_unknown());
  CHECK(facts->beam().is_unknown());
  CHECK(facts->site_machines().is_unknown());
  CHECK(layers_read(facts) == 2);
}

TEST_CASE("the same facts at either depth", "[contract]") {
  const FakeImage image = layered(python311);
  const FactsOf little(image, Depth::contract), all(image);
  CHECK(little->worker_interpreter()->path == all->worker_interpreter()->path);
  CHECK(little->worker_interpreter()->prefix == all->worker_interpreter()->prefix);
  CHECK(little->beam_version().value() == all->beam_version().value());
  CHECK(little->libc()->family == all->libc()->family);
}

TEST_CASE("musl by the loader that Python names", "[contract]") {
  Files python = python311;
  python.front().content = small_elf({.interpreter = "/lib/ld-musl-x86_64.so.1", .needed = {"libc.musl-x86_64.so.1"}});
  CHECK(FactsOf(layered(python), Depth::contract)->libc()->family == Libc::Family::musl);
}

TEST_CASE("a Python found through a link into another folder may be a venv's", "[contract]") {
  Files venv = {file("opt/venv/pyvenv.cfg", "home = /usr/local/bin\n"),
                soft_link("opt/venv/bin/python", "/usr/local/bin/python3.11"),
                file("opt/venv/lib/python3.11/site-packages/pip/__init__.py")};
  FakeImage image = layered(python311, venv);
  image.env("PATH", "/opt/venv/bin:/usr/local/bin");
  const FactsOf facts(image, Depth::contract);
  REQUIRE(facts->worker_interpreter() != nullptr);
  CHECK(facts->worker_interpreter()->kind == Interpreter::Kind::venv);
  CHECK(facts->worker_interpreter()->prefix == "/opt/venv");
  CHECK(facts->worker_interpreter()->path == FactsOf(image)->worker_interpreter()->path);
}

TEST_CASE("pip is looked for where boot calls it", "[contract]") {
  Files without = python311;
  without.pop_back();
  const auto has_pip = [&](const Files& python, bool opt_out) {
    FakeImage image = layered(python);
    if (opt_out) image.env("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "1");
    const FactsOf facts(image, Depth::contract);
    const bool pip = facts->worker_interpreter()->has_pip;
    return std::pair(pip, facts.root.cost().layers_read);
  };
  CHECK(has_pip(python311, true) == std::pair(true, std::size_t{2}));
  CHECK(has_pip(without, true) == std::pair(false, std::size_t{4}));   // absence takes every layer
  CHECK(has_pip(without, false) == std::pair(false, std::size_t{2}));  // boot's own venv brings one: not looked for
}

TEST_CASE("without an SDK beside boot, the package says the release", "[contract]") {
  FakeImage image;
  image.layer(python311 + Files{file("usr/local/lib/python3.11/site-packages/apache_beam/version.py",
                                     "\n__version__ = '2.61.0'\n")});
  image.env("PATH", "/usr/local/bin");
  CHECK(FactsOf(image, Depth::contract)->beam_version()->to_string() == "2.61.0");
  FakeImage silent;
  silent.layer(python311);
  silent.env("PATH", "/usr/local/bin");
  CHECK(FactsOf(silent, Depth::contract)->beam_version().is_unknown());
}

TEST_CASE("no Python on PATH is unknown, not absent", "[contract]") {
  FakeImage image = layered({});
  const FactsOf facts(image, Depth::contract);
  CHECK(facts->interpreters().is_unknown());
  CHECK(facts->worker_python().is_unknown());
}
