#include "image/redirect.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

bool is_redirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Url follow_redirect(const Url& from, std::string_view location) {
  const std::optional<Url> to = location.empty() ? std::nullopt : from.resolve(location);
  if (!to)
    throw Error(ErrorKind::image_network, fmt::format("{} redirects to no usable address", from.to_display_string()));
  if (from.scheme == "https" && to->scheme != "https") {
    throw Error(ErrorKind::image_network, fmt::format("{} redirects from https to http ({}), which is not followed",
                                                      from.to_display_string(), to->to_display_string()));
  }
  const bool here = is_loopback_host(to->host) || to->host == "0.0.0.0" || to->host == "[::]";
  const bool link = is_link_local_host(to->host) || to->host.starts_with("metadata.google.internal");
  if ((here && !is_loopback_host(from.host)) || (link && !to->same_origin(from))) {
    throw Error(ErrorKind::image_network,
                fmt::format("{} redirects to an address of this machine or its link ({}), which is not followed",
                            from.to_display_string(), to->to_display_string()));
  }
  return *to;
}

Url check_realm(const Url& registry, std::string_view realm) {
  const std::optional<Url> url = Url::parse(realm);
  const auto refuse = [&](std::string_view why) {
    throw Error(
        ErrorKind::image_access,
        fmt::format("the registry at {} sends us for a token to {}, {}; nothing was sent there", registry.host,
                    url ? url->to_display_string() : "\"" + escape_for_display(realm.substr(0, 200)) + "\"", why));
  };
  if (!url) {
    refuse("which is no usable address");
  } else if (registry.scheme == "https" && url->scheme != "https") {
    refuse("which is not https");
  } else if (is_inner_host(url->host) && !(url->host == registry.host && url->port == registry.port)) {
    refuse("an address of this machine or a private network");
  }
  return *url;
}

Url check_foreign_address(std::string_view address) {
  const std::optional<Url> url = Url::parse(address);
  const auto refuse = [&](std::string_view why) {
    throw Error(
        ErrorKind::image_access,
        fmt::format("{}: {}", url ? url->to_display_string() : escape_for_display(address.substr(0, 200)), why));
  };
  if (!url)
    refuse("no usable address");
  else if (url->scheme != "https")
    refuse("not https, so it is not used");
  else if (is_inner_host(url->host))
    refuse("an address of this machine or a private network, so it is not used");
  return *url;
}

}  // namespace imgforge
