// imgforge render RECIPE...: recipes as Dockerfiles. Nothing is written where any recipe is at fault.
#include "render/render.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"
#include "recipe/parse.hpp"
#include "render/plan.hpp"
#include "render/templates.hpp"

namespace imgforge {

namespace {

struct RenderOptions {
  std::vector<std::string> recipes;
  std::string output;
  std::vector<std::string> overrides;
  bool explain = false;
  std::string templates;
  std::string knowledge;
};

constexpr std::uint64_t recipe_limit = 1 << 20;

struct Planned {
  std::string file;  // as it was named on the command line
  Plan plan;
};

/// A plan knows the places of what it is at odds with, the lines themselves are here.
void show_lines(std::vector<Diagnostic>& diagnostics, const std::string& text) {
  const std::vector<std::string_view> all = lines(text);
  for (Diagnostic& diagnostic : diagnostics) {
    const std::size_t line = diagnostic.place.line;
    if (diagnostic.line_text.empty() && line > 0 && line <= all.size()) diagnostic.line_text = all[line - 1];
  }
}

/// The plans of all recipes, in their order. Every diagnostic goes to stderr before anything is thrown, so that all
/// faults of all recipes can be mended in one go.
std::vector<Planned> plan_all(const RenderOptions& options, const Knowledge& knowledge) {
  std::vector<Planned> plans;
  std::vector<std::string> at_fault;
  std::size_t faults = 0;
  for (const std::string& file : options.recipes) {
    const bool standard_input = file == "-";
    const std::string text = standard_input ? read_standard_input(recipe_limit) : read_file(file, recipe_limit);
    RecipeParse parse = parse_recipe(text, standard_input ? "<stdin>" : file, options.overrides);
    std::vector<Diagnostic> diagnostics = std::move(parse.diagnostics);
    if (parse.recipe) {
      PlanResult result = make_plan(*parse.recipe, knowledge);
      diagnostics.insert(diagnostics.end(), std::make_move_iterator(result.diagnostics.begin()),
                         std::make_move_iterator(result.diagnostics.end()));
      if (result.plan) plans.push_back({standard_input ? "<stdin>" : file, std::move(*result.plan)});
    }
    show_lines(diagnostics, text);
    for (const Diagnostic& diagnostic : diagnostics) {
      tell(to_string(diagnostic));
      if (diagnostic.level == Diagnostic::Level::error) ++faults;
    }
    if (has_errors(diagnostics)) at_fault.push_back(standard_input ? "<stdin>" : file);
  }
  if (!at_fault.empty()) {
    throw Error(ErrorKind::recipe, fmt::format("{} {} in {}, nothing was rendered", faults,
                                               faults == 1 ? "fault" : "faults", join_words(at_fault)));
  }
  return plans;
}

/// Where each Dockerfile goes; two recipes of one name would overwrite each other.
std::vector<std::string> output_files(const RenderOptions& options, const std::vector<Planned>& plans) {
  std::error_code ignored;
  const bool to_folder = std::filesystem::is_directory(options.output, ignored) || options.output.ends_with('/');
  if (!to_folder) {
    if (plans.size() == 1) return {options.output};
    throw Error(ErrorKind::usage,
                fmt::format("-o {} is no folder, and there are {} recipes", options.output, plans.size()),
                "name a folder that exists, or end it in /; each recipe becomes NAME.Dockerfile in it");
  }
  std::vector<std::string> files;
  std::map<std::string, std::string> recipe_of;
  for (const Planned& planned : plans) {
    const std::string& name = planned.plan.recipe.name;
    const auto [other, is_new] = recipe_of.emplace(name, planned.file);
    if (!is_new) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} and {} are both named {}, and would be one file", other->second, planned.file, name),
                  "change the name of one, or render them apart");
    }
    files.push_back((std::filesystem::path(options.output) / (name + ".Dockerfile")).string());
  }
  return files;
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Error(ErrorKind::file, fmt::format("cannot make the folder {}: {}", path, failed.message()));
}

int render(const RenderOptions& options) {
  if (options.recipes.size() > 1 && options.output.empty() && !options.explain) {
    throw Error(ErrorKind::usage, fmt::format("{} recipes do not fit into one Dockerfile", options.recipes.size()),
                "write them into a folder with -o DIR");
  }
  if (std::count(options.recipes.begin(), options.recipes.end(), "-") > 1) {
    throw Error(ErrorKind::usage, "standard input can be read once", "name - once");
  }
  const Knowledge knowledge = load_knowledge(options.knowledge);
  const Templates templates =
      options.templates.empty() ? Templates::embedded() : Templates::with_directory(options.templates);
  const std::vector<Planned> plans = plan_all(options, knowledge);

  // All texts before the first file: what fails leaves nothing behind.
  std::vector<std::string> texts;
  for (const Planned& planned : plans) texts.push_back(render_dockerfile(planned.plan, templates));
  if (options.explain) {
    for (const Planned& planned : plans) {
      if (plans.size() > 1) print(fmt::format("# {}\n", planned.plan.recipe.name));
      print(to_string(planned.plan.derivations));
    }
  }
  if (!options.output.empty()) {
    const std::vector<std::string> files = output_files(options, plans);
    if (options.output.ends_with('/')) make_folder(options.output);
    for (std::size_t i = 0; i < files.size(); ++i) write_file_atomically(files[i], texts[i]);
  } else if (!options.explain) {
    print(texts.front());
  }
  return 0;
}

}  // namespace

void add_render(CLI::App& app, Action& action) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command = app.add_subcommand("render", "Recipes as Dockerfiles");
  command->footer(
      "One recipe goes to stdout where -o is left out; - reads it from stdin. With a folder, each becomes "
      "NAME.Dockerfile in it.\n"
      "Nothing is written where any recipe is at fault.\n\n"
      "Examples:\n"
      "  imgforge render recipes/dataflow-gpu-wheels.yaml\n"
      "  imgforge render worker.yaml --set python.version=3.10 -o Dockerfile\n"
      "  imgforge render worker.yaml --explain");
  command->add_option("RECIPE", options->recipes, "Recipes (YAML), or - for stdin")->required()->type_name("");
  command->add_option("-o,--output", options->output, "The Dockerfile, or a folder for several")->type_name("FILE|DIR");
  command
      ->add_option("--set", options->overrides,
                   "Set a key of every recipe: path=value, as python.version=3.10; may be repeated")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  command->add_flag("--explain", options->explain,
                    "Print each derived value, why, and the row it came from; no Dockerfile without -o");
  command
      ->add_option("--templates", options->templates,
                   "Blocks of this folder (NAME.mustache) in place of the built-in ones")
      ->type_name("DIR");
  command->add_option("--knowledge", options->knowledge, "Lay the tables of this folder over the built-in ones")
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return render(*options); }; });
}

}  // namespace imgforge
