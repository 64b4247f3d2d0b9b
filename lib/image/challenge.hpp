// What a 401 asks for: the WWW-Authenticate header. RFC 9110 section 11.6.1.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

struct Challenge {
  std::string scheme;                             // lower case: "basic", "bearer", "negotiate"
  std::map<std::string, std::string> parameters;  // names in lower case, values unquoted; of a name twice the first
};

/// All challenges of one header, in order. What is malformed ends the list; what came before it stands.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace imgforge
