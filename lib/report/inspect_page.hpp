// The page that `imgforge inspect` prints: what is in the image, in the order in which one asks.
#pragma once

#include <string>

#include "facts/facts.hpp"
#include "image/source.hpp"
#include "layer/root_view.hpp"
#include "report/report.hpp"

namespace imgforge {

std::string inspect_text(const Image& image, const Facts& facts, RootView& root, const TextStyle& style);

/// The same for programs: schema imgforge.inspect/v1, an object with image, facts, facts_evidence, layers and cost.
std::string inspect_json(const Image& image, const Facts& facts, RootView& root);

}  // namespace imgforge
