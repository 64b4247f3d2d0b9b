// Tables of contents: what they say, what they are believed, and what becomes of those that lie.
#include "layer/toc.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "chunked_layer.hpp"
#include "layer/layer_reader.hpp"

using namespace imgforge;
using namespace imgforge::test;
using Catch::Matchers::Contains;

namespace {

const std::vector<Part> parts = {
    {"usr", "dir", "", "", 0755},
    {"usr/lib", "dir", "", "", 0755},
    {"usr/lib/metadata", "reg", "Name: apache-beam\n"},
    {"usr/lib/empty", "reg"},
    {"usr/lib/large", "reg", std::string(1000, 'a') + std::string(1000, 'b') + std::string(500, 'c')},
    {"usr/lib/link", "symlink", "", "../lib/metadata", 0777},
    {"usr/lib/hard", "hardlink", "", "usr/lib/metadata"},
    {"etc/.wh.passwd", "reg"},
    {"opt/.wh..wh..opq", "reg"},
};

std::string described(const EntryList& entries) {
  std::string text;
  for (const Entry entry : entries) {
    constexpr const char* types[] = {"file", "dir", "link", "hard", "char", "block", "fifo", "whiteout", "opaque"};
    text += std::string(text.empty() ? "" : ", ") + types[static_cast<int>(entry.type)] + " " + entry.path +
            (entry.link.empty() ? "" : ">" + entry.link);
  }
  return text;
}

std::string why_not(const MemoryImage& image) {
  try {
    const auto place = find_toc(image.layers().at(0));
    if (!place) return "no table";
    if (!read_toc(image, 0, *place)) return "no ranges";
    return "read";
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.message();
  }
}

/// A zstd:chunked image whose table is this text.
MemoryImage with_json(const std::string& json) {
  ChunkedLayer layer = chunked_layer({{"a", "reg", "x"}}, false);
  layer.blob.resize(layer.table_offset - 8);
  layer.json = json;
  layer.compressed = zstd(json);
  layer.blob += skippable_frame(layer.compressed);
  MemoryImage image;
  add_chunked(image, layer, false);
  return image;
}

}  // namespace

TEST_CASE("a table of contents is the index of its tar, without the tar", "[toc]") {
  const bool estargz = GENERATE(false, true);
  const std::size_t chunk_size = GENERATE(4096, 1000);
  const ChunkedLayer layer = chunked_layer(parts, estargz, chunk_size);
  MemoryImage image;
  add_chunked(image, layer, estargz);
  const auto place = find_toc(image.layers()[0]);
  REQUIRE(place);
  const auto toc = read_toc(image, 0, *place);
  REQUIRE(toc);
  CHECK(image.opened.at(0) == 0);
  CHECK(toc->index.proof == Proof::toc);
  CHECK(described(toc->index.entries) ==
        "dir usr, dir usr/lib, file usr/lib/metadata, file usr/lib/empty, file usr/lib/large, link "
        "usr/lib/link>../lib/metadata, "
        "hard usr/lib/hard>usr/lib/metadata, whiteout etc/passwd, opaque opt");

  const LayerIndex tar = read_layer(image, 0, {});
  CHECK(first_difference(toc->index, tar) == std::nullopt);

  std::uint64_t bytes_read = 0;
  image.ranges.clear();
  const auto contents = read_toc_files(image, 0, *toc, {4, 2, 3}, bytes_read);
  REQUIRE(contents.size() == 3);
  CHECK(contents.at(2) == parts[2].data);
  CHECK(contents.at(3).empty());
  CHECK(contents.at(4) == parts[4].data);
  CHECK(image.ranges.size() == 1);  // they are neighbours
  CHECK(bytes_read == image.ranges.front().second);
}

TEST_CASE("both dialects of zstd:chunked are found, and nothing that is not one table", "[toc]") {
  const std::string digest = Digest::of("table").to_string();
  const std::string other = Digest::of("other").to_string();
  LayerBlob layer;
  layer.size = 1000;
  const auto with = [&](const std::map<std::string, std::string>& annotations) {
    layer.annotations = annotations;
    return find_toc(layer);
  };
  const std::string ours = "io.github.containers.zstd-chunked.", theirs = "io.containers.zstd-chunked.",
                    json = "containerd.io/snapshot/stargz/toc.digest";
  CHECK_FALSE(with({}));
  CHECK(with({{ours + "manifest-position", "100:50:200:1"}, {ours + "manifest-checksum", digest}})->offset == 100);
  CHECK(with({{theirs + "manifest-position", "100:50:200:1"}, {theirs + "manifest-checksum", digest}})->length == 50);
  CHECK(with({{json, digest}})->kind == TocKind::estargz);
  const auto both =
      with({{json, other}, {theirs + "manifest-position", "100:50:200:1"}, {theirs + "manifest-checksum", digest}});
  REQUIRE(both);
  CHECK(both->kind == TocKind::zstd_chunked);
  CHECK(both->uncompressed->to_string() == other);
  SECTION("two places") {
    CHECK_FALSE(with({{ours + "manifest-position", "100:50:200:1"},
                      {ours + "manifest-checksum", digest},
                      {theirs + "manifest-position", "101:50:200:1"},
                      {theirs + "manifest-checksum", digest}}));
  }
  SECTION("outside of the blob, or no place at all") {
    for (const char* position : {"951:50:200:1", "100:0:200:1", "100:18446744073709551615:2:1", "100:50:200:2",
                                 "100:50:200", "100:50:200:1:1", "-1:50:200:1", "", "a:b:c:d"}) {
      CHECK_FALSE(with({{ours + "manifest-position", position}, {ours + "manifest-checksum", digest}}));
    }
    CHECK_FALSE(with({{ours + "manifest-position", "100:50:200:1"}}));
    CHECK_FALSE(with({{ours + "manifest-position", "100:50:200:1"}, {ours + "manifest-checksum", "sha256:12"}}));
    CHECK_FALSE(with({{json, "md5:12"}}));
  }
}

