// Facts of whole images: each case is an image in memory, one fact apart from a healthy worker.
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "facts/fake_image.hpp"
#include "layer/small_elf.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string site = "/usr/local/lib/python3.11/site-packages";

/// "python by python: /usr/local/bin/python3.11", "absent" or the reason why it is not known.
std::string worker(const FakeImage& image) {
  const FactsOf facts(image);
  const auto& fact = facts->worker_python();
  if (fact.is_known()) return fact->by + ": " + facts->worker_interpreter()->path;
  return fact.is_absent() ? "absent" : fact.reason();
}

}  // namespace

TEST_CASE("a healthy worker", "[image]") {
  const FakeImage image = healthy_worker();
  const FactsOf facts(image);
  CHECK(facts->platform()->to_string() == "linux/amd64");
  CHECK(facts->os_release()->code_name == "bookworm");
  CHECK(facts->libc()->family == Libc::Family::glibc);
  CHECK(facts->libc()->version == "2.36");  // by the symbol versions that libc.so.6 defines
  REQUIRE(facts->interpreters().is_known());
  REQUIRE(facts->interpreters()->size() == 1);
  const Interpreter& python = facts->interpreters()->front();
  CHECK(python.path == "/usr/local/bin/python3.11");
  CHECK(python.minor == PythonMinor{3, 11});
  CHECK(python.version->to_string() == "3.11.9");
  CHECK(python.kind == Interpreter::Kind::system);
  CHECK(python.prefix == "/usr/local");
  CHECK(python.on_path_as == std::vector<std::string>{"python", "python3", "python3.11"});
  CHECK(python.site_packages == std::vector<std::string>{site});
  CHECK(python.has_venv);
  CHECK(python.has_ensurepip);
  CHECK(python.pip->to_string() == "24.0");
  CHECK_FALSE(python.externally_managed);
  CHECK(python.evidence.back().path == "/usr/local/include/python3.11/patchlevel.h");
  CHECK(python.evidence.back().layer == image.layers()[1].digest->to_string());
  CHECK(facts->boot()->executable);
  CHECK(facts->boot()->machine == 62);
  CHECK_FALSE(facts->boot()->dynamic);
  CHECK(facts->boot_version()->to_string() == "2.66.0");
  CHECK(facts->beam_version()->to_string() == "2.66.0");
  CHECK(facts->beam()->installer == "pip");
  CHECK(facts->beam()->requires_dist == std::vector<std::string>{"numpy<2.3"});
  CHECK(facts->beam()->requires_python == ">=3.9");
  CHECK(facts->beam()->evidence.path == site + "/apache-beam-2.66.0.dist-info/METADATA");
  CHECK(facts->entrypoint()->ends_in == Program::boot);
  CHECK_FALSE(facts->entrypoint()->arguments_dropped);
  CHECK(facts->worker_python()->by == "python");
  CHECK(facts->worker_distributions().size() == 2);
  CHECK(facts->commands()->at("python").canonical == "/usr/local/bin/python3.11");
  CHECK_FALSE(facts->commands()->contains("pip"));
  CHECK(facts->usr_local_pip().is_absent());
  CHECK(facts->user()->is_root());
  CHECK(facts->workdir()->writable);
  CHECK(facts->venv_folder_writable().value());
}

TEST_CASE("an image of nothing", "[image]") {
  FakeImage image;
  image.layer({file("hello", "world")});
  const FactsOf facts(image);
  CHECK(facts->os_release().is_absent());
  CHECK(facts->libc().is_absent());
  CHECK(facts->interpreters().is_absent());
  CHECK(facts->distributions()->empty());
  CHECK(facts->boot().is_absent());
  CHECK(facts->boot_version().is_absent());
  CHECK(facts->worker_python().is_absent());
  CHECK(facts->beam().is_absent());
  CHECK(facts->beam_version().is_absent());
  CHECK(facts->entrypoint()->entrypoint.empty());
  CHECK(facts->entrypoint()->ends_in == Program::other);
  CHECK(facts->commands()->empty());
}

