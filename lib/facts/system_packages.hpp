// What the package manager of an image has installed, names that packages provide among them.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// Of dpkg or apk. A name that is only provided (deb-control(5), Provides: "awk" of mawk) has an empty version. Absent
/// where there is no database, which says nothing of what is installed.
Fact<std::map<std::string, std::string>> read_system_packages(ImageReader& reader);

/// The names in the Provides fields of a dpkg status; of at most 100,000.
std::vector<std::string> parse_dpkg_provides(std::string_view text);

}  // namespace imgforge
