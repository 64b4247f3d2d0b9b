// What package managers say is installed: dpkg's status (deb-control(5)) and apk's installed database.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/version.hpp"

namespace imgforge {

/// By package name, the version as the package manager writes it. Packages that dpkg does not have as installed are
/// left out; a stanza without a Status (a file of distroless' status.d) counts as installed. At most 100,000 packages.
std::map<std::string, std::string> parse_dpkg_status(std::string_view text);
std::map<std::string, std::string> parse_apk_installed(std::string_view text);

/// The upstream part of a Debian or Alpine version, as PEP 440 writes it: "1:3.13.0~rc2-1+b1" → 3.13.0rc2,
/// "3.8.10-0ubuntu1~20.04" → 3.8.10, "3.11.9-r0" → 3.11.9. Nothing where that is no version.
std::optional<Version> upstream_version(std::string_view package_version);

}  // namespace imgforge
