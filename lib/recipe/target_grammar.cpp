// Grammars of what is said about running, judging and pushing the image.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/date.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "recipe/grammar.hpp"
#include "recipe/grammar_words.hpp"

namespace imgforge {

using namespace grammar;

namespace {

bool is_word(char c) noexcept { return is_digit(c) || is_letter(c) || c == '_'; }

Fault resource_name_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; }) && is_lower(text.front()) &&
                 text.back() != '-');
}

Fault option_name_fault(std::string_view text) {
  if (text.starts_with("--")) return "leave out \"--\"";
  if (all(text, [](char c) { return is_word(c) || c == '-'; }) && text.find('-') != std::string_view::npos) {
    std::string spelled(text);
    std::replace(spelled.begin(), spelled.end(), '-', '_');
    return fmt::format("names are written with \"_\", write \"{}\"", spelled);
  }
  return fits_if(all(text, is_word) && !is_digit(text.front()));
}

Fault property_name_fault(std::string_view text) {
  return fits_if(all(text, [](char c) { return is_word(c) || c == '.' || c == '-' || c == ':'; }) &&
                 is_word(text.front()) && is_word(text.back()));
}

Fault runtime_version_fault(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  return fits_if((parts.size() == 2 || parts.size() == 3) &&
                 std::all_of(parts.begin(), parts.end(),
                             [](std::string_view part) { return part.size() <= 4 && all(part, is_digit); }));
}

Fault driver_fault(std::string_view text) {
  if (text == "default" || text == "latest" || text == "none" || text == "5xx") return fits;
  const std::vector<std::string_view> parts = split(text, '.');
  return fits_if(parts.size() <= 3 && parts.front().size() >= 3 &&
                 std::all_of(parts.begin(), parts.end(),
                             [](std::string_view part) { return part.size() <= 4 && all(part, is_digit); }));
}

Fault rule_fault(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0) return no();
  const auto part_fits = [](std::string_view part) {
    return all(part, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
  };
  return fits_if(part_fits(text.substr(0, slash)) && part_fits(text.substr(slash + 1)));
}

Fault date_fault(std::string_view text) { return fits_if(Date::parse(text).has_value()); }

Fault size_fault(std::string_view text) {
  const std::optional<std::uint64_t> size = parse_size(text);
  if (size && *size == 0) return "nothing is that small";
  return fits_if(size.has_value());
}

Fault repository_fault(std::string_view text) {
  std::string why;
  const std::optional<Reference> reference = Reference::parse(text, &why);
  if (!reference) return why;
  if (!reference->tag().empty() || reference->digest()) return "tags have a key of their own: push.tags";
  return fits;
}

Fault tag_fault(std::string_view text) {
  // What the placeholders stand for is checked when it is known.
  std::string left;
  for (std::size_t at = 0; at < text.size();) {
    if (!text.substr(at).starts_with("{{")) {
      left += text[at++];
      continue;
    }
    const std::size_t end = text.find("}}", at);
    if (end == std::string_view::npos) return "\"{{\" has no \"}}\"";
    const std::string_view path = trim(text.substr(at + 2, end - at - 2));
    if (!all(path, [](char c) { return is_word(c) || c == '.'; })) return "between \"{{\" and \"}}\" stands a key";
    left += 'x';
    at = end + 2;
  }
  return fits_if(all(left, [](char c) { return is_word(c) || c == '.' || c == '-'; }) && is_word(left.front()) &&
                 left.size() <= 128);
}

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Unit, 9> units = {{{"TiB", 1ULL << 40},
                                        {"TB", 1'000'000'000'000},
                                        {"GiB", 1ULL << 30},
                                        {"GB", 1'000'000'000},
                                        {"MiB", 1ULL << 20},
                                        {"MB", 1'000'000},
                                        {"KiB", 1ULL << 10},
                                        {"kB", 1000},
                                        {"B", 1}}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const std::string unit = lower(trim(text.substr(end)));
  std::uint64_t factor = unit.empty() ? 1 : 0;
  for (const Unit& known : units) {
    // "G" is "GB", "Gi" is "GiB".
    const std::string name = lower(known.name);
    if (unit == name || (name.size() > 1 && unit == name.substr(0, name.size() - 1))) factor = known.bytes;
  }
  if (factor == 0) return std::nullopt;
  const std::size_t dot = number.find('.');
  const std::optional<std::uint64_t> whole = to_number(number.substr(0, dot));
  constexpr std::uint64_t most = 1ULL << 60;
  if (!whole || *whole > most / factor) return std::nullopt;
  std::uint64_t bytes = *whole * factor;
  if (dot != std::string_view::npos) {
    const std::string_view fraction = number.substr(dot + 1);
    const std::optional<std::uint64_t> parts = to_number(fraction);
    if (!parts || fraction.size() > 3) return std::nullopt;
    std::uint64_t scale = 1;
    for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
    bytes += *parts * factor / scale;
  }
  return bytes;
}

std::string spell_size(std::uint64_t bytes) {
  for (const Unit& unit : units) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) return fmt::format("{}{}", bytes / unit.bytes, unit.name);
  }
  return "0B";
}

