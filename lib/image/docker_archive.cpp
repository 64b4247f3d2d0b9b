// What `docker save` writes, in its three layouts: skopeo and podman (<diffid>.tar, <id>/layer.tar as links), Docker up
// to 24 (<id>/layer.tar), Docker 25 and newer (blobs/sha256/<hex>, beside an OCI layout). All have a manifest.json.
#include <fmt/format.h>

#include <utility>

#include "image/docker_manifest.hpp"
#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

std::unique_ptr<Image> open_docker_archive(const std::string& path, const std::string& selector) {
  const std::shared_ptr<const FileTree> files = open_tar(std::make_shared<RandomFile>(path));
  DockerImage image = read_docker_image(
      *files, selector, fmt::format("docker-archive:{}{}{}", path, selector.empty() ? "" : ":", selector));
  LayerAccess access;
  const auto layers = std::make_shared<const std::vector<std::string>>(std::move(image.layers));
  access.open = [files, layers](std::size_t index) { return files->open((*layers)[index]); };
  access.open_range = [files, layers](std::size_t index, std::uint64_t offset, std::uint64_t length) {
    return files->open_range((*layers)[index], offset, length);
  };
  access.stamp = [files, layers](std::size_t index) { return files->stamp_of((*layers)[index]); };
  return make_image(std::move(image.parts), std::move(access));
}

}  // namespace imgforge
