// imgforge explain RULE: why a rule exists, its source, how to mend it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "check/rule.hpp"
#include "command.hpp"
#include "options.hpp"
#include "report/style.hpp"

namespace imgforge {

namespace {

int explain(const std::string& id) {
  const Palette palette{color_on_stdout()};
  if (id.empty()) {
    for (const Rule& rule : all_rules()) print(fmt::format("{:<34} {:<8} {}\n", rule.id, to_string(rule.level), rule.title));
    return 0;
  }
  const Rule* rule = find_rule(id);
  if (rule == nullptr) {
    std::vector<std::string> known;
    for (const Rule& other : all_rules()) known.emplace_back(other.id);
    const auto meant = nearest(id, known);
    throw Error(ErrorKind::usage, fmt::format("there is no rule {}", escape_for_display(id)),
                meant ? fmt::format("did you mean {}?", *meant) : std::string("imgforge explain lists them all"));
  }
  print(fmt::format("{}  ({})\n\n  A finding when {}.\n\n  why     {}\n  mend    {}\n  source  {}\n", palette.bold(rule->id), to_string(rule->level), rule->title, rule->why,
                    rule->mend, rule->source));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto id = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("explain", "Why a rule exists, its source, how to mend it; without a rule, all of them");
  command->footer("Examples:\n  imgforge explain beam/venv-unavailable\n  imgforge explain");
  command->add_option("RULE", *id, "The id of a rule")->type_name("");
  command->callback([id, &action] { action = [id] { return explain(*id); }; });
}

}  // namespace imgforge
