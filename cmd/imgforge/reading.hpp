// Options of how much of an image is read, how far it is proven, and what is kept of it: those of verify and inspect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "facts/depth.hpp"
#include "image/source.hpp"
#include "layer/layer_cache.hpp"
#include "layer/root_view.hpp"
#include "progress.hpp"

namespace CLI {
class App;
}

namespace imgforge {

struct ReadingOptions {
  std::string assurance = "standard";
  std::string cache;  // a folder; the user's own where it is empty
  bool no_cache = false;
  std::string progress = "auto";
  std::uint64_t max_files = RootOptions{}.file_limit;
};

/// --assurance, --cache, --no-cache, --progress, --max-files.
void add_reading_options(CLI::App& command, ReadingOptions& options);

/// The folder's cache, or none: --no-cache, --assurance full, or a user without a home.
std::unique_ptr<LayerCache> open_cache(const ReadingOptions& options);

/// `cache` may be null. The result refers to `progress`.
RootOptions root_options(const ReadingOptions& options, const Image& image, LayerCache* cache, Progress& progress);

}  // namespace imgforge
