#include "image/registry_foreign.hpp"

#include <catch2/catch.hpp>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Url any_address(std::string_view address) { return Url::parse(address).value(); }

const Error missing(ErrorKind::image_not_found, "layer 1: not there");

Descriptor descriptor_of(const std::string& bytes, std::vector<std::string> urls) {
  return {"application/vnd.oci.image.layer.v1.tar", Digest::of(bytes), bytes.size(), std::nullopt, {}, std::move(urls)};
}

std::string all_of(ByteReader& reader) {
  std::string bytes;
  char buffer[777];
  while (const std::size_t count = reader.read(buffer, sizeof buffer)) bytes.append(buffer, count);
  return bytes;
}

}  // namespace

TEST_CASE("a foreign layer comes from the first address that has it", "[foreign]") {
  HttpServer server([](const ReceivedRequest& request) {
    if (request.target == "/moved") return reply(302, "", {"Location: /layer"});
    if (request.target == "/layer") return reply(200, "the layer");
    if (request.target == "/short") return reply(200, "the");
    if (request.target == "/round") return reply(302, "", {"Location: /round"});
    return reply(404, "");
  });
  const auto open = [&](const std::vector<std::string>& paths) {
    std::vector<std::string> urls;
    for (const std::string& path : paths) urls.push_back(server.url(path));
    return all_of(*open_foreign_blob(descriptor_of("the layer", urls), "layer 1", missing, any_address));
  };
  CHECK(open({"/layer"}) == "the layer");
  CHECK(open({"/none", "/short", "/moved"}) == "the layer");
  const Error error = error_of([&] { open({"/none", "/round"}); });
  CHECK(error.kind() == ErrorKind::image_not_found);
  CHECK(mentions(error, "layer 1: not there"));
  CHECK(mentions(error, "/none answered 404"));
  const std::size_t before = server.requests().size();
  error_of([&] { open(std::vector<std::string>(1000, "/none")); });
  CHECK(server.requests().size() == before + 5);
}

TEST_CASE("hostile: addresses of foreign layers lead to public hosts by https (ggcr #2293)", "[foreign][hostile]") {
  CHECK(check_foreign_address("https://layers.example/x?y").to_string() == "https://layers.example/x?y");
  for (const std::string address :
       {"http://layers.example/x", "https://127.0.0.1/x", "https://localhost/x", "https://169.254.169.254/x",
        "https://metadata.google.internal/x", "https://10.0.0.1/x", "https://[::1]/x", "ftp://layers.example/x",
        "file:///etc/passwd", "https://joe:sesame@layers.example/x", "", "/x"}) {
    INFO(address);
    CHECK(error_of([&] { check_foreign_address(address); }).kind() == ErrorKind::image_access);
  }
}

TEST_CASE("hostile: an image cannot send us inside for a layer", "[foreign][hostile]") {
  const CleanEnvironment environment;
  HttpServer inside([](const ReceivedRequest&) { return reply(200, "secret"); });
  bool has_it = false;
  std::string layer;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (has_it || !request.target.ends_with(layer)) return std::nullopt;
    return reply(404, "");
  });
  layer = Digest::of(registry.image.layers[1]).to_string();
  registry.image.manifest =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{},{}]}})", oci_manifest_type,
                  descriptor(oci_config_type, registry.image.config),
                  descriptor("application/vnd.oci.image.layer.v1.tar", registry.image.layers[0]),
                  descriptor("application/vnd.oci.image.layer.nondistributable.v1.tar", registry.image.layers[1],
                             fmt::format(R"(,"urls":["{}","https://{}/x"])", inside.url("/layer"), inside.host())));
  const auto image = open_image(registry.name(), impatient());
  const Error error = error_of([&] { image->open_layer(1); });
  CHECK(error.kind() == ErrorKind::image_not_found);
  CHECK(mentions(error, "none of them served"));
  CHECK(mentions(error, "not https"));
  CHECK(mentions(error, "private network"));
  CHECK(inside.requests().empty());
  has_it = true;
  CHECK(read_layer_bytes(*image, 1) == registry.image.layers[1]);
}
