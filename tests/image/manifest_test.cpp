#include "image/manifest.hpp"

#include <catch2/catch.hpp>

#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string digest = "sha256:" + std::string(64, 'a');
const std::string blob = R"({"mediaType":"application/octet-stream","digest":")" + digest + R"(","size":7})";

std::string manifest_with(const std::string& members) {
  return "{\"schemaVersion\":2" + (members.empty() ? "" : "," + members) + "}";
}
std::string config_with(const std::string& run) {
  return R"({"os":"linux","architecture":"amd64","config":)" + run + R"(,"rootfs":{"type":"layers","diff_ids":[]}})";
}
ErrorKind kind(const std::function<void()>& action) { return error_of(action).kind(); }

}  // namespace

TEST_CASE("a manifest names config and layers", "[manifest]") {
  const Manifest manifest = parse_manifest(
      manifest_with(R"("config":)" + blob + R"(,"layers":[)" + blob + "," + blob + R"(],"annotations":{"a":"b"})"));
  CHECK(manifest.config.size == 7);
  CHECK(manifest.layers.size() == 2);
  CHECK(manifest.layers[1].digest.to_string() == digest);
  CHECK(manifest.annotations.at("a") == "b");
  CHECK(parse_manifest(manifest_with(R"("config":)" + blob + R"(,"layers":null)")).layers.empty());
}

TEST_CASE("what a document is, its media type and its shape agree on", "[manifest]") {
  const std::string manifest = manifest_with(R"("config":)" + blob + R"(,"layers":[])");
  CHECK(document_kind(manifest, "") == DocumentKind::manifest);
  CHECK(document_kind(manifest, oci_manifest_type) == DocumentKind::manifest);
  CHECK(document_kind(index_of({}), oci_index_type) == DocumentKind::index);
  CHECK(document_kind(manifest_with(R"("manifests":[])"),
                      "application/vnd.docker.distribution.manifest.list.v2+json") == DocumentKind::index);
}

TEST_CASE("hostile: a document that announces one media type and says another", "[manifest][hostile]") {
  CHECK(kind([] { document_kind(index_of({}), oci_manifest_type); }) == ErrorKind::image_corrupt);
  CHECK(kind([] {
          document_kind(
              manifest_with(R"("mediaType":")" + std::string(oci_index_type) + R"(","config":{},"layers":[])"), "");
        }) == ErrorKind::image_corrupt);
  CHECK(kind([] { document_kind(index_of({}), "application/vnd.docker.distribution.manifest.list.v2+json"); }) ==
        ErrorKind::image_corrupt);
}

TEST_CASE("hostile: a document that is manifest and index at once (CVE-2021-41190)", "[manifest][hostile]") {
  for (const char* members : {R"("manifests":[],"layers":[])", R"("manifests":[],"config":{})"}) {
    CHECK(kind([&] { document_kind(manifest_with(members), ""); }) == ErrorKind::image_corrupt);
    CHECK(kind([&] { parse_index(manifest_with(members)); }) == ErrorKind::image_corrupt);
    CHECK(kind([&] { parse_manifest(manifest_with(members)); }) == ErrorKind::image_corrupt);
  }
  CHECK(kind([] { parse_manifest(index_of({})); }) == ErrorKind::image_corrupt);
  CHECK(kind([] { parse_index(manifest_with(R"("config":)" + blob + R"(,"layers":[])")); }) ==
        ErrorKind::image_corrupt);
}

TEST_CASE("hostile: keys that only some readers take for the real ones", "[manifest][hostile]") {
  CHECK(kind([] {
          parse_manifest(manifest_with(R"("config":)" + blob + R"(,"layers":[],"Layers":[)" + blob + "]"));
        }) == ErrorKind::image_corrupt);
  CHECK(kind([] { parse_config(config_with(R"({"env":["A=b"]})")); }) == ErrorKind::image_corrupt);
  CHECK(kind([] { parse_config(config_with(R"({"Env":[],"Env":["A=b"]})")); }) == ErrorKind::image_corrupt);
}

