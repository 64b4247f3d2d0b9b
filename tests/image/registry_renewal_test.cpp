// A layer whose connection breaks after its token has expired: both are mended, and the layer goes on where it stood.
#include <catch2/catch.hpp>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("a token that expires within a layer is renewed, and the layer goes on", "[token]") {
  const CleanEnvironment environment;
  const TinyImage tiny;
  const std::string& layer = tiny.layers[1];
  const std::string half = layer.substr(0, layer.size() / 2);
  int given = 0;
  std::string good = "t1";
  std::vector<std::string> refused;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token")) return reply(200, fmt::format(R"({{"token":"t{}"}})", ++given));
    if (request.header("authorization") != "Bearer " + good) {
      refused.push_back(request.header("range"));
      return reply(401, "",
                   {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", request.header("host"))});
    }
    if (!request.target.ends_with(Digest::of(layer).to_string())) return std::nullopt;
    if (request.header("range").empty()) {
      good = "t2";
      return Reply{fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", layer.size(), half), true};
    }
    CHECK(request.header("range") == fmt::format("bytes={}-{}", half.size(), layer.size() - 1));
    return reply(206, layer.substr(half.size()),
                 {fmt::format("Content-Range: bytes {}-{}/{}", half.size(), layer.size() - 1, layer.size())});
  });
  const auto image = open_image(registry.name(), {});
  CHECK(read_layer_bytes(*image, 1) == layer);
  CHECK(given == 2);
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].empty());        // the first challenge of all
  CHECK_FALSE(refused[1].empty());  // the one in the middle
}

TEST_CASE("a layer in the middle of which no token is to be had ends with the server's words", "[token]") {
  const CleanEnvironment environment;
  const TinyImage tiny;
  const std::string& layer = tiny.layers[1];
  int given = 0;
  std::string good = "t1";
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token"))
      return ++given == 1 ? reply(200, R"({"token":"t1"})") : reply(403, R"({"details":"suspended"})");
    if (request.header("authorization") != "Bearer " + good)
      return reply(401, "",
                   {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", request.header("host"))});
    if (!request.target.ends_with(Digest::of(layer).to_string())) return std::nullopt;
    good = "none";
    return Reply{fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", layer.size(), layer.substr(0, 100)),
                 true};
  });
  const auto image = open_image(registry.name(), {});
  const Error error = error_of([&] { read_layer_bytes(*image, 1); });
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, "suspended"));
}

TEST_CASE("hostile: a registry that repeats what it was told is not quoted", "[token][hostile]") {
  const CleanEnvironment environment;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token")) return reply(200, R"({"token":"sesame"})");
    const std::string sent = request.header("authorization");
    if (!sent.empty()) return reply(403, fmt::format(R"({{"errors":[{{"code":"DENIED","message":"{}"}}]}})", sent));
    return reply(401, "", {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", request.header("host"))});
  });
  const Error error = error_of_opening(registry.name());
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, "403"));
  CHECK_FALSE(mentions(error, "sesame"));
}

TEST_CASE("no login is advised for where a registry redirects to", "[token]") {
  const CleanEnvironment environment;
  HttpServer store([](const ReceivedRequest&) { return reply(403, ""); });
  const TinyImage tiny;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.find("/blobs/") == std::string::npos) return std::nullopt;
    return reply(307, "", {"Location: " + store.url("/x")});
  });
  const Error error = error_of_opening(registry.name());
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, store.host()));
  CHECK_FALSE(mentions(error, "docker login"));
}
