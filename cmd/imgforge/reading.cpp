#include "reading.hpp"

#include <CLI/CLI.hpp>

#include "facts/from_image.hpp"

namespace imgforge {

void add_reading_options(CLI::App& command, ReadingOptions& options) {
  command
      .add_option(
          "--assurance", options.assurance,
          "standard: what was read is proven by digests, tables of contents by theirs; full: every layer is read, "
          "digests and diff ids are checked, and tables of contents held against their tars")
      ->check(CLI::IsMember({"standard", "full"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  CLI::Option* cache =
      command
          .add_option(
              "--cache", options.cache,
              "Keep what was learned of layers in this folder (default: imgforge in $XDG_CACHE_HOME or ~/.cache)")
          ->type_name("DIR");
  command.add_flag("--no-cache", options.no_cache, "Neither use nor keep what was learned of layers")->excludes(cache);
  command
      .add_option("--progress", options.progress,
                  "auto: lines on a terminal; plain: lines of each layer that is read, for logs; none")
      ->check(CLI::IsMember({"auto", "plain", "none"}))
      ->type_name("MODE")
      ->capture_default_str();
  command.add_option("--max-files", options.max_files, "Entries that a layer may have at most")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("COUNT")
      ->capture_default_str();
}

std::unique_ptr<LayerCache> open_cache(const ReadingOptions& options) {
  if (options.no_cache || options.assurance == "full") return nullptr;
  const std::optional<std::string> folder = options.cache.empty() ? LayerCache::default_directory() : options.cache;
  return folder ? std::make_unique<LayerCache>(*folder) : nullptr;
}

RootOptions root_options(const ReadingOptions& options, const Image& image, LayerCache* cache, Progress& progress) {
  RootOptions root;
  root.capture_paths = paths_named_by(image.config());
  root.progress = [&progress](const ReadProgress& now) { progress.show(now); };
  root.cache = cache;
  root.assurance = options.assurance == "full" ? Assurance::full : Assurance::standard;
  root.file_limit = options.max_files;
  return root;
}

}  // namespace imgforge
