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

TEST_CASE("a mirror that breaks in the middle of a layer is left", "[mirror]") {
  const CleanEnvironment environment;
  constexpr std::size_t stood = 1000;
  bool knows_ranges = true;
  bool registry_fails = false;
  const std::string layer = TinyImage().layers[1];
  const std::string target = Digest::of(layer).to_string();
  std::vector<std::string> ranges;  // that the registry was asked for
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (!request.target.ends_with(target)) return std::nullopt;
    if (registry_fails) return reply(404, "");
    const std::string range = request.header("range");
    if (range.empty()) return std::nullopt;
    ranges.push_back(range);
    if (!knows_ranges) return reply(501, "");
    return reply(206, layer.substr(stood),
                 {fmt::format("Content-Range: bytes {}-{}/{}", stood, layer.size() - 1, layer.size())});
  });
  std::size_t asked = 0;
  std::optional<Reply> afterwards;  // the mirror's answer to all but the first
  ScriptedRegistry mirror([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (!request.target.ends_with(target)) return std::nullopt;
    if (asked++ != 0) return afterwards;
    const std::string head = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", layer.size());
    return Reply{head + layer.substr(0, stood), true};
  });
  afterwards = reply(503, "");
  SourceOptions options = with_mirror(registry, mirror.server.host());
  const auto read = [&] { return read_layer_bytes(*open_image(registry.name(), options), 1); };
  const std::string rest = fmt::format("bytes={}-{}", stood, layer.size() - 1);
  SECTION("the registry gives the rest") {
    const auto image = open_image(registry.name(), options);
    const auto reader = image->open_layer(1);
    std::string bytes;
    char buffer[300];
    while (const std::size_t count = reader->read(buffer, sizeof buffer)) bytes.append(buffer, count);
    CHECK(bytes == layer);
    CHECK(ranges == std::vector<std::string>{rest});
    CHECK(reader->bytes_again() == 0);
    const std::size_t before = mirror.server.requests().size();
    CHECK(read_layer_bytes(*image, 0) == registry.image.layers[0]);
    CHECK(mirror.server.requests().size() == before);  // it is not asked for other layers either
  }
  SECTION("the registry knows no ranges") {
    knows_ranges = false;
    CHECK(read() == layer);
    CHECK(ranges == std::vector<std::string>{rest});
  }
  SECTION("the mirror does not have it any more") {
    afterwards = reply(404, "");
    CHECK(read() == layer);
    CHECK(ranges.size() == 1);
  }
  SECTION("the mirror has another one now") {
    afterwards = reply(200, layer + "and more");
    CHECK(read() == layer);
  }
  SECTION("the next mirror gives the rest") {
    ScriptedRegistry second([&](const ReceivedRequest& request) { return registry.answer(request); });
    options.mirrors.push_back({registry.server.host(), second.server.host()});
    CHECK(read() == layer);
    CHECK(ranges.size() == 1);
    CHECK(registry.server.requests().empty());
  }
  SECTION("the registry does not have it") {
    registry_fails = true;
    const Error error = error_of([&] { read(); });
    CHECK(error.kind() == ErrorKind::image_not_found);
    CHECK(mentions(error, "layer 2 of 2"));
    CHECK(mentions(error, "its mirror " + mirror.server.host() + " failed before"));
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
