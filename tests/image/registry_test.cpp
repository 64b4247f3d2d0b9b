// The registry source against a server that does what real ones did, and what hostile ones would.
#include <catch2/catch.hpp>
#include <atomic>
#include <chrono>
#include <ctime>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/redirect.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const CleanEnvironment no_login;

using Registry = ScriptedRegistry;

bool is_manifest(const ReceivedRequest& request) { return request.target.find("/manifests/") != std::string::npos; }

/// A config.json with joe:sesame for a host, as long as this lives.
struct Login {
  TemporaryFolder folder;
  explicit Login(const std::string& host) {
    write_file(folder / "config.json", R"({"auths":{")" + host + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})");
    ::setenv("DOCKER_CONFIG", folder.path.c_str(), 1);
  }
  ~Login() { ::setenv("DOCKER_CONFIG", "/nonexistent", 1); }
};

const std::string basic_authorization = "Basic am9lOnNlc2FtZQ==";

}  // namespace

TEST_CASE("an image is read from a registry on plain HTTP of this machine", "[registry]") {
  Registry registry;
  for (const std::string& name : {registry.name(), "docker://" + registry.name(),
                                  registry.name("@" + Digest::of(registry.image.manifest).to_string())}) {
    const auto image = open_image(name, impatient());
    CHECK(image->digest() == Digest::of(registry.image.manifest));
    CHECK(image->config().variable("PATH") == "/bin");
    CHECK(image->bytes_read() == registry.image.manifest.size() + registry.image.config.size());
    CHECK(read_layer_bytes(*image, 1) == registry.image.layers[1]);
    CHECK(read_layer_bytes(*image, 0) == registry.image.layers[0]);
  }
  const ReceivedRequest request = registry.server.requests().at(0);
  for (const char* type : {"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
                           "application/vnd.docker.distribution.manifest.list.v2+json",
                           "application/vnd.docker.distribution.manifest.v2+json"}) {
    CHECK(request.header("accept").find(type) != std::string::npos);
  }
}

TEST_CASE("layers of a registry are read side by side", "[registry]") {
  Registry registry;
  const auto image = open_image(registry.name(), impatient());
  const auto one = image->open_layer(0);
  const auto two = image->open_layer(1);
  char a[5000];
  char b[5000];
  CHECK(two->read(b, 10) == 10);
  CHECK(one->read(a, 10) == 10);
}

TEST_CASE("what is not there is said with the registry's own words", "[registry]") {
  Registry registry;
  const Error error = error_of_opening(registry.name(":2"));
  CHECK(error.kind() == ErrorKind::image_not_found);
  CHECK(mentions(error, "MANIFEST_UNKNOWN: manifest unknown"));
  Registry rude([](const ReceivedRequest&) {
    return reply(404, "{\"errors\":[{\"code\":\"\\u001b[2J\",\"message\":\"" + std::string(5000, 'x') + "\"}]}");
  });
  const Error escaped = error_of_opening(rude.name());
  CHECK(escaped.message().find('\x1b') == std::string::npos);
  CHECK(escaped.message().size() < 1000);
  Registry odd([](const ReceivedRequest&) { return reply(404, R"({"errors":[7]})"); });
  CHECK(error_of_opening(odd.name()).kind() == ErrorKind::image_not_found);
}

TEST_CASE("an index in a registry leads to the platform's image", "[registry]") {
  Registry registry([](const ReceivedRequest& request) -> std::optional<Reply> {
    if (!request.target.ends_with("/manifests/1")) return std::nullopt;
    return reply(200,
                 index_of({descriptor(oci_manifest_type, TinyImage().manifest, platform("amd64")),
                           descriptor(oci_manifest_type, "other", platform("arm64"))}),
                 {fmt::format("Content-Type: {}; charset=utf-8", oci_index_type)});
  });
  CHECK(open_image(registry.name(), impatient())->digest() == Digest::of(registry.image.manifest));
  CHECK(mentions(error_of_opening(registry.name(), {.platform = *Platform::parse("linux/s390x")}), "linux/arm64"));
}