TEST_CASE("hostile: descriptors that are none", "[manifest][hostile]") {
  const auto with_layer = [](const std::string& layer) {
    return manifest_with(R"("config":)" + blob + R"(,"layers":[)" + layer + "]");
  };
  for (const std::string layer :
       {R"({"digest":"sha256:abc","size":1})", R"({"digest":"sha256:../../../etc/passwd","size":1})",
        R"({"digest":7,"size":1})", R"({"size":1})", R"("text")", R"(null)"}) {
    INFO(layer);
    CHECK(kind([&] { parse_manifest(with_layer(layer)); }) == ErrorKind::image_corrupt);
  }
  for (const std::string size : {"-1", "1.5", "1e3", "\"7\"", "null", "99999999999999999999999"}) {
    INFO(size);
    CHECK(kind([&] { parse_manifest(with_layer(R"({"digest":")" + digest + R"(","size":)" + size + "}")); }) ==
          ErrorKind::image_corrupt);
  }
  // Data that stands in the descriptor has to be what the digest names.
  CHECK(kind([&] { parse_manifest(with_layer(R"({"digest":")" + digest + R"(","size":1,"data":"YQ=="})")); }) ==
        ErrorKind::image_corrupt);
  CHECK(parse_manifest(with_layer(R"({"digest":")" + Digest::of("a").to_string() + R"(","size":1,"data":"YQ=="})"))
            .layers.size() == 1);
}