TEST_CASE("a table with another digest is not believed", "[toc]") {
  const bool estargz = GENERATE(false, true);
  ChunkedLayer layer = chunked_layer(parts, estargz);
  SECTION("the annotation names another") {
    MemoryImage image;
    add_chunked(image, layer, estargz);
    image.annotate(
        estargz ? "containerd.io/snapshot/stargz/toc.digest" : "io.github.containers.zstd-chunked.manifest-checksum",
        Digest::of("x").to_string());
    CHECK_THAT(why_not(image),
               Contains("corrupt") && Contains("digest mismatch of its table of contents") && Contains("layer 1 of 1"));
  }
  SECTION("a byte of it is another") {
    layer.blob[layer.table_offset + layer.compressed.size() / 2] ^= 0x10;
    MemoryImage image;
    add_chunked(image, layer, estargz);
    CHECK_THAT(why_not(image), Contains("corrupt"));
  }
  SECTION("without random access the layer has to be read") {
    MemoryImage image;
    add_chunked(image, layer, estargz);
    image.has_ranges = false;
    CHECK(why_not(image) == "no ranges");
  }
}

TEST_CASE("an eStargz without its footer is damaged", "[toc]") {
  ChunkedLayer layer = chunked_layer(parts, true);
  const std::string cut = GENERATE(std::string(), std::string("x"), std::string(51, '\0'));
  layer.blob.resize(cut.empty() ? layer.blob.size() - 1 : layer.blob.size());
  if (cut.size() == 51) layer.blob.replace(layer.blob.size() - 51, 51, cut);
  if (cut == "x") layer.blob += cut;
  MemoryImage image;
  add_chunked(image, layer, true);
  CHECK_THAT(why_not(image), Contains("no footer"));
}

TEST_CASE("tables that make no sense are refused", "[toc]") {
  const auto [json, why] = GENERATE(table<std::string, std::string>({
      {"", "no valid JSON"},
      {"{\"entries\":[{\"type\":\"reg\"", "no valid JSON"},
      {"[]", "no entries"},
      {"{\"version\":1}", "no entries"},
      {"{\"entries\":[],\"entries\":[]}", "entries twice"},
      {"{\"entries\":[{\"name\":\"a\",\"name\":\"b\",\"type\":\"reg\"}]}", "\"name\" twice"},
      {"{\"entries\":[{\"name\":\"a\",\"type\":\"socket\"}]}", "no type \"socket\""},
      {"{\"entries\":[{\"name\":\"a\"}]}", "no type \"\""},
      {"{\"entries\":[{\"name\":\"a\\u0000b\",\"type\":\"reg\"}]}", "NUL"},
      {"{\"entries\":[{\"name\":\"a\",\"type\":\"reg\",\"size\":-1}]}", "\"size\" has a value"},
      {"{\"entries\":[{\"name\":\"a\",\"type\":\"reg\",\"size\":1e3}]}", "\"size\" has a value"},
      {"{\"entries\":[{\"name\":\"a\",\"type\":\"reg\",\"size\":\"1\"}]}", "\"size\" is no number"},
      {"{\"entries\":[{\"name\":7,\"type\":\"reg\"}]}", "\"name\" has a value"},
      {"{\"entries\":" + std::string(100, '[') + std::string(100, ']') + "}", "nested too deep"},
      {"{\"entries\":[{\"name\":\"" + std::string(5000, 'a') + "\",\"type\":\"reg\"}]}", "path of more than"},
  }));
  CHECK_THAT(why_not(with_json(json)), Contains(why));
}

TEST_CASE("what a table says more than it has to is passed over", "[toc]") {
  const MemoryImage image = with_json(
      R"({"version":9,"more":{"entries":[1]},"entries":[{"name":"./a","type":"dir","xattrs":{"name":"b","size":"x"},"extra":[{"type":"x"}]}],"tail":[[1]]})");
  const auto toc = read_toc(image, 0, *find_toc(image.layers()[0]));
  REQUIRE(toc);
  CHECK(described(toc->index.entries) == "dir a");
}

