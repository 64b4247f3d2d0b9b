// imgforge explain RULE: why a rule exists, its source, how to mend it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/rule.hpp"
#include "command.hpp"
#include "examples.hpp"
#include "options.hpp"
#include "report/style.hpp"
#include "rules_page.hpp"

namespace imgforge {

namespace {

int explain(const std::string& id) {
  const Palette palette{color_on_stdout()};
  if (id.empty()) {
    for (const Rule& rule : all_rules()) print(fmt::format("{:<34} {:<8} {}\n", rule.id, to_string(rule.level), rule.title));
    return 0;
  }
  const Rule* rule = &rule_named(id);
  print(fmt::format("{}  ({})\n\n  A finding when {}.\n\n  why     {}\n  mend    {}\n  source  {}\n", palette.bold(rule->id), to_string(rule->level), rule->title, rule->why,
                    rule->mend, rule->source));
  for (const Example& example : examples_of(rule->id)) {
    std::string text;
    for (const std::string_view line : lines(example.text)) text += line.empty() ? "\n" : fmt::format("    {}\n", line);
    print(fmt::format("\n  {}\n\n{}", palette.bold(example.file.starts_with("trips") ? "trips it" : "mended"), text));
  }
  return 0;
}

int explain_all(const std::string& format) {
  if (format == "md") {
    print(rules_page());
    return 0;
  }
  for (const Rule& rule : all_rules()) {
    if (&rule != &all_rules().front()) print("\n");
    explain(std::string(rule.id));
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto id = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("explain", "Why a rule exists, its source, how to mend it; without a rule, all of them");
  command->footer("Examples:\n  imgforge explain beam/venv-unavailable\n  imgforge explain\n  imgforge explain --all --format md");
  command->add_option("RULE", *id, "The id of a rule")->type_name("");
  command->add_flag("--all", *all, "Every rule, in full");
  command->add_option("--format", *format, "Of --all: text, or md for docs/rules.md")->check(CLI::IsMember({"text", "md"}))->type_name("FORMAT");
  command->callback([id, all, format, &action] {
    action = [id, all, format] {
      if (*all && !id->empty()) throw Error(ErrorKind::usage, "--all goes without a rule");
      if (!*all && *format != "text") throw Error(ErrorKind::usage, "--format goes with --all");
      return *all ? explain_all(*format) : explain(*id);
    };
  });
}

}  // namespace imgforge
