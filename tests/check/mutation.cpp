#include "mutation.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "check/check_text.hpp"
#include "recipe/parse.hpp"
#include "render/plan.hpp"
#include "render/render.hpp"
#include "render/templates.hpp"

namespace imgforge {

namespace {

std::vector<Original> read_originals() {
  const Templates templates = Templates::embedded();
  std::vector<Original> found;
  for (const auto& item : std::filesystem::directory_iterator(IMGFORGE_SOURCE_DIR "/recipes")) {
    Original one;
    one.name = item.path().filename().string();
    one.text = read_file(item.path().string(), 1 << 20);
    const auto recipe = parse_recipe(one.text, one.name).recipe;
    REQUIRE(recipe);
    const PlanResult planned = make_plan(*recipe, tables());
    REQUIRE(planned.plan);
    one.recipe = planned.plan->recipe;
    if (planned.plan->base) one.base_kind = planned.plan->base->kind;
    one.keeps = !planned.plan->kept.empty();
    one.dockerfile = render_dockerfile(*planned.plan, templates);
    found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(), [](const Original& a, const Original& b) { return a.name < b.name; });
  return found;
}

std::set<std::string> errors(const std::string& text, const std::string& name,
                             const std::vector<std::string>& overrides) {
  TextCheck options;
  options.overrides = overrides;
  options.today = *Date::parse("2026-11-30");
  std::set<std::string> rules;
  for (const CheckedText& result : check_text(
           text, name, [](const std::string&) { return std::nullopt; }, options, tables())) {
    INFO(name << " " << join(overrides, " ") << ": " << result.fault);
    REQUIRE(result.fault.empty());
    for (const Finding& finding : result.outcome.findings) {
      if (finding.level == Level::error) rules.insert(finding.rule);
    }
  }
  return rules;
}

}  // namespace

const Knowledge& tables() {
  static const Knowledge knowledge = Knowledge::embedded();
  return knowledge;
}

const std::vector<Original>& originals() {
  static const std::vector<Original> all = read_originals();
  return all;
}

const Original& original(const std::string& name) {
  for (const Original& one : originals()) {
    if (one.name == name + ".yaml") return one;
  }
  FAIL("there is no recipe " << name);
  return originals().front();
}

std::set<std::string> errors_of_recipe(const Original& original, const std::vector<std::string>& overrides) {
  return errors(original.text, original.name, overrides);
}

std::set<std::string> errors_of_dockerfile(const std::string& name, const std::string& text) {
  return errors(text, name + ".Dockerfile", {});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool is_no(const Judgement& judgement) { return judgement.fits == Fits::no && !judgement.unverified(); }

std::string shown(const std::set<std::string>& rules) {
  return rules.empty() ? "none" : join(std::vector<std::string>(rules.begin(), rules.end()), ", ");
}

}  // namespace imgforge
