#include "base/error.hpp"
#include "image/store.hpp"

namespace imgforge {

std::unique_ptr<Image> open_registry_image(std::string_view, const SourceOptions&) {
  throw Error(ErrorKind::image_unsupported, "registries are not read yet");
}

}  // namespace imgforge
