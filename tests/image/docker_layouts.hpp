// The three layouts of a docker-archive, made from a tiny image.
#pragma once

#include <string>
#include <vector>

#include "image/support.hpp"

namespace imgforge::test {

inline std::string config_name(const TinyImage& tiny) { return Digest::of(tiny.config).hex() + ".json"; }

/// A row of manifest.json.
inline std::string row(const std::string& config, const std::string& tags, const std::vector<std::string>& layers) {
  return fmt::format(R"({{"Config":"{}","RepoTags":{},"Layers":["{}","{}"]}})", config, tags, layers[0], layers[1]);
}

/// Docker up to 24: a folder for each layer, in it the tar.
inline Files docker_20(const TinyImage& tiny, const std::string& tags = R"(["example/worker:latest"])") {
  return {{"aa/", ""},
          {"aa/VERSION", "1.0"},
          {"aa/json", "{}"},
          {"aa/layer.tar", tiny.layers[0]},
          {"bb/layer.tar", tiny.layers[1]},
          {config_name(tiny), tiny.config},
          {"manifest.json", "[" + row(config_name(tiny), tags, {"aa/layer.tar", "bb/layer.tar"}) + "]"}};
}

/// skopeo and podman: the tars by diff id, links for older readers, manifest.json last.
inline Files skopeo_archive(const TinyImage& tiny) {
  const std::string lower = Digest::of(tiny.layers[0]).hex() + ".tar";
  const std::string upper = Digest::of(tiny.layers[1]).hex() + ".tar";
  return {
      {lower, tiny.layers[0]},
      {upper, tiny.layers[1]},
      {config_name(tiny), tiny.config},
      {"aa/layer.tar", "-> ../" + lower},
      {"bb/layer.tar", "-> ../" + upper},
      {"manifest.json", "[" + row(config_name(tiny), R"(["docker.io/example/worker:latest"])", {lower, upper}) + "]"}};
}

/// Docker 25 and newer: blobs, an OCI layout and a manifest.json.
inline Files docker_25(const TinyImage& tiny) {
  Files files = layout(index_of({descriptor(oci_manifest_type, tiny.manifest)}), {tiny.blobs()});
  files.emplace_back("manifest.json", "[" +
                                          row(blob_path(tiny.config), R"(["example/worker:latest"])",
                                              {blob_path(tiny.layers[0]), blob_path(tiny.layers[1])}) +
                                          "]");
  return files;
}

}  // namespace imgforge::test
