// `docker save NAME | imgforge verify docker-archive:-`: read once, its config last.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "image/docker_manifest.hpp"
#include "image/docker_stream.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

constexpr const char* shown_input = "standard input";

class DescriptorReader final : public ByteReader {
 public:
  explicit DescriptorReader(int descriptor) : descriptor_(descriptor) {}

  std::size_t read(char* buffer, std::size_t size) override {
    for (;;) {
      const ssize_t count = ::read(descriptor_, buffer, size);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) {
        throw Error(ErrorKind::image_corrupt, fmt::format("cannot read {}: {}", shown_input, std::strerror(errno)));
      }
    }
  }

 private:
  int descriptor_;
};

class PipedImage final : public Image {
 public:
  PipedImage(std::string selector, std::string name)
      : selector_(std::move(selector)), parts_{{}, {}, std::nullopt, Digest::of(""), std::move(name), 0} {}

  const ImageConfig& config() const override { return parts_.config; }
  const std::vector<LayerBlob>& layers() const override { return parts_.layers; }
  const std::optional<Digest>& digest() const override { return parts_.digest; }
  const Digest& config_digest() const override { return parts_.config_digest; }
  const std::string& name() const override { return parts_.name; }
  std::uint64_t bytes_read() const override { return parts_.bytes_read; }

  std::unique_ptr<ByteReader> open_layer(std::size_t) const override {
    throw Error(ErrorKind::image_unsupported, "standard input passes only once", "save the image to a file first");
  }
  bool streams_once() const override { return true; }
  bool config_comes_last() const override { return true; }

  void stream_layers(const LayerVisitor& visit) const override {
    if (std::exchange(read_, true))
      throw Error(ErrorKind::image_unsupported, "standard input passes only once", "save the image to a file first");
    const auto files = walk_docker_stream(std::make_unique<DescriptorReader>(STDIN_FILENO), shown_input, visit);
    parts_ = read_docker_image(*files, selector_, parts_.name).parts;
  }

 private:
  std::string selector_;
  // What the stream's end tells: stream_layers() is const for all other sources.
  mutable ImageParts parts_;
  mutable bool read_ = false;
};

}  // namespace

std::unique_ptr<Image> open_docker_pipe(const std::string& selector) {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0)
    throw Error(ErrorKind::image_not_found, fmt::format("cannot read {}: {}", shown_input, std::strerror(errno)));
  if (S_ISREG(status.st_mode)) return open_docker_archive("/dev/stdin", selector);
  if (::isatty(STDIN_FILENO) == 1) {
    throw Error(ErrorKind::usage, "standard input is a terminal, the tar of docker save is expected",
                "docker save NAME | imgforge verify docker-archive:-");
  }
  return std::make_unique<PipedImage>(selector,
                                      fmt::format("docker-archive:-{}{}", selector.empty() ? "" : ":", selector));
}

}  // namespace imgforge
