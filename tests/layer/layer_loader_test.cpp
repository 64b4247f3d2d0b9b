#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "chunked_layer.hpp"
#include "layer/layer_cache.hpp"
#include "layer/root_view.hpp"
#include "memory_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/imgforge-loader-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Another image in front of which something is changed.
class OddImage final : public Image {
 public:
  explicit OddImage(const MemoryImage& image) : image_(image), layers_(image.layers()) {}

  std::optional<FileStamp> stamp;  // of every layer
  std::function<void()> on_open = [] {};
  std::vector<std::string> stream;  // not empty: it streams once
  std::function<void()> after_stream = [] {};
  mutable int streams = 0;

  /// Layers as a daemon gives them: known by their diff ids.
  void by_diff_ids(const std::vector<std::string>& tars) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      layers_[i].digest.reset();
      layers_[i].diff_id = Digest::of(tars[i]);
      layers_[i].size = 0;
    }
  }

  const ImageConfig& config() const override { return image_.config(); }
  const std::vector<LayerBlob>& layers() const override { return layers_; }
  const std::optional<Digest>& digest() const override { return image_.digest(); }
  const Digest& config_digest() const override { return image_.config_digest(); }
  std::unique_ptr<ByteReader> open_layer(std::size_t index) const override {
    on_open();
    return image_.open_layer(index);
  }
  std::optional<FileStamp> layer_stamp(std::size_t) const override { return stamp; }
  bool streams_once() const override { return !stream.empty(); }
  void stream_layers(const std::function<void(ByteReader&, std::uint64_t)>& visit) const override {
    ++streams;
    MemoryImage members;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      members.add(stream[i]);
      visit(*members.open_layer(i), stream[i].size());
    }
    after_stream();
  }
  const std::string& name() const override { return image_.name(); }
  std::uint64_t bytes_read() const override { return 0; }

 private:
  const MemoryImage& image_;
  std::vector<LayerBlob> layers_;
};

RootOptions with(LayerCache* cache, std::vector<std::string> paths = {}) {
  RootOptions options;
  options.cache = cache;
  options.capture_paths = std::move(paths);
  return options;
}

std::vector<std::string> paths_of(RootView& root) {
  std::vector<std::string> paths;
  root.walk([&](const Node& node) { paths.push_back(node.path); });
  return paths;
}

MemoryImage two_layers() {
  MemoryImage image;
  image.add(gzip(tar_of(
      {folder("etc"), file("etc/passwd", "root"), file("start", "#!/bin/sh", 0755), file("data", "some data")})));
  image.tar({whiteout("etc/passwd"), file("etc/group", "wheel")});
  return image;
}

}  // namespace

TEST_CASE("A layer is read once: then the cache answers") {
  const Folder folder;
  LayerCache cache(folder.path() + "/cache");
  const MemoryImage image = two_layers();
  std::vector<std::string> first;
  {
    RootView root(image, with(&cache));
    first = paths_of(root);
    CHECK(root.cost().layers_read == 2);
    CHECK(root.cost().layers_cached == 0);
  }
  CHECK(image.opened == std::vector<int>{1, 1});
  {
    RootView root(image, with(&cache));
    CHECK(paths_of(root) == first);
    CHECK(root.read("/start", 100) == "#!/bin/sh");
    CHECK(root.read("/etc/group", 100) == "wheel");
    CHECK(root.cost().layers_read == 0);
    CHECK(root.cost().layers_cached == 2);
    CHECK(root.cost().bytes_read == 0);
    CHECK(root.proof() == Proof::digest);
  }
  CHECK(image.opened == std::vector<int>{1, 1});

  SECTION("a content that nobody captured makes it read once more, and is kept") {
    for (int i = 0; i < 2; ++i) {
      RootView root(image, with(&cache));
      CHECK(root.read("/data", 100) == "some data");
      CHECK(root.read("/data", 100) == "some data");
    }
    CHECK(image.opened == std::vector<int>{2, 1});
    RootView root(image, with(&cache));
    CHECK(root.read("/start", 100) == "#!/bin/sh");
  }
  SECTION("not under full assurance") {
    RootOptions options = with(&cache);
    options.assurance = Assurance::full;
    RootView root(image, options);
    root.read_all();
    CHECK(image.opened == std::vector<int>{2, 2});
    CHECK(root.cost().layers_cached == 0);
  }
  SECTION("with more entries than are allowed, it is no answer") {
    RootOptions options = with(&cache);
    options.file_limit = 2;
    RootView root(image, options);
    CHECK_THROWS_AS(root.read_all(), Error);
  }
}

