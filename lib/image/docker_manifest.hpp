// manifest.json, as `docker save` writes it in all its layouts: which images an archive holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "image/file_tree.hpp"
#include "image/store.hpp"

namespace imgforge {

/// One image of manifest.json: names of members.
struct DockerRow {
  std::string config;
  std::vector<std::string> tags;
  std::vector<std::string> layers;  // lowest first
};

/// The rows of manifest.json. Throws Error(image_corrupt), and Error(image_not_found) where there is none.
std::vector<DockerRow> read_docker_manifest(const FileTree& files);

/// The config of a row, whose digest is what its name says, if it says one. Throws Error(image_*).
std::string read_docker_config(const FileTree& files, const DockerRow& row);

/// An image of the archive, its config read and its layers known by their sizes and diff ids.
struct DockerImage {
  ImageParts parts;
  std::vector<std::string> layers;  // names of members, lowest first
};

/// `selector` is "", NAME:TAG, "@INDEX" (from 0, as skopeo counts) or "@ID" (an image's id, or its first digits).
/// Throws Error(image_*); where it fits nothing, or more than one image, the error lists what there is.
DockerImage read_docker_image(const FileTree& files, const std::string& selector, std::string shown_name);

}  // namespace imgforge
