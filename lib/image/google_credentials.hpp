// Google's own credentials for its registries, so that Artifact Registry needs no helper: application-default
// credentials (a user's, or a service account's key), else the metadata server of the machine.
// google.aip.dev/auth/4110 (application default), 4112 (service accounts), 4113 (users), 4115 (metadata server).
//
// Files of the types external_account and impersonated_service_account are not read, and the message says what serves.
//
// The access token is a password: of the user oauth2accesstoken, for Google's registries only.
#pragma once

#include <optional>
#include <string>

#include "base/http.hpp"
#include "image/credentials.hpp"

namespace imgforge {

/// Whether such a token may go there: https on port 443 of *.pkg.dev, gcr.io and *.gcr.io, and nothing that looks like
/// them.
bool is_google_registry(const Url& registry) noexcept;

/// Where they are. Tests put their own servers here; users cannot.
struct GoogleSetup {
  std::string file;  // application-default credentials; empty: none
  std::string token_server = "https://oauth2.googleapis.com/token";
  std::string metadata_server;  // "http://metadata.google.internal"; empty: none
};

/// GOOGLE_APPLICATION_CREDENTIALS, else application_default_credentials.json in CLOUDSDK_CONFIG or ~/.config/gcloud
/// where it is there; the metadata server where GCE_METADATA_HOST names one, or the machine is Google's.
GoogleSetup google_setup();

/// Nothing where neither is there. Throws Error(image_access) where the file is none of the forms that are spoken or
/// the token is refused, Error(image_network) and so on where no answer comes. No message holds a secret.
std::optional<Credentials> google_credentials(HttpClient& client, const GoogleSetup& setup);

}  // namespace imgforge
