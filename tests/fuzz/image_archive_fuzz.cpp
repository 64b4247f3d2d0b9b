// A tar as docker-archive and as oci-archive, from a file in memory; its layers are read, too.
#include <sys/mman.h>
#include <unistd.h>

#include <clocale>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "image/source.hpp"

namespace {

void read_image(const std::string& name) {
  using namespace imgforge;
  try {
    const auto image = open_image(name, {});
    char buffer[4096];
    for (const LayerBlob& layer : image->layers()) {
      const auto reader = image->open_layer(layer.index);
      while (reader->read(buffer, sizeof buffer) != 0) {
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* locale = std::setlocale(LC_CTYPE, "C.UTF-8");
  static_cast<void>(locale);
  const int file = ::memfd_create("archive", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  for (const char* source : {"docker-archive:", "oci-archive:", ""}) read_image(source + path);
  ::close(file);
  return 0;
}
