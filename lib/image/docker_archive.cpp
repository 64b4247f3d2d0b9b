// What `docker save` writes, in its three layouts: skopeo and podman (<diffid>.tar, <id>/layer.tar as links), Docker up
// to 24 (<id>/layer.tar), Docker 25 and newer (blobs/sha256/<hex>, beside an OCI layout). All have a manifest.json.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::size_t max_names_shown = 50;

/// One image of manifest.json.
struct Row {
  std::string config;
  std::vector<std::string> tags;
  std::vector<std::string> layers;
};

[[noreturn]] void malformed(std::string_view key) {
  throw Error(ErrorKind::image_corrupt,
              fmt::format("manifest.json is malformed: {} is not what docker save writes", key));
}

std::vector<std::string> texts(const json& row, const char* key) {
  std::vector<std::string> result;
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return result;
  if (!found->is_array()) malformed(key);
  for (const json& item : *found) {
    if (!item.is_string()) malformed(key);
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::vector<Row> parse_rows(std::string_view bytes) {
  const json document = parse_json(bytes, "manifest.json");
  if (!document.is_array()) {
    throw Error(ErrorKind::image_corrupt, "manifest.json is malformed: it has to be a list of images",
                "if the tar is an OCI layout, name it as oci-archive:FILE");
  }
  std::vector<Row> rows;
  for (const json& item : document) {
    if (!item.is_object()) malformed("an image");
    const auto config = item.find("Config");
    if (config == item.end() || !config->is_string()) malformed("Config");
    rows.push_back({config->get<std::string>(), texts(item, "RepoTags"), texts(item, "Layers")});
  }
  if (rows.empty()) throw Error(ErrorKind::image_not_found, "manifest.json names no image");
  return rows;
}

/// The same name in one spelling: "python:3.11" and "docker.io/library/python:3.11" are one image.
std::string full_name(const std::string& name) {
  const std::optional<Reference> reference = Reference::parse(name);
  return reference ? reference->to_full_string() : name;
}

const Row& select(const std::vector<Row>& rows, const std::string& selector) {
  if (selector.empty() && rows.size() == 1) return rows.front();
  std::vector<std::string> there;
  std::size_t untagged = 0;
  for (const Row& row : rows) {
    if (row.tags.empty()) ++untagged;
    for (const std::string& tag : row.tags) {
      if (!selector.empty() && (tag == selector || full_name(tag) == full_name(selector))) return row;
      if (there.size() < max_names_shown) there.push_back(escape_for_display(tag));
    }
  }
  // What a colleague sees as the image's id names it, too.
  for (const Row& row : rows) {
    if (selector.size() >= 12 && selector.starts_with('@') &&
        row.config.find(selector.substr(selector.find(':') + 1)) != std::string::npos)
      return row;
  }
  if (untagged != 0) there.push_back(fmt::format("{} without a name", untagged));
  const std::string message = selector.empty()
                                  ? fmt::format("the archive holds {} images", rows.size())
                                  : fmt::format("the archive has no image \"{}\"", escape_for_display(selector));
  throw Error(ErrorKind::image_not_found, fmt::format("{}; there is {}", message, join_words(there)),
              "name one of them: docker-archive:FILE:NAME:TAG");
}

/// The digest that a member's name claims: "blobs/sha256/<hex>", or "<hex>.json" of a config.
std::optional<Digest> digest_in_name(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size())
    return std::nullopt;
  return Digest::parse(
      fmt::format("sha256:{}", name.substr(prefix.size(), name.size() - prefix.size() - suffix.size())));
}

std::string_view without_dot(std::string_view name) { return name.starts_with("./") ? name.substr(2) : name; }

std::string read_member(const FileTree& files, const std::string& name, const std::string& what) {
  const std::optional<std::uint64_t> size = files.size_of(name);
  if (!size) throw Error(ErrorKind::image_corrupt, fmt::format("{} is missing in the archive", what));
  if (*size > max_document_bytes) {
    throw Error(ErrorKind::image_limit,
                fmt::format("{} has {} bytes, at most {} are read", what, *size, max_document_bytes));
  }
  return read_all(*files.open(name), max_document_bytes, what);
}

}  // namespace

std::unique_ptr<Image> open_docker_archive(const std::string& path, const std::string& selector, const SourceOptions&) {
  std::shared_ptr<const FileTree> files = open_tar(std::make_shared<RandomFile>(path));
  if (!files->size_of("manifest.json")) {
    throw Error(ErrorKind::image_corrupt, "it is no docker-archive: there is no manifest.json in the tar",
                files->size_of("index.json") ? "it is an OCI layout: oci-archive:FILE" : "");
  }
  const std::string manifest = read_member(*files, "manifest.json", "manifest.json");
  const std::vector<Row> rows = parse_rows(manifest);
  const Row& row = select(rows, selector);

  const std::string config_bytes =
      read_member(*files, row.config, fmt::format("the config {}", escape_for_display(row.config)));
  const Digest config_digest = Digest::of(config_bytes);
  std::optional<Digest> claimed = digest_in_name(without_dot(row.config), "", ".json");
  if (!claimed) claimed = digest_in_name(without_dot(row.config), "blobs/sha256/", "");
  if (claimed && *claimed != config_digest) {
    throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of the config: its name says {}, found {}",
                                                      claimed->to_string(), config_digest.to_string()));
  }
  ImageParts parts{
      parse_config(config_bytes),
      {},
      std::nullopt,
      config_digest,
      fmt::format("docker-archive:{}{}{}", path, selector.empty() || selector.starts_with('@') ? "" : ":", selector),
      manifest.size() + config_bytes.size()};
  const std::size_t count = row.layers.size();
  if (parts.config.diff_ids.size() != count) {
    throw Error(ErrorKind::image_corrupt, fmt::format("manifest.json has {} layers, the config has {} diff ids", count,
                                                      parts.config.diff_ids.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::uint64_t> size = files->size_of(row.layers[i]);
    if (!size)
      throw Error(ErrorKind::image_corrupt, fmt::format("{} is missing in the archive: {}", layer_name(i, count),
                                                        escape_for_display(row.layers[i])));
    // Only a name like that promises what the bytes are; for all others the diff id is the proof.
    parts.layers.push_back({digest_in_name(without_dot(row.layers[i]), "blobs/sha256/", ""), parts.config.diff_ids[i],
                            *size, "application/vnd.docker.image.rootfs.diff.tar", i});
  }
  LayerAccess access;
  const auto layers = std::make_shared<const std::vector<std::string>>(row.layers);
  access.open = [files, layers](std::size_t index) { return files->open((*layers)[index]); };
  access.open_range = [files, layers](std::size_t index, std::uint64_t offset, std::uint64_t length) {
    return files->open_range((*layers)[index], offset, length);
  };
  access.stamp = [files, layers](std::size_t index) { return files->stamp_of((*layers)[index]); };
  return make_image(std::move(parts), std::move(access));
}

}  // namespace imgforge