TEST_CASE("boot as a link, a dangling link, a circle, a folder", "[image][boot]") {
  const auto boot_of = [](const Files& files) {
    FakeImage image;
    image.layer(files);
    return FactsOf(image)->boot();
  };
  const auto linked =
      boot_of({soft_link("opt/apache/beam/boot", "../../../usr/lib/boot"), file("usr/lib/boot", small_elf({}), 0755)});
  CHECK(linked->path == "/usr/lib/boot");
  CHECK(linked->executable);
  CHECK(linked.evidence().size() == 2);
  CHECK(boot_of({soft_link("opt/apache/beam/boot", "nothing")})->broken_link == "/opt/apache/beam/nothing");
  CHECK(boot_of({soft_link("opt/apache/beam/boot", "/a"), soft_link("a", "/opt/apache/beam/boot")})->broken_link ==
        "a circle of links");
  CHECK_FALSE(boot_of({folder("opt/apache/beam/boot")})->regular);
  CHECK_FALSE(boot_of({file("opt/apache/beam/boot", "<html>404</html>", 0755)})->elf);
  CHECK_FALSE(boot_of({file("opt/apache/beam/boot", small_elf({}), 0644)})->executable);
}

TEST_CASE("a dynamic boot and what the image's libc defines", "[image][boot]") {
  const std::string boot = small_elf(
      {.interpreter = "/lib64/ld-linux-x86-64.so.2", .needed = {"libc.so.6"}, .needs = {"GLIBC_2.2.5", "GLIBC_2.38"}});
  FakeImage image;
  image.layer(debian_files() + Files{file("opt/apache/beam/boot", boot, 0755)});
  const FactsOf without_loader(image);
  CHECK(without_loader->boot()->dynamic);
  CHECK(without_loader->boot()->interpreter == "/lib64/ld-linux-x86-64.so.2");
  CHECK_FALSE(without_loader->boot()->interpreter_found);
  CHECK(without_loader->boot()->missing_versions == std::vector<std::string>{"GLIBC_2.38"});
  image.layer({file("lib64/ld-linux-x86-64.so.2", small_elf({}), 0755)});
  CHECK(FactsOf(image)->boot()->interpreter_found);
}

TEST_CASE("musl is told from glibc", "[image][libc]") {
  FakeImage alpine;
  alpine.layer({file("etc/os-release", "ID=alpine\n"), file("lib/ld-musl-x86_64.so.1", small_elf({}), 0755),
                file("lib/apk/db/installed", "P:musl\nV:1.2.4_git20230717-r4\n\n")});
  CHECK(FactsOf(alpine)->libc()->family == Libc::Family::musl);
  CHECK(FactsOf(alpine)->libc()->version == "1.2.4");
  FakeImage debian;  // with the package musl beside glibc
  debian.layer(debian_files() + Files{file("usr/lib/ld-musl-x86_64.so.1", small_elf({}), 0755)});
  CHECK(FactsOf(debian)->libc()->family == Libc::Family::glibc);
}

TEST_CASE("a venv is an interpreter of its own", "[image][python]") {
  FakeImage image = healthy_worker();
  image.layer(
      Files{file("opt/venv/pyvenv.cfg",
                 "home = /usr/local/bin\ninclude-system-site-packages = false\nversion = 3.11.8\n"),
            soft_link("opt/venv/bin/python", "/usr/local/bin/python3.11"), soft_link("opt/venv/bin/python3", "python"),
            soft_link("usr/bin/venv-python", "/opt/venv/bin/python"), soft_link("opt/link-bin", "/opt/venv/bin")} +
      distribution_files("opt/venv/lib/python3.11/site-packages", "numpy", "2.0.1"));
  image.image_config.env.clear();
  image.env("PATH", "/opt/link-bin:/usr/local/bin:/usr/bin");
  const FactsOf facts(image);
  REQUIRE(facts->interpreters()->size() == 2);
  const Interpreter& venv = facts->interpreters()->front();  // PATH finds it first
  CHECK(venv.kind == Interpreter::Kind::venv);
  CHECK(venv.path == "/opt/venv/bin/python3");
  CHECK(venv.prefix == "/opt/venv");
  CHECK(venv.home == "/usr/local/bin");
  CHECK(venv.version->to_string() == "3.11.9");  // the base's: pyvenv.cfg tells how it was when it was made
  CHECK(venv.on_path_as == std::vector<std::string>{"python", "python3"});
  CHECK(venv.site_packages == std::vector<std::string>{"/opt/venv/lib/python3.11/site-packages"});
  CHECK(venv.has_venv);
  CHECK(facts->interpreters()->back().on_path_as == std::vector<std::string>{"python3.11"});
  CHECK(facts->worker_interpreter() == &venv);
  CHECK(facts->beam().is_absent());
  CHECK(facts->distributions()->size() == 3);
}

