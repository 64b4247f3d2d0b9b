// What lies in the layers that should not, and how much of it there is.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_told = 25;
constexpr std::uint64_t least_waste = 1'000'000;
constexpr std::uint64_t least_waste_of_small = 64 << 10;

Answer secret(const Case& subject) {
  const Fact<std::vector<Secret>>& secrets = subject.facts.secrets();
  if (secrets.is_unknown()) return undecided_for("secrets in the layers", secrets);
  if (secrets.is_absent()) return Answer::pass();
  std::vector<Answer::Found> found;
  for (const Secret& one : secrets.value()) {
    if (found.size() == max_told) {
      found.push_back({std::nullopt,
                       fmt::format("{} further places hold secrets", secrets->size() - max_told),
                       "take them out as the others",
                       {}});
      break;
    }
    const bool is_file = one.place.starts_with('/');
    const std::string place = escape_for_display(one.place);
    std::string message =
        is_file ? fmt::format("{} is {}", place, one.kind) : fmt::format("{} holds {}", place, one.kind);
    message += one.removed_later
                   ? ": a later layer takes the file away, but whoever pulls the image gets the layer that has it"
                   : ": whoever can pull the image has it";
    const std::string fix =
        is_file
            ? "give the step what it needs by RUN --mount=type=secret, leave the file out of COPY (.dockerignore), "
              "rebuild without the layer, and replace what was published"
            : "give it at run time, or to the step by RUN --mount=type=secret, rebuild, and replace what was published";
    found.push_back({std::nullopt, std::move(message), fix, {one.evidence}});
  }
  return Answer::findings(std::move(found));
}

Answer too_large(const Case& subject) {
  if (subject.recipe == nullptr || !subject.recipe->checks.max_size) return Answer::not_applicable();
  const std::uint64_t budget = *subject.recipe->checks.max_size;
  const Fact<ImageSize>& size = subject.facts.image_size();
  if (!size.is_known()) return undecided_for("the size of the image", size);
  if (size->compressed > budget) {
    return Answer::finding(
        fmt::format("the image has {}, the recipe allows {}", human_size(size->compressed), human_size(budget)),
        "take out what is not needed at run time (imgforge inspect shows the layers), or raise checks.max_size",
        {Evidence::at(subject.recipe->place_of("checks.max_size"))});
  }
  if (size->compressed != 0 || (size->unpacked != 0 && size->unpacked <= budget)) return Answer::pass();
  return Answer::undecided("the compressed size: this source has the layers only as they are unpacked");
}

Answer wasted_space(const Case& subject) {
  const Fact<Waste>& waste = subject.facts.waste();
  if (waste.is_unknown()) return undecided_for("what layers hide", waste);
  if (waste.is_absent()) return Answer::pass();
  const Fact<ImageSize>& size = subject.facts.image_size();
  const std::uint64_t all = size.is_known() ? size->unpacked : 0;
  const bool small =
      all != 0 && all < 20 * least_waste && waste->bytes >= least_waste_of_small && waste->bytes * 20 >= all;
  if (waste->bytes < least_waste && !small) return Answer::pass();
  std::vector<std::string> worst;
  for (const Waste::Path& one : waste->worst) {
    if (worst.size() < 5) worst.push_back(fmt::format("{} ({})", escape_for_display(one.path), human_size(one.bytes)));
  }
  return Answer::finding(
      fmt::format("{} of the layers are files that a later layer deletes or replaces: {}", human_size(waste->bytes),
                  join_words(worst)),
      "delete in the step that makes the files, and change owner and mode by COPY --chown and --chmod",
      waste.evidence());
}

constexpr Rule rules[] = {
    {"image/secret", Level::error, Reach::tree, I,
     "key files or credentials in a layer, also when a later layer deletes them",
     "Whoever can pull the image can read every layer of it, and its history: what is in there has left the house.",
     "Give secrets to the step that needs them, by mount, and replace those that were published.",
     "https://docs.docker.com/build/building/secrets/", secret},
    {"image/too-large", Level::warning, Reach::config, I, "the image is larger than the recipe's checks.max_size",
     "Every worker pulls it before it starts: minutes a start, and disk that the job pays for.",
     "Leave out what only the build needs, or raise the budget.", "docs/recipe.md", too_large},
    {"image/wasted-space", Level::note, Reach::tree, I, "bytes that a later layer overwrites or deletes",
     "A layer cannot take back what is in the one below: it is stored and pulled, and nobody sees it.",
     "Delete in the same step.", "https://docs.docker.com/build/building/best-practices/", wasted_space},
};

}  // namespace

std::span<const Rule> image_content_rules() { return rules; }

}  // namespace imgforge