std::vector<std::string_view> placeholders(std::string_view tag) {
  std::vector<std::string_view> paths;
  for (std::size_t at = tag.find("{{"); at != std::string_view::npos; at = tag.find("{{", at)) {
    const std::size_t end = tag.find("}}", at);
    if (end == std::string_view::npos) break;
    paths.push_back(trim(tag.substr(at + 2, end - at - 2)));
    at = end + 2;
  }
  return paths;
}

const Grammar resource_name_grammar{.noun = "name of a machine type, region or zone",
                                    .advice = "as the platform calls it: n1-standard-4, europe-west4, europe-west4-a",
                                    .pattern = "^[a-z]([a-z0-9-]*[a-z0-9])?$",
                                    .choices = {},
                                    .longest = 128,
                                    .fault = resource_name_fault};
const Grammar provisioning_grammar{
    .noun = "provisioning model", .advice = {}, .pattern = {}, .choices = {"standard", "flex-start"}};
const Grammar option_name_grammar{.noun = "name of a pipeline option",
                                  .advice = "as Beam spells it in Python: dataflow_service_options",
                                  .pattern = "^[A-Za-z_][A-Za-z0-9_]*$",
                                  .choices = {},
                                  .longest = 256,
                                  .fault = option_name_fault};
const Grammar property_name_grammar{.noun = "name of a Spark property",
                                    .advice = "as spark.executor.instances",
                                    .pattern = "^[A-Za-z0-9_]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?$",
                                    .choices = {},
                                    .longest = 256,
                                    .fault = property_name_fault};
const Grammar runtime_version_grammar{.noun = "runtime version",
                                      .advice = "two or three numbers with dots between, in quotes: \"2.2\"",
                                      .pattern = "^[0-9]{1,4}(\\.[0-9]{1,4}){1,2}$",
                                      .choices = {},
                                      .longest = 64,
                                      .is_version = true,
                                      .fault = runtime_version_fault};
const Grammar driver_grammar{.noun = "driver",
                             .advice = "default, latest, 5xx, a branch as 570, a version as \"570.124.06\", or none",
                             .pattern = "^(default|latest|none|5xx|[0-9]{3,4}(\\.[0-9]{1,4}){0,2})$",
                             .choices = {},
                             .longest = 64,
                             .fault = driver_fault};
const Grammar rule_grammar{.noun = "id of a rule",
                           .advice = "as python/end-of-life; imgforge explain lists them",
                           .pattern = "^[a-z0-9-]+/[a-z0-9-]+$",
                           .choices = {},
                           .longest = 128,
                           .fault = rule_fault};
const Grammar date_grammar{.noun = "date",
                           .advice = "year, month and day: 2027-01-01",
                           .pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
                           .choices = {},
                           .longest = 64,
                           .fault = date_fault};
const Grammar size_grammar{.noun = "size",
                           .advice = "a number and a unit: 12GB, 1.5 GiB",
                           .pattern = "^[0-9]+(\\.[0-9]{1,3})?\\s*([KkMmGgTt]?[Ii]?[Bb]?)$",
                           .choices = {},
                           .longest = 64,
                           .fault = size_fault};
const Grammar repository_grammar{.noun = "repository",
                                 .advice = "as europe-docker.pkg.dev/project/repository",
                                 .pattern = "^[!-~]+$",
                                 .choices = {},
                                 .longest = 512,
                                 .fault = repository_fault};
const Grammar tag_template_grammar{.noun = "tag",
                                   .advice = "letters, digits, \"_\", \".\" and \"-\", and keys as {{beam.version}}",
                                   .pattern = "^[A-Za-z0-9_{]([A-Za-z0-9_.{} -]*[A-Za-z0-9_.}-])?$",
                                   .choices = {},
                                   .longest = 512,
                                   .fault = tag_fault};

}  // namespace imgforge