TEST_CASE("a link from elsewhere into a venv starts its base", "[image][python]") {
  FakeImage image = healthy_worker();
  image.layer({file("opt/venv/pyvenv.cfg", "home = /usr/local/bin\ninclude-system-site-packages = true\n"),
               soft_link("opt/venv/bin/python3", "/usr/local/bin/python3.11"),
               folder("opt/venv/lib/python3.11/site-packages"),
               soft_link("usr/local/sbin/python", "/opt/venv/bin/python3"),
               folder("root/.local/lib/python3.11/site-packages")});
  image.image_config.env.clear();
  image.env("PATH", "/usr/local/sbin:/usr/bin");
  CHECK(worker(image) == "python: /usr/local/bin/python3.11");
  const FactsOf facts(image);
  const Interpreter& venv = facts->interpreters()->back();
  CHECK(venv.site_packages == std::vector<std::string>{"/opt/venv/lib/python3.11/site-packages",
                                                       "/root/.local/lib/python3.11/site-packages", site});
}

TEST_CASE("Debian's Python: dist-packages, PEP 668, pip's wheel in a package of its own", "[image][python]") {
  FakeImage image;
  image.layer(debian_files());
  image.layer(Files{file("usr/bin/python3.11", python_program(), 0755), soft_link("usr/bin/python3", "python3.11"),
                    file("usr/lib/python3.11/os.py"), file("usr/lib/python3.11/venv/__init__.py"),
                    file("usr/lib/python3.11/ensurepip/__init__.py"), file("usr/lib/python3.11/EXTERNALLY-MANAGED"),
                    folder("usr/local/lib/python3.11/dist-packages"),
                    file("var/lib/dpkg/status",
                         "Package: libpython3.11-minimal\nStatus: install ok installed\nVersion: 3.11.2-6+deb12u3\n\n"
                         "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9+deb12u7\n")} +
              distribution_files("usr/lib/python3/dist-packages", "pip", "23.0.1"));
  const FactsOf facts(image);
  const Interpreter& python = facts->interpreters()->front();
  CHECK(python.version->to_string() == "3.11.2");
  CHECK(python.evidence.back().path == "/var/lib/dpkg/status");
  CHECK(python.site_packages ==
        std::vector<std::string>{"/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"});
  CHECK(python.externally_managed);
  CHECK(python.has_venv);
  CHECK_FALSE(python.has_ensurepip);  // no wheel anywhere
  CHECK(python.pip->to_string() == "23.0.1");
  CHECK(python.on_path_as == std::vector<std::string>{"python3", "python3.11"});
  image.layer({file("usr/share/python-wheels/pip-23.0.1-py3-none-any.whl")});
  CHECK(FactsOf(image)->interpreters()->front().has_ensurepip);
}

TEST_CASE("conda: the environment is one, the package cache is none", "[image][python]") {
  FakeImage image;
  image.layer(python_files("opt/conda", "3.10.14", true, false) +
              Files{file("opt/conda/conda-meta/history"), file("opt/conda/conda-meta/python-3.10.14-h955ad1f_0.json"),
                    file("opt/conda/conda-meta/python-dateutil-2.9.0-pyhd8ed1ab_0.json"),
                    file("opt/conda/pkgs/python-3.10.14-h955ad1f_0/bin/python3.10", python_program(), 0755),
                    file("opt/conda/pkgs/python-3.10.14-h955ad1f_0/info/index.json")});
  image.env("PATH", "/opt/conda/bin:/usr/bin");
  const FactsOf facts(image);
  REQUIRE(facts->interpreters()->size() == 1);
  CHECK(facts->interpreters()->front().kind == Interpreter::Kind::conda);
  CHECK(facts->interpreters()->front().version->to_string() == "3.10.14");
}

TEST_CASE("uv's standalone build, found through a link on PATH", "[image][python]") {
  FakeImage image;
  const std::string prefix = "root/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu";
  image.layer(python_files(prefix, "3.12.4", true, false) +
              Files{soft_link("usr/local/bin/python3", "/" + prefix + "/bin/python3.12")});
  const FactsOf facts(image);
  REQUIRE(facts->interpreters()->size() == 1);
  const Interpreter& python = facts->interpreters()->front();
  CHECK(python.kind == Interpreter::Kind::standalone);
  CHECK(python.version->to_string() == "3.12.4");
  CHECK(python.on_path_as == std::vector<std::string>{"python3"});
}

TEST_CASE("what proves an exact version, and what does not", "[image][python]") {
  const auto version_with = [](const std::string& program_text, const std::string& variable) {
    FakeImage image;
    Files files = python_files("usr/local", "3.11.9", true, false);
    files.front().content = python_program(program_text);
    image.layer(files);
    if (!variable.empty()) image.env("PYTHON_VERSION", variable);
    const auto version = FactsOf(image)->interpreters()->front().version;
    return version ? version->to_string() : "none";
  };
  CHECK(version_with("", "3.11.7") == "3.11.7");  // the official images' variable
  CHECK(version_with("", "3.12.1") == "none");    // of another minor: left over from another stage
  CHECK(version_with("Python 3.11.5", "") == "3.11.5");
  CHECK(version_with(std::string("3.11.5\0x\0003.11.6", 15), "") == "none");  // two of them: which one is it?
  CHECK(version_with("pip 3.11.5", "") == "none");
  CHECK(version_with("", "") == "none");
}

