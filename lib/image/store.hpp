// From a place that holds blobs to an image for one platform: index → manifest → config, each checked before it is
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "image/manifest.hpp"
#include "image/source.hpp"

namespace imgforge {

/// Bytes of one manifest, index or config at most; image-spec asks registries for as much.
inline constexpr std::uint64_t max_document_bytes = 4 << 20;

/// Blobs by descriptor. What it hands out is not checked against the digest yet.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  /// `what` names the blob in messages ("layer 3"). Thread-safe. Throws Error(image_*) where it is missing or its size
  /// is known to be another.
  virtual std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const = 0;
  /// The same for manifests and indexes, which a registry keeps apart.
  virtual std::unique_ptr<ByteReader> open_manifest(const Descriptor& descriptor) const {
    return open_blob(descriptor, "the manifest");
  }
  /// Throws where it costs nothing to know that open_blob would.
  virtual void check_blob(const Descriptor&, std::string_view) const {}
  /// As Image::open_layer_range and Image::layer_stamp.
  virtual std::unique_ptr<ByteReader> open_blob_range(const Descriptor& /*descriptor*/, std::string_view /*what*/,
                                                      std::uint64_t /*offset*/, std::uint64_t /*length*/) const {
    return nullptr;
  }
  virtual std::optional<FileStamp> stamp_of(const Descriptor& /*descriptor*/) const { return std::nullopt; }
};

/// All bytes of the reader; Error(image_limit) naming `what` beyond `limit`.
std::string read_all(ByteReader& reader, std::uint64_t limit, std::string_view what);

/// Throws Error(image_corrupt) with both sizes or both digests where `bytes` are not what the descriptor names.
void check_bytes(std::string_view bytes, const Descriptor& descriptor, std::string_view what);
[[noreturn]] void throw_size_mismatch(std::string_view what, const Digest& digest, std::uint64_t expected,
                                      std::uint64_t found);

/// A manifest or an index whose digest was checked or computed.
struct Document {
  std::string bytes;
  std::string media_type;  // as announced, empty where nobody did
  Digest digest;
};

/// Blobs, and where in them an image begins.
struct OpenedSource {
  std::shared_ptr<const BlobStore> store;
  std::optional<Document> top;      // a manifest or an index
  std::vector<Descriptor> entries;  // where there is no top: of an index; a single one is taken as it is
  std::string name;                 // as Image::name()
};

/// The image for the platform that the source begins with or leads to. Indexes in indexes are followed within bounds.
std::unique_ptr<Image> assemble_image(OpenedSource source, const SourceOptions& options);
/// The platforms of all images that it leads to, in order, each once; attestations are none.
std::vector<Platform> list_platforms(const OpenedSource& source);

/// An image of which everything small is known.
struct ImageParts {
  ImageConfig config;
  std::vector<LayerBlob> layers;
  std::optional<Digest> digest;
  Digest config_digest;
  std::string name;
  std::uint64_t bytes_read = 0;
};

/// How its layers are reached; what is left out, the source cannot do.
struct LayerAccess {
  std::function<std::unique_ptr<ByteReader>(std::size_t index)> open;
  std::function<std::unique_ptr<ByteReader>(std::size_t index, std::uint64_t offset, std::uint64_t length)> open_range =
      {};
  std::function<std::optional<FileStamp>(std::size_t index)> stamp = {};
  /// Then Image::streams_once() is true.
  std::function<void(const std::function<void(ByteReader& layer, std::uint64_t size)>& visit)> stream = {};
};
std::unique_ptr<Image> make_image(ImageParts parts, LayerAccess access);

/// "layer 3 of 11", counted from 1, as people do.
std::string layer_name(std::size_t index, std::size_t count);

// The sources that have manifests.
OpenedSource open_layout_folder(const std::string& path, const std::string& selector);
OpenedSource open_layout_archive(const std::string& path, const std::string& selector);
/// skopeo's dir: a folder with manifest.json, version, and blobs named by their bare hex digits.
OpenedSource open_blob_folder(const std::string& path);
OpenedSource open_registry_source(std::string_view reference, const SourceOptions& options);

// And those that have only a config; they hold one platform.
std::unique_ptr<Image> open_docker_archive(const std::string& path, const std::string& selector);
/// docker-archive:-, standard input: a file there is read as one, anything else is streamed.
std::unique_ptr<Image> open_docker_pipe(const std::string& selector);
/// docker-daemon:NAME[:TAG|@DIGEST] or docker-daemon:ID.
std::unique_ptr<Image> open_daemon_image(const std::string& name);
/// containers-storage:NAME[:TAG|@ID].
std::unique_ptr<Image> open_storage_image(const std::string& name);

}  // namespace imgforge
