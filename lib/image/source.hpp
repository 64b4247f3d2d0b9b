// A place that yields an image: registry, OCI layout, archives. A source hands out bytes; whoever takes them checks
// their digest (read_checked and layer/layer_reader.hpp do).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "image/manifest.hpp"
#include "image/platform.hpp"
#include "image/retry.hpp"

namespace imgforge {

/// Bytes in order, bounded memory. Not thread-safe; different readers of one source may be used on different threads.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills up to `size` bytes and returns how many; 0 at the end only. Throws Error(image_*).
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// Bytes that had to be fetched a second time to get here, as after a connection broke: they are part of the cost.
  virtual std::uint64_t bytes_again() const noexcept { return 0; }
};

/// One layer as its source has it.
struct LayerBlob {
  std::optional<Digest> digest;   // of the blob's bytes; absent in a docker-archive
  std::optional<Digest> diff_id;  // of the uncompressed tar, from the config
  std::uint64_t size = 0;         // bytes of the blob; 0 where only the stream tells (Image::streams_once)
  std::string media_type;         // a claim: what the layer is, its first bytes tell
  std::size_t index = 0;          // 0 is the lowest
  std::map<std::string, std::string> annotations = {};  // of the layer's descriptor, in the verified manifest
};

/// Which file of this machine a layer's bytes lie in, and in which state: as long as all of it is the same, so are the
/// bytes. Of a layer from a registry there is none: there, the digest names the bytes.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;        // bytes of the file, which may be a tar around the layer
  std::int64_t modified_ns = 0;  // mtime, since 1970
  std::int64_t changed_ns = 0;   // ctime
  std::uint64_t offset = 0;      // of the layer in the file
  bool operator==(const FileStamp&) const = default;
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
  /// `length` bytes of the blob from `offset` on, where the source has random access (a file; a registry that answers
  /// Range); nothing where it has not, and then open_layer() is the way. The bytes are not checked. Thread-safe.
  virtual std::unique_ptr<ByteReader> open_layer_range(std::size_t /*index*/, std::uint64_t /*offset*/,
                                                       std::uint64_t /*length*/) const {
    return nullptr;
  }
  /// Where the layer lies on this machine, before it is read; nothing where it is no plain file.
  virtual std::optional<FileStamp> layer_stamp(std::size_t /*index*/) const { return std::nullopt; }

  /// A source that can only be read from its start to its end, as `docker save` writes it (a daemon, a pipe): one pass
  /// of stream_layers() hands out every layer, open_layer() would cost a whole pass each.
  virtual bool streams_once() const { return false; }
  /// Calls `visit` for each layer of the stream, in the stream's order. Which layer it is, its diff id tells, which the
  /// visitor has to compute; others than this image's may be among them. The reader is to be read to its end.
  /// Afterwards the source checks what it said of the config. Throws Error(image_*).
  virtual void stream_layers(const std::function<void(ByteReader& layer, std::uint64_t size)>& /*visit*/) const {}
  /// In such a stream the config may come last, too (a pipe): then config(), layers() and the digests are those of an
  /// empty image until stream_layers() has returned, which can be called once and not beside anything else.
  virtual bool config_comes_last() const { return false; }

  /// How the image was named, normalised: "oci:/path:tag", "docker.io/library/python:3.11".
  virtual const std::string& name() const = 0;
  /// Bytes of manifests and config that were read to get here.
  virtual std::uint64_t bytes_read() const = 0;
};

/// --mirror docker.io=localhost:5000: asked first for repositories of `registry`; with credentials of its own only.
struct Mirror {
  std::string registry;  // host[:port], "docker.io"
  std::string location;  // host[:port][/prefix]
};

struct SourceOptions {
  Platform platform;  // which one of an index
  bool platform_asked =
      false;  // said by the user: then a single image of another platform is an error of a rule, not of the source
  bool insecure = false;  // registries: plain HTTP and unverified TLS are acceptable
  std::vector<Mirror> mirrors;
  RetryPolicy retry;     // of registries
  std::string authfile;  // --authfile: containers' auth.json or docker's config.json, instead of the usual places
};

/// Opens an image by name: "docker://REF", "oci:DIR[:TAG]", "oci-archive:FILE[:TAG]",
/// "docker-archive:FILE[:NAME:TAG|:@INDEX]" ("-" is standard input), "dir:DIR", "docker-daemon:NAME[:TAG]",
/// "containers-storage:NAME[:TAG]"; a bare name is a path where something is there (told by content), else a registry
/// reference. Throws Error(image_*); where a bare name fits nothing, the error lists every source that was tried and
/// why it failed.
std::unique_ptr<Image> open_image(const std::string& name, const SourceOptions& options);

/// The platforms of the index that `name` leads to, in its order, attestations left out; the one platform of a single
/// image (of standard input the one of the options, so that it is not read). For --all-platforms. Throws as open_image
/// does.
std::vector<Platform> platforms_of(const std::string& name, const SourceOptions& options);

}  // namespace imgforge
