// Images of registries: distribution-spec 1.1, "Pulling manifests" and "Pulling blobs".
#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/http.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/registry_blob.hpp"
#include "image/registry_session.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

std::string without_parameters(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

class RegistryStore final : public BlobStore {
 public:
  explicit RegistryStore(std::shared_ptr<RegistrySession> session) : session_(std::move(session)) {}

  std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const override {
    return open_registry_blob(session_, descriptor, what);
  }

  std::unique_ptr<ByteReader> open_manifest(const Descriptor& descriptor) const override {
    return open_registry_manifest(session_, descriptor);
  }

 private:
  std::shared_ptr<RegistrySession> session_;
};

class ResponseReader final : public ByteReader {
 public:
  explicit ResponseReader(HttpResponse& response) : response_(response) {}
  std::size_t read(char* buffer, std::size_t size) override { return response_.read(buffer, size); }

 private:
  HttpResponse& response_;
};

/// What Content-Type says about a manifest, where it says anything: proxies and old registries send a generic type.
std::string manifest_media_type(const HttpResponse& response) {
  const std::string type = without_parameters(response.header("content-type").value_or(""));
  const bool generic =
      type == "application/json" || type == "text/plain" || type == "application/octet-stream" || type == "text/html";
  return generic ? "" : type;
}

Document top_document(RegistrySession& session) {
  constexpr std::string_view what = "the manifest";
  const Reference& reference = session.reference();
  HttpResponse response = session.open({"manifests/" + reference.identifier(), accepted_manifests, what});
  ResponseReader reader(response);
  std::string bytes = read_all(reader, max_document_bytes, what);
  const std::string announced = response.header("docker-content-digest").value_or("");
  const std::optional<Digest> claim = Digest::parse(announced);
  if (!claim && (announced.starts_with("sha256:") || announced.starts_with("sha512:"))) {
    throw Error(ErrorKind::image_corrupt, fmt::format("the registry's Docker-Content-Digest is no digest: \"{}\"",
                                                      escape_for_display(announced.substr(0, 200))));
  }
  for (const std::optional<Digest>& expected : {reference.digest(), claim}) {
    if (!expected) continue;
    const Digest found = Digest::of(bytes, expected->algorithm());
    if (found != *expected) {
      throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of the manifest: expected {}, found {}",
                                                        expected->to_string(), found.to_string()));
    }
  }
  Digest digest = reference.digest() ? *reference.digest() : claim ? *claim : Digest::of(bytes);
  return {std::move(bytes), manifest_media_type(response), std::move(digest)};
}

}  // namespace

std::unique_ptr<Image> open_registry_image(std::string_view name, const SourceOptions& options) {
  std::string why;
  const std::optional<Reference> reference = Reference::parse(name, &why);
  if (!reference)
    throw Error(ErrorKind::usage, "it is no image reference: " + why,
                "as in python:3.11, or europe-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG");
  const auto session = std::make_shared<RegistrySession>(*reference, options);
  Document top = top_document(*session);
  return assemble_image(std::make_shared<RegistryStore>(session), std::move(top), options, reference->to_full_string());
}

}  // namespace imgforge
