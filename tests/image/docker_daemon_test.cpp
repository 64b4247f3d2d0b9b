// Images of a Docker daemon, by the API over its socket; the daemon is a script.
#include <catch2/catch.hpp>

#include "base/http_server.hpp"
#include "image/docker_layouts.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

std::string id_of(const std::string& document) { return Digest::of(document).to_string(); }

/// What `docker image inspect` gets.
std::string inspection(const TinyImage& tiny, const std::string& id, const std::string& more = "") {
  return fmt::format(
      R"({{"Id":"{}","RepoTags":["worker:1"],"Os":"linux","Architecture":"amd64","Config":{{"Env":["PATH=/bin"],)"
      R"("Cmd":null}},"RootFS":{{"Type":"layers","Layers":["{}","{}"]}}{}}})",
      id, id_of(tiny.layers[0]), id_of(tiny.layers[1]), more);
}

/// A daemon with one image, worker:1.
struct FakeDaemon {
  TinyImage tiny;
  std::string id = id_of(tiny.config);
  std::string told = inspection(tiny, id);
  std::string history =
      R"([{"CreatedBy":"COPY b","Size":7},{"CreatedBy":"ENV","Size":0},{"CreatedBy":"COPY a","Size":3}])";
  std::string tar = tar_of(docker_20(tiny));
  HttpServer server{[this](const ReceivedRequest& request) { return answer(request); }, HttpServer::unix_socket};
  Variable host{"DOCKER_HOST", "unix://" + server.socket_path()};

  Reply answer(const ReceivedRequest& request) const {
    if (request.target == "/images/worker:1/json") return reply(200, told);
    if (request.target == "/images/" + id + "/history") return reply(200, history);
    if (request.target == "/images/" + id + "/get") return reply(200, tar);
    if (request.target == "/images/broken/json") return reply(500, "the disk is full");
    return reply(404, R"({"message":"No such image: \u001b[31mx"})");
  }
};

std::vector<std::string> layers_of(const Image& image) {
  std::vector<std::string> layers;
  image.stream_layers([&](ByteReader& layer, std::uint64_t) {
    std::string& bytes = layers.emplace_back();
    char buffer[1000];
    while (const std::size_t count = layer.read(buffer, sizeof buffer)) bytes.append(buffer, count);
  });
  return layers;
}

Error error_of_streaming() {
  const auto image = open_image("docker-daemon:worker:1", {});
  return error_of([&] { layers_of(*image); });
}

}  // namespace

TEST_CASE("an image of a daemon: first the config, then all layers in one stream", "[docker-daemon]") {
  const FakeDaemon daemon;
  const auto image = open_image("docker-daemon:worker:1", {});
  CHECK(image->name() == "docker-daemon:worker:1");
  CHECK(image->config_digest() == Digest::of(daemon.tiny.config));
  CHECK_FALSE(image->digest());
  CHECK(image->config().variable("PATH") == "/bin");
  CHECK(image->config().platform.to_string() == "linux/amd64");
  CHECK(image->config().history.at(0).created_by == "COPY a");
  CHECK(image->config().history.at(1).empty_layer);
  REQUIRE(image->layers().size() == 2);
  CHECK(image->layers()[1].diff_id == Digest::of(daemon.tiny.layers[1]));
  CHECK_FALSE(image->layers()[1].digest);
  CHECK(image->streams_once());
  CHECK_FALSE(image->config_comes_last());
  CHECK_FALSE(image->layer_stamp(0));
  CHECK(image->open_layer_range(0, 0, 1) == nullptr);
  CHECK(layers_of(*image) == daemon.tiny.layers);
  CHECK(layers_of(*image) == daemon.tiny.layers);  // another pass is another request
  CHECK(platforms_of("docker-daemon:worker:1", {}).at(0).to_string() == "linux/amd64");
}

TEST_CASE("the daemon's layouts, and podman's", "[docker-daemon]") {
  FakeDaemon daemon;
  SECTION("Docker 25 and newer") { daemon.tar = tar_of(docker_25(daemon.tiny)); }
  SECTION("podman: the id without its algorithm") {
    daemon.tar = tar_of(skopeo_archive(daemon.tiny));
    daemon.told = inspection(daemon.tiny, Digest::of(daemon.tiny.config).hex());
  }
  SECTION("no history") { daemon.history = "null"; }
  SECTION("a history that does not fit") { daemon.history = R"([{"Size":1}])"; }
  CHECK(layers_of(*open_image("docker-daemon:worker:1", {})).size() == 2);
}

