// Descriptors, manifests, indexes and configs. image-spec 1.1 (descriptor.md, manifest.md, image-index.md, config.md);
// Docker's schema 2 is the same shape under other media types; schema 1 is recognised and refused.
//
// All are parsed from bytes whose digest was checked first. Throws Error(image_corrupt), (image_limit) or
// (image_unsupported). A document that has both `manifests` and `layers` is ambiguous and refused (CVE-2021-41190).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "image/platform.hpp"

namespace imgforge {

struct Descriptor {
  std::string media_type;
  Digest digest;
  std::uint64_t size = 0;            // bytes
  std::optional<Platform> platform;  // of index entries
  std::map<std::string, std::string> annotations;
  std::vector<std::string> urls = {};  // where else the blob may be had; anybody may have written them
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // lowest first
  std::map<std::string, std::string> annotations;
};

struct Index {
  std::vector<Descriptor> manifests;
};

struct HistoryRow {
  std::string created_by;
  bool empty_layer = false;
};

/// What a runtime takes from the image's config.
struct ImageConfig {
  Platform platform;
  std::vector<std::pair<std::string, std::string>> env;  // in order; of a name that is there twice, the last one holds
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string user;     // as written: "", "0", "1000:1000", "spark"
  std::string workdir;  // as written; "" means "/"
  std::map<std::string, std::string> labels;
  std::vector<std::string> exposed_ports;  // sorted: "8080/tcp", "9000"
  std::vector<std::string> volumes;        // sorted: "/data"
  std::vector<Digest> diff_ids;  // lowest first, one for each layer
  std::vector<HistoryRow> history;
  std::string created;  // RFC 3339, empty where it is not said

  /// The value of a variable, or nothing.
  std::optional<std::string> variable(std::string_view name) const;
};

inline constexpr std::string_view recipe_label = "dev.imgforge.recipe";

bool is_index_media_type(std::string_view media_type) noexcept;
bool is_manifest_media_type(std::string_view media_type) noexcept;

/// Whether an index's entry is no image but says something of one: annotation vnd.docker.reference.type, or the
/// platform unknown/unknown.
bool is_attestation(const Descriptor& entry);

/// What a document is, by its media type and, where it has none, by its shape.
enum class DocumentKind { manifest, index };
DocumentKind document_kind(std::string_view bytes, std::string_view media_type);

Manifest parse_manifest(std::string_view bytes);
Index parse_index(std::string_view bytes);
ImageConfig parse_config(std::string_view bytes);

/// The entry for `wanted`: attestation entries (annotation vnd.docker.reference.type, platform unknown/unknown) are
/// skipped; a lone entry without a platform is taken. Throws Error(image_not_found) that lists the platforms there are.
const Descriptor& choose_platform(const Index& index, const Platform& wanted);

}  // namespace imgforge
