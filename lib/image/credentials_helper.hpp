// Programs that keep credentials: docker-credential-NAME, docker-credential-helpers' protocol.
//
// The program is looked for in the absolute folders of PATH and is started without a shell; it gets the server on its
// standard input. Its standard output is a secret and is never shown; what it writes to standard error is, escaped.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "image/credentials.hpp"

namespace imgforge {

/// `docker-credential-NAME get`. Nothing where it has no credentials for the server. The name has to match
/// [A-Za-z0-9._-]+. Throws Error(image_access) where there is no such program, it fails, it says nonsense, or it takes
/// longer than `limit`: then it and what it started are killed.
std::optional<Credentials> ask_credential_helper(const std::string& name, const std::string& server,
                                                 std::chrono::milliseconds limit = std::chrono::seconds(30));

}  // namespace imgforge
