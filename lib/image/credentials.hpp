// Credentials for registries, from Docker's config.json ($DOCKER_CONFIG/config.json, else ~/.docker/config.json).
//
// Only what stands in the file (`auths`); helper programs are not asked. A secret is never part of a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace imgforge {

struct Credentials {
  std::string user;
  std::string password;

  /// The value of an Authorization header, RFC 7617.
  std::string basic() const;
};

struct CredentialLookup {
  std::optional<Credentials> found;
  std::string note;  // why nothing was found, where the file says something about this registry; for a hint
};

/// `host` as in a reference: "docker.io", "localhost:5000". A key of `auths` fits where it names this host and port
/// exactly (with or without scheme and /v1/, /v2/). Throws Error(image_access) where the text is no JSON of that shape.
CredentialLookup find_credentials(std::string_view config_json, std::string_view host);

/// The same from the file of this user; nothing where there is no such file.
CredentialLookup find_credentials(std::string_view host);

}  // namespace imgforge
