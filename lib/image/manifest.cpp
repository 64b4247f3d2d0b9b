#include "image/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::string_view oci_index = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view oci_manifest = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view docker_index = "application/vnd.docker.distribution.manifest.list.v2+json";
constexpr std::string_view docker_manifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view schema1_prefix = "application/vnd.docker.distribution.manifest.v1+";

constexpr std::size_t max_layers = 4096;
constexpr std::size_t max_shown = 200;  // bytes of a foreign text in a message

[[noreturn]] void corrupt(const std::string& message) { throw Error(ErrorKind::image_corrupt, message); }

std::string shown(std::string_view text) {
  return text.size() <= max_shown ? escape_for_display(text) : escape_for_display(text.substr(0, max_shown)) + "...";
}

/// A member of an object, null where it is absent. Go's decoder, which the runtimes use, takes "env" for "Env": what
/// they read and what we read would differ, so such a document is refused.
const json& member(const json& object, std::string_view name, std::string_view what) {
  static const json nothing;
  const json* found = &nothing;
  for (const auto& [key, value] : object.items()) {
    if (key == name) {
      found = &value;
    } else if (key.size() == name.size() && lower(key) == lower(name)) {
      corrupt(fmt::format("{} has a key \"{}\" where \"{}\" is meant: readers would disagree about it", what,
                          shown(key), name));
    }
  }
  return *found;
}

const json& object_of(const json& value, std::string_view what) {
  if (!value.is_object()) corrupt(fmt::format("{} has to be an object, it is {}", what, value.type_name()));
  return value;
}

const std::string& text_of(const json& value, std::string_view what) {
  static const std::string none;
  if (value.is_null()) return none;
  if (!value.is_string()) corrupt(fmt::format("{} has to be a string, it is {}", what, value.type_name()));
  return value.get_ref<const std::string&>();
}

/// A list, where null and absence mean an empty one, as Go writes it.
const json& list_of(const json& value, std::string_view what) {
  static const json none = json::array();
  if (value.is_null()) return none;
  if (!value.is_array()) corrupt(fmt::format("{} has to be a list, it is {}", what, value.type_name()));
  return value;
}

