#include "image/mirror.hpp"

#include <catch2/catch.hpp>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

SourceOptions with_mirror(const ScriptedRegistry& registry, const std::string& location) {
  SourceOptions options = impatient();
  options.mirrors = {{registry.server.host(), location}};
  return options;
}

}  // namespace

TEST_CASE("mirrors as they are written", "[mirror]") {
  CHECK(parse_mirror("docker.io=localhost:5000").registry == "docker.io");
  CHECK(parse_mirror("docker.io=localhost:5000").location == "localhost:5000");
  CHECK(parse_mirror("index.docker.io=mirror.example/hub/").registry == "docker.io");
  CHECK(parse_mirror("index.docker.io=mirror.example/hub/").location == "mirror.example/hub");
  CHECK(parse_mirror("r.example:5000=127.0.0.1:1/a/b").registry == "r.example:5000");
  for (const std::string text :
       {"", "=", "docker.io", "docker.io=", "=localhost:5000", "docker.io/library=localhost:5000", "docker.io=mirror",
        "docker.io=http://localhost:5000", "docker.io=localhost:5000/UPPER", "docker.io=localhost:5000/a b",
        "docker.io=joe:sesame@mirror.example", "docker.io=localhost:5000/a:tag", "docker.io=localhost:5000/../x",
        "docker=localhost:5000"}) {
    INFO(text);
    const Error error = error_of([&] { parse_mirror(text); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_FALSE(mentions(error, "sesame"));
  }
}

TEST_CASE("an image has its place in a mirror", "[mirror]") {
  const std::vector<Mirror> mirrors = {
      {"docker.io", "localhost:5000/hub"}, {"quay.io", "q.example"}, {"docker.io", "m.example"}};
  const auto names = [&](const std::string& name) {
    std::vector<std::string> result;
    for (const Reference& reference : mirrored(*Reference::parse(name), mirrors))
      result.push_back(reference.to_full_string());
    return result;
  };
  const std::string digest = "@sha256:" + std::string(64, 'a');
  CHECK(names("python:3.11") ==
        std::vector<std::string>{"localhost:5000/hub/library/python:3.11", "m.example/library/python:3.11"});
  CHECK(names("quay.io/a/b" + digest) == std::vector<std::string>{"q.example/a/b" + digest});
  CHECK(names("gcr.io/a/b").empty());
}

TEST_CASE("a mirror is asked first, and the registry where it fails", "[mirror]") {
  const CleanEnvironment environment;
  std::function<std::optional<Reply>(const ReceivedRequest&)> answer;
  ScriptedRegistry registry;
  ScriptedRegistry mirror([&](const ReceivedRequest& request) { return answer ? answer(request) : std::nullopt; });
  const SourceOptions options = with_mirror(registry, mirror.server.host());
  const std::string layer = registry.image.layers[1];
  SECTION("it has everything") {
    const auto image = open_image(registry.name(), options);
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK(registry.server.requests().empty());
    CHECK(image->name() == registry.name());
  }
  SECTION("it has nothing") {
    answer = [](const ReceivedRequest&) { return reply(404, ""); };
    CHECK(read_layer_bytes(*open_image(registry.name(), options), 1) == layer);
    const Error error = error_of_opening(registry.name(":2"), options);
    CHECK(error.kind() == ErrorKind::image_not_found);
    CHECK(mentions(error, "its mirror " + mirror.server.host() + " failed before"));
  }
  SECTION("it lacks one layer") {
    answer = [&](const ReceivedRequest& request) {
      return request.target.ends_with(Digest::of(layer).to_string()) ? std::optional(reply(404, "")) : std::nullopt;
    };
    const auto image = open_image(registry.name(), options);
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK(read_layer_bytes(*image, 0) == registry.image.layers[0]);
    CHECK(registry.server.requests().size() == 1);
  }
  SECTION("it is ill, and not asked again") {
    answer = [](const ReceivedRequest&) { return reply(500, ""); };
    const auto image = open_image(registry.name(), options);
    const std::size_t asked = mirror.server.requests().size();
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK(mirror.server.requests().size() == asked);
  }
  SECTION("it asks for a login that there is none for") {
    answer = [](const ReceivedRequest&) { return reply(401, "", {"WWW-Authenticate: Basic realm=\"R\""}); };
    CHECK(open_image(registry.name(), options)->layers().size() == 2);
  }
  SECTION("it gives something else than what was pinned") {
    const TinyImage other("arm64");
    answer = [&](const ReceivedRequest& request) {
      return request.target.find("/manifests/") != std::string::npos ? std::optional(reply(200, other.manifest))
                                                                     : std::nullopt;
    };
    const std::string pinned = registry.name("@" + Digest::of(registry.image.manifest).to_string());
    CHECK(open_image(pinned, options)->digest() == Digest::of(registry.image.manifest));
  }
}

TEST_CASE("nobody at the mirror", "[mirror]") {
  const CleanEnvironment environment;
  std::string gone;
  {
    gone = HttpServer([](const ReceivedRequest&) { return reply(200, ""); }).host();
  }
  ScriptedRegistry registry;
  CHECK(open_image(registry.name(), with_mirror(registry, gone))->layers().size() == 2);
  CHECK(mentions(error_of_opening(registry.name(":2"), with_mirror(registry, gone)), "its mirror " + gone));
}

TEST_CASE("hostile: a mirror gets its own login only", "[mirror][hostile]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  ::setenv("DOCKER_CONFIG", folder.path.c_str(), 1);
  std::string expected = "Basic am9lOnNlc2FtZQ==";  // joe:sesame
  const auto wants_login = [&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.header("authorization") == expected) return std::nullopt;
    return reply(401, "", {"WWW-Authenticate: Basic realm=\"R\""});
  };
  ScriptedRegistry registry(wants_login);
  ScriptedRegistry mirror(wants_login);
  const std::string other = mirror.server.host();
  const std::string mine = registry.server.host();
  SECTION("the registry's is not for it") {
    write_file(folder / "config.json", R"({"auths":{")" + mine + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})");
    CHECK(open_image(registry.name(), with_mirror(registry, other))->layers().size() == 2);
    for (const ReceivedRequest& request : mirror.server.requests()) CHECK(request.header("authorization").empty());
  }
  SECTION("its own is not for the registry") {
    write_file(folder / "config.json", R"({"auths":{")" + other + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})");
    CHECK(open_image(registry.name(), with_mirror(registry, other))->layers().size() == 2);
    CHECK(registry.server.requests().empty());
    CHECK(error_of_opening(registry.name(":2"), with_mirror(registry, other)).kind() == ErrorKind::image_access);
    for (const ReceivedRequest& request : registry.server.requests()) CHECK(request.header("authorization").empty());
  }
}
