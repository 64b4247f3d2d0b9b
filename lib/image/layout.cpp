// OCI image layouts (image-spec 1.1, image-layout.md), as a folder or inside a tar.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

constexpr std::string_view tag_annotation = "org.opencontainers.image.ref.name";
constexpr std::string_view full_name_annotation = "io.containerd.image.name";  // docker save since 25, ctr export
constexpr std::size_t max_tags_shown = 50;

std::string blob_path(const Digest& digest) {
  return fmt::format("blobs/{}/{}", digest.algorithm_name(), digest.hex());
}

class LayoutStore final : public BlobStore {
 public:
  explicit LayoutStore(std::unique_ptr<FileTree> files) : files_(std::move(files)) {}

  const FileTree& files() const noexcept { return *files_; }

  std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const override {
    check_blob(descriptor, what);
    std::unique_ptr<ByteReader> reader = files_->open(blob_path(descriptor.digest));
    if (!reader) throw_missing(descriptor, what);
    return reader;
  }

  void check_blob(const Descriptor& descriptor, std::string_view what) const override {
    const std::optional<std::uint64_t> size = files_->size_of(blob_path(descriptor.digest));
    if (!size) throw_missing(descriptor, what);
    if (*size != descriptor.size) throw_size_mismatch(what, descriptor.digest, descriptor.size, *size);
  }

  std::unique_ptr<ByteReader> open_blob_range(const Descriptor& descriptor, std::string_view what, std::uint64_t offset,
                                              std::uint64_t length) const override {
    check_blob(descriptor, what);
    return files_->open_range(blob_path(descriptor.digest), offset, length);
  }

  std::optional<FileStamp> stamp_of(const Descriptor& descriptor) const override {
    return files_->stamp_of(blob_path(descriptor.digest));
  }

 private:
  [[noreturn]] static void throw_missing(const Descriptor& descriptor, std::string_view what) {
    throw Error(ErrorKind::image_corrupt,
                fmt::format("{} is missing: the layout has no blob {}", what, descriptor.digest.to_string()),
                "write the layout again, for example with skopeo copy");
  }

  std::unique_ptr<FileTree> files_;
};

const std::string* annotation(const Descriptor& entry, std::string_view name) {
  const auto found = entry.annotations.find(std::string(name));
  return found == entry.annotations.end() ? nullptr : &found->second;
}

bool has_tag(const Descriptor& entry, std::string_view tag) {
  const std::string* name = annotation(entry, tag_annotation);
  const std::string* full = annotation(entry, full_name_annotation);
  return (name && *name == tag) || (full && *full == tag);
}

std::string list_tags(const Index& index) {
  std::set<std::string> tags;
  for (const Descriptor& entry : index.manifests) {
    if (const std::string* tag = annotation(entry, tag_annotation)) tags.insert(escape_for_display(*tag));
  }
  if (tags.empty()) return "its images have no tags";
  std::vector<std::string> list;
  for (const std::string& tag : tags) {
    if (list.size() == max_tags_shown) {
      list.push_back(fmt::format("{} more", tags.size() - max_tags_shown));
      break;
    }
    list.push_back(tag);
  }
  return "there is " + join_words(list);
}

/// The blob of this digest, whether or not index.json names it: the platform's manifest below an index, for example.
std::vector<Descriptor> by_digest(const FileTree& files, const Index& index, const Digest& digest) {
  for (const Descriptor& entry : index.manifests) {
    if (entry.digest == digest) return {entry};
  }
  const std::optional<std::uint64_t> size = files.size_of(blob_path(digest));
  if (!size) throw Error(ErrorKind::image_not_found, fmt::format("the layout has no manifest {}", digest.to_string()));
  return {Descriptor{"", digest, *size, std::nullopt, {}}};
}

/// The entries of index.json that the selector ("", "TAG", "@DIGEST") means; more than one where they are one image for
/// several platforms.
std::vector<Descriptor> select(const FileTree& files, const Index& index, const std::string& selector) {
  if (selector.starts_with('@')) {
    const std::optional<Digest> digest = Digest::parse(selector.substr(1));
    if (!digest)
      throw Error(ErrorKind::image_not_found,
                  fmt::format("\"{}\" is no digest", escape_for_display(selector.substr(1))));
    return by_digest(files, index, *digest);
  }
  std::vector<Descriptor> entries;
  std::set<std::string> tags;
  for (const Descriptor& entry : index.manifests) {
    if (annotation(entry, "vnd.docker.reference.type")) continue;
    if (!selector.empty() && !has_tag(entry, selector)) continue;
    const std::string* tag = annotation(entry, tag_annotation);
    tags.insert(tag ? *tag : "");
    entries.push_back(entry);
  }
  if (entries.empty() && selector.empty()) throw Error(ErrorKind::image_not_found, "index.json names no image");
  if (entries.empty()) {
    throw Error(ErrorKind::image_not_found,
                fmt::format("the layout has no tag \"{}\"; {}", escape_for_display(selector), list_tags(index)));
  }
  if (tags.size() > 1) {
    throw Error(ErrorKind::image_not_found,
                fmt::format("the layout holds {} images; {}", entries.size(), list_tags(index)),
                "name one of them, as in oci:DIR:TAG or oci-archive:FILE:TAG");
  }
  return entries;
}

OpenedSource open_layout(std::unique_ptr<FileTree> files, const std::string& selector, std::string name) {
  auto store = std::make_shared<LayoutStore>(std::move(files));
  const std::unique_ptr<ByteReader> reader = store->files().open("index.json");
  if (!reader) throw Error(ErrorKind::image_corrupt, "it is no OCI image layout: there is no index.json");
  const Index index = parse_index(read_all(*reader, max_document_bytes, "index.json"));
  std::vector<Descriptor> entries = select(store->files(), index, selector);
  return {std::move(store), std::nullopt, std::move(entries), std::move(name)};
}

std::string named(std::string_view source, const std::string& path, const std::string& selector) {
  return fmt::format("{}:{}{}{}", source, path, selector.empty() || selector.starts_with('@') ? "" : ":", selector);
}

}  // namespace

OpenedSource open_layout_folder(const std::string& path, const std::string& selector) {
  return open_layout(open_folder(path), selector, named("oci", path, selector));
}

OpenedSource open_layout_archive(const std::string& path, const std::string& selector) {
  return open_layout(open_tar(std::make_shared<RandomFile>(path)), selector, named("oci-archive", path, selector));
}

}  // namespace imgforge
