#include "recipe/matrix.hpp"

#include <fmt/format.h>

#include "recipe/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

using Cells = std::vector<std::vector<std::string>>;

Cells cells(const std::string& matrix) { return matrix_cells(good(least + "matrix: " + matrix + "\n")); }

}  // namespace

TEST_CASE("axes multiply", "[matrix]") {
  CHECK(matrix_cells(good(least)) == Cells{{}});
  CHECK(cells("{axes: {python.version: [\"3.10\", \"3.11\"], beam.boot: [copy, inherit]}}") ==
        Cells{{"python.version=3.10", "beam.boot=copy"},
              {"python.version=3.10", "beam.boot=inherit"},
              {"python.version=3.11", "beam.boot=copy"},
              {"python.version=3.11", "beam.boot=inherit"}});
  for (const std::string none : {"null", "{}", "{axes: {}, include: [], exclude: []}"}) CHECK(cells(none) == Cells{{}});
}

TEST_CASE("values of every kind, as --set takes them", "[matrix]") {
  const std::string text =
      least +
      "matrix: {axes: {packages.pip: [[a, \"b==1\"], c], accelerator.gpu: [{type: nvidia-l4, count: "
      "2}, null], env.MODE: [x y], target.options.experiments: [[e]]}}\n";
  const Cells all = matrix_cells(good(text));
  REQUIRE(all.size() == 4);
  CHECK(all[0] == std::vector<std::string>{"packages.pip=[\"a\",\"b==1\"]",
                                           "accelerator.gpu={\"count\":\"2\",\"type\":\"nvidia-l4\"}", "env.MODE=x y",
                                           "target.options.experiments=[\"e\"]"});
  const RecipeParse first = parse_recipe(text, "r.yaml", all[0]);
  REQUIRE(first.recipe);
  CHECK(first.recipe->packages.pip.size() == 2);
  CHECK(first.recipe->gpu->count == 2);
  CHECK(first.recipe->target.options.front().second.list);
  const RecipeParse last = parse_recipe(text, "r.yaml", all[3]);
  REQUIRE(last.recipe);
  CHECK(last.recipe->packages.pip.size() == 1);
  CHECK_FALSE(last.recipe->gpu);
  CHECK(last.recipe->env.front().second == "x y");
}

TEST_CASE("include and exclude", "[matrix]") {
  const std::string axes = "axes: {python.version: [\"3.10\", \"3.11\"], beam.boot: [copy, inherit]}";
  CHECK(cells("{" + axes + ", exclude: [{python.version: \"3.10\", beam.boot: copy}, {beam.boot: inherit}]}") ==
        Cells{{"python.version=3.11", "beam.boot=copy"}});
  // Adds to the cells that it fits, and never changes an axis.
  CHECK(cells("{axes: {python.version: [\"3.10\", \"3.11\"]}, include: [{python.version: \"3.11\", workdir: /a}, "
              "{env.X: \"1\"}, {python.version: \"3.12\", workdir: /b}]}") ==
        Cells{{"python.version=3.10", "env.X=1"},
              {"python.version=3.11", "workdir=/a", "env.X=1"},
              {"python.version=3.12", "workdir=/b"}});
  CHECK(cells("{include: [{workdir: /a}, {workdir: /b}]}") == Cells{{"workdir=/a"}, {"workdir=/b"}});
}