TEST_CASE("credentials are sent after a challenge, to that registry", "[registry]") {
  Registry registry([](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.header("authorization") == basic_authorization) return std::nullopt;
    return reply(401, "", {"WWW-Authenticate: Negotiate, Basic realm=\"R\""});
  });
  SECTION("with a login") {
    const Login login(registry.server.host());
    const auto image = open_image(registry.name(), impatient());
    CHECK(read_layer_bytes(*image, 0) == registry.image.layers[0]);
    const auto requests = registry.server.requests();
    CHECK(requests[0].header("authorization").empty());
    CHECK(requests[1].header("authorization") == basic_authorization);
    CHECK(requests.size() == 4);  // one 401; then manifest, config, layer
  }
  SECTION("without one") {
    const Error error = error_of_opening(registry.name());
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "docker login " + registry.server.host()));
  }
  SECTION("with another registry's login") {
    const Login login("127.0.0.1:1");
    CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_access);
  }
}

TEST_CASE("credentials that are refused are not tried again, nor shown", "[registry]") {
  Registry registry([](const ReceivedRequest&) { return reply(401, "", {"WWW-Authenticate: Basic realm=\"R\""}); });
  const Login login(registry.server.host());
  const Error error = error_of_opening(registry.name());
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK_FALSE(mentions(error, "sesame"));
  CHECK_FALSE(mentions(error, "am9lOnNlc2FtZQ"));
  CHECK(registry.server.requests().size() == 2);
}

TEST_CASE("hostile: redirects drop the credentials, also on another port (GHSA-vh4v)", "[registry][hostile]") {
  const TinyImage tiny;
  HttpServer store([&](const ReceivedRequest&) { return reply(200, tiny.layers[1]); });
  Registry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.header("authorization").empty()) return reply(401, "", {"WWW-Authenticate: Basic realm=\"R\""});
    if (request.target.ends_with(Digest::of(tiny.layers[1]).to_string()))
      return reply(307, "", {"Location: " + store.url("/signed?token=1")});
    return std::nullopt;
  });
  const Login login(registry.server.host());
  const auto image = open_image(registry.name(), impatient());
  CHECK(read_layer_bytes(*image, 1) == tiny.layers[1]);
  REQUIRE(store.requests().size() == 1);
  CHECK(store.requests()[0].target == "/signed?token=1");
  CHECK(store.requests()[0].header("authorization").empty());
}

TEST_CASE("hostile: a redirect target that asks for credentials gets none (CVE-2020-15157, ggcr #2349)",
          "[registry][hostile]") {
  HttpServer store([&](const ReceivedRequest&) { return reply(401, "", {"WWW-Authenticate: Basic realm=\"give\""}); });
  Registry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (is_manifest(request)) return reply(302, "", {"Location: " + store.url("/x?secret=signature")});
    return std::nullopt;
  });
  TemporaryFolder folder;
  write_file(folder / "config.json", R"({"auths":{")" + registry.server.host() + R"(":{"auth":"am9lOnNlc2FtZQ=="},")" +
                                         store.host() + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})");
  ::setenv("DOCKER_CONFIG", folder.path.c_str(), 1);
  const Error error = error_of_opening(registry.name());
  ::setenv("DOCKER_CONFIG", "/nonexistent", 1);
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK_FALSE(mentions(error, "signature"));
  REQUIRE(store.requests().size() == 1);
  CHECK(store.requests()[0].header("authorization").empty());
}

TEST_CASE("hostile: redirects in a circle end", "[registry][hostile]") {
  Registry registry([](const ReceivedRequest& request) { return reply(302, "", {"Location: " + request.target}); });
  CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_network);
  CHECK(registry.server.requests().size() == 6);
}