TEST_CASE("What fails is not kept") {
  const Folder folder;
  LayerCache cache(folder.path() + "/cache");
  MemoryImage image;
  image.add(tar_of({file("a")}), {.digest_of = "other"});
  for (int i = 0; i < 2; ++i) {
    RootView root(image, with(&cache));
    CHECK_THROWS_AS(root.lookup("/a"), Error);
  }
  CHECK(cache.info().files == 0);
}

TEST_CASE("Of a file that changes while it is read, nothing is kept") {
  const Folder folder;
  LayerCache cache(folder.path() + "/cache");
  const MemoryImage image = two_layers();
  OddImage odd(image);
  odd.stamp = FileStamp{1, 2, 3, 4, 5, 6};
  std::mutex changing;  // layers are opened side by side
  odd.on_open = [&] {
    const std::lock_guard lock(changing);
    ++odd.stamp->changed_ns;
  };
  {
    RootView root(odd, with(&cache));
    root.read_all();
  }
  CHECK(cache.info().files == 0);
  odd.on_open = [] {};
  {
    RootView root(odd, with(&cache));
    root.read_all();
  }
  CHECK(cache.info().files == 2);
  {
    RootView root(odd, with(&cache));
    root.read_all();
    CHECK(root.cost().layers_cached == 2);
  }
  ++odd.stamp->inode;
  RootView root(odd, with(&cache));
  root.read_all();
  CHECK(root.cost().layers_cached == 0);
}

TEST_CASE("Full assurance checks the diff id of a compressed layer, too") {
  const std::string tar = tar_of({file("a")});
  RootOptions full;
  full.assurance = Assurance::full;
  {
    MemoryImage image;
    image.add(gzip(tar), {.diff_id_of = tar});
    RootView standard(image, {});
    standard.read_all();
    CHECK(standard.proof() == Proof::digest);
    RootView root(image, full);
    root.read_all();
    CHECK(root.proof() == Proof::full);
  }
  MemoryImage image;
  image.add(gzip(tar), {.diff_id_of = "another tar"});
  RootView standard(image, {});
  CHECK(standard.lookup("/a"));
  RootView root(image, full);
  CHECK_THROWS_WITH(root.lookup("/a"), Catch::Contains("its diff id is"));
}

TEST_CASE("A layer passes once more for all contents that go together") {
  std::vector<std::string> members;
  for (int i = 0; i < 40; ++i) members.push_back(file(fmt::format("lib/{}/data", i), fmt::format("data {}", i)));
  members.push_back(file("lib/0/large", std::string(300 << 10, 'l')));
  MemoryImage image;
  image.add(gzip(tar_of(members)));
  RootView root(image, {});
  for (int i = 0; i < 40; ++i) CHECK(root.read(fmt::format("/lib/{}/data", i), 100) == fmt::format("data {}", i));
  CHECK(image.opened == std::vector<int>{2});
  // Of what is large, the start was taken along: the whole of it is one more pass.
  CHECK(root.read_prefix(*root.lookup("/lib/0/large").node, 1000) == std::string(1000, 'l'));
  CHECK(image.opened == std::vector<int>{2});
  CHECK(root.read("/lib/0/large", 1 << 20) == std::string(300 << 10, 'l'));
  CHECK(image.opened == std::vector<int>{3});
}

