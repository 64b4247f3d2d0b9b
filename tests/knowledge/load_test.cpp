// Folders given with --knowledge: what replaces a table, and what every kind of broken table gives.
#include <catch2/catch.hpp>

#include "knowledge/compiled.hpp"
#include "support.hpp"

using namespace imgforge;
using test::TableFolder;

namespace {

Version version(std::string_view text) { return *Version::parse(text); }

const std::string head = "table: python_releases\nabout: Minors of CPython for a test.\nas_of: 2027-01-02\nrows:\n";

// All minors that other tables name, then what the test adds.
std::string pythons(const std::string& more = {}) {
  std::string text = head;
  for (const char* minor : {"2.7", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"}) {
    text += std::string("  - {minor: \"") + minor + "\", source: \"a test\"}\n";
  }
  return text + more;
}

}  // namespace

TEST_CASE("a file replaces the table of its name, and the others stay") {
  TableFolder folder;
  folder.write("python_releases.yaml",
               pythons("  - {minor: \"3.42\", end_of_life: 2040-01-01, source: \"a test\", unverified: true}\n"));
  folder.write("README.md", "not a table\n");
  const Knowledge knowledge = Knowledge::with_directory(folder.path());
  const PythonRelease* added = knowledge.python_release({3, 42});
  REQUIRE(added != nullptr);
  CHECK(added->unverified);
  CHECK(*added->end_of_life == *Date::parse("2040-01-01"));
  CHECK_FALSE(added->released);
  CHECK_FALSE(knowledge.python_release({3, 11})->end_of_life);  // replaced, not merged
  CHECK(knowledge.beam_release(version("2.48.0")) != nullptr);
  CHECK(knowledge.version() == "2027.01.02+custom");
  CHECK(Knowledge::embedded().python_release({3, 42}) == nullptr);
}

TEST_CASE("rows may stand in any order") {
  TableFolder folder;
  std::string text = head;
  for (const char* minor : {"3.14", "3.9", "3.10", "2.7", "3.5", "3.6", "3.7", "3.8", "3.11", "3.12", "3.13"}) {
    text += std::string("  - {minor: \"") + minor + "\", source: \"a test\"}\n";
  }
  folder.write("python_releases.yaml", text);
  const Knowledge knowledge = Knowledge::with_directory(folder.path());
  CHECK(knowledge.python_releases().front().minor == PythonMinor{2, 7});
  CHECK(knowledge.python_releases().back().minor == PythonMinor{3, 14});
}

TEST_CASE("the repository's own folder can be laid over the embedded tables") {
  const Knowledge knowledge = Knowledge::with_directory(std::string(IMGFORGE_SOURCE_DIR) + "/knowledge");
  CHECK(knowledge.beam_releases().size() == Knowledge::embedded().beam_releases().size());
}

TEST_CASE("every fault of a table is told at once, each with file and line") {
  TableFolder folder;
  folder.write("python_releases.yaml",
               pythons("  - {minor: 3.10, source: \"a test\"}\n"                         // 16
                       "  - {minor: \"3.43\"}\n"                                         // 17
                       "  - {mino: \"3.44\", source: \"a test\"}\n"                      // 18
                       "  - {minor: \"3.11\", source: \"a test\"}\n"                     // 19
                       "  - {minor: \"3.45\", end_of_life: soon, source: \"a test\"}\n"  // 20
                       "  - {minor: \"3.46\", source: \"\"}\n"                           // 21
                       "  - {minor: \"3.47\", source: \"a test\", unverified: maybe}\n"  // 22
                       "  - [3.48]\n"                                                    // 23
                       "  - {minor: \"3.49\", source: [\"a test\"]}\n"                   // 24
                       "  - {minor: \"3.50\", released: 2030-01-02, end_of_life: 2030-01-01, source: \"a test\"}\n"));
  folder.write("tpus.yaml",
               "table: tpus\nabout: x y\nas_of: 2026-01-01\nrows:\n"
               "  - {type: t, topology: 1x1, machine_type: m, chips: none, vcpus: 1, env: {A: 1}, source: \"a test\"}\n"
               "  - {type: u, topology: 1x1, machine_type: m, chips: 1, vcpus: 1, env: {A: 1}, source: \"a test\"}\n");
  const std::string fault = folder.fault();
  const std::string file = folder.path() + "/python_releases.yaml:";
  for (const std::string& part :
       {file + "16:13: minor: YAML reads 3.10 as a number; write \"3.10\" with quotes",
        file + "17:5: the column \"source\" is missing",
        file + "18:6: unknown column \"mino\" (did you mean \"minor\"?)",
        file + "18:5: the column \"minor\" is missing",
        file + "19:5: a second row for Python 3.11, the first is in line 12",
        file + "20:34: end_of_life: expected a date such as 2026-11-30, found \"soon\"",
        file + "21:29: source: is empty", file + "22:51: unverified: expected true or false, found \"maybe\"",
        file + "23:5: expected a row: a map of columns, found a list",
        file + "24:29: source: expected text, found a list", file + "25:5: end_of_life: is not after released",
        folder.path() + "/tpus.yaml:5:54: chips: expected a whole number",
        folder.path() + "/tpus.yaml:6:5: env: TPU_SKIP_MDS_QUERY is missing"}) {
    CHECK_THAT(fault, Catch::Contains(part));
  }
}

TEST_CASE("faults of a table as a whole") {
  struct Case {
    const char* text;
    const char* fault;
  };
  for (const Case& broken : {
           Case{"", ":1:1: expected a table: a map"},
           Case{"- 1\n", ":1:1: expected a table: a map"},
           Case{"table: pythons\nabout: x y\nas_of: 2026-01-01\nrows: []\n",
                ":1:8: table: this file holds \"python_releases\", not \"pythons\""},
           Case{"table: python_releases\nas_of: 2026-01-01\nrows: []\n", "the key \"about\" is missing"},
           Case{"table: python_releases\nabout: x y\nrows: []\n", "the key \"as_of\" is missing"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\n", "the key \"rows\" is missing"},
           Case{"table: python_releases\nabout: x y\nas_of: today\nrows: []\n", ":3:8: as_of: expected a date"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\nrows: {}\n",
                ":4:7: rows: expected a list of rows, found a map"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\nrow: []\n",
                ":4:1: unknown key \"row\" (did you mean \"rows\"?)"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\ncomplete: 3.11.0\nrows: []\n",
                ":4:11: complete: expected {from"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\ncomplete: {from: 3.12.0, through: "
                "3.11.0}\nrows: []\n",
                ":4:11: complete: from is later than through"},
           Case{"table: python_releases\ntable: python_releases\nabout: x y\nas_of: 2026-01-01\nrows: []\n",
                ":2:1: the key \"table\" is there twice"},
           Case{"table: python_releases\nabout: x y\nas_of: 2026-01-01\nrows: [\n", "not YAML"},
           Case{"table: &t python_releases\nabout: x y\nas_of: 2026-01-01\nrows: &r [*r]\n",
                ":4:11: an alias to something that it is itself a part of"},
           Case{"a: 1\n---\nb: 2\n", "a second document"},
       }) {
    INFO(broken.text);
    TableFolder folder;
    folder.write("python_releases.yaml", broken.text);
    const std::string fault = folder.fault();
    CHECK_THAT(fault, Catch::Contains(folder.path() + "/python_releases.yaml"));
    CHECK_THAT(fault, Catch::Contains(broken.fault));
  }
}

TEST_CASE("each table checks its rows as a whole") {
  struct Case {
    const char* table;
    const char* row;
    const char* fault;
  };
  for (const Case& broken : {
           Case{"beam_releases",
                "{version: 2.20.0, released: 2020-01-01, pythons: [], requires_python: \">=3\", image_base: buster",
                "pythons: a release supports at least one"},
           Case{"beam_releases",
                "{version: 2.20.0, released: 2020-01-01, pythons: [\"3.8\", \"3.7\"], requires_python: \">=3\", "
                "image_base: buster",
                "3.7 is out of order"},
           Case{"beam_releases",
                "{version: 2.20.0, released: 2020-01-01, pythons: [\"3.7\"], requires_python: \">=3.8\", image_base: "
                "buster",
                "3.7 is none of requires_python"},
           Case{"beam_releases",
                "{version: 2.20.0, released: 2020-01-01, pythons: [\"3.7\"], requires_python: \"3 or so\", image_base: "
                "buster",
                "expected a specifier set"},
           Case{"beam_releases",
                "{version: two, released: 2020-01-01, pythons: [\"3.7\"], requires_python: \">=3\", image_base: buster",
                "expected a version such as 2.48.0, found \"two\""},
           Case{"beam_behaviour", "{behaviour: boot_vent, since: 2.44.0, about: x",
                "unknown behaviour \"boot_vent\"; did you mean boot_venv?"},
           Case{"beam_image_pins", "{beam: 2.48.0, python: \"3.11\", packages: {}", "packages: is empty"},
           Case{"beam_image_pins", "{beam: 2.48.0, python: \"3.11\", packages: {Num_Py: 1.2.3}",
                "write num-py for \"Num_Py\""},
           Case{"beam_image_pins", "{beam: 2.48.0, python: \"3.11\", packages: {numpy: 1.23}",
                "numpy: YAML reads 1.23 as a number"},
           Case{"beam_image_pins", "{beam: 2.48.0, python: \"3.11.1\", packages: {numpy: 1.2.3}",
                "expected a Python minor"},
           Case{"base_images", "{repository: 'a(', tag: '.*', kind: os", "repository: not a pattern"},
           Case{"base_images", "{repository: 'a', tag: '[', kind: os", "tag: not a pattern"},
           Case{"base_images", "{repository: 'a', tag: 'b', kind: image", "kind: unknown \"image\""},
           Case{"base_images", "{repository: 'a', tag: 'b', kind: os, python: \"3.11\"",
                "python_path: an absolute path is needed"},
           Case{"base_images",
                "{repository: 'a', tag: '(?P<x>.)', kind: os, python: \"3.11\", python_group: x, python_path: /p",
                "python and python_group: one of them"},
           Case{"base_images", "{repository: 'a', tag: '(?P<x>.)', kind: os, python_group: y, python_path: /p",
                "has one group of that name"},
           Case{"frameworks", "{framework: mxnet, version: 1.0.0", "framework: unknown \"mxnet\""},
           Case{"frameworks", "{framework: jax, version: 1.0.0, gpu_requirement: \"jax[cuda12]==1.0\"",
                "gpu_requirement: expected a name and extras"},
           Case{"frameworks", "{framework: jax, version: 1.0.0, tpu_find_links: \"https://example.com\"",
                "tpu_find_links: without a requirement"},
           Case{
               "frameworks",
               "{framework: jax, version: 1.0.0, tpu_requirement: \"jax[tpu]\", tpu_find_links: \"http://example.com\"",
               "expected an https:// URL"},
           Case{"tpus", "{type: t, topology: 1x1, machine_type: m, chips: 0, vcpus: 1, env: {A: 1}",
                "chips: at least one"},
       }) {
    INFO(broken.table << " " << broken.row);
    TableFolder folder;
    folder.write(std::string(broken.table) + ".yaml", std::string("table: ") + broken.table +
                                                          "\nabout: x y\nas_of: 2026-01-01\nrows:\n  - " + broken.row +
                                                          ", source: \"a test\"}\n");
    const std::string fault = folder.fault();
    CHECK_THAT(fault, Catch::Contains(folder.path() + "/" + broken.table + ".yaml:5:"));
    CHECK_THAT(fault, Catch::Contains(broken.fault));
  }
}

TEST_CASE("tables are checked against each other") {
  struct Case {
    const char* table;
    const char* rows;
    const char* fault;
  };
  for (const Case& broken : {
           Case{"python_releases", "  - {minor: \"3.11\", source: \"a test\"}\n",
                "Python 2.7 is no row of python_releases"},
           Case{"beam_releases",
                "  - {version: 2.48.0, released: 2023-06-01, pythons: [\"3.11\"], requires_python: \">=3.7\", "
                "image_base: woody, source: \"a test\"}\n",
                ":5:5: image_base: woody is no code name in linux_releases"},
           Case{"beam_releases",
                "  - {version: 2.48.0, released: 2023-06-01, pythons: [\"3.77\"], requires_python: \">=3.7\", "
                "image_base: bullseye, source: \"a test\"}\n",
                ":5:5: Python 3.77 is no row of python_releases"},
           Case{"beam_releases",
                "  - {version: 2.48.0, released: 2023-06-01, pythons: [\"3.11\"], requires_python: \">=3.7\", "
                "image_base: bullseye, source: \"a test\"}\n",
                "beam: 2.47.0 is no row of beam_releases"},
           Case{"beam_behaviour", "  - {behaviour: boot_venv, since: 2.44.0, about: x, source: \"a test\"}\n",
                "no row for the behaviour pip_on_path"},
           Case{"beam_behaviour", "  - {behaviour: boot_venv, since: 2.44.9, about: x, source: \"a test\"}\n",
                ":5:5: since: Beam 2.44.9 is no row of beam_releases"},
           Case{"beam_image_pins",
                "  - {beam: 2.48.0, python: \"3.14\", packages: {numpy: 1.2.3}, source: \"a test\"}\n",
                ":5:5: python: Beam 2.48.0 does not have Python 3.14 in beam_releases"},
           Case{"base_images", "  - {repository: a, tag: b, kind: os, os: beos5, source: \"a test\"}\n",
                ":5:5: os: beos5 is no id in linux_releases"},
           Case{"linux_releases", "  - {id: debian99, code_name: x, python: \"3.99\", source: \"a test\"}\n",
                ":5:5: python: 3.99 is no row of python_releases"},
       }) {
    INFO(broken.table << "\n" << broken.rows);
    TableFolder folder;
    folder.write(std::string(broken.table) + ".yaml",
                 std::string("table: ") + broken.table + "\nabout: x y\nas_of: 2026-01-01\nrows:\n" + broken.rows);
    CHECK_THAT(folder.fault(), Catch::Contains(broken.fault));
  }
}

TEST_CASE("a range may not end outside of its table") {
  TableFolder folder;
  std::string text = test::table_file("beam_releases");
  text.replace(text.find("through: 2.77.0"), 15, "through: 2.78.0");
  folder.write("beam_releases.yaml", text);
  CHECK_THAT(folder.fault(), Catch::Contains("complete: 2.78.0 is not in the table itself"));
}

TEST_CASE("file names that are no table's") {
  TableFolder folder;
  CHECK_THAT(folder.fault(), Catch::Contains("no *.yaml file in there"));
  folder.write("beam_release.yaml", "").write("zoo.yaml", "").write("tpus.yml", "");
  const std::string fault = folder.fault();
  CHECK_THAT(fault, Catch::Contains("beam_release.yaml: no table has this name (did you mean beam_releases.yaml?)"));
  CHECK_THAT(fault, Catch::Contains("zoo.yaml: no table has this name (known are beam_releases"));
  CHECK_THAT(fault, Catch::Contains("tpus.yml: a table's file ends in .yaml"));
}

TEST_CASE("a folder that cannot be read, a file that is too large or none") {
  CHECK_THROWS_WITH(Knowledge::with_directory("/nonexistent/folder"), Catch::Contains("/nonexistent/folder"));
  TableFolder folder;
  CHECK_THROWS_WITH(Knowledge::with_directory(folder.path() + "/a\nb"), Catch::Contains("a\\nb"));
  folder.write("tpus.yaml", std::string((1 << 20) + 1, '#'));
  CHECK_THAT(folder.fault(), Catch::Contains("tpus.yaml"));
  std::filesystem::remove(folder.path() + "/tpus.yaml");
  std::filesystem::create_directory(folder.path() + "/tpus.yaml");
  CHECK_THAT(folder.fault(), Catch::Contains("tpus.yaml"));
}

TEST_CASE("many faults end in a count") {
  TableFolder folder;
  std::string text = head;
  for (int i = 0; i < 80; ++i) text += "  - {minor: x, source: \"a test\"}\n";
  folder.write("python_releases.yaml", text);
  const std::string fault = folder.fault();
  CHECK(std::count(fault.begin(), fault.end(), '\n') == 50);
  CHECK_THAT(fault, Catch::EndsWith("and 30 more"));
}

TEST_CASE("compiled tables: same tables, same bytes; damage is an error") {
  std::vector<Diagnostic> diagnostics;
  const YamlNode node = *parse_yaml(test::table_file("tpus"), "tpus.yaml", diagnostics);
  const std::string bytes = knowledge::compile({{"tpus", node}});
  CHECK(bytes == knowledge::compile({{"tpus", node}}));
  const auto table = knowledge::decode<TpuType>(knowledge::Compiled(bytes));
  CHECK(table.rows.size() == 7);
  CHECK(table.rows[0].env[0].first == "TPU_SKIP_MDS_QUERY");
  CHECK_THROWS_WITH(knowledge::decode<PythonRelease>(knowledge::Compiled(bytes)),
                    Catch::Contains("do not hold \"python_releases\""));
  CHECK_THROWS_WITH(
      knowledge::decode<TpuType>(knowledge::Compiled(std::string_view(bytes).substr(0, bytes.size() / 2))),
      Catch::Contains("damaged"));
}
