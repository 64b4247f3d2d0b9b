#include "image/docker_manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::size_t max_names_shown = 50;

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

std::vector<DockerRow> parse_rows(std::string_view bytes) {
  const json document = parse_json(bytes, "manifest.json");
  if (!document.is_array()) {
    throw Error(ErrorKind::image_corrupt, "manifest.json is malformed: it has to be a list of images",
                "if the tar is an OCI layout, name it as oci-archive:FILE");
  }
  std::vector<DockerRow> rows;
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

/// The rows whose image's id is, or begins with, what is behind the @.
std::vector<const DockerRow*> rows_of_id(const std::vector<DockerRow>& rows, std::string_view id) {
  constexpr std::size_t short_id = 12;  // as docker shows it
  if (id.starts_with("sha256:")) id.remove_prefix(7);
  std::vector<const DockerRow*> result;
  if (id.size() < short_id) return result;
  for (const DockerRow& row : rows) {
    const std::string_view file = without_dot(row.config);
    if (file.substr(file.rfind('/') + 1).starts_with(id)) result.push_back(&row);
  }
  return result;
}

[[noreturn]] void throw_choice(const std::vector<DockerRow>& rows, const std::string& selector) {
  std::vector<std::string> there;
  std::size_t untagged = 0;
  std::size_t left_out = 0;
  for (const DockerRow& row : rows) {
    if (row.tags.empty()) ++untagged;
    for (const std::string& tag : row.tags) {
      if (there.size() < max_names_shown)
        there.push_back(escape_for_display(tag));
      else
        ++left_out;
    }
  }
  if (left_out != 0) there.push_back(fmt::format("{} more", left_out));
  if (untagged != 0) there.push_back(fmt::format("{} without a name", untagged));
  const std::string message = selector.empty()
                                  ? fmt::format("the archive holds {} images", rows.size())
                                  : fmt::format("the archive has no image \"{}\"", escape_for_display(selector));
  throw Error(ErrorKind::image_not_found, fmt::format("{}; there is {}", message, join_words(there)),
              fmt::format("name one of them: docker-archive:FILE:NAME:TAG, or by its place: docker-archive:FILE:@0{}",
                          rows.size() > 1 ? fmt::format(" to @{}", rows.size() - 1) : ""));
}

const DockerRow& select(const std::vector<DockerRow>& rows, const std::string& selector) {
  if (selector.empty() && rows.size() == 1) return rows.front();
  if (selector.starts_with('@')) {
    const std::string_view text = std::string_view(selector).substr(1);
    const std::optional<std::uint64_t> place = text.size() <= 6 ? to_number(text) : std::nullopt;
    if (place && *place < rows.size()) return rows[*place];
    const std::vector<const DockerRow*> found = rows_of_id(rows, text);
    if (found.size() == 1) return *found.front();
  } else if (!selector.empty()) {
    for (const DockerRow& row : rows) {
      for (const std::string& tag : row.tags) {
        if (tag == selector || full_name(tag) == full_name(selector)) return row;
      }
    }
  }
  throw_choice(rows, selector);
}

}  // namespace

std::vector<DockerRow> read_docker_manifest(const FileTree& files) {
  if (!files.size_of("manifest.json")) {
    throw Error(ErrorKind::image_corrupt, "it is no docker-archive: there is no manifest.json in the tar",
                files.size_of("index.json") ? "it is an OCI layout: oci-archive:FILE" : "");
  }
  return parse_rows(read_member(files, "manifest.json", "manifest.json"));
}

std::string read_docker_config(const FileTree& files, const DockerRow& row) {
  std::string bytes = read_member(files, row.config, fmt::format("the config {}", escape_for_display(row.config)));
  std::optional<Digest> claimed = digest_in_name(without_dot(row.config), "", ".json");
  if (!claimed) claimed = digest_in_name(without_dot(row.config), "blobs/sha256/", "");
  if (claimed && *claimed != Digest::of(bytes)) {
    throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of the config: its name says {}, found {}",
                                                      claimed->to_string(), Digest::of(bytes).to_string()));
  }
  return bytes;
}

DockerImage read_docker_image(const FileTree& files, const std::string& selector, std::string shown_name) {
  const std::vector<DockerRow> rows = read_docker_manifest(files);
  const DockerRow& row = select(rows, selector);
  const std::string config_bytes = read_docker_config(files, row);
  DockerImage image{{parse_config(config_bytes),
                     {},
                     std::nullopt,
                     Digest::of(config_bytes),
                     std::move(shown_name),
                     *files.size_of("manifest.json") + config_bytes.size()},
                    row.layers};
  const std::size_t count = row.layers.size();
  const std::vector<Digest>& diff_ids = image.parts.config.diff_ids;
  if (diff_ids.size() != count) {
    throw Error(ErrorKind::image_corrupt,
                fmt::format("manifest.json has {} layers, the config has {} diff ids", count, diff_ids.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::uint64_t> size = files.size_of(row.layers[i]);
    if (!size) {
      throw Error(ErrorKind::image_corrupt, fmt::format("{} is missing in the archive: {}", layer_name(i, count),
                                                        escape_for_display(row.layers[i])));
    }
    // Only a name like that promises what the bytes are; for all others the diff id is the proof.
    image.parts.layers.push_back({digest_in_name(without_dot(row.layers[i]), "blobs/sha256/", ""), diff_ids[i], *size,
                                  "application/vnd.docker.image.rootfs.diff.tar", i});
  }
  return image;
}

}  // namespace imgforge
