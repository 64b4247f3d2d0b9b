// JSON from outside, parsed within bounds. RFC 8259.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace imgforge {

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t elements = 200'000;     // values, keys included
  std::size_t bytes = 4 << 20;        // of text; image-spec asks registries for at least 4 MiB of manifest
};

/// The parsed value. Throws Error(image_corrupt) naming `what` on a syntax error, on a key that is there twice, and
/// Error(image_limit) where a limit is hit. Never recurses deeper than the limit.
nlohmann::json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

/// The value as one line of JSON with sorted keys; bytes that are no UTF-8 are escaped as \xHH first.
std::string to_json_line(const nlohmann::json& value);

}  // namespace imgforge
