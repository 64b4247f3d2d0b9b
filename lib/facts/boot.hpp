// /opt/apache/beam: the boot program of the SDK image and the release it came from.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

Fact<Boot> read_boot(ImageReader& reader);

/// From PKG-INFO in tars/apache-beam.tar.gz.
Fact<Version> read_boot_version(ImageReader& reader);

/// The text of the first NAME/PKG-INFO in a .tar.gz, nothing where there is none or the archive is broken. Inflates at
/// most 256 MiB.
std::optional<std::string> package_info_of_sdist(std::string_view tar_gz);

}  // namespace imgforge
