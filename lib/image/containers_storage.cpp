// containers-storage: images of podman, buildah, skopeo and CRI-O on this machine, through skopeo.
//
// The storage could be read by its files: its layers are unpacked there, and the tar-split files beside them tell how
// to put each tar together again. But where the storage is, who may read it (without root it takes a user namespace),
// how it is locked and what lies in it (overlay, vfs, zstd:chunked with composefs) is containers/storage's own matter
// and changes with it. skopeo is that code. What it gives is not believed: the manifest's digest, in it the config's,
// in it the diff ids prove everything, as with any other source. It streams; newer versions of it spool a layer in
// TMPDIR.
#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/child_reader.hpp"
#include "image/docker_manifest.hpp"
#include "image/docker_stream.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

std::string skopeo_path() {
  std::string path = program_path("skopeo");
  if (path.empty()) {
    throw Error(ErrorKind::image_access, "skopeo reads containers-storage, and it is not on PATH",
                "install skopeo, or: podman save NAME | imgforge verify docker-archive:-");
  }
  return path;
}

std::string output_of(const std::vector<std::string>& arguments, std::string_view what) {
  return read_all(*start_program(arguments), max_document_bytes, what);
}

/// skopeo's words for a name that is not there.
bool says_not_found(const Error& error) {
  for (const std::string_view words :
       {"does not resolve to an image ID", "identifier is not an image", "image not known", "does not exist"}) {
    if (error.message().find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Image> open_storage_image(const std::string& name) {
  const std::string skopeo = skopeo_path();
  const std::string source = "containers-storage:" + name;
  std::string manifest_bytes;
  std::string config_bytes;
  try {
    manifest_bytes = output_of({skopeo, "inspect", "--raw", source}, "the manifest");
    config_bytes = output_of({skopeo, "inspect", "--raw", "--config", source}, "the config");
  } catch (const Error& error) {
    if (!says_not_found(error)) throw;
    throw Error(ErrorKind::image_not_found, error.message(),
                "podman image ls (buildah images) shows what there is; root and each user have a storage of their own");
  }
  ImageParts parts{parse_config(config_bytes), {},     std::nullopt,
                   Digest::of(config_bytes),   source, manifest_bytes.size() + config_bytes.size()};
  if (document_kind(manifest_bytes, "") == DocumentKind::manifest &&
      parse_manifest(manifest_bytes).config.digest == parts.config_digest)
    parts.digest = Digest::of(manifest_bytes);
  const auto diff_ids = parts.config.diff_ids;
  for (std::size_t i = 0; i < diff_ids.size(); ++i)
    parts.layers.push_back({std::nullopt, diff_ids[i], 0, "application/vnd.docker.image.rootfs.diff.tar", i});
  LayerAccess access;
  access.open = [](std::size_t) -> std::unique_ptr<ByteReader> {
    throw Error(ErrorKind::image_unsupported, "skopeo gives all layers in one stream, not one alone");
  };
  access.stream = [skopeo, source, told = parts.config_digest](const LayerVisitor& visit) {
    // The policy was asked when the image came into the storage; nothing of it is run here.
    auto tar = start_program({skopeo, "--insecure-policy", "copy", "--quiet", source, "docker-archive:/dev/stdout"});
    const auto files = walk_docker_stream(std::move(tar), "the stream of skopeo", visit);
    const Digest found = read_docker_image(*files, "", "").parts.config_digest;
    if (found != told) {
      throw Error(ErrorKind::image_corrupt,
                  fmt::format("{} is another image than a moment before: expected {}, found {}",
                              escape_for_display(source), told.to_string(), found.to_string()),
                  "was it built again meanwhile?");
    }
  };
  return make_image(std::move(parts), std::move(access));
}

}  // namespace imgforge
