// Where a registry may send us: redirects, token servers, addresses of foreign layers. One place for all such rules.
#pragma once

#include <string_view>

#include "base/http.hpp"

namespace imgforge {

bool is_redirect(int status) noexcept;
inline constexpr std::size_t max_redirects = 5;

/// The URL that `location` (a Location header, absolute or relative) means. Blobs are often served from object stores,
/// by signed URLs on other hosts. Throws Error(image_network) where it is no usable URL, leaves https, or leads from
/// another machine to this one or to an address of the link, where clouds keep their metadata. Private networks are
/// allowed: registries live there.
Url follow_redirect(const Url& from, std::string_view location);

/// The token server that `registry` names in its challenge, or that such a server redirects to; the registry's password
/// goes there. Throws Error(image_access) where it is no usable URL, is not https while the registry is, or is an
/// address of this machine, its link or a private network (is_inner_host), unless it is the registry's own host and
/// port. Other hosts are right: Docker Hub's tokens come from auth.docker.io.
Url check_realm(const Url& registry, std::string_view realm);

/// An address that an image's manifest names for a layer, or that such an address redirects to: https and a public
/// host. Throws Error(image_access) otherwise.
Url check_foreign_address(std::string_view address);

}  // namespace imgforge
