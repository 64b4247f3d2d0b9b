// What was learned of layers, kept between runs: one file a layer, named by its digest, with its index and captures.
//
// Whatever is not to the letter what this version writes (another version or capture set, damage, a foreign file) is as
// if it were not there, and replaced. Files appear whole (a temporary beside it, renamed), so that parallel runs at
// most write one twice. It is no trust boundary: who can write to the folder can make it lie, so the push gate and
// attestations do not ask it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "image/source.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

struct CacheInfo {
  std::string directory;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t limit = 0;  // bytes
};

class LayerCache {
 public:
  static constexpr std::uint64_t default_limit = 2ull << 30;  // bytes on disk; the files not used for longest go first

  /// `directory` is made when something is stored. Never throws for what is in it.
  explicit LayerCache(std::string directory, std::uint64_t limit = default_limit);

  /// $XDG_CACHE_HOME/imgforge, else ~/.cache/imgforge; nothing where neither is an absolute path.
  static std::optional<std::string> default_directory();

  /// The index of a blob with this digest (of a layer without one: with this diff id). `stamp` is where the layer lies
  /// on this machine now: then only an index answers that was made of the same file in the same state. Thread-safe.
  std::optional<LayerIndex> find(const Digest& digest, const std::optional<FileStamp>& stamp) const;
  /// Keeps it. A full disk or a folder that cannot be written is no error: then it is not kept. Thread-safe.
  void store(const Digest& digest, const std::optional<FileStamp>& stamp, const LayerIndex& index);

  CacheInfo info() const;
  /// Deletes until at most `bytes` are left, the least recently used first, and what lies there of broken runs. Only
  /// files that are named as ours. Returns what was deleted.
  CacheInfo prune(std::uint64_t bytes);

 private:
  std::string directory_;
  std::uint64_t limit_;
};

}  // namespace imgforge
