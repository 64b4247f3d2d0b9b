// Where a registry's redirect may lead. Blobs are often served from object stores, by signed URLs on other hosts.
#pragma once

#include <string_view>

#include "base/http.hpp"

namespace imgforge {

/// The URL that `location` (a Location header, absolute or relative) means. Throws Error(image_network) where it is no
/// usable URL, leaves https, or leads from another machine to this one or to an address of the link, where clouds keep
/// their metadata. Private networks are allowed: registries live there.
Url follow_redirect(const Url& from, std::string_view location);

}  // namespace imgforge
