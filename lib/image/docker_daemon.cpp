// docker-daemon: images of a Docker daemon, or of podman's service, by the Engine API over its unix socket
// (docker_context.hpp says which).
//
// GET /images/NAME/json tells the config, the diff ids and the image's id before anything is read; GET /images/ID/get
// gives everything as one stream, of which nothing is believed until its end: there, the config has to have the digest
// that the id says, and the diff ids that were told. A daemon with containerd's image store names images by manifest or
// index; then the way from that to the config is checked.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/http.hpp"
#include "base/json.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/docker_context.hpp"
#include "image/docker_manifest.hpp"
#include "image/docker_stream.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::string_view other_ways =
    "name another with DOCKER_HOST=unix:///PATH (podman: systemctl --user start podman.socket, then "
    "unix://$XDG_RUNTIME_DIR/podman/podman.sock), or: docker save NAME | imgforge verify docker-archive:-";

void check_socket(const DockerEndpoint& endpoint) {
  struct stat status {};
  const std::string& path = endpoint.socket;
  const std::string shown =
      escape_for_display(path) + (endpoint.from.empty() ? "" : fmt::format(", which {} names", endpoint.from));
  if (::stat(path.c_str(), &status) != 0) {
    const int reason = errno;
    throw Error(reason == EACCES ? ErrorKind::image_access : ErrorKind::image_not_found,
                fmt::format("no daemon's socket is at {}: {}", shown, std::strerror(reason)), std::string(other_ways));
  }
  if (!S_ISSOCK(status.st_mode))
    throw Error(ErrorKind::image_not_found, shown + " is no socket", std::string(other_ways));
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    throw Error(ErrorKind::image_access, fmt::format("no access to the daemon's socket {}", shown),
                "run as a user of its group (usually docker), or: docker save NAME | imgforge verify docker-archive:-");
  }
}

class Daemon {
 public:
  explicit Daemon(std::string socket) : socket_(std::move(socket)) {}

  /// The answer to a GET. `image` names it in messages.
  HttpResponse get(const std::string& target, const std::string& image) const {
    HttpRequest request;
    request.url = {"http", "localhost", 80, target};
    request.headers = {{"Accept", "application/json, application/x-tar"}};
    request.unix_socket = socket_;
    HttpResponse response = client_.get(request);
    const std::string shown = escape_for_display(socket_);
    if (const auto& failure = response.failure()) {
      throw Error(ErrorKind::image_network,
                  fmt::format("the daemon at {} does not answer: {}", shown, failure->message),
                  std::string(other_ways));
    }
    if (response.status() == 200) return response;
    const std::string said = message_of(response);
    if (response.status() == 404) {
      throw Error(ErrorKind::image_not_found, fmt::format("the daemon at {} has no image {}{}", shown, image, said),
                  "docker image ls shows what it has");
    }
    throw Error(
        response.status() == 401 || response.status() == 403 ? ErrorKind::image_access : ErrorKind::image_network,
        fmt::format("the daemon at {} answered {}{}", shown, response.status(), said));
  }

  std::string get_text(const std::string& target, const std::string& image) const {
    HttpResponse response = get(target, image);
    Body body(std::move(response));
    return read_all(body, max_document_bytes, "the daemon's answer");
  }

  /// A body as a reader; keeps nothing else alive than itself.
  class Body final : public ByteReader {
   public:
    explicit Body(HttpResponse response) : response_(std::move(response)) {}
    std::size_t read(char* buffer, std::size_t size) override { return response_.read(buffer, size); }

   private:
    HttpResponse response_;
  };

 private:
  /// What it says of an error: {"message": "..."}.
  static std::string message_of(HttpResponse& response) {
    constexpr std::size_t longest = 300;
    std::string text;
    try {
      char buffer[4096];
      while (text.size() < sizeof buffer) {
        const std::size_t count = response.read(buffer, sizeof buffer);
        if (count == 0) break;
        text.append(buffer, count);
      }
      const json document = parse_json(text, "the daemon's answer");
      if (document.is_object() && document.contains("message") && document["message"].is_string())
        text = document["message"].get<std::string>();
    } catch (const Error&) {
    }
    text = std::string(trim(text));
    return text.empty() ? "" : ": " + escape_for_display(text.substr(0, longest));
  }

