#include "image/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_index_depth = 8;
constexpr std::size_t max_documents = 64;  // manifests and indexes on the way to one image

class StoredImage final : public Image {
 public:
  StoredImage(ImageParts parts, LayerAccess access) : parts_(std::move(parts)), access_(std::move(access)) {}

  const ImageConfig& config() const override { return parts_.config; }
  const std::vector<LayerBlob>& layers() const override { return parts_.layers; }
  const std::optional<Digest>& digest() const override { return parts_.digest; }
  const Digest& config_digest() const override { return parts_.config_digest; }
  std::unique_ptr<ByteReader> open_layer(std::size_t index) const override {
    check(index);
    return access_.open(index);
  }
  std::unique_ptr<ByteReader> open_layer_range(std::size_t index, std::uint64_t offset,
                                               std::uint64_t length) const override {
    check(index);
    return access_.open_range ? access_.open_range(index, offset, length) : nullptr;
  }
  std::optional<FileStamp> layer_stamp(std::size_t index) const override {
    check(index);
    return access_.stamp ? access_.stamp(index) : std::nullopt;
  }
  bool streams_once() const override { return static_cast<bool>(access_.stream); }
  void stream_layers(const std::function<void(ByteReader&, std::uint64_t)>& visit) const override {
    if (access_.stream) access_.stream(visit);
  }
  const std::string& name() const override { return parts_.name; }
  std::uint64_t bytes_read() const override { return parts_.bytes_read; }

 private:
  void check(std::size_t index) const {
    if (index >= parts_.layers.size()) throw Error(ErrorKind::usage, fmt::format("there is no layer {}", index));
  }

  ImageParts parts_;
  LayerAccess access_;
};

Document read_document(const BlobStore& store, const Descriptor& descriptor) {
  const std::unique_ptr<ByteReader> reader = store.open_manifest(descriptor);
  std::string bytes = read_all(*reader, max_document_bytes, "the manifest");
  check_bytes(bytes, descriptor, "the manifest");
  return {std::move(bytes), descriptor.media_type, descriptor.digest};
}

std::string read_config(const BlobStore& store, const Descriptor& descriptor) {
  if (descriptor.size > max_document_bytes) {
    throw Error(ErrorKind::image_limit,
                fmt::format("the config has {} bytes, at most {} are read", descriptor.size, max_document_bytes));
  }
  std::string bytes = read_all(*store.open_blob(descriptor, "the config"), max_document_bytes, "the config");
  check_bytes(bytes, descriptor, "the config");
  return bytes;
}

/// The way from an index to the manifest for one platform. Bounded in depth and in documents; no index is read twice.
class Walk {
 public:
  Walk(const BlobStore& store, const Platform& wanted) : store_(store), wanted_(wanted) {}

  Document from_document(Document document, std::size_t depth = 0) {
    bytes_read_ += document.bytes.size();
    if (document_kind(document.bytes, document.media_type) == DocumentKind::manifest) return document;
    if (!seen_.insert(document.digest).second)
      throw Error(ErrorKind::image_corrupt, fmt::format("the index {} names itself", document.digest.to_string()));
    return from_index(parse_index(document.bytes), depth);
  }

  Document from_index(const Index& index, std::size_t depth = 0) {
    std::optional<Error> not_found;
    try {
      return follow(choose_platform(index, wanted_), depth);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::image_not_found) throw;
      not_found = error;
    }
    // No entry says that it is for the platform; an index among the entries may still hold one.
    for (const Descriptor& entry : index.manifests) {
      if (!is_index_media_type(entry.media_type) || entry.platform || seen_.contains(entry.digest)) continue;
      try {
        return follow(entry, depth);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::image_not_found) throw;
        not_found = error;
      }
    }
    throw *not_found;
  }

  Document follow(const Descriptor& descriptor, std::size_t depth) {
    if (depth >= max_index_depth)
      throw Error(ErrorKind::image_limit, fmt::format("indexes are nested deeper than {} levels", max_index_depth));
    if (seen_.contains(descriptor.digest)) {
      throw Error(ErrorKind::image_corrupt, fmt::format("the index {} names itself", descriptor.digest.to_string()));
    }
    if (++documents_ > max_documents)
      throw Error(ErrorKind::image_limit,
                  fmt::format("more than {} indexes and manifests for one image", max_documents));
    return from_document(read_document(store_, descriptor), depth + 1);
  }

  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  const BlobStore& store_;
  const Platform& wanted_;
  std::set<Digest> seen_;
  std::size_t documents_ = 0;
  std::uint64_t bytes_read_ = 0;
};

/// Every platform that an index leads to. Bounded as a walk is.
class PlatformList {
 public:
  explicit PlatformList(const BlobStore& store) : store_(store) {}

  void add(const Document& document, std::size_t depth) {
    if (document_kind(document.bytes, document.media_type) == DocumentKind::index) {
      add(parse_index(document.bytes), depth);
    } else {
      add(parse_config(read_config(store_, parse_manifest(document.bytes).config)).platform);
    }
  }

