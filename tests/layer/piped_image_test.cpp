// A stream whose config comes last, as `docker save` writes it into a pipe: everything is read before anything is
// known.
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "layer/root_view.hpp"
#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

class Piped final : public Image {
 public:
  std::vector<std::string> stream;  // members, in its order
  std::vector<Digest> diff_ids;     // what the config says at its end
  mutable int streams = 0;

  const ImageConfig& config() const override { return config_; }
  const std::vector<LayerBlob>& layers() const override { return layers_; }
  const std::optional<Digest>& digest() const override { return digest_; }
  const Digest& config_digest() const override { return config_digest_; }
  std::unique_ptr<ByteReader> open_layer(std::size_t) const override {
    throw Error(ErrorKind::image_unsupported, "once");
  }
  bool streams_once() const override { return true; }
  bool config_comes_last() const override { return true; }
  void stream_layers(const std::function<void(ByteReader&, std::uint64_t)>& visit) const override {
    if (++streams > 1) throw Error(ErrorKind::image_unsupported, "standard input passes only once");
    MemoryImage members;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      members.add(stream[i]);
      visit(*members.open_layer(i), stream[i].size());
    }
    for (std::size_t i = 0; i < diff_ids.size(); ++i) layers_.push_back({std::nullopt, diff_ids[i], 0, "", i});
  }
  const std::string& name() const override { return name_; }
  std::uint64_t bytes_read() const override { return 0; }

 private:
  ImageConfig config_;
  mutable std::vector<LayerBlob> layers_;
  std::optional<Digest> digest_;
  Digest config_digest_ = Digest::of("");
  std::string name_ = "docker-archive:-";
};

const std::string program =
    "\x7f"
    "ELF" +
    std::string(6000, 'p');
const std::string lower = tar_of(
    {folder("etc"), file("etc/passwd", "root"), file("usr/bin/start", program, 0755), file("data", "some data")});
const std::string upper = tar_of({whiteout("etc/passwd"), file("top", "of it")});

}  // namespace

TEST_CASE("A pipe is read once, and its config says afterwards which layers it was") {
  Piped image;
  image.stream = {upper, tar_of({file("foreign")}), "no layer at all", lower};
  image.diff_ids = {Digest::of(lower), Digest::of(upper)};
  RootView root(image, {});
  CHECK(image.streams == 1);
  CHECK(root.cost().layers_total == 2);
  CHECK(root.cost().layers_read == 2);
  CHECK(root.proof() == Proof::digest);
  CHECK(root.lookup("/top"));
  CHECK_FALSE(root.lookup("/etc/passwd"));  // the order is the config's
  CHECK_FALSE(root.lookup("/foreign"));
  SECTION("the start of every program is known, whatever the config starts") {
    const Lookup found = root.lookup("/usr/bin/start");
    REQUIRE(found);
    CHECK(root.read_prefix(*found.node, 260) == program.substr(0, 260));
    CHECK(image.streams == 1);
  }
  SECTION("what was not kept cannot be had any more, and the error says so") {
    CHECK_THROWS_WITH(root.read("/data", 100), "standard input passes only once");
  }
}

TEST_CASE("Compressed members of a pipe, and one that is there once for two layers") {
  Piped image;
  image.stream = {gzip(lower)};
  image.diff_ids = {Digest::of(lower), Digest::of(lower)};
  RootOptions full;
  full.assurance = Assurance::full;
  RootView root(image, full);
  CHECK(root.read("/etc/passwd", 100) == "root");
  CHECK(root.cost().layers_read == 2);
  CHECK(root.proof() == Proof::full);
}

TEST_CASE("A pipe that lacks a layer, or holds a damaged one") {
  Piped image;
  image.diff_ids = {Digest::of(lower), Digest::of(upper)};
  SECTION("it is not there") {
    image.stream = {lower, tar_of({file("foreign")})};
    CHECK_THROWS_WITH(RootView(image, {}),
                      Catch::Contains("layer 2 of 2") && Catch::Contains("no layer of the stream"));
  }
  SECTION("its tar is damaged") {
    std::string damaged = upper;
    damaged[0] ^= 1;  // the checksum of the first header
    image.stream = {lower, damaged};
    image.diff_ids[1] = Digest::of(damaged);
    CHECK_THROWS_WITH(RootView(image, {}), Catch::Contains("layer 2 of 2") && Catch::Contains("its tar is damaged"));
  }
  SECTION("damage in what is of another image does no harm") {
    std::string damaged = tar_of({file("foreign")});
    damaged[0] ^= 1;
    image.stream = {lower, damaged, upper};
    CHECK(RootView(image, {}).lookup("/top"));
  }
}

TEST_CASE("hostile: a pipe of more layers than any runtime mounts") {
  Piped image;
  image.stream.assign(501, tar_of({file("x")}));
  try {
    RootView root(image, {});
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::image_limit);
  }
}
