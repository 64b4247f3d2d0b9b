// What docker save, podman save and skopeo write.
#include <catch2/catch.hpp>

#include "image/file_tree.hpp"
#include "image/docker_layouts.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

void check_image(const Image& image, const TinyImage& tiny) {
  CHECK(image.config_digest() == Digest::of(tiny.config));
  REQUIRE(image.layers().size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(image.layers()[i].size == tiny.layers[i].size());
    CHECK(image.layers()[i].diff_id == Digest::of(tiny.layers[i]));
    CHECK(read_layer_bytes(image, i) == tiny.layers[i]);
  }
}

}  // namespace

TEST_CASE("the three layouts of a docker-archive", "[docker-archive]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  for (const Files& files : {docker_20(tiny), skopeo_archive(tiny), docker_25(tiny)}) {
    const std::string path = write_tar(files, folder / "image.tar");
    const auto named = open_image("docker-archive:" + path, {});
    check_image(*named, tiny);
    CHECK_FALSE(named->digest());
    check_image(*open_image(path, {}), tiny);
    check_image(*open_image("docker-archive:" + path + ":example/worker:latest", {}), tiny);
    check_image(*open_image("docker-archive:" + path + ":docker.io/example/worker", {}), tiny);
  }
}

TEST_CASE("a name is a proof only where it says the digest", "[docker-archive]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  CHECK_FALSE(open_image("docker-archive:" + write_tar(docker_20(tiny), folder / "a.tar"), {})->layers()[0].digest);
  const std::string hybrid = write_tar(docker_25(tiny), folder / "b.tar");
  CHECK(open_image("docker-archive:" + hybrid, {})->layers()[0].digest == Digest::of(tiny.layers[0]));
  // As a bare path the layout is taken, which has a manifest with a digest, too.
  CHECK(open_image(hybrid, {})->digest() == Digest::of(tiny.manifest));
}

TEST_CASE("layers that are links are read where they point", "[docker-archive]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files files = skopeo_archive(tiny);
  replace(files, "manifest.json", "[" + row(config_name(tiny), "null", {"aa/layer.tar", "bb/layer.tar"}) + "]");
  check_image(*open_image(write_tar(files, folder / "a.tar"), {}), tiny);
  replace(files, "bb/layer.tar", "=> " + Digest::of(tiny.layers[1]).hex() + ".tar");
  check_image(*open_image(write_tar(files, folder / "b.tar"), {}), tiny);
}

TEST_CASE("an archive of several images wants a name", "[docker-archive]") {
  const TemporaryFolder folder;
  const TinyImage one("amd64");
  const TinyImage two("arm64");
  Files files = docker_20(one);
  files.emplace_back("cc/layer.tar", two.layers[0]);
  files.emplace_back(config_name(two), two.config);
  replace(files, "manifest.json",
          "[" + row(config_name(one), R"(["example/worker:good"])", {"aa/layer.tar", "bb/layer.tar"}) + "," +
              row(config_name(two), R"(["example/worker:bad","other:1"])", {"cc/layer.tar", "bb/layer.tar"}) + "]");
  const std::string path = write_tar(files, folder / "image.tar");
  check_image(*open_image("docker-archive:" + path + ":example/worker:bad", {}), two);
  check_image(*open_image("docker-archive:" + path + ":other:1", {}), two);
  check_image(*open_image(path + ":example/worker:good", {}), one);
  const Error several = error_of_opening("docker-archive:" + path);
  CHECK(several.kind() == ErrorKind::image_not_found);
  CHECK(mentions(several, "example/worker:good, example/worker:bad and other:1"));
  CHECK(mentions(error_of_opening("docker-archive:" + path + ":example/worker:none"), "example/worker:good"));

  // By place, as skopeo counts, and by id.
  check_image(*open_image("docker-archive:" + path + ":@0", {}), one);
  check_image(*open_image("docker-archive:" + path + ":@1", {}), two);
  check_image(*open_image(path + ":@1", {}), two);
  CHECK(open_image(path + ":@1", {})->name() == "docker-archive:" + path + ":@1");
  check_image(*open_image(path + ":@" + Digest::of(two.config).hex().substr(0, 12), {}), two);
  check_image(*open_image(path + "@" + Digest::of(two.config).to_string(), {}), two);
  for (const char* none : {":@2", ":@", ":@00000000000000000000001", ":@cccccccccccc", ":@-1"}) {
    INFO(none);
    CHECK(mentions(error_of_opening("docker-archive:" + path + none), "@0 to @1"));
  }
}

