#include "rules_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "examples.hpp"

namespace imgforge {

namespace {

constexpr std::string_view head = R"(# The rules

<!-- Written by `imgforge explain --all --format md` (scripts/update-docs): change the rule, then run that. -->

What `imgforge check` asks of recipes and Dockerfiles, and `imgforge verify` of images. Ids are for ever: they are never
renamed or given to something else.

A rule that applies answers *pass*, *finding* or *undecided* (a fact that it needs is not known); one that does not apply
is silent. Levels: an **error** keeps a worker from starting or from using its accelerator, a **warning** works today and
will bite, a **note** is worth knowing. The level is what a finding has by default; a rule may soften it where its text
says so. `imgforge explain RULE` prints what stands here.
)";

/// What Markdown would read as markup, outside of `code`; addresses in <> so that they are links everywhere.
std::string markdown(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t code = text[i] == '`' ? text.find('`', i + 1) : std::string_view::npos;
    if (code != std::string_view::npos) {
      result += text.substr(i, code + 1 - i);
      i = code + 1;
    } else if (text.substr(i).starts_with("https://") || text.substr(i).starts_with("http://")) {
      std::string_view address = text.substr(i, text.find_first_of(" \n<>", i) - i);
      while (!address.empty() && std::string_view(".,;:)").find(address.back()) != std::string_view::npos)
        address.remove_suffix(1);
      result += fmt::format("<{}>", address);
      i += address.size();
    } else {
      const auto is_word = [&](std::size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
      };
      const bool inside_word = text[i] == '_' && i > 0 && is_word(i - 1) && is_word(i + 1);
      if (std::string_view("\\`*<>[]_").find(text[i]) != std::string_view::npos && !inside_word) result += '\\';
      result += text[i++];
    }
  }
  return result;
}

std::string cell(std::string_view text) {
  std::string result;
  for (const char c : markdown(text)) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string anchor(std::string_view id) {
  std::string result;
  for (const char c : id) {
    if (c != '/') result += c;
  }
  return result;
}

std::string_view group_of(std::string_view id) { return id.substr(0, id.find('/')); }

std::string inputs(unsigned of) {
  std::vector<std::string> words;
  if ((of & R) != 0) words.emplace_back("recipes");
  if ((of & D) != 0) words.emplace_back("Dockerfiles");
  if ((of & I) != 0) words.emplace_back("images");
  return join_words(words);
}

std::string section(const Rule& rule) {
  std::string text = fmt::format(
      "\n### {}\n\nA finding ({}) when {}. Asked of {}.\n\n- **Why:** {}\n- **Mend:** {}\n- **Source:** {}\n", rule.id,
      to_string(rule.level), markdown(rule.title), inputs(rule.inputs), markdown(rule.why), markdown(rule.mend),
      markdown(rule.source));
  for (const Example& example : examples_of(rule.id)) {
    const bool trips = example.file.starts_with("trips");
    text += fmt::format("\n{}\n\n```{}\n{}```\n",
                        trips ? "Trips it:" : "Mended:", example.file.ends_with(".yaml") ? "yaml" : "dockerfile",
                        example.text);
  }
  return text;
}

}  // namespace

std::string rules_page() {
  std::string page(head);
  const std::vector<Rule>& rules = all_rules();
  for (auto first = rules.begin(); first != rules.end();) {
    const std::string_view group = group_of(first->id);
    const auto last = std::find_if(first, rules.end(), [&](const Rule& rule) { return group_of(rule.id) != group; });
    page += fmt::format("\n## {}\n\n| rule | level | a finding when |\n|---|---|---|\n", group);
    for (auto rule = first; rule != last; ++rule) {
      page += fmt::format("| [{}](#{}) | {} | {} |\n", rule->id, anchor(rule->id), to_string(rule->level),
                          cell(rule->title));
    }
    for (auto rule = first; rule != last; ++rule) page += section(*rule);
    first = last;
  }
  return page;
}

}  // namespace imgforge
