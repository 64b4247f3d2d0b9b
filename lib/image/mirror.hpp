// Mirrors: registries that are asked before the one that an image's name says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reference.hpp"
#include "image/source.hpp"

namespace imgforge {

/// "docker.io=localhost:5000/cache": HOST[:PORT]=HOST[:PORT][/PREFIX]. Throws Error(usage).
Mirror parse_mirror(std::string_view text);

/// The same image as the mirrors for its registry have it, in their order: docker.io/library/python:3.11 is
/// localhost:5000/cache/library/python:3.11. Throws Error(usage) where a mirror's location is none.
std::vector<Reference> mirrored(const Reference& reference, const std::vector<Mirror>& mirrors);

}  // namespace imgforge