TEST_CASE("A source that streams once is read in one pass") {
  const std::vector<std::string> tars = {tar_of({folder("etc"), file("etc/passwd", "root"), file("data", "some data")}),
                                         tar_of({file("top", "of it")})};
  MemoryImage image;
  for (const std::string& tar : tars) image.add(tar);
  OddImage odd(image);
  odd.by_diff_ids(tars);
  const std::string foreign = tar_of({file("foreign")});
  odd.stream = {tars[1], foreign, "no tar at all, and of another image", tars[0]};

  SECTION("whatever the order, and what else is in it") {
    RootView root(odd, {});
    CHECK(root.lookup("/top"));
    CHECK(root.lookup("/data"));
    CHECK_FALSE(root.lookup("/foreign"));
    CHECK(root.read("/etc/passwd", 100) == "root");
    CHECK(odd.streams == 1);
    CHECK(root.cost().layers_read == 2);
    CHECK(root.cost().bytes_read > foreign.size());
    CHECK(image.opened == std::vector<int>{0, 0});
    SECTION("and once more for a content that was not captured") {
      CHECK(root.read("/data", 100) == "some data");
      CHECK(root.read("/data", 100) == "some data");
      CHECK(odd.streams == 2);
    }
  }
  SECTION("and once for all that goes with it") {
    std::vector<std::string> lower, upper;
    for (int i = 0; i < 30; ++i) {
      lower.push_back(file(fmt::format("lib/{}/data", i), fmt::format("data {}", i)));
      lower.push_back(file(fmt::format("share/{}", i), fmt::format("share {}", i)));
      upper.push_back(file(fmt::format("opt/{}/data", i), fmt::format("opt {}", i)));
    }
    const std::vector<std::string> many = {tar_of(lower), tar_of(upper)};
    odd.by_diff_ids(many);
    odd.stream = {many[1], many[0]};
    RootView root(odd, {});
    for (int i = 0; i < 30; ++i) {
      CHECK(root.read(fmt::format("/lib/{}/data", i), 100) == fmt::format("data {}", i));
      CHECK(root.read(fmt::format("/opt/{}/data", i), 100) == fmt::format("opt {}", i));
    }
    CHECK(odd.streams == 2);
    for (int i = 0; i < 30; ++i)
      CHECK(root.read(fmt::format("/share/{}", i), 100) == fmt::format("share {}", i));
    CHECK(odd.streams == 3);
  }
  SECTION("but not for ever") {
    std::vector<std::string> members;
    for (int i = 0; i < 9; ++i) members.push_back(file(fmt::format("{}/{}.x{}", i, i, i), fmt::format("odd {}", i)));
    const std::vector<std::string> unrelated = {tar_of(members), tars[1]};
    odd.by_diff_ids(unrelated);
    odd.stream = unrelated;
    RootView root(odd, {});
    for (int i = 0; i < 8; ++i) CHECK(root.read(fmt::format("/{}/{}.x{}", i, i, i), 100) == fmt::format("odd {}", i));
    CHECK(odd.streams == 9);
    CHECK_THROWS_WITH(root.read("/8/8.x8", 100), Catch::Contains("had to be streamed again"));
    CHECK(odd.streams == 9);
  }
  SECTION("nothing that is taken along is believed before the stream's end") {
    odd.stream = tars;
    RootView root(odd, {});
    CHECK(root.lookup("/top"));
    odd.after_stream = [] { throw Error(ErrorKind::image_corrupt, "another config"); };
    CHECK_THROWS_WITH(root.read("/data", 100), "another config");
  }
  SECTION("a layer that is there once may be several of the image") {
    const std::vector<std::string> same = {tars[0], tars[0]};
    OddImage twice(image);
    twice.by_diff_ids(same);
    twice.stream = {tars[0]};
    RootView root(twice, {});
    CHECK(root.lookup("/data"));
    CHECK(root.cost().layers_read == 2);
  }
  SECTION("compressed members are told by their tars") {
    odd.stream = {gzip(tars[0]), gzip(tars[1])};
    RootView root(odd, {});
    CHECK(root.lookup("/top"));
  }
  SECTION("a layer that is missing is an error") {
    odd.stream = {tars[0], foreign};
    RootView root(odd, {});
    CHECK_THROWS_WITH(root.lookup("/top"),
                      Catch::Contains("layer 2 of 2") && Catch::Contains("no layer of the stream"));
  }
  SECTION("and so is one that is damaged, by its own words") {
    std::string damaged = tars[1];
    damaged[0] ^= 1;  // the checksum of the first header
    std::vector<std::string> two = {tars[0], damaged};
    odd.by_diff_ids(two);
    odd.stream = two;
    RootView root(odd, {});
    CHECK_THROWS_WITH(root.lookup("/top"), Catch::Contains("layer 2 of 2") && Catch::Contains("its tar is damaged"));
  }
  SECTION("nothing is handed out of a stream that ends in an error") {
    odd.stream = tars;
    odd.after_stream = [] { throw Error(ErrorKind::image_corrupt, "another config"); };
    RootView root(odd, {});
    CHECK_THROWS_WITH(root.lookup("/top"), "another config");
    CHECK_THROWS_WITH(root.lookup("/top"), "another config");
    CHECK(root.cost().layers_read == 0);
  }
  SECTION("the second time not at all") {
    const Folder folder;
    LayerCache cache(folder.path() + "/cache");
    for (int i = 0; i < 2; ++i) {
      RootView root(odd, with(&cache));
      CHECK(root.lookup("/top"));
      CHECK(root.cost().layers_cached == (i == 0 ? 0 : 2));
    }
    CHECK(odd.streams == 1);
  }
}