TEST_CASE("limits of tables are errors, not truncations", "[toc]") {
  const MemoryImage image = with_json(R"({"entries":[{"name":"aaaa","type":"dir"},{"name":"bbbb","type":"dir"}]})");
  const auto limited = [&](const TocLimits& limits) {
    try {
      read_toc(image, 0, *find_toc(image.layers()[0]), limits);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::image_limit;
    }
    return false;
  };
  CHECK(limited({.compressed = 10}));
  CHECK(limited({.uncompressed = 10}));
  CHECK(limited({.entries = 1}));
  CHECK(limited({.path_bytes = 7}));
  CHECK_FALSE(limited({.entries = 2, .path_bytes = 8}));
}

TEST_CASE("contents are held against their digests, and not had without", "[toc]") {
  const auto content_of = [](const std::string& row) -> std::string {
    const MemoryImage image = with_json("{\"entries\":[" + row + "]}");
    const auto toc = read_toc(image, 0, *find_toc(image.layers()[0]));
    std::uint64_t bytes_read = 0;
    try {
      const auto contents = read_toc_files(image, 0, *toc, {0}, bytes_read);
      return contents.contains(0) ? contents.at(0) : "none";
    } catch (const Error& error) {
      return std::string(to_string(error.kind()));
    }
  };
  const std::string at = std::to_string(zstd(tar_header({"a", "reg", "x"})).size());
  const std::string digest = Digest::of("x").to_string();
  const auto row = [&](const std::string& more) {
    return R"({"name":"a","type":"reg","size":1,"offset":)" + at + more + "}";
  };
  CHECK(content_of(row(",\"digest\":\"" + digest + "\"")) == "x");
  CHECK(content_of(row(",\"chunkDigest\":\"" + digest + "\"")) == "x");
  CHECK(content_of(row(",\"digest\":\"" + Digest::of("y").to_string() + "\"")) == "corrupt");
  CHECK(content_of(row("")) == "none");
  CHECK(content_of(row(",\"digest\":\"" + digest + "\",\"chunkOffset\":1")) == "none");
  CHECK(content_of(row(",\"digest\":\"" + digest + "\",\"chunkSize\":2")) == "none");
  CHECK(content_of(row(",\"digest\":\"" + digest + "\",\"innerOffset\":1")) == "corrupt");
  CHECK(content_of(row(",\"digest\":\"" + digest + "\",\"endOffset\":1")) == "x");  // the next thing's begin tells
  CHECK(content_of(R"({"name":"a","type":"reg","size":1,"offset":999999,"digest":")" + digest + "\"}") == "none");
  CHECK(content_of(R"({"name":"a","type":"reg","size":3,"chunkType":"zeros"})") == std::string(3, '\0'));
  CHECK(content_of(R"({"name":"a","type":"reg","size":18446744073709551615,"chunkType":"zeros"})") == "none");
  // A chunk that does not belong to the file in front of it.
  CHECK(content_of(R"({"name":"a","type":"reg","size":2,"chunkSize":1,"offset":)" + at + ",\"chunkDigest\":\"" +
                   digest + R"("},{"type":"chunk","name":"b","offset":)" + at + "}") == "none");
}

TEST_CASE("a table that is not its tar is told apart", "[toc]") {
  const LayerIndex tar = [] {
    MemoryImage image;
    image.add(chunked_layer(parts, false).blob);
    return read_layer(image, 0, {});
  }();
  const auto differs = [&](const std::vector<Part>& said) {
    MemoryImage image;
    add_chunked(image, chunked_layer(said, false), false);
    return first_difference(read_toc(image, 0, *find_toc(image.layers()[0]))->index, tar).value_or("");
  };
  std::vector<Part> said = parts;
  CHECK(differs(said).empty());
  SECTION("one more") {
    said.push_back({"opt/apache/beam/boot", "reg", "ELF"});
    CHECK(differs(said) == "/opt/apache/beam/boot is in the table of contents and not in the tar");
  }
  SECTION("one less") {
    said.erase(said.begin() + 2);
    CHECK(differs(said) == "/usr/lib/metadata is in the tar and not in the table of contents");
  }
  SECTION("a size") {
    said[2].data += "x";
    CHECK_THAT(differs(said), Contains("/usr/lib/metadata: size"));
  }
  SECTION("a mode") {
    said[2].mode = 0755;
    CHECK(differs(said) == "/usr/lib/metadata: mode 0755 in the table of contents, 0644 in the tar");
  }
  SECTION("a link") {
    said[5].link = "/etc/shadow";
    CHECK_THAT(differs(said), Contains("/usr/lib/link: link to"));
  }
  SECTION("a type") {
    said[3].type = "dir";
    CHECK_THAT(differs(said), Contains("/usr/lib/empty is of one type"));
  }
  SECTION("a whiteout") {
    said[7].path = "etc/.wh.shadow";
    CHECK_FALSE(differs(said).empty());
  }
  SECTION("of two entries of one path the later holds") {
    said.insert(said.begin() + 2, {"usr/lib/metadata", "dir"});
    CHECK(differs(said).empty());
  }
}
