// An image → Facts. Straight-line questions to the root view; nothing is run.
#pragma once

#include <string>
#include <vector>

#include "facts/depth.hpp"
#include "facts/facts.hpp"
#include "image/source.hpp"
#include "knowledge/knowledge.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// Paths that the config names and whose contents facts will want: give them to the RootView before it reads.
std::vector<std::string> paths_named_by(const ImageConfig& config);

/// The references have to outlive the facts, which read through them when they are asked for.
Facts facts_from_image(const Image& image, RootView& root, const Knowledge& knowledge, Depth depth = Depth::full);

}  // namespace imgforge
