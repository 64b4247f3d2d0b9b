// Blobs and manifests of a registry as bytes in order. distribution-spec 1.1, "Pulling blobs".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "image/manifest.hpp"
#include "image/registry_session.hpp"
#include "image/source.hpp"

namespace imgforge {

inline constexpr std::string_view accepted_manifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

/// The blob from its start. As long as its descriptor says, or the reader throws; the digest is the caller's to check.
/// Throws Error(image_*); `what` names it in messages.
std::unique_ptr<ByteReader> open_registry_blob(std::shared_ptr<RegistrySession> session, const Descriptor& descriptor,
                                               std::string_view what);
/// The same for manifests and indexes, which a registry keeps apart.
std::unique_ptr<ByteReader> open_registry_manifest(std::shared_ptr<RegistrySession> session,
                                                   const Descriptor& descriptor);

}  // namespace imgforge
