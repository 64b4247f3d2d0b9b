// Access tokens: the server that a Bearer challenge names changes credentials, or nothing, into a token for one
// repository. distribution's token specification ("Token Authentication", "OAuth2"), RFC 6750.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/http.hpp"
#include "image/credentials.hpp"

namespace imgforge {

struct TokenQuestion {
  Url registry;                            // whose challenge it was
  std::string realm;                       // from the challenge, not checked yet
  std::string service;                     // from the challenge; may be empty
  std::string scope;                       // "repository:library/python:pull"
  std::optional<Credentials> credentials;  // of that registry; nothing asks for an anonymous token
  bool insecure = false;                   // --insecure: counts for the registry's own host and port only
};

struct AccessToken {
  std::string value;
  std::chrono::steady_clock::time_point until;  // after this it is better to ask for another one
};

/// The answer of a token server, `where` for messages: `token` or `access_token`, and `expires_in` seconds from `asked`
/// on, a minute at least. Throws Error(image_corrupt), which quotes nothing of it.
AccessToken parse_token(std::string_view body, std::string_view where, std::chrono::steady_clock::time_point asked);

/// With an identity token: POST grant_type=refresh_token, and where the server does not know that (404, 405, 401), as
/// with a password: GET with Basic. Redirects are held to check_realm, too, and get no password on another origin.
/// Throws Error(image_access) with the server's words where it refuses, Error(image_network), (image_limit) or
/// (image_corrupt). No message holds a secret.
AccessToken fetch_token(HttpClient& client, const TokenQuestion& question);

}  // namespace imgforge
