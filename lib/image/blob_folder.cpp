// skopeo's dir: a folder with manifest.json (a manifest, or an index after `skopeo copy --all`), blobs named by their
// digests' bare hex digits, an index's manifests as HEX.manifest.json, and a file `version`.
#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

class BlobFolder final : public BlobStore {
 public:
  explicit BlobFolder(std::unique_ptr<FileTree> files) : files_(std::move(files)) {}

  std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const override {
    check_blob(descriptor, what);
    return files_->open(descriptor.digest.hex());
  }

  std::unique_ptr<ByteReader> open_manifest(const Descriptor& descriptor) const override {
    std::unique_ptr<ByteReader> reader = files_->open(descriptor.digest.hex() + ".manifest.json");
    if (!reader) {
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("the manifest is missing: the folder has no {}.manifest.json", descriptor.digest.hex()),
                  "copy the image again with skopeo copy, with --all for every platform");
    }
    return reader;
  }

  void check_blob(const Descriptor& descriptor, std::string_view what) const override {
    const std::optional<std::uint64_t> size = files_->size_of(descriptor.digest.hex());
    if (!size) {
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("{} is missing: the folder has no file {}", what, descriptor.digest.hex()),
                  "copy the image again with skopeo copy");
    }
    if (*size != descriptor.size) throw_size_mismatch(what, descriptor.digest, descriptor.size, *size);
  }

  std::unique_ptr<ByteReader> open_blob_range(const Descriptor& descriptor, std::string_view what, std::uint64_t offset,
                                              std::uint64_t length) const override {
    check_blob(descriptor, what);
    return files_->open_range(descriptor.digest.hex(), offset, length);
  }

  std::optional<FileStamp> stamp_of(const Descriptor& descriptor) const override {
    return files_->stamp_of(descriptor.digest.hex());
  }

 private:
  std::unique_ptr<FileTree> files_;
};

}  // namespace

OpenedSource open_blob_folder(const std::string& path) {
  std::unique_ptr<FileTree> files = open_folder(path);
  const std::unique_ptr<ByteReader> reader = files->open("manifest.json");
  if (!reader) {
    throw Error(ErrorKind::image_corrupt, "it is no folder of skopeo's dir: there is no manifest.json",
                files->size_of("index.json") ? "it is an OCI layout: oci:DIR" : "");
  }
  std::string bytes = read_all(*reader, max_document_bytes, "manifest.json");
  Digest digest = Digest::of(bytes);
  return {std::make_shared<BlobFolder>(std::move(files)),
          Document{std::move(bytes), "", std::move(digest)},
          {},
          "dir:" + path};
}

}  // namespace imgforge