TEST_CASE("shims, configs and dangling links are no interpreters", "[image][python]") {
  FakeImage image;
  image.layer({file("root/.pyenv/shims/python", "#!/usr/bin/env bash\nexec pyenv exec python\n", 0755),
               file("usr/bin/python3.11-config", "x", 0755), soft_link("usr/bin/python3", "python3.11"),
               file("opt/pypy/bin/pypy3", python_program(), 0755), soft_link("usr/bin/python", "/opt/pypy/bin/pypy3")});
  image.env("PATH", "/root/.pyenv/shims:/usr/bin");
  const FactsOf facts(image);
  CHECK(facts->interpreters().is_absent());
  CHECK(facts->commands()->at("python3").dangles);
  CHECK(worker(image) == "python is /root/.pyenv/shims/python, which is no Python interpreter that can be read");
}

TEST_CASE("folders that PYTHONPATH, the user's site and .pth files add", "[image][python]") {
  FakeImage image = healthy_worker();
  image.layer({folder("opt/lib"), folder("opt/editable"), folder("root/.local/lib/python3.11/site-packages"),
               file(site.substr(1) + "/extra.pth",
                    "# comment\nimport sys; sys.path.append('/evil')\n/opt/editable\n../../..\nmissing\n"),
               file("opt/lib/ignored.pth", "/root\n")});
  image.env("PYTHONPATH", "/opt/lib:/missing:");
  CHECK(FactsOf(image)->interpreters()->front().site_packages ==
        std::vector<std::string>{"/opt/lib", "/root/.local/lib/python3.11/site-packages", site, "/opt/editable",
                                 "/usr/local"});
  image.env("PYTHONNOUSERSITE", "1");
  CHECK(FactsOf(image)->interpreters()->front().site_packages ==
        std::vector<std::string>{"/opt/lib", site, "/opt/editable", "/usr/local"});
}

TEST_CASE("eggs and linked metadata are distributions, the remains of pip are none", "[image][python]") {
  FakeImage image = healthy_worker();
  const std::string in_site = site.substr(1);
  image.layer({file(in_site + "/old_style-1.0-py3.11.egg-info", "Name: Old.Style\nVersion: 1.0\n"),
               file(in_site + "/folder-2.0.egg-info/PKG-INFO", "Name: folder\nVersion: 2.0\n"),
               file("cache/METADATA", "Name: linked\nVersion: 3.0\n"),
               soft_link(in_site + "/linked-3.0.dist-info/METADATA", "/cache/METADATA"),
               file(in_site + "/~umpy-1.0.dist-info/METADATA", "Name: numpy\nVersion: 1.0\n"),
               file(in_site + "/broken-1.0.dist-info/METADATA", "nothing"),
               file(in_site + "/odd-1.0.dist-info/METADATA", "Name: odd\nVersion: not a version\n")});
  const FactsOf facts(image);
  std::vector<std::string> names;
  for (const Distribution& one : facts->distributions().value())
    names.push_back(one.name + " " + (one.version ? one.version->to_string() : "none"));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"apache-beam 2.66.0", "folder 2.0", "linked 3.0", "odd none", "old-style 1.0",
                                          "pip 24.0"});
}

TEST_CASE("the nearest folder's distribution is the one that counts", "[image][python]") {
  FakeImage image = healthy_worker();
  image.layer(distribution_files("opt/near", "apache-beam", "2.60.0"));
  image.env("PYTHONPATH", "/opt/near");
  const FactsOf facts(image);
  CHECK(facts->beam()->version_text == "2.60.0");
  CHECK(facts->beam_version()->to_string() == "2.60.0");
  CHECK(facts->worker_distributions().size() == 2);
}

TEST_CASE("of two apache-beam in one folder, which one is imported is not known", "[image][python]") {
  FakeImage image = healthy_worker();
  image.layer(distribution_files("usr/local/lib/python3.11/site-packages", "apache-beam", "2.60.0"));
  const FactsOf facts(image);
  CHECK(facts->beam().is_unknown());
  FakeImage once = healthy_worker();
  once.layer(distribution_files("usr/local/lib/python3.11/site-packages", "other", "2.60.0"));
  const FactsOf same(once);
  CHECK(same->beam().is_known());
}

