// How large an image is, and how much of that nobody will ever see.
#pragma once

#include "facts/facts.hpp"
#include "image/source.hpp"
#include "layer/root_view.hpp"

namespace imgforge {

/// `compressed` from the manifest, each blob once; 0 where one of the layers has no blob of its own (a docker-archive,
/// a daemon). `unpacked` only where every layer was read already, else 0: asking for a size reads nothing.
Fact<ImageSize> read_image_size(const Image& image, RootView& root);

/// Files that a later layer deletes or replaces. Unknown where not every layer was read already: it is worth a note,
/// and that is not worth reading for. Linear in the entries, a bit of memory for each, and eight bytes for each folder
/// of a layer at a time.
Fact<Waste> read_waste(RootView& root);

}  // namespace imgforge