  void add(const Index& index, std::size_t depth) {
    if (depth >= max_index_depth)
      throw Error(ErrorKind::image_limit, fmt::format("indexes are nested deeper than {} levels", max_index_depth));
    for (const Descriptor& entry : index.manifests) {
      if (is_attestation(entry)) continue;
      if (entry.platform && !entry.platform->architecture.empty()) {
        add(*entry.platform);
        continue;
      }
      // What says nothing, has to be looked at.
      if (!seen_.insert(entry.digest).second) continue;
      if (++documents_ > max_documents)
        throw Error(ErrorKind::image_limit,
                    fmt::format("more than {} indexes and manifests for one image", max_documents));
      add(read_document(store_, entry), depth + 1);
    }
  }

  std::vector<Platform> take() {
    if (platforms_.empty()) throw Error(ErrorKind::image_not_found, "the index names no image");
    return std::move(platforms_);
  }

 private:
  void add(const Platform& platform) {
    if (std::find(platforms_.begin(), platforms_.end(), platform) != platforms_.end()) return;
    if (platforms_.size() == max_documents)
      throw Error(ErrorKind::image_limit, fmt::format("more than {} platforms", max_documents));
    platforms_.push_back(platform);
  }

  const BlobStore& store_;
  std::vector<Platform> platforms_;
  std::set<Digest> seen_;
  std::size_t documents_ = 0;
};

std::unique_ptr<Image> from_manifest(std::shared_ptr<const BlobStore> store, const Document& document,
                                     std::uint64_t bytes_read, std::string name) {
  Manifest manifest = parse_manifest(document.bytes);
  const std::string config_bytes = read_config(*store, manifest.config);
  ImageParts parts{parse_config(config_bytes),      {}, document.digest, manifest.config.digest, std::move(name),
                   bytes_read + config_bytes.size()};
  const std::size_t count = manifest.layers.size();
  if (parts.config.diff_ids.size() != count) {
    throw Error(ErrorKind::image_corrupt, fmt::format("the manifest has {} layers, the config has {} diff ids", count,
                                                      parts.config.diff_ids.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Descriptor& layer = manifest.layers[i];
    store->check_blob(layer, layer_name(i, count));
    parts.layers.push_back(
        {layer.digest, parts.config.diff_ids[i], layer.size, layer.media_type, i, layer.annotations});
  }
  const auto layers = std::make_shared<const std::vector<Descriptor>>(std::move(manifest.layers));
  LayerAccess access;
  access.open = [store, layers](std::size_t index) {
    return store->open_blob((*layers)[index], layer_name(index, layers->size()));
  };
  access.open_range = [store, layers](std::size_t index, std::uint64_t offset, std::uint64_t length) {
    return store->open_blob_range((*layers)[index], layer_name(index, layers->size()), offset, length);
  };
  access.stamp = [store, layers](std::size_t index) { return store->stamp_of((*layers)[index]); };
  return make_image(std::move(parts), std::move(access));
}

}  // namespace

std::string read_all(ByteReader& reader, std::uint64_t limit, std::string_view what) {
  std::string bytes;
  char buffer[16 << 10];
  while (const std::size_t count = reader.read(buffer, sizeof buffer)) {
    if (bytes.size() + count > limit)
      throw Error(ErrorKind::image_limit,
                  fmt::format("{} has more than {} bytes, which is all that is read", what, limit));
    bytes.append(buffer, count);
  }
  return bytes;
}

void throw_size_mismatch(std::string_view what, const Digest& digest, std::uint64_t expected, std::uint64_t found) {
  throw Error(ErrorKind::image_corrupt,
              fmt::format("size mismatch of {} ({}): the descriptor says {} bytes, there are {}", what,
                          digest.to_string(), expected, found));
}

void check_bytes(std::string_view bytes, const Descriptor& descriptor, std::string_view what) {
  if (bytes.size() != descriptor.size) throw_size_mismatch(what, descriptor.digest, descriptor.size, bytes.size());
  const Digest found = Digest::of(bytes, descriptor.digest.algorithm());
  if (found != descriptor.digest) {
    throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of {}: expected {}, found {}", what,
                                                      descriptor.digest.to_string(), found.to_string()));
  }
}

std::unique_ptr<Image> assemble_image(OpenedSource source, const SourceOptions& options) {
  Walk walk(*source.store, options.platform);
  const Document manifest = source.top                   ? walk.from_document(std::move(*source.top))
                            : source.entries.size() == 1 ? walk.follow(source.entries.front(), 0)
                                                         : walk.from_index({source.entries});
  return from_manifest(std::move(source.store), manifest, walk.bytes_read(), std::move(source.name));
}

std::vector<Platform> list_platforms(const OpenedSource& source) {
  PlatformList list(*source.store);
  if (source.top)
    list.add(*source.top, 0);
  else
    list.add({source.entries}, 0);
  return list.take();
}

std::unique_ptr<Image> make_image(ImageParts parts, LayerAccess access) {
  return std::make_unique<StoredImage>(std::move(parts), std::move(access));
}

std::string layer_name(std::size_t index, std::size_t count) { return fmt::format("layer {} of {}", index + 1, count); }

}  // namespace imgforge