TEST_CASE("hostile: where redirects may not lead", "[registry][hostile]") {
  const auto follow = [](const char* from, const char* to) {
    return follow_redirect(*Url::parse(from), to).to_string();
  };
  CHECK(follow("https://r.example/a", "https://cdn.example/b") == "https://cdn.example/b");
  CHECK(follow("https://r.example/a", "/b") == "https://r.example/b");
  CHECK(follow("http://r.example/a", "https://r.example/b") == "https://r.example/b");
  CHECK(follow("https://r.example/a", "https://10.0.0.1:9000/b") == "https://10.0.0.1:9000/b");
  CHECK(follow("http://127.0.0.1:5000/a", "http://localhost:6000/b") == "http://localhost:6000/b");
  for (const char* to : {"http://r.example/b", "https://127.0.0.1/", "https://localhost/", "https://[::1]/",
                         "https://169.254.169.254/latest/meta-data", "https://[fe80::1]/", "file:///etc/passwd",
                         "gopher://x/", "", "https://user:password@x.example/", "https://2130706433/"}) {
    INFO(to);
    CHECK(error_of([&] { follow("https://r.example/a", to); }).kind() == ErrorKind::image_network);
  }
}

TEST_CASE("hostile: a manifest that is not what was pinned (GHSA-qv35)", "[registry][hostile]") {
  Registry registry;
  const std::string other = "sha256:" + std::string(64, 'a');
  Registry liar([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (is_manifest(request)) return reply(200, TinyImage().manifest, {"Docker-Content-Digest: " + other});
    return std::nullopt;
  });
  const Error pinned = error_of_opening(liar.name("@" + other));
  CHECK(pinned.kind() == ErrorKind::image_corrupt);
  CHECK(mentions(pinned, "digest mismatch"));
  CHECK(error_of_opening(liar.name(":1")).kind() == ErrorKind::image_corrupt);  // its own header does not hold
  // The digest decides over the tag.
  CHECK(open_image(registry.name(":no-such-tag@" + Digest::of(registry.image.manifest).to_string()), impatient())->digest() ==
        Digest::of(registry.image.manifest));
  Registry broken(
      [](const ReceivedRequest&) { return reply(200, TinyImage().manifest, {"Docker-Content-Digest: sha256:xyz"}); });
  CHECK(error_of_opening(broken.name()).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: manifests without end, and of another type than announced", "[registry][hostile]") {
  Registry large([](const ReceivedRequest&) { return reply(200, std::string(5 << 20, ' ')); });
  CHECK(error_of_opening(large.name()).kind() == ErrorKind::image_limit);
  Registry index_as_manifest([](const ReceivedRequest&) {
    return reply(200, index_of({}), {fmt::format("Content-Type: {}", oci_manifest_type)});
  });
  CHECK(error_of_opening(index_as_manifest.name()).kind() == ErrorKind::image_corrupt);
  Registry schema1([](const ReceivedRequest&) {
    return reply(200, R"({"schemaVersion":1,"fsLayers":[]})",
                 {"Content-Type: application/vnd.docker.distribution.manifest.v1+prettyjws"});
  });
  CHECK(error_of_opening(schema1.name()).kind() == ErrorKind::image_unsupported);
}

TEST_CASE("a manifest under a generic content type is read", "[registry]") {
  Registry registry([](const ReceivedRequest& request) -> std::optional<Reply> {
    if (is_manifest(request)) return reply(200, TinyImage().manifest, {"Content-Type: application/json"});
    return std::nullopt;
  });
  CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
}

TEST_CASE("hostile: blobs that are cut, too long, or of another length", "[registry][hostile]") {
  const TinyImage tiny;
  Reply answer;
  Registry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.ends_with(Digest::of(tiny.layers[1]).to_string())) return answer;
    return std::nullopt;
  });
  const auto image = open_image(registry.name(), impatient());
  const std::string& layer = tiny.layers[1];
  SECTION("another Content-Length") {
    answer = reply(200, layer + "more");
    const Error error = error_of([&] { image->open_layer(1); });
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(mentions(error, "size"));
    CHECK(mentions(error, fmt::format("{}", layer.size() + 4)));
  }
  SECTION("cut, with a Content-Length") {
    answer = {fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", layer.size()) + layer.substr(0, 1000), true};
    const Error error = error_of([&] { read_layer_bytes(*image, 1); });
    CHECK(error.kind() == ErrorKind::image_network);
    CHECK(mentions(error, "layer 2 of 2"));
  }
  SECTION("cut, without") {
    answer = {"HTTP/1.1 200 OK\r\n\r\n" + layer.substr(0, 1000), true};
    CHECK(error_of([&] { read_layer_bytes(*image, 1); }).kind() == ErrorKind::image_corrupt);
  }
  SECTION("endless chunks") {
    answer = {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true};
    for (int i = 0; i < 100; ++i) answer.bytes += "400\r\n" + std::string(1024, 'x') + "\r\n";
    CHECK(error_of([&] { read_layer_bytes(*image, 1); }).kind() == ErrorKind::image_corrupt);
  }
  SECTION("in chunks of the right length") {
    answer = {fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n", layer.size(),
                          layer),
              false};
    CHECK(read_layer_bytes(*image, 1) == layer);
  }
  SECTION("a part that nobody asked for") {
    answer = reply(206, layer);
    CHECK(error_of([&] { image->open_layer(1); }).kind() == ErrorKind::image_network);
  }
  SECTION("not there") {
    answer = reply(404, "");
    CHECK(error_of([&] { image->open_layer(1); }).kind() == ErrorKind::image_not_found);
  }
}