std::vector<std::string> texts_of(const json& value, std::string_view what) {
  std::vector<std::string> result;
  for (const json& item : list_of(value, what)) {
    if (!item.is_string())
      corrupt(fmt::format("{} has to be a list of strings, one of them is {}", what, item.type_name()));
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::map<std::string, std::string> text_map_of(const json& value, std::string_view what) {
  std::map<std::string, std::string> result;
  if (value.is_null()) return result;
  for (const auto& [key, item] : object_of(value, what).items()) {
    if (!item.is_string())
      corrupt(fmt::format("{}: the value of \"{}\" has to be a string, it is {}", what, shown(key), item.type_name()));
    result.emplace(key, item.get<std::string>());
  }
  return result;
}

Digest digest_of(const json& value, std::string_view what) {
  const std::string& text = text_of(value, what);
  const std::optional<Digest> digest = Digest::parse(text);
  if (!digest)
    corrupt(fmt::format("{} is no digest: \"{}\" (\"sha256:\" and 64 hex digits are expected)", what, shown(text)));
  return *digest;
}

Platform platform_of(const json& value, std::string_view what) {
  object_of(value, what);
  Platform platform;
  platform.os = text_of(member(value, "os", what), fmt::format("{}.os", what));
  platform.architecture = text_of(member(value, "architecture", what), fmt::format("{}.architecture", what));
  platform.variant = text_of(member(value, "variant", what), fmt::format("{}.variant", what));
  return platform;
}

Descriptor descriptor_of(const json& value, std::string_view what) {
  object_of(value, what);
  const json& size = member(value, "size", what);
  if (!size.is_number_unsigned()) {
    corrupt(fmt::format("{}: the size has to be a whole number of bytes, it is {}", what,
                        size.is_number() ? shown(size.dump()) : size.type_name()));
  }
  Descriptor descriptor{text_of(member(value, "mediaType", what), fmt::format("{}: mediaType", what)),
                        digest_of(member(value, "digest", what), fmt::format("{}: the digest", what)),
                        size.get<std::uint64_t>(),
                        std::nullopt,
                        text_map_of(member(value, "annotations", what), fmt::format("{}: annotations", what)),
                        texts_of(member(value, "urls", what), fmt::format("{}: urls", what))};
  if (const json& platform = member(value, "platform", what); !platform.is_null()) {
    descriptor.platform = platform_of(platform, fmt::format("{}: platform", what));
  }
  if (const json& data = member(value, "data", what); !data.is_null()) {
    const std::optional<std::string> bytes = base64_decode(text_of(data, fmt::format("{}: data", what)));
    if (!bytes || bytes->size() != descriptor.size ||
        Digest::of(*bytes, descriptor.digest.algorithm()) != descriptor.digest) {
      corrupt(
          fmt::format("{}: the embedded data is not what its digest {} names", what, descriptor.digest.to_string()));
    }
  }
  return descriptor;
}

json parse_document(std::string_view bytes, std::string_view what) {
  json document = parse_json(bytes, what);
  object_of(document, what);
  return document;
}

/// What must hold for manifests and indexes alike. Returns the document's own media type.
std::string check_document(const json& document) {
  constexpr std::string_view what = "the manifest";
  const std::string& media_type = text_of(member(document, "mediaType", what), "the manifest's mediaType");
  const json& version = member(document, "schemaVersion", what);
  if (media_type.starts_with(schema1_prefix) || version == 1 || document.contains("fsLayers")) {
    throw Error(ErrorKind::image_unsupported,
                "the image has a manifest of Docker's schema 1, which registries gave up in 2017",
                "push the image again with a current docker, or convert it: skopeo copy --format v2s2 docker://IMAGE "
                "docker://NEW");
  }
  if (!version.is_null() && version != 2) corrupt("the manifest's schemaVersion is neither 1 nor 2");
  const bool index_like = !member(document, "manifests", what).is_null();
  const bool manifest_like = !member(document, "layers", what).is_null() || !member(document, "config", what).is_null();
  if (index_like && manifest_like) {
    corrupt(
        "the manifest is ambiguous: it has both \"manifests\" and \"layers\" or \"config\", so it is an index to one "
        "reader and an image to another");
  }
  if (!index_like && !manifest_like)
    corrupt(
        "the document is neither a manifest nor an index: it has neither \"config\" and \"layers\" nor \"manifests\"");
  return media_type;
}

DocumentKind kind_of(const json& document, std::string_view media_type) {
  const DocumentKind shape =
      document.contains("manifests") && !document["manifests"].is_null() ? DocumentKind::index : DocumentKind::manifest;
  if ((is_index_media_type(media_type) && shape != DocumentKind::index) ||
      (is_manifest_media_type(media_type) && shape != DocumentKind::manifest)) {
    corrupt(fmt::format("the document says that it is {}, but has the shape of {}", media_type,
                        shape == DocumentKind::index ? "an index" : "a manifest"));
  }
  return shape;
}

bool is_config_media_type(std::string_view media_type) {
  return media_type == "application/vnd.oci.image.config.v1+json" ||
         media_type == "application/vnd.docker.container.image.v1+json" || media_type == "application/octet-stream" ||
         media_type.empty();  // written by old registries and builders
}

/// The variant that is meant where none is said: what Docker and Go take it for.
Platform with_variant(Platform platform) {
  if (platform.variant.empty())
    platform.variant = platform.architecture == "arm" ? "v7" : platform.architecture == "arm64" ? "v8" : "v1";
  return platform;
}

/// Of two that satisfy the request: the highest variant that the machine runs, and above it the lowest.
bool is_better(const Platform& a, const Platform& b, const Platform& wanted) {
  const Platform machine = with_variant(wanted);
  const Platform one = with_variant(a);
  const Platform other = with_variant(b);
  const bool fits = one.satisfies(machine);
  if (fits != other.satisfies(machine)) return fits;
  return fits ? !one.satisfies(other) : !other.satisfies(one);
}

}  // namespace

std::optional<std::string> ImageConfig::variable(std::string_view name) const {
  for (auto item = env.rbegin(); item != env.rend(); ++item) {
    if (item->first == name) return item->second;
  }
  return std::nullopt;
}

bool is_index_media_type(std::string_view media_type) noexcept {
  return media_type == oci_index || media_type == docker_index;
}

bool is_attestation(const Descriptor& entry) {
  return entry.annotations.contains("vnd.docker.reference.type") ||
         (entry.platform && entry.platform->os == "unknown" && entry.platform->architecture == "unknown");
}

bool is_manifest_media_type(std::string_view media_type) noexcept {
  return media_type == oci_manifest || media_type == docker_manifest;
}

DocumentKind document_kind(std::string_view bytes, std::string_view media_type) {
  const json document = parse_document(bytes, "the manifest");
  const std::string own = check_document(document);
  if (!own.empty() && !media_type.empty() && own != media_type) {
    corrupt(fmt::format("the manifest says that its media type is {}, but it was announced as {}", shown(own),
                        shown(media_type)));
  }
  const std::string_view decided = own.empty() ? media_type : std::string_view(own);
  if (!decided.empty() && !is_index_media_type(decided) && !is_manifest_media_type(decided)) {
    throw Error(ErrorKind::image_unsupported,
                fmt::format("the manifest has the media type {}, which is none of a container image", shown(decided)));
  }
  return kind_of(document, decided);
}

Manifest parse_manifest(std::string_view bytes) {
  const json document = parse_document(bytes, "the manifest");
  const std::string media_type = check_document(document);
  if (kind_of(document, media_type) != DocumentKind::manifest) corrupt("an index stands where a manifest is expected");
  Manifest manifest{descriptor_of(member(document, "config", "the manifest"), "the manifest's config"),
                    {},
                    text_map_of(member(document, "annotations", "the manifest"), "the manifest's annotations")};
  if (!is_config_media_type(manifest.config.media_type)) {
    const std::string& artifact =
        text_of(member(document, "artifactType", "the manifest"), "the manifest's artifactType");
    throw Error(ErrorKind::image_unsupported,
                fmt::format("it is an artifact ({}), no container image",
                            shown(artifact.empty() ? manifest.config.media_type : artifact)),
                "name the image itself, not its signature, chart or attestation");
  }
  const json& layers = list_of(member(document, "layers", "the manifest"), "the manifest's layers");
  if (layers.size() > max_layers)
    throw Error(ErrorKind::image_limit,
                fmt::format("the manifest has {} layers, at most {} are read", layers.size(), max_layers));
  for (const json& layer : layers)
    manifest.layers.push_back(descriptor_of(layer, fmt::format("layer {} of the manifest", manifest.layers.size())));
  return manifest;
}

Index parse_index(std::string_view bytes) {
  const json document = parse_document(bytes, "the index");
  const std::string media_type = check_document(document);
  if (kind_of(document, media_type) != DocumentKind::index) corrupt("a manifest stands where an index is expected");
  Index index;
  for (const json& entry : list_of(member(document, "manifests", "the index"), "the index's manifests")) {
    index.manifests.push_back(descriptor_of(entry, fmt::format("entry {} of the index", index.manifests.size())));
  }
  return index;
}

/// Go's sets: objects whose keys count. What is no object is none: nothing of it is needed to run the image.
static std::vector<std::string> keys_of(const json& set) {
  std::vector<std::string> keys;
  if (!set.is_object()) return keys;
  for (const auto& item : set.items()) keys.push_back(item.key());
  return keys;
}

ImageConfig parse_config(std::string_view bytes) {
  constexpr std::string_view what = "the image's config";
  const json document = parse_document(bytes, what);
  ImageConfig config;
  config.platform = platform_of(document, what);
  // Ancient images name none; what they run on is not known, and amd64 would be a guess.
  if (config.platform.os.empty()) config.platform.os = "linux";
  if (config.platform.architecture.empty()) config.platform.architecture = "unknown";
  config.created = text_of(member(document, "created", what), "the config's created");

  if (const json& run = member(document, "config", what); !run.is_null()) {
    object_of(run, "the config's \"config\"");
    for (const std::string& setting : texts_of(member(run, "Env", what), "the config's Env")) {
      const std::size_t equals = setting.find('=');
      if (equals == 0 || setting.empty()) continue;  // names nothing, and no runtime sets it
      if (equals == std::string::npos)
        config.env.emplace_back(setting, "");
      else
        config.env.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    config.entrypoint = texts_of(member(run, "Entrypoint", what), "the config's Entrypoint");
    config.cmd = texts_of(member(run, "Cmd", what), "the config's Cmd");
    config.user = text_of(member(run, "User", what), "the config's User");
    config.workdir = text_of(member(run, "WorkingDir", what), "the config's WorkingDir");
    config.labels = text_map_of(member(run, "Labels", what), "the config's Labels");
    config.exposed_ports = keys_of(member(run, "ExposedPorts", what));
    config.volumes = keys_of(member(run, "Volumes", what));
  }

  const json& rootfs = object_of(member(document, "rootfs", what), "the config's rootfs");
  const std::string& type = text_of(member(rootfs, "type", what), "the config's rootfs.type");
  if (!type.empty() && type != "layers")
    throw Error(ErrorKind::image_unsupported,
                fmt::format("the config's rootfs is of type \"{}\", \"layers\" is expected", shown(type)));
  for (const json& diff_id : list_of(member(rootfs, "diff_ids", what), "the config's rootfs.diff_ids")) {
    config.diff_ids.push_back(digest_of(diff_id, fmt::format("diff id {} of the config", config.diff_ids.size())));
  }

  for (const json& row : list_of(member(document, "history", what), "the config's history")) {
    object_of(row, "a row of the config's history");
    const json& empty = member(row, "empty_layer", what);
    if (!empty.is_null() && !empty.is_boolean()) corrupt("empty_layer in the config's history has to be true or false");
    config.history.push_back(
        {text_of(member(row, "created_by", what), "created_by in the config's history"), empty == true});
  }
  return config;
}

const Descriptor& choose_platform(const Index& index, const Platform& wanted) {
  const Descriptor* best = nullptr;
  std::vector<const Descriptor*> unnamed;
  std::set<std::string> there;
  std::size_t images = 0;
  for (const Descriptor& entry : index.manifests) {
    if (is_attestation(entry)) continue;
    ++images;
    if (!entry.platform || entry.platform->architecture.empty()) {
      unnamed.push_back(&entry);
      continue;
    }
    there.insert(shown(entry.platform->to_string()));
    if (!entry.platform->satisfies(wanted)) continue;
    if (!best || is_better(*entry.platform, *best->platform, wanted)) best = &entry;
  }
  if (best) return *best;
  if (images == 1 && unnamed.size() == 1) return *unnamed.front();
  if (images == 0) throw Error(ErrorKind::image_not_found, "the index names no image");
  const std::vector<std::string> list(there.begin(), there.end());
  std::string message = fmt::format("there is no image for {}", wanted.to_string());
  if (!list.empty()) message += fmt::format("; there is {}", join_words(list));
  if (!unnamed.empty())
    message += fmt::format("{} of {} entries name no platform", list.empty() ? "; " : ", and ", unnamed.size());
  throw Error(
      ErrorKind::image_not_found, message,
      list.empty() ? "name the image by its digest" : fmt::format("choose one with --platform {}", list.front()));
}

}  // namespace imgforge
