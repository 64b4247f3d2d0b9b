// imgforge verify IMAGE...: built images, wherever they are: do they keep the contract?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "check/checker.hpp"
#include "check/ignores.hpp"
#include "check/structure_check.hpp"
#include "command.hpp"
#include "facts/from_image.hpp"
#include "options.hpp"
#include "reading.hpp"
#include "recipe/parse.hpp"
#include "report/facts_json.hpp"
#include "report/report.hpp"

namespace imgforge {

namespace {

struct VerifyOptions {
  std::vector<std::string> images;
  ImageOptions image;
  bool all_platforms = false;
  ReadingOptions reading;
  std::string depth = "full";
  std::vector<std::string> select;
  std::vector<std::string> structure_files;
  std::vector<StructureTests> structure_tests;  // of those
  std::string recipe;
  std::string target;
  OutputOptions output;
  std::vector<std::string> ignores;
  std::string fail_on = "error";
  std::string today;
  std::string knowledge;
  bool strict = false;
};

constexpr std::uint64_t recipe_limit = 1 << 20;

/// The recipe of --recipe; faults in it end the run before any image is opened.
std::optional<Recipe> recipe_of_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const RecipeParse parse = path == "-" ? parse_recipe(read_standard_input(recipe_limit), "<stdin>") : parse_recipe(read_file(path, recipe_limit), path);
  for (const Diagnostic& diagnostic : parse.diagnostics) tell(to_string(diagnostic));
  if (!parse.recipe) throw Error(ErrorKind::recipe, fmt::format("the recipe {} is at fault, so no image can be held against it", path));
  return parse.recipe;
}

/// The tests of --structure-test; faults in them end the run before any image is opened.
/// Rules that are asked for by name and need no more than named paths are not to cost the whole image.
Depth depth_of_rules(const VerifyOptions& options, Depth depth) {
  const auto needs_all = [](const std::string& id) { return rule_named(id).reach == Reach::tree; };
  if (options.select.empty() || std::any_of(options.select.begin(), options.select.end(), needs_all)) return depth;
  return Depth::contract;
}

std::vector<StructureTests> structure_tests_of(const std::vector<std::string>& files) {
  constexpr std::uint64_t limit = 1 << 20;
  std::vector<StructureTests> all;
  std::string at_fault;
  for (const std::string& file : files) {
    StructureParse parse = parse_structure_tests(read_file(file, limit), file);
    for (const Diagnostic& diagnostic : parse.diagnostics) tell(to_string(diagnostic));
    if (parse.tests) {
      all.push_back(std::move(*parse.tests));
    } else if (at_fault.empty()) {
      at_fault = file;
    }
  }
  if (!at_fault.empty()) throw Error(ErrorKind::file, fmt::format("the tests in {} are at fault, so no image can be held against them", at_fault));
  return all;
}

/// "--structure-test FILE...": what is written behind the first is taken for an image by the parser of arguments, and no
/// image is called like this.
void move_structure_files(VerifyOptions& options) {
  if (options.structure_files.empty()) return;
  std::vector<std::string> images;
  for (std::string& name : options.images) {
    const bool named = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    (named && name.find(':') == std::string::npos ? options.structure_files : images).push_back(std::move(name));
  }
  options.images = std::move(images);
  if (options.images.empty()) throw Error(ErrorKind::usage, "IMAGE is required", "imgforge verify IMAGE --structure-test FILE...");
}

Subject verify_one(const std::string& name, const SourceOptions& source, const VerifyOptions& options, const std::optional<Recipe>& given,
                   std::optional<Runner> target, const Knowledge& knowledge, const Date& today, LayerCache* cache) {
  Subject subject;
  subject.name = options.all_platforms && source.platform_asked ? fmt::format("{} ({})", name, source.platform.to_string()) : name;
  std::unique_ptr<Image> image;
  std::unique_ptr<RootView> root;
  try {
    image = open_image(name, source);
    const auto describe = [&] {
      subject.digest = (image->digest() ? *image->digest() : image->config_digest()).to_string();
      subject.platform = image->config().platform.to_string();
    };
    if (!image->config_comes_last()) describe();
    Progress progress(subject.name, progress_mode(options.reading.progress));
    RootOptions reading = root_options(options.reading, *image, cache, progress);
    // What a test of contents wants is kept in passing, so that no layer is read twice for it.
    for (std::string& path : paths_wanted_by(options.structure_tests, image->config_comes_last() ? ImageConfig{} : image->config()))
      reading.capture_paths.push_back(std::move(path));
    if (wants_many_contents(options.structure_tests)) reading.cache = nullptr;
    root = std::make_unique<RootView>(*image, std::move(reading));
    if (image->config_comes_last()) describe();  // the view has read it all
    subject.depth = options.depth == "contract" ? Depth::contract : Depth::full;
    // Where every layer is needed anyway, several are read at once, not one for each question.
    const Depth asked = depth_of_rules(options, subject.depth);
    if (asked == Depth::full || options.reading.assurance == "full") root->read_all();
    const Facts facts = facts_from_image(*image, *root, knowledge, asked);

    std::optional<Recipe> recipe = given;
    Case input{facts, knowledge, nullptr, false, {}, {}, {}, today};
    if (source.platform_asked) input.platform_asked = source.platform;
    const auto& labels = image->config().labels;
    if (const auto label = labels.find(std::string(recipe_label)); label != labels.end()) {
      RecipeParse parse = parse_recipe_label(label->second);
      if (given) {
        input.label_differs = parse.recipe && to_label_json(*parse.recipe) != to_label_json(*given);
      } else {
        subject.recipe = RecipeUsed{"label", Digest::of(label->second).to_string(), parse.not_understood, ""};
        if (parse.recipe) recipe = std::move(parse.recipe);
        else input.recipe_problem = subject.recipe->problem = parse.diagnostics.empty() ? "it does not parse" : parse.diagnostics.front().message;
      }
    }
    if (given) subject.recipe = RecipeUsed{options.recipe, Digest::of(to_label_json(*given)).to_string(), {}, ""};
    input.recipe = recipe ? &*recipe : nullptr;
    input.judged_as = judge_target(facts, input.recipe, target, given ? RecipeFrom::user : RecipeFrom::label);
    subject.judged_as = input.judged_as;
    const CheckOptions judging{*parse_level(options.fail_on), subject.depth, options.select};
    subject.outcome = check(input, judging);
    // Never those of the label: an image cannot waive its own faults.
    Ignores ignores;
    if (given) ignores.add(*given);
    for (const std::string& text : options.ignores) ignores.add_option(text);
    ignores.apply(subject.outcome, today, judging, SubjectKind::image);
    subject.outcome.warnings = ignores.warnings(today);
    if (!options.structure_tests.empty()) {
      check_structure(options.structure_tests, image->config(), *root, subject.outcome);
      std::stable_sort(subject.outcome.findings.begin(), subject.outcome.findings.end(),
                       [](const Finding& one, const Finding& other) { return one.level > other.level; });
      subject.outcome.verdict = verdict_of(subject.outcome, judging);
    }
    if (options.output.format == ReportFormat::json) {
      auto values = std::make_shared<nlohmann::json>();
      auto evidence = std::make_shared<nlohmann::json>();
      facts_to_json(facts, *values, *evidence);
      subject.facts = std::move(values);
      subject.facts_evidence = std::move(evidence);
    }
  } catch (const Error& error) {
    if (exit_code(error.kind()) == 2) throw;
    subject.error = SubjectError{error.kind(), error.message(), error.hint()};
    subject.outcome = {};
  }
  if (root) {
    subject.cost = root->cost();
    subject.proof = root->proof();
  }
  if (image) {
    subject.cost.bytes_read += image->bytes_read();
    subject.cost.bytes_total += image->bytes_read();
  }
  return subject;
}

/// The image for one platform, or, with --all-platforms, each image of the index; a single image is one as ever.
std::vector<SourceOptions> platforms_to_verify(const std::string& name, const VerifyOptions& options) {
  SourceOptions source = source_options(options.image);
  if (!options.all_platforms) return {source};
  const std::vector<Platform> platforms = platforms_of(name, source);
  if (platforms.size() == 1) source.platform = platforms.front();
  if (platforms.size() == 1) return {source};
  std::vector<SourceOptions> result;
  for (const Platform& platform : platforms) {
    result.push_back(source);
    result.back().platform = platform;
    result.back().platform_asked = true;
  }
  return result;
}

int verify(VerifyOptions options) {
  move_structure_files(options);
  std::optional<Runner> target;
  if (!options.target.empty()) target = target_of(options.target);
  for (const std::string& text : options.ignores) Ignores().add_option(text);  // before any image is opened
  for (const std::string& id : options.select) rule_named(id);
  const Knowledge knowledge = load_knowledge(options.knowledge);
  const std::optional<Recipe> recipe = recipe_of_file(options.recipe);
  options.structure_tests = structure_tests_of(options.structure_files);
  const std::unique_ptr<LayerCache> cache = open_cache(options.reading);
  Report report{{}, date_or_today(options.today), knowledge.version(), *parse_level(options.fail_on)};
  for (const std::string& name : options.images) {
    std::vector<SourceOptions> sources;
    try {
      sources = platforms_to_verify(name, options);
    } catch (const Error& error) {
      if (exit_code(error.kind()) == 2) throw;
      report.subjects.emplace_back().name = name;
      report.subjects.back().error = SubjectError{error.kind(), error.message(), error.hint()};
    }
    for (const SourceOptions& source : sources)
      report.subjects.push_back(verify_one(name, source, options, recipe, target, knowledge, report.today, cache.get()));
  }
  write_report(report, options.output);
  return exit_code(report, options.strict);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Do built images keep the contract, and their recipe?");
  command->footer(
      "IMAGE is docker://REF, docker-daemon:NAME, containers-storage:NAME, oci:DIR[:TAG], oci-archive:FILE[:TAG], dir:DIR,\n"
      "docker-archive:FILE[:NAME:TAG|:@INDEX] (- is standard input), a path to one of the last four, or a reference\n"
      "(HOST/REPOSITORY:TAG). Nothing is run, and nothing is unpacked.\n\n"
      "Examples:\n"
      "  imgforge verify europe-docker.pkg.dev/PROJECT/REPO/worker:1\n"
      "  imgforge verify --recipe worker.yaml docker-archive:worker.tar\n"
      "  imgforge verify --depth contract --select beam/boot-missing europe-docker.pkg.dev/PROJECT/REPO/worker:1\n"
      "  imgforge verify --format json --strict oci:build/worker\n"
      "  imgforge verify oci:build/worker --structure-test tests/image.yaml\n"
      "  docker save worker:1 | imgforge verify docker-archive:-");
  command->add_option("IMAGE", options->images, "Images to verify")->required()->type_name("");
  command->add_option("--recipe", options->recipe, "Hold the image against this recipe instead of the one in its label")->type_name("FILE");
  command->add_option("--structure-test", options->structure_files, "Hold the image against a file of container-structure-test, too; several may be given")
      ->type_name("FILE...")->expected(1)->take_all();
  command->add_option("--target", options->target, "dataflow, dataflow-flex, spark-serverless or portable, where no recipe says it")->type_name("TARGET");
  add_image_options(*command, options->image);
  command->add_flag("--all-platforms", options->all_platforms, "Every image of an index, each a subject of its own")->excludes("--platform");
  command
      ->add_option("--depth", options->depth,
                   "full: every rule; contract: only those that the config and named paths answer, which reads little")
      ->check(CLI::IsMember({"full", "contract"}))
      ->type_name("DEPTH")
      ->capture_default_str();
  command->add_option("--select", options->select, "Ask this rule only; may be repeated")->type_name("RULE")->expected(1)->take_all();
  add_reading_options(*command, options->reading);
  add_output_options(*command, options->output);
  command->add_option("--fail-on", options->fail_on, "The level of a finding from which on the verdict is fail")
      ->check(CLI::IsMember({"error", "warning", "note"}))->type_name("LEVEL")->capture_default_str();
  command->add_option("--ignore", options->ignores, "Leave a rule out of the verdict: RULE or RULE=REASON; may be repeated")
      ->type_name("RULE")->expected(1)->take_all();
  command->add_flag("--strict", options->strict, "A verdict of undecided is exit code 1, too");
  command->add_option("--today", options->today, "The date that end-of-life tables are held against")->type_name("YYYY-MM-DD");
  command->add_option("--knowledge", options->knowledge, "Lay the tables of this folder over the built-in ones")->type_name("DIR");
  command->callback([options, &action] { action = [options] { return verify(*options); }; });
}

}  // namespace imgforge
