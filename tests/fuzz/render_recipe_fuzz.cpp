// Any recipe text: where it parses and can be planned, it renders, twice to the same bytes, and nothing in it gets out
// of its instruction.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.hpp"
#include "recipe/parse.hpp"
#include "render/render.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  static const Knowledge knowledge = Knowledge::embedded();
  static const Templates templates = Templates::embedded();
  const RecipeParse parse = parse_recipe({reinterpret_cast<const char*>(data), size}, "recipe.yaml");
  if (!parse.recipe) return 0;
  const PlanResult result = make_plan(*parse.recipe, knowledge);
  if (result.plan.has_value() == has_errors(result.diagnostics)) std::abort();
  if (!result.plan) return 0;
  const std::string text = render_dockerfile(*result.plan, templates);
  if (text != render_dockerfile(*result.plan, templates)) std::abort();
  std::size_t entrypoints = 0;
  for (const std::string_view line : lines(text)) entrypoints += line.starts_with("ENTRYPOINT") ? 1 : 0;
  if (entrypoints != 1 || !text.ends_with("ENTRYPOINT [\"/opt/apache/beam/boot\"]\n")) std::abort();
  return 0;
}
