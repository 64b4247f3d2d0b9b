// imgforge cache info|prune: what was learned of layers, kept between runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "layer/layer_cache.hpp"
#include "options.hpp"
#include "recipe/grammar.hpp"

namespace imgforge {

namespace {

struct CacheOptions {
  std::string directory;
  std::string format = "text";
  std::string max = "0";
};

/// Throws Error(usage).
std::uint64_t size_of(const std::string& text) {
  const std::optional<std::uint64_t> size = parse_size(text);
  if (!size)
    throw Error(ErrorKind::usage, fmt::format("--max {} is no size", escape_for_display(text)),
                "write it as 500MB or 2GB");
  return *size;
}

LayerCache cache_in(const CacheOptions& options) {
  if (!options.directory.empty()) return LayerCache(options.directory);
  const std::optional<std::string> directory = LayerCache::default_directory();
  if (!directory)
    throw Error(ErrorKind::usage,
                "there is no folder for the cache: neither XDG_CACHE_HOME nor HOME is an absolute path",
                "name it with --cache DIR");
  return LayerCache(*directory);
}

std::string shown(const CacheInfo& info) {
  return fmt::format("{} {}, {}", info.files, info.files == 1 ? "layer" : "layers", human_size(info.bytes));
}

nlohmann::ordered_json to_json(const CacheInfo& info) { return {{"layers", info.files}, {"bytes", info.bytes}}; }

int tell_info(const CacheOptions& options) {
  const CacheInfo info = cache_in(options).info();
  if (options.format == "json") {
    nlohmann::ordered_json json{{"directory", to_utf8(info.directory)}};
    json.update(to_json(info));
    json["limit"] = info.limit;
    print(json.dump(2) + "\n");
  } else {
    print(
        fmt::format("{}: {} of at most {}\n", escape_for_display(info.directory), shown(info), human_size(info.limit)));
  }
  return 0;
}

int prune(const CacheOptions& options) {
  const std::uint64_t most = size_of(options.max);
  LayerCache cache = cache_in(options);
  const CacheInfo deleted = cache.prune(most);
  const CacheInfo left = cache.info();
  if (options.format == "json") {
    const nlohmann::ordered_json json{
        {"directory", to_utf8(left.directory)}, {"deleted", to_json(deleted)}, {"left", to_json(left)}};
    print(json.dump(2) + "\n");
  } else {
    print(fmt::format("{}: deleted {}; left {}\n", escape_for_display(left.directory), shown(deleted), shown(left)));
  }
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* command = app.add_subcommand("cache", "What was learned of layers, kept between runs");
  command->require_subcommand(1);
  command->footer(
      "What verify and inspect learn of a layer (what is in it, and a few contents) is kept by its digest, so that "
      "the\n"
      "same layer is not read twice. It is safe to delete at any time.\n\n"
      "Examples:\n"
      "  imgforge cache info\n"
      "  imgforge cache prune --max 500MB");
  const auto add = [&](const char* name, const char* what, int (*run)(const CacheOptions&)) {
    CLI::App* verb = command->add_subcommand(name, what);
    verb->add_option("--cache", options->directory, "The folder (default: imgforge in $XDG_CACHE_HOME or ~/.cache)")
        ->type_name("DIR");
    verb->add_option("--format", options->format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT")
        ->capture_default_str();
    verb->callback([options, &action, run] { action = [options, run] { return run(*options); }; });
    return verb;
  };
  add("info", "Where it is, and how large", tell_info);
  add("prune", "Delete it, what was not used for longest first", prune)
      ->add_option("--max", options->max, "Keep at most this much: 500MB, 2GB")
      ->type_name("SIZE")
      ->capture_default_str();
}

}  // namespace imgforge
