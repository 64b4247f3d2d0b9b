// Small bodies of a registry, and of the servers around it: tokens, and what they say when they refuse.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/http.hpp"

namespace imgforge {

/// The whole body. Throws Error(image_limit) naming `what` beyond `limit`, Error(image_network) where it breaks off.
std::string read_body(HttpResponse& response, std::size_t limit, std::string_view what);

/// " (MANIFEST_UNKNOWN: manifest unknown)": what an error document says, escaped and cut, or nothing. It may be one of
/// distribution-spec ("Error codes"), of OAuth 2 (RFC 6749 section 5.2), or have "message" or "details" as Docker Hub's
/// token server. A server that echoes one of `secrets` is not quoted.
std::string said_by_server(HttpResponse& response, const std::vector<std::string>& secrets = {});

/// Whether a header may carry it: printable ASCII without spaces. RFC 6750 section 2.1 allows less.
bool is_header_word(std::string_view text) noexcept;

}  // namespace imgforge
