#include "check/structure_test.hpp"

#include <catch2/catch.hpp>

#include "check/structure_check.hpp"
#include "layer/memory_image.hpp"

using namespace imgforge;

namespace {

std::vector<std::string> faults_of(const std::string& text) {
  const StructureParse parse = parse_structure_tests(text, "t.yaml");
  CHECK(parse.tests.has_value() == parse.diagnostics.empty());
  std::vector<std::string> all;
  for (const Diagnostic& one : parse.diagnostics) all.push_back(to_string(one.place) + ": " + one.message);
  return all;
}

struct Answers {
  std::map<std::string, std::vector<std::string>> faults;  // messages by id
  std::map<std::string, std::string> undecided;
  std::vector<std::string> passed;
};

/// Three layers: a file, a folder that an opaque one hides, links.
test::MemoryImage some_image() {
  using namespace imgforge::test;
  test::MemoryImage image;
  image.tar({folder("etc"), member("etc/conf", '0', "alpha=1\nbeta=2\n", "", 0640, 7), folder("old"),
             test::file("old/hidden", "x"), folder("tmp", 01777), member("bin/tool", '0', "#!", "", 04755)});
  image.tar({opaque("old"), test::file("old/new", "x"), soft_link("to-etc", "/etc"), soft_link("nowhere", "/gone"),
             test::file("bytes", std::string("\xff\xfe") + "needle"), soft_link("etc/link", "conf")});
  image.tar({test::file("usr/share/doc/a/copyright", "Apache-2.0"),
             test::file("usr/share/doc/b/copyright", "GNU Agpl v3"), folder("usr/share/doc/c")});
  return image;
}

ImageConfig some_config() {
  ImageConfig config;
  config.env = {{"PATH", "/bin"}, {"WHERE", "etc"}, {"API_TOKEN", "c0ffee-c0ffee-1"}};
  config.labels = {{"build-date", "2026-11-30"}};
  config.entrypoint = {"/bin/tool"};
  config.exposed_ports = {"8080/tcp"};
  config.volumes = {"/data"};
  config.workdir = "/app";
  config.user = "nobody";
  return config;
}

Answers answers(const std::string& tests) {
  const StructureParse parse = parse_structure_tests("schemaVersion: 2.0.0\n" + tests, "t.yaml");
  for (const Diagnostic& one : parse.diagnostics) INFO(to_string(one));
  REQUIRE(parse.tests);
  const test::MemoryImage image = some_image();
  const std::vector<StructureTests> all = {*parse.tests};
  RootOptions options;
  options.capture_paths = paths_wanted_by(all, some_config());
  RootView root(image, options);
  Outcome outcome;
  check_structure(all, some_config(), root, outcome);
  // What is wanted was kept in passing; what a link leads to was not known then.
  for (const int times : image.opened) CHECK(times <= (tests.find("/link") == std::string::npos ? 1 : 2));
  Answers result;
  for (const Finding& one : outcome.findings) {
    CHECK(one.level == Level::error);
    CHECK(one.evidence.at(0).place.line > 1);
    CHECK(one.message.find("c0ffee") == std::string::npos);
    CHECK(one.message.find("alpha=1") == std::string::npos);
    result.faults[one.rule].push_back(one.message);
  }
  for (const Undecided& one : outcome.undecided) result.undecided[one.rule] = one.needs;
  result.passed = outcome.passed;
  return result;
}

/// "pass", "undecided", or the first fault.
std::string answer(const std::string& tests) {
  const Answers all = answers(tests);
  if (!all.faults.empty()) return all.faults.begin()->second.front();
  return all.undecided.empty() ? "pass" : "undecided";
}
std::string existence(const std::string& keys) { return answer("fileExistenceTests: [{name: x, " + keys + "}]"); }
std::string content(const std::string& keys) { return answer("fileContentTests: [{name: x, " + keys + "}]"); }
std::string metadata(const std::string& keys) { return answer("metadataTest: {" + keys + "}"); }

}  // namespace