TEST_CASE("hostile: no JSON, deep JSON, a terminal escape in a digest", "[manifest][hostile]") {
  CHECK(kind([] { parse_manifest(std::string("\0\1\2 no JSON \xff", 12)); }) == ErrorKind::image_corrupt);
  CHECK(kind([] { parse_manifest(std::string(60'000, '[')); }) == ErrorKind::image_limit);
  CHECK(kind([] { parse_manifest("[]"); }) == ErrorKind::image_corrupt);
  CHECK(kind([] { parse_manifest("{}"); }) == ErrorKind::image_corrupt);
  const Error error =
      error_of([] { parse_manifest(manifest_with(R"("config":{"digest":"\u001b[2J","size":1},"layers":[])")); });
  CHECK(error.message().find('\x1b') == std::string::npos);
}

TEST_CASE("what is no container image is refused with a word on why", "[manifest]") {
  const Error schema1 = error_of([] { document_kind(R"({"schemaVersion":1,"name":"x","fsLayers":[]})", ""); });
  CHECK(schema1.kind() == ErrorKind::image_unsupported);
  CHECK(mentions(schema1, "schema 1"));
  CHECK(mentions(schema1, "push the image again"));
  const Error artifact = error_of([] {
    parse_manifest(manifest_with(
        R"("artifactType":"application/x.chart","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":")" +
        digest + R"(","size":2},"layers":[])"));
  });
  CHECK(artifact.kind() == ErrorKind::image_unsupported);
  CHECK(mentions(artifact, "application/x.chart"));
  CHECK(error_of([] {
          document_kind(manifest_with(R"("mediaType":"application/x.other","config":{},"layers":[])"), "");
        }).kind() == ErrorKind::image_unsupported);
}

TEST_CASE("a config says how the image runs", "[config]") {
  const ImageConfig config = parse_config(
      R"({"os":"linux","architecture":"arm64","variant":"v8","created":"2024-01-02T03:04:05Z",
          "config":{"Env":["A=1","B=x=y","A=2","C"],"Entrypoint":["/boot"],"Cmd":["a"],"User":"1000","WorkingDir":"/w","Labels":{"k":"v"}},
          "rootfs":{"type":"layers","diff_ids":[")" +
      digest + R"("]},
          "history":[{"created_by":"one"},{"created_by":"ENV","empty_layer":true}]})");
  CHECK(config.platform.to_string() == "linux/arm64/v8");
  CHECK(config.variable("A") == "2");
  CHECK(config.variable("B") == "x=y");
  CHECK(config.variable("C") == "");
  CHECK_FALSE(config.variable("D"));
  CHECK(config.entrypoint == std::vector<std::string>{"/boot"});
  CHECK(config.user == "1000");
  CHECK(config.workdir == "/w");
  CHECK(config.labels.at("k") == "v");
  CHECK(config.diff_ids.size() == 1);
  REQUIRE(config.history.size() == 2);
  CHECK(config.history[1].empty_layer);
  CHECK(config.created.starts_with("2024"));
}

TEST_CASE("what Go writes for nothing is nothing", "[config]") {
  const ImageConfig config =
      parse_config(config_with(R"({"Env":null,"Entrypoint":null,"Cmd":null,"Labels":null,"User":""})"));
  CHECK(config.env.empty());
  CHECK(config.entrypoint.empty());
  CHECK(config.labels.empty());
  CHECK(parse_config(config_with("null")).env.empty());
  CHECK(parse_config(R"({"rootfs":{"type":"layers","diff_ids":null}})").platform.architecture == "unknown");
}

TEST_CASE("hostile: configs of the wrong types", "[config][hostile]") {
  for (const char* run :
       {R"({"Env":"A=b"})", R"({"Env":[1]})", R"({"Env":{"A":"b"}})", R"({"Entrypoint":"/boot"})", R"({"Cmd":7})",
        R"({"User":1000})", R"({"Labels":["a"]})", R"({"Labels":{"a":1}})", R"([])", R"("text")"}) {
    INFO(run);
    CHECK(kind([&] { parse_config(config_with(run)); }) == ErrorKind::image_corrupt);
  }
  for (const char* document :
       {R"({})", R"({"rootfs":[]})", R"({"rootfs":{"diff_ids":"x"}})", R"({"rootfs":{"diff_ids":["sha256:x"]}})",
        R"({"os":1,"rootfs":{}})", R"({"rootfs":{},"history":{}})", R"({"rootfs":{},"history":[1]})",
        R"({"rootfs":{},"history":[{"empty_layer":"yes"}]})"}) {
    INFO(document);
    CHECK(kind([&] { parse_config(document); }) == ErrorKind::image_corrupt);
  }
}

TEST_CASE("the entry for the platform is chosen", "[index]") {
  const auto choose = [](const std::vector<std::string>& entries, const char* wanted) {
    const Index index = parse_index(index_of(entries));
    const Descriptor& chosen = choose_platform(index, *Platform::parse(wanted));
    return static_cast<std::size_t>(&chosen - index.manifests.data());
  };
  const auto entry = [](const std::string& architecture, const std::string& variant = "") {
    return descriptor(
        oci_manifest_type, architecture + variant,
        fmt::format(R"(,"platform":{{"os":"linux","architecture":"{}","variant":"{}"}})", architecture, variant));
  };
  const std::string attestation = descriptor(
      oci_manifest_type, "attestation",
      R"(,"platform":{"os":"unknown","architecture":"unknown"},"annotations":{"vnd.docker.reference.type":"attestation-manifest"})");
  CHECK(choose({entry("arm64"), entry("amd64")}, "linux/amd64") == 1);
  CHECK(choose({entry("amd64", "v3"), entry("amd64")}, "linux/amd64") == 1);
  CHECK(choose({entry("arm", "v6"), entry("arm", "v7")}, "linux/arm") == 1);
  CHECK(choose({entry("arm64", "v8")}, "linux/arm64") == 0);
  CHECK(choose({attestation, entry("amd64")}, "linux/amd64") == 1);
  CHECK(choose({attestation, descriptor(oci_manifest_type, "plain")}, "linux/amd64") == 1);
  const Error missing = error_of([&] { choose({entry("arm64"), attestation, entry("amd64")}, "linux/s390x"); });
  CHECK(missing.kind() == ErrorKind::image_not_found);
  CHECK(mentions(missing, "linux/amd64 and linux/arm64"));
  CHECK_FALSE(mentions(missing, "unknown"));
  CHECK(error_of([&] { choose({attestation}, "linux/amd64"); }).kind() == ErrorKind::image_not_found);
  CHECK(error_of([&] { choose({}, "linux/amd64"); }).kind() == ErrorKind::image_not_found);
}
