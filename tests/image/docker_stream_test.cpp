// What `docker save` writes, as a stream: layers in passing, everything else at the end.
#include "image/docker_stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "image/docker_layouts.hpp"
#include "image/docker_manifest.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

/// Gives its bytes in pieces, and then zeros without end where it is told to.
class TextStream final : public ByteReader {
 public:
  explicit TextStream(std::string text, std::size_t piece = 700, bool endless = false)
      : text_(std::move(text)), piece_(piece), endless_(endless) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t wanted = std::min(size, piece_);
    const std::size_t count = text_.copy(buffer, wanted, position_);
    position_ += count;
    if (count != 0 || !endless_) return count;
    std::fill_n(buffer, wanted, '\0');
    return wanted;
  }

 private:
  std::string text_;
  std::size_t piece_;
  bool endless_;
  std::size_t position_ = 0;
};

std::string all_of(ByteReader& reader) {
  std::string bytes;
  char buffer[1000];
  while (const std::size_t count = reader.read(buffer, sizeof buffer)) bytes.append(buffer, count);
  return bytes;
}

struct Pass {
  std::vector<std::string> layers;
  std::unique_ptr<FileTree> files;
};

Pass pass(const std::string& tar, const DockerStreamLimits& limits = {}, std::size_t piece = 700) {
  Pass result;
  result.files = walk_docker_stream(
      std::make_unique<TextStream>(tar, piece), "the stream",
      [&](ByteReader& layer, std::uint64_t size) {
        result.layers.push_back(all_of(layer));
        CHECK(result.layers.back().size() == size);
      },
      limits);
  return result;
}

Error error_of_pass(const std::string& tar, const DockerStreamLimits& limits = {}) {
  return error_of([&] { read_docker_image(*pass(tar, limits).files, "", "x"); });
}

void check_pass(const Files& files, const TinyImage& tiny) {
  for (const std::size_t piece : {1, 511, 100'000}) {
    const Pass result = pass(tar_of(files), {}, piece);
    CHECK(std::set<std::string>(result.layers.begin(), result.layers.end()) ==
          std::set<std::string>(tiny.layers.begin(), tiny.layers.end()));
    const DockerImage image = read_docker_image(*result.files, "", "x");
    CHECK(image.parts.config_digest == Digest::of(tiny.config));
    CHECK(image.parts.layers[1].diff_id == Digest::of(tiny.layers[1]));
    CHECK(image.parts.layers[1].size == tiny.layers[1].size());
  }
}

}  // namespace

TEST_CASE("the three layouts pass as streams, in any order", "[docker-stream]") {
  const TinyImage tiny;
  for (Files files : {docker_20(tiny), skopeo_archive(tiny), docker_25(tiny)}) {
    check_pass(files, tiny);
    std::reverse(files.begin(), files.end());
    check_pass(files, tiny);
    std::sort(files.begin(), files.end());
    check_pass(files, tiny);
  }
}

TEST_CASE("a layer is told by how it begins", "[docker-stream]") {
  const std::string empty_tar(1024, '\0');
  const Pass result = pass(tar_of({{"blobs/sha256/1", "\x1f\x8b\x08 gzip"},
                                   {"blobs/sha256/2", "\x28\xb5\x2f\xfd zstd"},
                                   {"blobs/sha256/3", empty_tar},
                                   {"blobs/sha256/4", "{\"json\": true}"},
                                   {"blobs/sha256/5", std::string(600, ' ')},
                                   {"x/layer.tar", "no tar, and its reader says so"}}));
  REQUIRE(result.layers.size() == 4);
  CHECK(result.layers[2] == empty_tar);
  CHECK(result.layers[3].starts_with("no tar"));
  CHECK(all_of(*result.files->open("blobs/sha256/4")) == "{\"json\": true}");
  CHECK(result.files->size_of("blobs/sha256/3") == 1024u);
}

TEST_CASE("what a visitor leaves unread is skipped, and what it throws comes through", "[docker-stream]") {
  const TinyImage tiny;
  std::size_t seen = 0;
  const auto files = walk_docker_stream(std::make_unique<TextStream>(tar_of(docker_20(tiny))), "the stream",
                                        [&](ByteReader& layer, std::uint64_t) {
                                          char byte = 0;
                                          CHECK(layer.read(&byte, 1) == 1);
                                          ++seen;
                                        });
  CHECK(seen == 2);
  CHECK(read_docker_image(*files, "", "x").parts.config_digest == Digest::of(tiny.config));
  const Error error = error_of([&] {
    walk_docker_stream(
        std::make_unique<TextStream>(tar_of(docker_20(tiny))), "the stream",
        [&](ByteReader&, std::uint64_t) { throw Error(ErrorKind::image_limit, "a layer is too large"); });
  });
  CHECK(error.message() == "a layer is too large");
}