TEST_CASE("structure tests: every key is read, from YAML and from JSON", "[structure]") {
  const StructureParse parse = parse_structure_tests(
      "{\n\t\"schemaVersion\": \"2.0.0\",\n\t\"commandTests\": [{\"name\": \"c\", \"command\": \"id\", \"args\": "
      "[\"-u\"], \"setup\": [[\"a\"]]}],\n"
      "\t\"fileExistenceTests\": [{\"name\": \"e\", \"path\": \"/a\\tb\", \"shouldExist\": false, \"uid\": 1000, "
      "\"gid\": -1}],\n"
      "\t\"metadataTest\": {\"entrypoint\": [], \"exposedPorts\": [8080]}\n}\n",
      "t.json");
  for (const Diagnostic& one : parse.diagnostics) INFO(to_string(one));
  REQUIRE(parse.tests);
  CHECK(parse.tests->commands.at(0).name == "c");
  CHECK(parse.tests->file_existence.at(0).path == "/a\tb");
  CHECK_FALSE(parse.tests->file_existence.at(0).should_exist);
  CHECK(parse.tests->file_existence.at(0).uid == 1000);
  CHECK_FALSE(parse.tests->file_existence.at(0).gid);
  CHECK(parse.tests->metadata.at(0).entrypoint == std::vector<std::string>{});
  CHECK_FALSE(parse.tests->metadata.at(0).cmd);
  CHECK(parse.tests->metadata.at(0).exposed_ports.at(0).text == "8080");
  CHECK(faults_of("schemaVersion: 2.0.0\n").empty());
  CHECK(faults_of("schemaVersion: '2.0.0'\nfileContentTests:\n").empty());
}

TEST_CASE("structure tests: faults with their places, all at once", "[structure]") {
  CHECK(faults_of("") == std::vector<std::string>{"t.yaml: the file is nothing, a map with schemaVersion is expected"});
  CHECK(faults_of("schemaVersion: 1.0.0\n").front() ==
        "t.yaml:1:16: schemaVersion is 1.0.0, 2.0.0 is the one that is read");
  const auto faults = faults_of(
      "schemaVersion: 2.0.0\n"
      "fileExistenceTests:\n"
      "- name: a\n"
      "  paht: /x\n"
      "- {name: b, path: /x, shouldExist: maybe}\n"
      "fileContentTests:\n"
      "- {name: c, path: /x, expectedContents: ['(']}\n"
      "metadataTest: {entrypoint: /bin/sh, env: [{value: x}]}\n");
  REQUIRE(faults.size() == 6);
  CHECK(faults[0] == "t.yaml:3:3: path is missing");
  CHECK(faults[1] == "t.yaml:4:3: there is no key paht");
  CHECK(faults[2] == "t.yaml:5:36: shouldExist is maybe, true or false is expected");
  CHECK(faults[3].starts_with("t.yaml:7:42: the pattern ( does not compile"));
  CHECK(faults[4] == "t.yaml:8:28: entrypoint is text, a list is expected");
  CHECK(faults[5] == "t.yaml:8:43: key is missing");
  CHECK(faults_of("a: [").size() == 1);
}

TEST_CASE("fileExistenceTests", "[structure]") {
  CHECK(existence("path: /etc/conf, permissions: '-rw-r-----', uid: 7, gid: 7") == "pass");
  CHECK(existence("path: /etc/conf, uid: 0") == "/etc/conf belongs to the user 7 and not 0");
  CHECK(existence("path: /etc/conf, gid: 1") == "/etc/conf belongs to the group 7 and not 1");
  CHECK(existence("path: /etc/conf, permissions: '-rw-r--r--'") ==
        "/etc/conf has the permissions -rw-r----- and not -rw-r--r--");
  CHECK(existence("path: $WHERE/conf") == "pass");
  CHECK(existence("path: '${WHERE}/conf'") == "pass");
  CHECK(existence("path: /gone") == "/gone is not there");
  CHECK(existence("path: /gone, shouldExist: false") == "pass");
  CHECK(existence("path: /etc, shouldExist: false") == "/etc is there, and should not be");
  CHECK(existence("path: /old/hidden, shouldExist: false") == "pass");  // below an opaque folder
  CHECK(existence("path: /old/new") == "pass");
  CHECK(existence("path: /to-etc/conf, uid: 7") == "pass");  // a link stays inside
  CHECK(existence("path: /to-etc, permissions: drwxr-xr-x") == "pass");
  CHECK(existence("path: /to-etc, permissions: Lrwxrwxrwx") == "pass");
  CHECK(existence("path: /nowhere") == "/nowhere is a link to /gone, which is not there");
  CHECK(existence("path: /nowhere, shouldExist: false") == "/nowhere is there, and should not be");
  CHECK(existence("path: /tmp, permissions: dtrwxrwxrwx") == "pass");
  CHECK(existence("path: /tmp, permissions: drwxrwxrwt") == "pass");
  CHECK(existence("path: /bin/tool, permissions: urwxr-xr-x, isExecutableBy: other") == "pass");
  CHECK(existence("path: /bin/tool, permissions: -rwsr-xr-x") == "pass");
  CHECK(existence("path: /etc/conf, isExecutableBy: any") == "/etc/conf is not executable by anyone (-rw-r-----)");
  CHECK(existence("path: /") == "pass");
}

