// What the commands that install Python packages ask for.
#pragma once

#include <optional>
#include <string>

#include "base/requirement.hpp"
#include "facts/build.hpp"

namespace imgforge {

/// `written` as it stands there; without a requirement it is a path, a URL or nothing that is understood.
PackageRequest request_of(const std::string& written, std::optional<Requirement> requirement, const Place& place);

}  // namespace imgforge