TEST_CASE("what passes by itself is tried again", "[registry]") {
  std::atomic<int> left = 2;  // each connection has a thread
  SECTION("a connection that breaks") {
    Registry registry([&](const ReceivedRequest&) {
      return left-- > 0 ? std::optional(Reply{"", true}) : std::nullopt;
    });
    CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
  }
  SECTION("503, and when to come back") {
    Registry registry([&](const ReceivedRequest&) {
      return left-- > 1 ? std::optional(reply(503, "", {"Retry-After: 1"})) : std::nullopt;
    });
    const auto start = std::chrono::steady_clock::now();
    CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
    CHECK(std::chrono::steady_clock::now() - start >= std::chrono::seconds(1));
  }
  SECTION("429, with a date that has passed") {
    Registry registry([&](const ReceivedRequest&) {
      return left-- > 0 ? std::optional(reply(429, "", {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"})) : std::nullopt;
    });
    CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
  }
}

TEST_CASE("what does not pass is given up soon", "[registry]") {
  SECTION("come back tomorrow") {
    Registry registry([](const ReceivedRequest&) { return reply(429, "", {"Retry-After: 86400"}); });
    const auto start = std::chrono::steady_clock::now();
    const Error error = error_of_opening(registry.name());
    CHECK(error.kind() == ErrorKind::image_network);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  }
  SECTION("a date without end") {
    Registry registry([](const ReceivedRequest&) { return reply(503, "", {"Retry-After: 99999999999999999999"}); });
    CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_network);
  }
  SECTION("a fault that is none of these") {
    Registry registry([](const ReceivedRequest&) { return reply(501, ""); });
    CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_network);
    CHECK(registry.server.requests().size() == 1);
  }
  SECTION("no access") {
    Registry registry([](const ReceivedRequest&) { return reply(403, R"({"errors":[{"code":"DENIED"}]})"); });
    const Error error = error_of_opening(registry.name());
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "DENIED"));
  }
}

TEST_CASE("nobody there", "[registry]") {
  std::string host;
  {
    host = HttpServer([](const ReceivedRequest&) { return reply(200, ""); }).host();
  }
  CHECK(error_of_opening(host + "/x/worker:1").kind() == ErrorKind::image_network);
}

TEST_CASE("a folder of the name's first part does not hide the registry", "[registry]") {
  // "python:3.11" in a folder that has a subfolder "python".
  Registry registry;
  const TemporaryFolder folder;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  std::filesystem::create_directories("127.0.0.1");
  CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
  const Error error = error_of_opening(registry.name(":2"));
  std::filesystem::current_path(before);
  CHECK(error.kind() == ErrorKind::image_not_found);
  CHECK(mentions(error, "as oci"));
  CHECK(mentions(error, "MANIFEST_UNKNOWN"));
}