  std::string socket_;
  // Before its first byte a daemon may write the whole image to its own disk.
  mutable HttpClient client_{HttpOptions{.stall_timeout = std::chrono::minutes(30)}};  // thread-safe
};

/// The name as a part of a path. What the daemon makes of it, is its own matter; what the path is, is ours.
std::string path_of(const std::string& name) {
  constexpr std::size_t longest = 1024;
  std::string why = "it is longer than any";
  // A daemon takes ids and the first digits of them, too, which are names by their form.
  const bool is_id = Digest::parse(name).has_value();
  if (name.size() > longest || (!is_id && !Reference::parse(name, &why))) {
    throw Error(ErrorKind::usage,
                fmt::format("\"{}\" is no name of an image: {}", escape_for_display(name.substr(0, 200)), why),
                "docker-daemon:NAME[:TAG] or docker-daemon:ID");
  }
  std::string path;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/:@").find(c) != std::string_view::npos;
    path += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

const json& member(const json& object, const char* key) {
  static const json nothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}

/// What the daemon says of an image.
struct Told {
  Digest id;
  bool is_manifest = false;  // the id is the digest of a manifest
  ImageConfig config;
};

Told parse_inspection(const std::string& text) {
  constexpr std::string_view what = "the daemon's answer";
  const json answer = parse_json(text, what);
  const json& id = member(answer, "Id");
  // podman leaves the algorithm out.
  const std::string written = id.is_string() ? id.get<std::string>() : "";
  std::optional<Digest> digest = Digest::parse(written);
  if (!digest) digest = Digest::parse("sha256:" + written);
  if (!digest) throw Error(ErrorKind::image_corrupt, fmt::format("{} has no digest as the image's id", what));
  const json& rootfs = member(answer, "RootFS");
  if (member(rootfs, "Layers").is_null())
    throw Error(ErrorKind::image_corrupt, fmt::format("{} has no diff ids (RootFS.Layers)", what));
  json config = {
      {"os", member(answer, "Os")},           {"architecture", member(answer, "Architecture")},
      {"variant", member(answer, "Variant")}, {"created", member(answer, "Created")},
      {"config", member(answer, "Config")},   {"rootfs", {{"type", "layers"}, {"diff_ids", member(rootfs, "Layers")}}}};
  const json& media_type = member(member(answer, "Descriptor"), "mediaType");
  return {*digest, media_type.is_string() && is_manifest_media_type(media_type.get<std::string>()),
          parse_config(to_json_line(config))};
}

/// Which command made which layer: newest first, with sizes. Only where that fits the layers; it is for people.
std::vector<HistoryRow> parse_history(const std::string& text, std::size_t layers) {
  const json rows = parse_json(text, "the daemon's answer");
  std::vector<HistoryRow> history;
  std::size_t filled = 0;
  if (!rows.is_array()) return {};
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const json& size = member(*row, "Size");
    const json& created_by = member(*row, "CreatedBy");
    const bool empty = !size.is_number() || size == 0;
    if (!empty) ++filled;
    history.push_back({created_by.is_string() ? created_by.get<std::string>() : "", empty});
  }
  return filled == layers ? history : std::vector<HistoryRow>();
}

/// Whether the document with the digest `id` is the manifest of this config, or an index that leads to it.
bool leads_to(const FileTree& files, const Digest& id, const Digest& config, std::size_t depth) {
  constexpr std::size_t deepest = 4;
  constexpr std::size_t most_entries = 200;
  const std::string path = fmt::format("blobs/{}/{}", id.algorithm_name(), id.hex());
  if (depth > deepest || !files.size_of(path)) return false;
  const std::string bytes = read_all(*files.open(path), max_document_bytes, path);
  if (Digest::of(bytes, id.algorithm()) != id) return false;
  if (document_kind(bytes, "") == DocumentKind::manifest) return parse_manifest(bytes).config.digest == config;
  const Index index = parse_index(bytes);
  if (index.manifests.size() > most_entries) return false;
  return std::any_of(index.manifests.begin(), index.manifests.end(), [&](const Descriptor& entry) {
    return is_manifest_media_type(entry.media_type) ? leads_to(files, entry.digest, config, deepest)
                                                    : leads_to(files, entry.digest, config, depth + 1);
  });
}