namespace {

std::vector<Part> chunked_parts(const std::string& name = "one") {
  return {{"usr", "dir", "", "", 0755},
          {"usr/lib/one.dist-info/METADATA", "reg", "Name: " + name},
          {"usr/lib/two.dist-info/METADATA", "reg", "Name: two"},
          {"usr/lib/data", "reg", "some data"},
          {"usr/lib/link", "symlink", "", "data", 0777}};
}

}  // namespace

TEST_CASE("A layer with a table of contents is not read whole") {
  const bool estargz = GENERATE(false, true);
  const ChunkedLayer layer = chunked_layer(chunked_parts(), estargz);
  MemoryImage image;
  add_chunked(image, layer, estargz);
  const Folder folder;
  LayerCache cache(folder.path() + "/cache");

  SECTION("neither for names nor for contents") {
    {
      RootView root(image, with(&cache));
      CHECK(root.find("/usr/lib/*").size() == 4);
      CHECK(root.read("/usr/lib/link", 100) == "some data");
      const std::size_t requests = image.ranges.size();
      CHECK(root.read("/usr/lib/one.dist-info/METADATA", 100) == "Name: one");
      CHECK(root.read("/usr/lib/two.dist-info/METADATA", 100) == "Name: two");
      CHECK(image.ranges.size() == requests + 1);  // both at once
      CHECK(root.proof() == Proof::toc);
      CHECK(root.cost().bytes_read > 0);
      CHECK(root.cost().layers_read == 1);
    }
    CHECK(image.opened.at(0) == 0);
    image.ranges.clear();
    {
      RootView root(image, with(&cache));
      CHECK(root.find("/usr/lib/*").size() == 4);
      CHECK(root.read("/usr/lib/link", 100) == "some data");
      CHECK(root.read("/usr/lib/two.dist-info/METADATA", 100) == "Name: two");
      CHECK(root.proof() == Proof::toc);
      CHECK(root.cost().layers_cached == 1);
    }
    CHECK(image.ranges.empty());
  }
  SECTION("but where the source has no random access") {
    image.has_ranges = false;
    RootView root(image, {});
    CHECK(root.read("/usr/lib/link", 100) == "some data");
    CHECK(root.proof() == Proof::digest);
    CHECK(image.opened.at(0) >= 1);
  }
  SECTION("and where it stops having it, contents come from the tar") {
    RootView root(image, {});
    CHECK(root.lookup("/usr/lib/data"));
    image.has_ranges = false;
    CHECK(root.read("/usr/lib/data", 100) == "some data");
    CHECK(image.opened.at(0) == 1);
  }
}

TEST_CASE("Full assurance holds a table of contents against its tar") {
  const bool estargz = GENERATE(false, true);
  RootOptions full;
  full.assurance = Assurance::full;
  ChunkedLayer layer = chunked_layer(chunked_parts(), estargz);
  {
    MemoryImage image;
    image.add(layer.blob, {.diff_id_of = layer.tar});
    MemoryImage annotated;
    add_chunked(annotated, layer, estargz);
    for (const auto& [name, value] : annotated.layers()[0].annotations) image.annotate(name, value);
    RootView root(image, full);
    root.read_all();
    CHECK(root.proof() == Proof::full);
    CHECK(image.opened.at(0) == 1);
  }
  if (estargz) return;  // there, another table is another tar
  // A table that hides a file: its digest is right.
  std::vector<Part> fewer = chunked_parts();
  fewer.pop_back();
  const ChunkedLayer other = chunked_layer(fewer, false);
  layer.blob.resize(layer.table_offset - 8);
  layer.json = other.json;
  layer.compressed = other.compressed;
  layer.blob += skippable_frame(layer.compressed);
  MemoryImage image;
  add_chunked(image, layer, false);
  RootView standard(image, {});
  CHECK_FALSE(standard.lookup("/usr/lib/link"));
  RootView root(image, full);
  CHECK_THROWS_WITH(root.read_all(),
                    Catch::Contains("layer 1 of 1") && Catch::Contains("its table of contents is not"));
}