TEST_CASE("the interpreter that each release's boot starts", "[image][worker]") {
  const auto with = [](const std::string& beam, const Files& more,
                       const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    FakeImage image;
    image.layer(debian_files() + boot_files(beam));
    Files files = python_files("usr/local", "3.11.9");
    std::erase_if(files, [](const File& one) { return one.path == "usr/local/bin/python"; });  // python3 alone
    image.layer(files + more);
    for (const auto& [name, value] : variables) image.env(name, value);
    return worker(image);
  };
  const std::string path = "/usr/local/bin/python3.11";
  CHECK(with("2.48.0", {}) == "absent");
  CHECK(with("2.50.0", {}) == "absent");
  CHECK(with("2.51.0", {}) == "python3: " + path);
  CHECK(with("2.66.0", {}, {{"RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "1"}}) == "absent");
  CHECK(with("2.66.0", {}, {{"RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", ""}}) == "python3: " + path);
  CHECK(with("2.48.0", {soft_link("usr/local/bin/python", "python3")}) == "python: " + path);
  CHECK(with("2.66.0", {soft_link("usr/local/bin/python", "gone")}) ==
        "python3: " + path);  // a dangling one does not run
  CHECK(with("2.66.0", {}, {{"PYTHON_PATH", "/usr/local/bin/python3"}}) == "PYTHON_PATH: " + path);
  CHECK(with("2.66.0", {}, {{"PYTHON_PATH", "/app:/lib"}}) == "absent");
  CHECK(with("2.50.0", {soft_link("usr/local/bin/python", "python3")}, {{"PYTHON_PATH", "/app:/lib"}}) ==
        "python: " + path);  // not read yet
}

TEST_CASE("users and the folders that they can write", "[image][user]") {
  FakeImage image = healthy_worker("2.73.0");
  image.layer(
      {folder("srv/own", 0755, 1000, 1000), folder("srv/shared", 0775, 0, 1000), folder("srv/root"), file("srv/file")});
  const auto writable = [&](const std::string& user, const std::string& workdir) {
    FakeImage one = image;
    one.image_config.user = user;
    one.image_config.workdir = workdir;
    return FactsOf(one)->workdir()->writable;
  };
  CHECK(writable("1000:1000", "/srv/own"));
  CHECK(writable("worker", "srv/../srv/shared"));
  CHECK_FALSE(writable("worker", "/srv/root"));
  CHECK_FALSE(writable("worker", "/srv/file"));
  CHECK_FALSE(writable("worker", "/srv/own/missing"));  // the runtime makes it, as root
  CHECK(writable("", "/srv/missing"));
  image.image_config.user = "1000";
  CHECK_FALSE(FactsOf(image)->venv_folder_writable().value());
  image.layer({folder("opt/apache", 0755, 1000, 0)});
  CHECK(FactsOf(image)->venv_folder_writable().value());
  image.image_config.user = "nobody-knows";
  CHECK(FactsOf(image)->workdir().is_unknown());
}

TEST_CASE("machines of compiled files in site-packages", "[image]") {
  FakeImage image = healthy_worker();
  image.layer({file(site.substr(1) + "/a/x.so", small_elf({.machine = 183})),
               file(site.substr(1) + "/a/y.so", small_elf({})), file("usr/lib/z.so", small_elf({.machine = 183}))});
  const FactsOf facts(image);
  CHECK(facts->site_machines()->files == std::map<unsigned, std::size_t>{{62, 1}, {183, 1}});
  CHECK(facts->site_machines()->example.at(183).first == site + "/a/x.so");
}

TEST_CASE("of a variable that is there twice the last value holds", "[image]") {
  FakeImage image = healthy_worker();
  image.env("A", "1").env("A", "2");
  const FactsOf facts(image);
  CHECK(facts->variable("A") == "2");
  CHECK(facts->env()->size() == 2);
}

TEST_CASE("paths that the config names are captured", "[image]") {
  ImageConfig config;
  config.entrypoint = {"start.sh"};
  config.cmd = {"/bin/sh", "-c", "exec /app/run.sh \"$@\""};
  config.workdir = "/srv";
  config.env = {{"PATH", "/opt/bin:bin"}};
  const auto paths = paths_named_by(config);
  for (const char* wanted : {"/opt/bin/start.sh", "/srv/bin/start.sh", "/app/run.sh", "/opt/apache/beam/boot"}) {
    CHECK(std::find(paths.begin(), paths.end(), wanted) != paths.end());
  }
}