TEST_CASE("a daemon that names images by manifest or index", "[docker-daemon]") {
  FakeDaemon daemon;
  const TinyImage& tiny = daemon.tiny;
  Files files = docker_25(tiny);
  SECTION("a manifest") {
    daemon.id = id_of(tiny.manifest);
    daemon.told = inspection(tiny, daemon.id, fmt::format(R"(,"Descriptor":{{"mediaType":"{}"}})", oci_manifest_type));
    daemon.tar = tar_of(files);
    const auto image = open_image("docker-daemon:worker:1", {});
    CHECK(image->digest() == Digest::of(tiny.manifest));
    CHECK(layers_of(*image).size() == 2);
    // The manifest that it says, but of another config.
    TinyImage other("arm64");
    other.layers = tiny.layers;
    other.write_manifest();
    Files lie = docker_25(other);
    lie.emplace_back(blob_path(tiny.manifest), tiny.manifest);
    daemon.tar = tar_of(lie);
    CHECK(mentions(error_of_streaming(), "another image"));
  }
  SECTION("an index") {
    const std::string index = index_of({descriptor(oci_manifest_type, tiny.manifest, platform("amd64"))});
    files.emplace_back(blob_path(index), index);
    daemon.id = id_of(index);
    daemon.told = inspection(tiny, daemon.id);
    daemon.tar = tar_of(files);
    CHECK(layers_of(*open_image("docker-daemon:worker:1", {})).size() == 2);
    replace(files, blob_path(index), index + " ");
    daemon.tar = tar_of(files);
    CHECK(mentions(error_of_streaming(), "another image"));
  }
}

TEST_CASE("hostile: a daemon that gives another image than it told", "[docker-daemon][hostile]") {
  FakeDaemon daemon;
  SECTION("another config") { daemon.tar = tar_of(docker_20(TinyImage("arm64"))); }
  SECTION("other diff ids") {
    std::swap(daemon.tiny.layers[0], daemon.tiny.layers[1]);
    daemon.told = inspection(daemon.tiny, daemon.id);
  }
  SECTION("another Env") { daemon.told.replace(daemon.told.find("PATH=/bin"), 9, "PATH=/bad"); }
  SECTION("a Cmd") { daemon.told.replace(daemon.told.find(R"("Cmd":null)"), 10, R"("Cmd":["x"])"); }
  SECTION("a platform") { daemon.told.replace(daemon.told.find("amd64"), 5, "arm64"); }
  SECTION("a stream that is cut") { daemon.tar.resize(daemon.tar.size() / 2); }
  SECTION("no tar") { daemon.tar = "{\"message\": \"sorry\"}"; }
  SECTION("nothing") { daemon.tar = ""; }
  CHECK(exit_code(error_of_streaming().kind()) == 3);
}

TEST_CASE("hostile: what a daemon says is malformed", "[docker-daemon][hostile]") {
  FakeDaemon daemon;
  for (const std::string& told :
       {std::string("[]"), std::string("{}"), std::string("nonsense"),
        std::string(R"({"Id":"sha256:12","RootFS":{"Layers":[]}})"), fmt::format(R"({{"Id":"{}"}})", daemon.id),
        fmt::format(R"({{"Id":"{}","RootFS":{{"Layers":[1]}}}})", daemon.id),
        fmt::format(R"({{"Id":"{}","RootFS":{{"Layers":["../../x"]}}}})", daemon.id)}) {
    INFO(told);
    daemon.told = told;
    CHECK(error_of_opening("docker-daemon:worker:1").kind() == ErrorKind::image_corrupt);
  }
  daemon.told = std::string(5 << 20, ' ');
  CHECK(error_of_opening("docker-daemon:worker:1").kind() == ErrorKind::image_limit);
}

TEST_CASE("daemons and names that are not there", "[docker-daemon]") {
  const FakeDaemon daemon;
  const Error none = error_of_opening("docker-daemon:worker:2");
  CHECK(none.kind() == ErrorKind::image_not_found);
  CHECK(mentions(none, "No such image"));
  CHECK(none.message().find('\x1b') == std::string::npos);
  const Error broken = error_of_opening("docker-daemon:broken");
  CHECK(broken.kind() == ErrorKind::image_network);
  CHECK(mentions(broken, "the disk is full"));
  for (const char* name :
       {"docker-daemon:", "docker-daemon:../../containers/x", "docker-daemon:a?b", "docker-daemon:A B"}) {
    INFO(name);
    CHECK(error_of_opening(name).kind() == ErrorKind::usage);
  }
  for (const char* host : {"tcp://10.0.0.1:2375", "ssh://someone@host", "/var/run/docker.sock", "unix://"}) {
    INFO(host);
    const Variable other("DOCKER_HOST", host);
    const Error error = error_of_opening("docker-daemon:worker:1");
    CHECK(error.kind() == ErrorKind::image_unsupported);
    CHECK_FALSE(mentions(error, "someone"));
  }
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const Variable file("DOCKER_HOST", "unix://" + (folder / "file"));
  CHECK(mentions(error_of_opening("docker-daemon:worker:1"), "is no socket"));
}