TEST_CASE("what is no matrix", "[matrix]") {
  const auto fault = [](const std::string& matrix) { return faults("matrix: " + matrix + "\n"); };
  CHECK(
      has(fault("{axes: {python.version: [3.10, 3.11]}}"), "recipe.yaml:4:34: error: python.version: YAML reads 3.10"));
  CHECK(has(fault("{axes: {python.versoin: [a]}}"), "did you mean \"python.version\"?"));
  CHECK(has(fault("{axes: {python: {version: [a]}}}"), "matrix.axes.python: a list of values is expected"));
  CHECK(has(fault("{axes: {python.version: \"3.11\"}}"), "a list of values is expected"));
  CHECK(has(fault("{axes: {python.version: []}}"), "has no values"));
  CHECK(has(fault("{axes: {python.version: [\"3.11\", \"3.11\"]}}"), "has a value twice"));
  CHECK(has(fault("{axes: {\"packages.pip[0]\": [a]}}"), "is no key of a recipe"));
  CHECK(has(fault("{axes: {matrix.axes: [{a: [b]}]}}"), "is the same in every cell"));
  CHECK(has(fault("{axes: {checks.ignore: [[]]}}"), "is the same in every cell"));
  CHECK(has(fault("{axes: {name: [null]}}"), "cannot be taken away"));
  CHECK(has(fault("{axes: {accelerator.gpu: [{typ: x}]}}"), "unknown key \"typ\" in accelerator.gpu"));
  CHECK(has(fault("{axes: {python.version: [\"3.11\"]}, exclude: [{beam.boot: copy}]}"), "beam.boot is no axis"));
  CHECK(has(fault("{axes: {python.version: [\"3.11\"]}, exclude: [{python.version: \"3.12\"}]}"), "no cell has this"));
  CHECK(has(fault("{axes: {python.version: [\"3.11\"]}, exclude: [{python.version: \"3.11\"}]}"),
            "every cell of the matrix is excluded"));
  CHECK(has(fault("{axes: {python.version: [\"3.11\"]}, exclude: [{}]}"), "names no key"));
  CHECK(has(fault("{axis: {}}"), "did you mean \"axes\"?"));
}

TEST_CASE("a matrix has at most a thousand cells", "[matrix]") {
  const auto axis = [](const std::string& path, int values) {
    std::string text = path + ": [";
    for (int i = 0; i < values; ++i) text += fmt::format("v{},", i);
    return text + "]";
  };
  CHECK(cells("{axes: {" + axis("env.A", 10) + ", " + axis("env.B", 10) + ", " + axis("env.C", 10) + "}}").size() ==
        1000);
  CHECK(has(faults("matrix: {axes: {" + axis("env.A", 1001) + "}}\n"), "more than 1000 cells"));
  std::string many;
  for (char name = 'A'; name <= 'Z'; ++name) many += axis(std::string("env.") + name, 100) + ", ";
  CHECK(has(faults("matrix: {axes: {" + many + "}}\n"), "more than 1000 cells"));
}

TEST_CASE("a cell is a recipe with places in the matrix", "[matrix]") {
  const std::string text =
      least + "python: {version: \"3.9\"}\nmatrix:\n  axes:\n    python.version: [\"3.10\", \"3.11\"]\n";
  const Recipe whole = good(text);
  const Cells all = matrix_cells(whole);
  REQUIRE(all.size() == 2);
  const RecipeParse cell = parse_matrix_cell(text, "recipe.yaml", {"beam.version=2.70.0"}, all[1], whole);
  REQUIRE(cell.recipe);
  CHECK(cell.recipe->python_version == PythonMinor{3, 11});
  CHECK(cell.recipe->beam_version == Version::parse("2.70.0"));
  CHECK(cell.recipe->place_of("python.version") == Place{"recipe.yaml", 7, 30});
  CHECK(cell.recipe->place_of("beam.version").file == "--set");
  CHECK(cell.recipe->matrix.empty());
  // What only a combination gets wrong is said with the place of the value.
  const std::string both =
      least + "accelerator: {gpu: {type: nvidia-l4}}\nmatrix: {axes: {accelerator.tpu: [{type: a, topology: 1x1}]}}\n";
  const Recipe tpu = good(both);
  const RecipeParse wrong = parse_matrix_cell(both, "recipe.yaml", {}, matrix_cells(tpu).front(), tpu);
  CHECK_FALSE(wrong.recipe);
  CHECK(has(said(wrong), "gpu and tpu are both there"));
}