TEST_CASE("an image without a name is read", "[docker-archive]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  check_image(*open_image(write_tar(docker_20(tiny, "null"), folder / "a.tar"), {}), tiny);
  check_image(*open_image(write_tar(docker_20(tiny, "[]"), folder / "b.tar"), {}), tiny);
}

TEST_CASE("hostile: links in a circle, through many, or out of the archive (ggcr #2232)", "[docker-archive][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  Files files = docker_20(tiny);
  SECTION("a circle") {
    replace(files, "bb/layer.tar", "-> ../aa/layer.tar");
    replace(files, "aa/layer.tar", "-> ../bb/layer.tar");
  }
  SECTION("itself") { replace(files, "bb/layer.tar", "-> layer.tar"); }
  SECTION("out of the archive") { replace(files, "bb/layer.tar", "-> ../../../../etc/passwd"); }
  SECTION("an absolute path means the archive's root") { replace(files, "bb/layer.tar", "-> /etc/passwd"); }
  SECTION("very many") {
    for (int i = 0; i < 100; ++i) files.emplace_back(fmt::format("l{}", i), fmt::format("-> l{}", i + 1));
    files.emplace_back("l100", tiny.layers[1]);
    replace(files, "bb/layer.tar", "-> ../l0");
  }
  SECTION("a folder") {
    replace(files, "manifest.json", "[" + row(config_name(tiny), "null", {"aa/layer.tar", "aa/"}) + "]");
  }
  CHECK(error_of_opening(write_tar(files, folder / "a.tar")).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: archives that are damaged", "[docker-archive][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  const Files files = docker_20(tiny);
  const std::string whole = tar_of(files);
  SECTION("cut anywhere: an error or the whole image, never a crash") {
    for (std::size_t length = 100; length < whole.size(); length += 333) {
      write_file(folder / "cut.tar", whole.substr(0, length));
      try {
        const auto image = open_image("docker-archive:" + (folder / "cut.tar"), {});
        check_image(*image, tiny);
      } catch (const Error& error) {
        CHECK(exit_code(error.kind()) == 3);
      }
    }
  }
  SECTION("cut in a layer") {
    write_file(folder / "cut.tar", whole.substr(0, whole.find("xxxxxxx") + 100));
    const Error error = error_of_opening(folder / "cut.tar");
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(mentions(error, "truncated"));
  }
  SECTION("a header in the middle is overwritten") {
    std::string damaged = whole;
    damaged.replace(damaged.find("bb/layer.tar"), 12, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    write_file(folder / "bad.tar", damaged);
    CHECK(error_of_opening(folder / "bad.tar").kind() == ErrorKind::image_corrupt);
  }
  SECTION("empty") {
    write_file(folder / "empty.tar", "");
    CHECK(mentions(error_of_opening(folder / "empty.tar"), "is empty"));
    CHECK(mentions(error_of_opening("docker-archive:" + (folder / "empty.tar")), "is empty"));
  }
  SECTION("no tar at all") {
    write_file(folder / "x.tar", std::string(10'000, 'z'));
    const Error error = error_of_opening(folder / "x.tar");
    CHECK(mentions(error, "is no tar archive"));
    CHECK(mentions(error, "docker-archive"));
    CHECK(exit_code(error.kind()) == 3);
  }
  SECTION("only zeros") {
    write_file(folder / "x.tar", std::string(10'240, '\0'));
    CHECK(exit_code(error_of_opening(folder / "x.tar").kind()) == 3);
  }
}

TEST_CASE("a compressed archive is refused with the way out", "[docker-archive]") {
  const TemporaryFolder folder;
  write_file(folder / "a.tar.gz", "\x1f\x8b\x08 whatever");
  for (const std::string prefix : {"", "docker-archive:", "oci-archive:"}) {
    const Error error = error_of_opening(prefix + (folder / "a.tar.gz"));
    CHECK(error.kind() == ErrorKind::image_unsupported);
    CHECK(mentions(error, "gzip -dk"));
  }
}

TEST_CASE("hostile: manifest.json of the wrong shape, size or content", "[docker-archive][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  const auto kind_with = [&](const std::string& manifest) {
    Files files = docker_20(tiny);
    replace(files, "manifest.json", manifest);
    return error_of_opening("docker-archive:" + write_tar(files, folder / "a.tar")).kind();
  };
  for (const char* manifest :
       {"", "{}", "[1]", R"([{"Config":1}])", R"([{"RepoTags":[]}])", R"([{"Config":"x","Layers":[1]}])",
        R"([{"Config":"x","Layers":"y"}])", R"([{"Config":"not-there.json","Layers":[]}])", "[{\"Config\": "}) {
    INFO(manifest);
    CHECK(kind_with(manifest) == ErrorKind::image_corrupt);
  }
  CHECK(kind_with("[]") == ErrorKind::image_not_found);
  CHECK(kind_with(std::string(5 << 20, ' ')) == ErrorKind::image_limit);
  CHECK(kind_with("[" + row(config_name(tiny), "null", {"aa/layer.tar", "not-there/layer.tar"}) + "]") ==
        ErrorKind::image_corrupt);
  CHECK(kind_with("[" + row("aa/json", "null", {"aa/layer.tar", "bb/layer.tar"}) + "]") == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: a config that is not what its name says", "[docker-archive][hostile]") {
  const TemporaryFolder folder;
  const TinyImage tiny;
  for (Files files : {docker_20(tiny), docker_25(tiny)}) {
    std::string other = tiny.config;
    other[7] = 'L';
    replace(files, config_name(tiny), other);
    replace(files, blob_path(tiny.config), other);
    const Error error = error_of_opening("docker-archive:" + write_tar(files, folder / "a.tar"));
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(mentions(error, "digest mismatch"));
  }
}

TEST_CASE("hostile: more members than an image can have", "[tar][hostile]") {
  const TemporaryFolder folder;
  const std::string path = write_tar({{"a", ""}, {"b", ""}, {"c", ""}}, folder / "a.tar");
  CHECK(open_tar(std::make_shared<RandomFile>(path), {.members = 3})->size_of("c") == 0u);
  CHECK(error_of([&] { open_tar(std::make_shared<RandomFile>(path), {.members = 2}); }).kind() ==
        ErrorKind::image_limit);
  CHECK(error_of([&] { open_tar(std::make_shared<RandomFile>(path), {.name_bytes = 2}); }).kind() ==
        ErrorKind::image_limit);
}

TEST_CASE("names in a tar are read as whoever unpacks it would", "[tar]") {
  const TemporaryFolder folder;
  const auto tar = open_tar(std::make_shared<RandomFile>(
      write_tar({{"a", "first"}, {"./b//c", "x"}, {"../../up", "never"}, {"a", "second one"}}, folder / "a.tar")));
  CHECK(tar->size_of("a") == 10u);
  CHECK(tar->size_of("b/c") == 1u);
  CHECK_FALSE(tar->size_of("up"));
  CHECK_FALSE(tar->size_of("none"));
  CHECK(tar->open("none") == nullptr);
}
