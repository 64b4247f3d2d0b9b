// The image's root file system: layers merged, nothing unpacked, pulled on demand.
//
// Questions are answered from the newest layer down, and a layer is read only when a question needs it: a path that is
// present ends the search; absence needs a whiteout above or every layer. Semantics are those of an unpacker that keeps
// inside of its root (image-spec 1.1 layer.md; umoci, containerd): whiteouts and opaque markers hide lower layers only,
// of two entries of one path in a layer the later holds, an entry below a lower link lands through it, a directory
// entry over a lower link replaces it, hard links name what was there when their layer was applied.
//
// Links are followed inside the root only, at most 40 in a lookup (as Linux does); ".." at the root stays there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

class Image;

/// Something that is in the root. `path` is canonical: absolute, without links.
struct Node {
  std::string path;                  // "/usr/bin/python3.11"
  EntryType type = EntryType::file;  // file, directory, symlink, devices, fifo (a hard link is what it names)
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint16_t elf_machine = 0;  // 0: no ELF; of what walks and lists give out of a table of contents, not known
  std::string link;       // of a symlink
  std::size_t layer = 0;  // position of the layer that it comes from, 0 the lowest
  std::size_t entry = 0;  // position in that layer's index; meaningless for implied folders
};

/// What looking a path up came to.
struct Lookup {
  enum class Status {
    found,
    absent,    // no such path; links on the way lead somewhere
    dangling,  // a link on the way leads to nothing
    loop,      // more than 40 links
    not_a_directory,
  };
  Status status = Status::absent;
  std::optional<Node> node;        // where found
  std::vector<std::string> links;  // canonical paths of the links that were followed, in order
  std::string missing;             // canonical path of what is not there (absent, dangling)
  explicit operator bool() const { return status == Status::found; }
};

struct ReadCost {
  std::uint64_t bytes_read = 0;  // blob bytes of layers, tables of contents among them
  std::uint64_t bytes_total = 0;
  std::size_t layers_read = 0;
  std::size_t layers_total = 0;
  std::size_t layers_cached = 0;  // answered from the cache; not among layers_read
};

/// How far the reading has to prove what it reads.
enum class Assurance {
  standard,  // each answer rests on a verified digest, or on a table of contents whose digest is in the manifest
  full,      // every layer streams, digests and diff ids are checked, tables of contents are held against their tars
};

class LayerCache;

struct ReadProgress {
  std::uint64_t done = 0;   // bytes of layers
  std::uint64_t total = 0;  // 0 where nobody knows
  std::size_t layer = 0;    // that the last bytes came from
  std::size_t layers = 0;
  std::uint64_t layer_done = 0;   // bytes of that layer since it was begun
  std::uint64_t layer_total = 0;  // of its blob; 0 where nobody knows. Of a table of contents only a part is read
  std::string_view question;      // what is looked for: a path, a pattern, "every file"; not escaped. For this call only
};

struct RootOptions {
  /// Canonical-looking absolute paths whose contents are wanted beside the static table of patterns (captures.hpp), for
  /// instance the entrypoint.
  std::vector<std::string> capture_paths;
  std::function<void(const ReadProgress&)> progress;  // may be empty; called from one thread at a time
  LayerCache* cache = nullptr;                        // not asked under Assurance::full
  Assurance assurance = Assurance::standard;
  std::uint64_t file_limit = 3'000'000;  // --max-files: entries of a layer
};

class RootView {
 public:
  RootView(const Image& image, RootOptions options);
  ~RootView();
  RootView(const RootView&) = delete;
  RootView& operator=(const RootView&) = delete;

  /// Follows links, the last one included. `path` is absolute (a relative one counts from the root).
  Lookup lookup(std::string_view path);
  /// Follows every link but the last.
  Lookup lookup_link(std::string_view path);

  /// The content of a regular file of at most `limit` bytes, links followed; nothing where it is not there, no regular
  /// file or larger. From a capture where there is one, else by reading that layer again.
  /// Throws Error(image_limit) where layers had to be read again more often than any honest image needs.
  std::optional<std::string> read(std::string_view path, std::uint64_t limit);
  std::optional<std::string> read(const Node& node, std::uint64_t limit);

  /// The first `size` bytes of a regular file (fewer where it is shorter).
  std::optional<std::string> read_prefix(const Node& node, std::size_t size);

  /// The names in a folder (links to it followed), sorted by bytes; empty where it is no folder. Needs every layer.
  std::vector<Node> list(std::string_view path);

  /// Everything whose canonical path matches a glob (text.hpp glob_match: "/usr/**/*.dist-info/METADATA"), sorted by
  /// path; links are not followed. Needs every layer.
  std::vector<Node> find(std::string_view pattern);

  /// Calls `visit` for everything below the root, parents first, siblings by bytes. Needs every layer.
  void walk(const std::function<void(const Node&)>& visit);

  /// Reads what has not been read, so that every layer is proven; throws as reading does.
  void read_all();

  ReadCost cost() const;
  /// The weakest proof of the layers that answers came from so far; nothing where no layer was needed.
  std::optional<Proof> proof() const;
  /// The digest to name a layer by in evidence: the blob's, else the diff id.
  std::string layer_name(std::size_t layer) const;
  /// The index of a layer, read if it was not.
  const LayerIndex& layer(std::size_t layer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace imgforge
