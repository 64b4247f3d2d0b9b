// Blobs and manifests of a registry as bytes in order. distribution-spec 1.1, "Pulling blobs".
//
// A connection that breaks is taken up where it stood, by Range; who does not know Range sends it all again, and what
// was read before is passed over. A mirror that fails in the middle is left for the next place in the same way. The
// bytes that come out are in order and without a gap, so a digest that runs along stays right. RFC 9110 section 14.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "image/manifest.hpp"
#include "image/registry_session.hpp"
#include "image/source.hpp"

namespace imgforge {

inline constexpr std::string_view accepted_manifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

/// Where to go on with a blob when its place fails for good, given why: the next mirror, at last the registry itself.
/// Null where there is no other. Called between two reads, from the reader's thread; the bytes that came so far stay.
using OtherPlaces = std::function<std::shared_ptr<RegistrySession>(const Error& failure)>;

/// The blob from its start. As long as its descriptor says, or the reader throws; the digest is the caller's to check.
/// Throws Error(image_*); `what` names it in messages.
std::unique_ptr<ByteReader> open_registry_blob(std::shared_ptr<RegistrySession> session, const Descriptor& descriptor,
                                               std::string_view what, OtherPlaces elsewhere = {});
/// `length` bytes of it from `offset` on; nothing where the server does not do that (200, 400, 416, 501), which is no
/// fault. Throws Error(image_*) where it says that it did, and the bytes are others than were asked for.
std::unique_ptr<ByteReader> open_registry_blob_range(std::shared_ptr<RegistrySession> session,
                                                     const Descriptor& descriptor, std::string_view what,
                                                     std::uint64_t offset, std::uint64_t length,
                                                     OtherPlaces elsewhere = {});
/// The whole of a manifest or an index, which a registry keeps apart.
std::unique_ptr<ByteReader> open_registry_manifest(std::shared_ptr<RegistrySession> session,
                                                   const Descriptor& descriptor, OtherPlaces elsewhere = {});

/// "bytes FIRST-LAST/TOTAL"; `total` is absent where it is "*". Nothing for anything else.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> parse_content_range(std::string_view text) noexcept;

}  // namespace imgforge
