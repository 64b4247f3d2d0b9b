#include "check/check_text.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/ignores.hpp"
#include "dockerfile/dockerfile.hpp"
#include "facts/from_recipe.hpp"
#include "recipe/matrix.hpp"
#include "recipe/parse.hpp"

namespace imgforge {

namespace {

CheckedText judge(Case subject, SubjectKind kind, const TextCheck& options) {
  subject.kind = kind;
  subject.judged_as = judge_target(subject.facts, subject.recipe, options.target, RecipeFrom::user, kind, options.accelerator);
  CheckedText checked;
  checked.kind = kind;
  checked.judged_as = subject.judged_as;
  checked.outcome = check(subject, {options.fail_on});
  return checked;
}

Ignores ignores_of(const TextCheck& options) {
  Ignores ignores;
  for (const std::string& text : options.ignores) ignores.add_option(text);
  return ignores;
}

/// Waives what `ignores` waive in all of `results`, which are of one text, and says what is to be said of them.
void waive(std::vector<CheckedText>& results, Ignores ignores, const TextCheck& options) {
  for (CheckedText& result : results) {
    if (result.judged_as) ignores.apply(result.outcome, options.today, {options.fail_on}, result.kind);
  }
  if (!results.empty()) results.back().outcome.warnings = ignores.warnings(options.today);
}

/// A Dockerfile that does not parse is the finding dockerfile/syntax and nothing else.
Facts of_broken_file(const std::string& name, std::vector<Diagnostic> diagnostics) {
  auto build = std::make_shared<Build>();
  build->file = name;
  build->syntax = std::move(diagnostics);
  Facts facts;
  facts.build = std::move(build);
  return facts;
}

std::vector<CheckedText> check_dockerfile(std::string_view text, const std::string& name, const ContextFile& context,
                                          const TextCheck& options, const Knowledge& knowledge) {
  dockerfile::DockerfileParse parse = dockerfile::parse_dockerfile(text, name);
  const Facts facts = parse.dockerfile ? facts_from_dockerfile(*parse.dockerfile, options.build, context, knowledge)
                                       : of_broken_file(name, parse.diagnostics);
  Case subject{facts, knowledge, nullptr, false, {}, {}, {}, options.today, {}, {}};
  subject.launch = options.launch;
  std::vector<CheckedText> result;
  result.push_back(judge(std::move(subject), SubjectKind::dockerfile, options));
  Ignores ignores = ignores_of(options);
  if (parse.dockerfile) ignores.add(*parse.dockerfile);
  waive(result, std::move(ignores), options);
  return result;
}

CheckedText check_recipe(const Recipe& recipe, const ContextFile& context, const TextCheck& options,
                         const Knowledge& knowledge) {
  const Facts facts = facts_from_recipe(recipe, context, knowledge);
  Case subject{facts, knowledge, &recipe, false, {}, {}, {}, options.today, {}, {}};
  subject.launch = recipe.target.launch;
  if (options.launch.python) subject.launch.python = options.launch.python;
  if (options.launch.beam) subject.launch.beam = options.launch.beam;
  return judge(std::move(subject), SubjectKind::recipe, options);
}

CheckedText not_parsed(std::vector<Diagnostic> diagnostics) {
  CheckedText checked;
  checked.kind = SubjectKind::recipe;
  checked.fault = "the recipe does not parse";
  checked.diagnostics = std::move(diagnostics);
  return checked;
}

std::vector<CheckedText> check_recipe_text(std::string_view text, const std::string& name, const ContextFile& context,
                                           const TextCheck& options, const Knowledge& knowledge) {
  RecipeParse parse = parse_recipe(text, name, options.overrides);
  std::vector<CheckedText> results;
  if (!parse.recipe) {
    results.push_back(not_parsed(std::move(parse.diagnostics)));
    return results;
  }
  const Recipe& whole = *parse.recipe;
  for (const std::vector<std::string>& cell : matrix_cells(whole)) {
    if (cell.empty()) {
      results.push_back(check_recipe(whole, context, options, knowledge));
      continue;
    }
    RecipeParse of_cell = parse_matrix_cell(text, name, options.overrides, cell, whole);
    results.push_back(of_cell.recipe ? check_recipe(*of_cell.recipe, context, options, knowledge)
                                     : not_parsed(std::move(of_cell.diagnostics)));
    results.back().cell = join(cell, ", ");
  }
  results.front().diagnostics.insert(results.front().diagnostics.begin(), parse.diagnostics.begin(),
                                     parse.diagnostics.end());
  Ignores ignores = ignores_of(options);
  ignores.add(whole);
  waive(results, std::move(ignores), options);
  return results;
}

}  // namespace

SubjectKind kind_of_text(std::string_view text, std::string_view name) {
  if (dockerfile::looks_like_dockerfile(text)) return SubjectKind::dockerfile;
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return SubjectKind::recipe;
  if (file.find("ockerfile") != std::string_view::npos || file.find("ontainerfile") != std::string_view::npos) {
    return SubjectKind::dockerfile;
  }
  for (const std::string_view line : lines(text)) {
    if (line.starts_with("apiVersion:")) return SubjectKind::recipe;
  }
  return text.empty() || text.front() == '{' ? SubjectKind::recipe : SubjectKind::dockerfile;
}

std::vector<CheckedText> check_text(std::string_view text, const std::string& name, const ContextFile& context,
                                    const TextCheck& options, const Knowledge& knowledge) {
  return kind_of_text(text, name) == SubjectKind::dockerfile
             ? check_dockerfile(text, name, context, options, knowledge)
             : check_recipe_text(text, name, context, options, knowledge);
}

}  // namespace imgforge
