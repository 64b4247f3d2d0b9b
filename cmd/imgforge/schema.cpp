// imgforge schema recipe|report: the JSON Schemas, for editors and for programs that read reports.
#include <CLI/CLI.hpp>
#include <memory>

#include "command.hpp"
#include "options.hpp"
#include "recipe/parse.hpp"
#include "report/report.hpp"

namespace imgforge {

void add_schema(CLI::App& app, Action& action) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("schema", "The JSON Schema of recipes, or of reports");
  command->footer("Examples:\n  imgforge schema recipe > recipe.schema.json\n  imgforge schema report");
  command->add_option("WHAT", *what, "recipe or report")
      ->required()
      ->check(CLI::IsMember({"recipe", "report"}))
      ->type_name("");
  command->callback([what, &action] {
    action = [what] {
      print(*what == "recipe" ? recipe_json_schema() : report_json_schema());
      return 0;
    };
  });
}

}  // namespace imgforge