TEST_CASE("fileContentTests", "[structure]") {
  CHECK(content("path: /etc/conf, expectedContents: ['alpha=\\d', 'beta'], excludedContents: [gamma]") == "pass");
  CHECK(content("path: /etc/link, expectedContents: [beta]") == "pass");
  CHECK(content("path: /etc/conf, expectedContents: ['^beta']") ==
        "/etc/conf has nothing that matches ^beta");  // not (?m)
  CHECK(content("path: /etc/conf, expectedContents: ['(?m)^beta']") == "pass");
  CHECK(content("path: /etc/conf, excludedContents: [beta]") == "/etc/conf has something that matches beta");
  CHECK(content("path: /etc, expectedContents: [a]") == "/etc is a folder, and no file");
  CHECK(content("path: /gone, excludedContents: [a]") == "/gone is not there");
  CHECK(content("path: /bytes, expectedContents: ['^..needle$']") == "pass");
}

TEST_CASE("metadataTest", "[structure]") {
  CHECK(metadata("env: [{key: PATH, value: /bin}], envVars: [{key: WHERE, value: '^e', isRegex: true}]") == "pass");
  CHECK(metadata("env: [{key: PATH, value: /usr}]") == "the variable PATH is \"/bin\" and not \"/usr\"");
  CHECK(metadata("env: [{key: NONE, value: x}]") == "the variable NONE is not set");
  CHECK(metadata("env: [{key: API_TOKEN, value: other-one}]").find("may be a secret") != std::string::npos);
  CHECK(metadata("unboundEnvVars: [{key: NONE}]") == "pass");
  CHECK(metadata("unboundEnvVars: [{key: PATH}]") == "the variable PATH is set, and should not be");
  CHECK(metadata("labels: [{key: build-date, value: '^\\d{4}-', isRegex: true}]") == "pass");
  CHECK(metadata("labels: [{key: build-date, value: '^x', isRegex: true}]") ==
        "the label build-date is \"2026-11-30\" and does not match \"^x\"");
  CHECK(metadata("entrypoint: [/bin/tool], cmd: []") == "pass");
  CHECK(metadata("entrypoint: []") == "ENTRYPOINT is [\"/bin/tool\"] and not []");
  CHECK(metadata("cmd: [a]") == "CMD is [] and not [\"a\"]");
  CHECK(metadata("exposedPorts: ['8080'], unexposedPorts: ['22'], volumes: [/data], unmountedVolumes: [/x]") == "pass");
  CHECK(metadata("exposedPorts: [8080/tcp]") == "pass");
  CHECK(metadata("exposedPorts: ['80']") == "the port 80 is not exposed");
  CHECK(metadata("unexposedPorts: ['8080']") == "the port 8080 is exposed, and should not be");
  CHECK(metadata("volumes: [/x]") == "the volume /x is not declared");
  CHECK(metadata("unmountedVolumes: [/data]") == "the volume /data is declared, and should not be");
  CHECK(metadata("workdir: /app/, user: nobody") == "pass");
  CHECK(metadata("workdir: /srv") == "WORKDIR is \"/app\" and not \"/srv\"");
  CHECK(metadata("user: root") == "USER is \"nobody\" and not \"root\"");
}

TEST_CASE("licenseTests", "[structure]") {
  const Answers all = answers("licenseTests: [{debian: true}, {debian: false, files: [/usr/share/doc/a/copyright]}]");
  CHECK(all.passed == std::vector<std::string>{"structure-test/license-2"});
  REQUIRE(all.faults.contains("structure-test/license"));
  CHECK(all.faults.at("structure-test/license") ==
        std::vector<std::string>{"/usr/share/doc/b/copyright names the license AGPL",
                                 "/usr/share/doc/c/copyright is not there"});
}

TEST_CASE("commandTests are never passed; ids are of names", "[structure]") {
  const Answers all = answers(
      "commandTests: [{name: 'Runs it!', command: id}]\n"
      "fileExistenceTests:\n"
      "- {name: Runs it, path: /}\n"
      "- {name: \"\\u001b[2J--\", path: /}\n"
      "- {name: '***', path: /}\n");
  CHECK(all.passed ==
        std::vector<std::string>{"structure-test/runs-it-2", "structure-test/2j", "structure-test/unnamed"});
  REQUIRE(all.undecided.size() == 1);
  CHECK(all.undecided.begin()->first == "structure-test/runs-it");
  CHECK(all.undecided.begin()->second.find("runs nothing") != std::string::npos);
}
