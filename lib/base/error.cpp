#include "base/error.hpp"

#include <utility>

namespace imgforge {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::recipe:
    case ErrorKind::file:
    case ErrorKind::knowledge:
    case ErrorKind::templates:
      return 2;
    case ErrorKind::image_not_found:
    case ErrorKind::image_access:
    case ErrorKind::image_network:
    case ErrorKind::image_corrupt:
    case ErrorKind::image_limit:
    case ErrorKind::image_unsupported:
      return 3;
    case ErrorKind::engine:
      return 4;
  }
  return 2;
}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::recipe: return "recipe";
    case ErrorKind::file: return "file";
    case ErrorKind::knowledge: return "knowledge";
    case ErrorKind::templates: return "templates";
    case ErrorKind::image_not_found: return "not-found";
    case ErrorKind::image_access: return "access";
    case ErrorKind::image_network: return "network";
    case ErrorKind::image_corrupt: return "corrupt";
    case ErrorKind::image_limit: return "limit";
    case ErrorKind::image_unsupported: return "unsupported";
    case ErrorKind::engine: return "engine";
  }
  return "usage";
}

Error::Error(ErrorKind kind, std::string message, std::string hint)
    : std::runtime_error(message), kind_(kind), message_(std::move(message)), hint_(std::move(hint)) {}

Error Error::within(std::string_view context) const {
  return Error(kind_, std::string(context) + ": " + message_, hint_);
}

}  // namespace imgforge