TEST_CASE("streams that are none", "[docker-stream]") {
  CHECK(mentions(error_of_pass(""), "is empty"));
  CHECK(mentions(error_of_pass("\x1f\x8b\x08 whatever"), "gzip -dc"));
  CHECK(mentions(error_of_pass(std::string(10'000, 'z')), "is no tar archive"));
  CHECK(mentions(error_of_pass(tar_of({{"readme", "x"}})), "manifest.json"));
}

TEST_CASE("hostile: a stream that is cut anywhere", "[docker-stream][hostile]") {
  const TinyImage tiny;
  const std::string whole = tar_of(docker_20(tiny));
  for (std::size_t length = 0; length < whole.size() - 2048; length += 301) {
    try {
      const Pass result = pass(whole.substr(0, length));
      read_docker_image(*result.files, "", "x");
      FAIL("an image from " << length << " of " << whole.size() << " bytes");
    } catch (const Error& error) {
      CHECK(exit_code(error.kind()) == 3);
    }
  }
}

TEST_CASE("hostile: a stream without an end", "[docker-stream][hostile]") {
  const TinyImage tiny;
  const auto files = walk_docker_stream(std::make_unique<TextStream>(tar_of(docker_20(tiny)), 5000, true), "the stream",
                                        [](ByteReader&, std::uint64_t) {});
  CHECK(read_docker_image(*files, "", "x").parts.config_digest == Digest::of(tiny.config));
}

TEST_CASE("hostile: documents without an end, of which no more is kept than is allowed", "[docker-stream][hostile]") {
  const TinyImage tiny;
  Files files = docker_20(tiny);
  files.insert(files.begin(), {"sbom", std::string(5 << 20, ' ')});
  CHECK(read_docker_image(*pass(tar_of(files)).files, "", "x").parts.layers.size() == 2);
  const Pass result = pass(tar_of(files));
  CHECK(error_of([&] { result.files->open("sbom"); }).kind() == ErrorKind::image_limit);
  CHECK(error_of_pass(tar_of(docker_20(tiny)), {.document_bytes = 300}).kind() == ErrorKind::image_limit);
  CHECK(error_of_pass(tar_of(docker_20(tiny)), {.tar = {.members = 3}}).kind() == ErrorKind::image_limit);
}

TEST_CASE("hostile: of two members of a name the later holds", "[docker-stream][hostile]") {
  const TinyImage tiny;
  Files files = docker_20(tiny);
  files.emplace_back("manifest.json", "[]");
  CHECK(error_of_pass(tar_of(files)).kind() == ErrorKind::image_not_found);
  files.back().second = "-> nowhere";
  CHECK(error_of_pass(tar_of(files)).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: links in a circle", "[docker-stream][hostile]") {
  const TinyImage tiny;
  Files files = docker_20(tiny);
  replace(files, "bb/layer.tar", "-> ../cc/layer.tar");
  files.emplace_back("cc/layer.tar", "-> ../bb/layer.tar");
  CHECK(error_of_pass(tar_of(files)).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("standard input is a source", "[docker-stream]") {
  const TinyImage tiny;
  const TemporaryFolder folder;
  const std::string tar = tar_of(docker_20(tiny));
  const int before = ::dup(STDIN_FILENO);
  SECTION("a pipe passes once, its config last") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    std::thread writer([&] {
      for (std::size_t done = 0; done < tar.size();) {
        const ssize_t count = ::write(ends[1], tar.data() + done, tar.size() - done);
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
      }
      ::close(ends[1]);
    });
    CHECK(platforms_of("docker-archive:-", {}).size() == 1);
    const auto image = open_image("docker-archive:-:example/worker:latest", {});
    CHECK(image->streams_once());
    CHECK(image->config_comes_last());
    CHECK(image->layers().empty());
    std::vector<std::string> layers;
    image->stream_layers([&](ByteReader& layer, std::uint64_t) { layers.push_back(all_of(layer)); });
    writer.join();
    CHECK(layers == tiny.layers);
    CHECK(image->config_digest() == Digest::of(tiny.config));
    CHECK(image->layers().size() == 2);
    CHECK(image->config().variable("PATH") == "/bin");
    CHECK(error_of([&] { image->stream_layers([](ByteReader&, std::uint64_t) {}); }).kind() ==
          ErrorKind::image_unsupported);
  }
  SECTION("a file is read as one") {
    write_file(folder / "x.tar", tar);
    REQUIRE(::freopen((folder / "x.tar").c_str(), "rb", stdin) != nullptr);
    const auto image = open_image("docker-archive:-", {});
    CHECK_FALSE(image->streams_once());
    CHECK(read_layer_bytes(*image, 1) == tiny.layers[1]);
  }
  ::dup2(before, STDIN_FILENO);
  ::close(before);
}
