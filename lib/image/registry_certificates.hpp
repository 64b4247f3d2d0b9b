// Certificates for single registries, in folders as docker and containers' tools have them (containers-certs.d(5)):
// ~/.config/containers/certs.d, /etc/containers/certs.d, /etc/docker/certs.d, in them HOST:PORT, and for the scheme's
// own port also HOST.
#pragma once

#include <string>
#include <vector>

#include "base/http.hpp"

namespace imgforge {

/// What the first of the `folders` that knows the URL's host has for it; nothing for plain HTTP. Throws
/// Error(image_access) where a NAME.cert has no NAME.key or the other way round.
TlsFiles certificates_for(const Url& url, const std::vector<std::string>& folders);
/// The same with the usual folders of this user.
TlsFiles certificates_for(const Url& url);

}  // namespace imgforge
