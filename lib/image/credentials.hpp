// Credentials for registries, as docker and containers' tools keep them.
//
// Where: --authfile or REGISTRY_AUTH_FILE, and then nowhere else; otherwise DOCKER_AUTH_CONFIG (JSON in the
// environment), $XDG_RUNTIME_DIR/containers/auth.json (/run/containers/UID/auth.json without that variable),
// $XDG_CONFIG_HOME/containers/auth.json, $DOCKER_CONFIG/config.json (~/.docker/config.json). The first one that has
// something for the registry decides. In a document: `credHelpers`, then `credsStore`, then `auths`, there the longest
// key that is a prefix of HOST/REPOSITORY. docker config.json; containers-auth.json(5).
//
// A secret is given for its own registry only, and is never part of a message. A helper that fails is an error, never a
// reason to take another secret (CVE-2021-41092).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

/// Either user and password, or one of the tokens; an identity token may come with a user and a password.
struct Credentials {
  std::string user;
  std::string password;
  std::string identity_token;  // a refresh token of OAuth 2, to be changed into access tokens
  std::string registry_token;  // an access token, sent as it is
  std::string from;            // where they were found, for messages; escaped
  std::optional<std::chrono::steady_clock::time_point> until = std::nullopt;  // when they lose their value

  bool has_password() const noexcept { return !user.empty() && !password.empty(); }
  /// The value of an Authorization header, RFC 7617.
  std::string basic() const;
};

/// What of them must never be shown.
std::vector<std::string> secrets_of(const Credentials& credentials);

struct CredentialQuestion {
  std::string host;        // as in a reference: "docker.io", "localhost:5000"
  std::string repository;  // "library/python"
};

struct CredentialLookup {
  std::optional<Credentials> found;
  std::string note;  // why nothing was found, where there is more to say than that
};

/// What docker-credential-NAME says of a server; nothing where it has nothing. Throws Error(image_access).
using CredentialHelper = std::function<std::optional<Credentials>(const std::string& name, const std::string& server)>;

/// One document, already read. `shown` names it in messages. Throws Error(image_access) where it is no JSON of that
/// shape; its content is never shown.
std::optional<Credentials> find_credentials(std::string_view document, std::string_view shown,
                                            const CredentialQuestion& question, const CredentialHelper& helper);

/// All places, in order. `authfile` is --authfile, or empty. Throws Error(image_access).
CredentialLookup find_credentials(const CredentialQuestion& question, const std::string& authfile);
CredentialLookup find_credentials(const CredentialQuestion& question, const std::string& authfile,
                                  const CredentialHelper& helper);

}  // namespace imgforge
