// An image in memory: layers are tars written by libarchive, read through the real root view.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts/facts.hpp"
#include "facts/from_image.hpp"
#include "image/source.hpp"
#include "knowledge/knowledge.hpp"
#include "layer/root_view.hpp"

namespace imgforge::test {

struct File {
  std::string path;  // relative; a folder where it ends in '/'
  std::string content;
  std::uint32_t mode = 0644;
  std::string link;  // the target of a symbolic link
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

inline File file(std::string path, std::string content = {}, std::uint32_t mode = 0644) {
  return {std::move(path), std::move(content), mode, {}, 0, 0};
}
inline File soft_link(std::string path, std::string target) {
  return {std::move(path), {}, 0777, std::move(target), 0, 0};
}
inline File folder(std::string path, std::uint32_t mode = 0755, std::uint32_t uid = 0, std::uint32_t gid = 0) {
  return {std::move(path) + "/", {}, mode, {}, uid, gid};
}
using Files = std::vector<File>;

/// A tar of these, in this order; gzipped where asked.
std::string tar_of(const Files& files, bool gzip = false);

class FakeImage : public Image {
 public:
  FakeImage();
  FakeImage& layer(const Files& files);
  FakeImage& env(const std::string& name, const std::string& value);

  ImageConfig image_config;

  const ImageConfig& config() const override { return image_config; }
  const std::vector<LayerBlob>& layers() const override { return blobs_; }
  const std::optional<Digest>& digest() const override { return digest_; }
  const Digest& config_digest() const override { return *digest_; }
  std::unique_ptr<ByteReader> open_layer(std::size_t index) const override;
  const std::string& name() const override { return name_; }
  std::uint64_t bytes_read() const override { return 0; }

 private:
  std::vector<LayerBlob> blobs_;
  std::vector<std::string> tars_;
  std::optional<Digest> digest_;
  std::string name_ = "fake";
};

/// The facts of an image, with what they read through.
struct FactsOf {
  explicit FactsOf(const FakeImage& image, Depth depth = Depth::full);
  Knowledge knowledge;
  RootView root;
  Facts facts;
  const Facts* operator->() const { return &facts; }
};

// ---- what workers are made of

std::string python_program(const std::string& text = {}, unsigned machine = 62);
/// An interpreter with its library: bin/pythonX.Y, links python3 and python, venv and ensurepip.
Files python_files(const std::string& prefix, const std::string& version, bool venv = true, bool patchlevel = true);
Files distribution_files(const std::string& site, const std::string& name, const std::string& version,
                         const std::string& more = {});
Files boot_files(const std::string& version);
Files debian_files();
Files operator+(Files a, const Files& b);

/// Debian 12, Python 3.11.9 in /usr/local, Beam, boot.
FakeImage healthy_worker(const std::string& beam = "2.66.0");

}  // namespace imgforge::test
