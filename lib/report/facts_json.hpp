// Facts as JSON: plain values under their names, and beside them how each is known.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "facts/facts.hpp"

namespace imgforge {

/// Asks every fact. The values of unknown and absent facts are left out of the first; the second has for each name
/// {"state": "known" | "absent" | "unknown", "evidence": [...], "reason": "..."}.
void facts_to_json(const Facts& facts, nlohmann::json& values, nlohmann::json& evidence);

nlohmann::json to_json(const Evidence& evidence);

/// object[key] = bytes as UTF-8; where they are none, escaped, with object[key + "_base64"] beside.
void put_bytes(nlohmann::json& object, std::string_view key, std::string_view bytes);

}  // namespace imgforge