/// What of a config was told wrong; "" where all that anybody looks at is as it was told.
std::string difference(const ImageConfig& told, const ImageConfig& found) {
  if (told.diff_ids != found.diff_ids) return "diff ids";
  if (told.env != found.env) return "an Env";
  if (told.entrypoint != found.entrypoint || told.cmd != found.cmd) return "an Entrypoint or a Cmd";
  if (told.user != found.user) return "a User";
  if (told.workdir != found.workdir) return "a WorkingDir";
  if (told.labels != found.labels) return "Labels";
  // A daemon may say what a config leaves open.
  const bool same_platform =
      told.platform.os == found.platform.os &&
      (told.platform.architecture == found.platform.architecture || found.platform.architecture == "unknown");
  return same_platform ? "" : "a platform";
}

/// Throws unless the stream held the image that was told.
void check_told(const FileTree& files, const Told& told) {
  std::string found;
  for (const DockerRow& row : read_docker_manifest(files)) {
    const std::string bytes = read_docker_config(files, row);
    const Digest digest = Digest::of(bytes);
    if (digest == told.id || leads_to(files, told.id, digest, 0)) {
      const std::string other = difference(told.config, parse_config(bytes));
      if (other.empty()) return;
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("the daemon told {} of {} that the image's config has not", other, told.id.to_string()));
    }
    found += (found.empty() ? "" : ", ") + digest.to_string();
  }
  throw Error(ErrorKind::image_corrupt, fmt::format("the daemon gave another image than it told: expected {}, found {}",
                                                    told.id.to_string(), found));
}

}  // namespace

std::unique_ptr<Image> open_daemon_image(const std::string& name) {
  const std::string path = path_of(name);
  const DockerEndpoint endpoint = docker_endpoint();
  check_socket(endpoint);
  const std::string& socket = endpoint.socket;
  const auto daemon = std::make_shared<const Daemon>(socket);
  const std::string shown = escape_for_display(name);
  const std::string inspection = daemon->get_text("/images/" + path + "/json", shown);
  const auto told = std::make_shared<Told>(parse_inspection(inspection));
  // From here on by id: a tag may move meanwhile.
  const std::string image = "/images/" + told->id.to_string();
  try {
    told->config.history = parse_history(daemon->get_text(image + "/history", shown), told->config.diff_ids.size());
  } catch (const Error&) {
    // Only `inspect` shows it.
  }
  ImageParts parts{told->config,
                   {},
                   told->is_manifest ? std::optional(told->id) : std::nullopt,
                   told->id,
                   "docker-daemon:" + name,
                   inspection.size()};
  for (std::size_t i = 0; i < told->config.diff_ids.size(); ++i) {
    parts.layers.push_back(
        {std::nullopt, told->config.diff_ids[i], 0, "application/vnd.docker.image.rootfs.diff.tar", i});
  }
  LayerAccess access;
  access.open = [](std::size_t) -> std::unique_ptr<ByteReader> {
    throw Error(ErrorKind::image_unsupported, "a daemon gives all layers in one stream, not one alone");
  };
  access.stream = [daemon, told, image, shown, socket](const LayerVisitor& visit) {
    auto body = std::make_unique<Daemon::Body>(daemon->get(image + "/get", shown));
    const auto files =
        walk_docker_stream(std::move(body), "the stream of the daemon at " + escape_for_display(socket), visit);
    check_told(*files, *told);
  };
  return make_image(std::move(parts), std::move(access));
}

}  // namespace imgforge
