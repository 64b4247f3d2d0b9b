// A place that yields an image: registry, OCI layout, archives. A source hands out bytes; whoever takes them checks
// their digest (read_checked and layer/layer_reader.hpp do).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "image/manifest.hpp"
#include "image/platform.hpp"

namespace imgforge {

/// Bytes in order, bounded memory. Not thread-safe; different readers of one source may be used on different threads.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills up to `size` bytes and returns how many; 0 at the end only. Throws Error(image_*).
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// One layer as its source has it.
struct LayerBlob {
  std::optional<Digest> digest;   // of the blob's bytes; absent in a docker-archive
  std::optional<Digest> diff_id;  // of the uncompressed tar, from the config
  std::uint64_t size = 0;         // bytes of the blob
  std::string media_type;         // a claim: what the layer is, its first bytes tell
  std::size_t index = 0;          // 0 is the lowest
};

/// An image for one platform: everything small is read and checked, layers are opened on demand.
class Image {
 public:
  virtual ~Image() = default;
  virtual const ImageConfig& config() const = 0;
  virtual const std::vector<LayerBlob>& layers() const = 0;  // lowest first
  /// The manifest's digest; absent where the source has no manifest (docker-archive), then the config's digest is it.
  virtual const std::optional<Digest>& digest() const = 0;
  virtual const Digest& config_digest() const = 0;
  /// The blob from its start. Thread-safe.
  virtual std::unique_ptr<ByteReader> open_layer(std::size_t index) const = 0;
  /// How the image was named, normalised: "oci:/path:tag", "docker.io/library/python:3.11".
  virtual const std::string& name() const = 0;
  /// Bytes of manifests and config that were read to get here.
  virtual std::uint64_t bytes_read() const = 0;
};

struct SourceOptions {
  Platform platform;  // which one of an index
  bool platform_asked =
      false;  // said by the user: then a single image of another platform is an error of a rule, not of the source
  bool insecure = false;  // registries: plain HTTP and unverified TLS are acceptable
};

/// Opens an image by name. "docker://REF", "oci:DIR[:tag]", "oci-archive:FILE[:tag]", "docker-archive:FILE[:ref]"; a
/// bare name is a path where something is there (told by content), else a registry reference. Throws Error(image_*);
/// where a bare name fits nothing, the error lists every source that was tried and why it failed.
std::unique_ptr<Image> open_image(const std::string& name, const SourceOptions& options);

}  // namespace imgforge
