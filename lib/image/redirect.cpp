#include "image/redirect.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace imgforge {

Url follow_redirect(const Url& from, std::string_view location) {
  const std::optional<Url> to = location.empty() ? std::nullopt : from.resolve(location);
  if (!to)
    throw Error(ErrorKind::image_network, fmt::format("{} redirects to no usable address", from.to_display_string()));
  if (from.scheme == "https" && to->scheme != "https") {
    throw Error(ErrorKind::image_network, fmt::format("{} redirects from https to http ({}), which is not followed",
                                                      from.to_display_string(), to->to_display_string()));
  }
  const bool inwards = is_loopback_host(to->host) && !is_loopback_host(from.host);
  if (inwards || (is_link_local_host(to->host) && !to->same_origin(from))) {
    throw Error(ErrorKind::image_network,
                fmt::format("{} redirects to an address of this machine or its link ({}), which is not followed",
                            from.to_display_string(), to->to_display_string()));
  }
  return *to;
}

}  // namespace imgforge
