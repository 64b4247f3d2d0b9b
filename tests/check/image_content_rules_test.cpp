#include <catch2/catch.hpp>

#include "gpu_facts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const Evidence in_layer = Evidence::in_layer("sha256:aa", "/x");

Facts with_secret(const Secret& secret) {
  Facts facts = Worker{}.facts();
  facts.secrets = known(std::vector<Secret>{secret});
  return facts;
}
Facts with_size(std::uint64_t compressed, std::uint64_t unpacked) {
  Facts facts = Worker{}.facts();
  facts.image_size = known(ImageSize{compressed, unpacked});
  return facts;
}
Facts with_waste(std::uint64_t bytes, std::uint64_t unpacked) {
  Facts facts = with_size(unpacked / 2, unpacked);
  facts.waste = known(Waste{bytes, {{"/a/", bytes, in_layer}}});
  return facts;
}

const Meant image{.kind = SubjectKind::image};

}  // namespace

TEST_CASE("image/secret", "[rules][content]") {
  CHECK(said("image/secret", Worker{}.facts(), image) == "pass");
  CHECK(said("image/secret", with_secret({"a private key", "/root/.ssh/id_rsa", true, in_layer}), image) == "error");
  CHECK(said("image/secret", with_secret({"an access token", "Env.TOKEN", false, Evidence::in_config("Env.TOKEN")}),
             image) == "error");
  Facts unknown_ones = Worker{}.facts();
  unknown_ones.secrets = unknown<std::vector<Secret>>("too many");
  CHECK(said("image/secret", unknown_ones, image) == "undecided");
}

TEST_CASE("image/too-large", "[rules][content]") {
  Recipe recipe;
  const Meant meant{.recipe = &recipe, .kind = SubjectKind::image};
  CHECK(said("image/too-large", with_size(2'000'000, 0), meant) == "not applicable");
  recipe.checks.max_size = 1'000'000;
  CHECK(said("image/too-large", with_size(2'000'000, 0), meant) == "warning");
  CHECK(said("image/too-large", with_size(1'000'000, 9'000'000), meant) == "pass");
  CHECK(said("image/too-large", with_size(0, 900'000), meant) == "pass");
  CHECK(said("image/too-large", with_size(0, 9'000'000), meant) == "undecided");
}

TEST_CASE("image/wasted-space", "[rules][content]") {
  CHECK(said("image/wasted-space", with_waste(5'000'000, 900'000'000), image) == "note");
  CHECK(said("image/wasted-space", with_waste(900'000, 900'000'000), image) == "pass");
  CHECK(said("image/wasted-space", with_waste(900'000, 4'000'000), image) == "note");
  CHECK(said("image/wasted-space", with_waste(0, 4'000'000), image) == "pass");
  Facts unread = with_size(1, 0);
  unread.waste = unknown<Waste>("not every layer was read");  // a note reads nothing
  CHECK(said("image/wasted-space", unread, image) == "undecided");
}
