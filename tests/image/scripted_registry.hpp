// A registry on a loopback port, with one tiny image.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/http_server.hpp"
#include "image/support.hpp"

namespace imgforge::test {

/// Answers like a registry with one tiny image "x/worker"; `first` may answer instead.
class ScriptedRegistry {
 public:
  explicit ScriptedRegistry(std::function<std::optional<Reply>(const ReceivedRequest&)> first = {})
      : first_(std::move(first)), server([this](const ReceivedRequest& request) { return answer(request); }) {}

  Reply answer(const ReceivedRequest& request) const {
    if (first_) {
      if (std::optional<Reply> special = first_(request)) return *special;
    }
    const std::string digest = Digest::of(image.manifest).to_string();
    if (request.target == "/v2/x/worker/manifests/1" || request.target == "/v2/x/worker/manifests/" + digest) {
      return reply(200, image.manifest,
                   {fmt::format("Content-Type: {}", oci_manifest_type), "Docker-Content-Digest: " + digest});
    }
    std::vector<std::string> blobs = image.layers;
    blobs.push_back(image.config);
    for (const std::string& blob : blobs) {
      if (request.target == "/v2/x/worker/blobs/" + Digest::of(blob).to_string()) return reply(200, blob);
    }
    return reply(404, R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]})");
  }

  std::string name(const std::string& selector = ":1") const { return server.host() + "/x/worker" + selector; }
  std::string layer_target() const { return "/v2/x/worker/blobs/" + Digest::of(image.layers[1]).to_string(); }

  TinyImage image;

 private:
  std::function<std::optional<Reply>(const ReceivedRequest&)> first_;

 public:
  HttpServer server;
};

}  // namespace imgforge::test
