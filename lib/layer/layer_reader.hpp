// Layer bytes → LayerIndex: hash, inflate, tar walk, in one pass and bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "image/source.hpp"
#include "layer/layer_index.hpp"

namespace imgforge {

/// What is kept of a regular file in passing.
struct Capture {
  std::uint64_t limit = 0;  // bytes; 0 keeps nothing
  bool prefix = false;      // a larger file is kept up to the limit; otherwise not at all
  bool script = false;      // kept only if it begins with "#!"
  bool elf = false;         // of an ELF file, what the loader reads of it is kept (elf_parts.hpp)
  bool judge = false;       // looked at for secrets, whole; what it was found to be is kept, its content is not
};

/// Asked for every regular file with its entry and its position in the index.
using CapturePolicy = std::function<Capture(const Entry&, std::size_t position)>;

struct LayerLimits {
  // Images with every package of a distribution or a data set of small files have a million; each takes us about forty
  // bytes beside its name. --max-files raises it.
  std::uint64_t entries = 3'000'000;
  std::uint64_t path_bytes = 192ull << 20;       // of all paths and links of a layer together: 64 an entry
  std::uint64_t tar_bytes = 200ull << 30;        // uncompressed
  std::uint64_t capture_bytes = 256ull << 20;    // of all captures of a layer together; beyond it nothing more is kept
};

/// Reads the layer to its end and checks its size, its digest, and its diff id where that is the only proof or the
/// layer is not compressed; with `both`, always, and then the index is of Proof::full. Throws Error(image_corrupt |
/// image_limit | image_unsupported) naming the layer; nothing of a layer that failed is handed out. `progress` is told
/// the blob bytes consumed since the last call.
LayerIndex read_layer(const Image& image, std::size_t layer, const CapturePolicy& policy,
                      const LayerLimits& limits = {}, const std::function<void(std::uint64_t)>& progress = {},
                      bool both = false);

/// Contents of files at positions of a layer's index, or as many of their first bytes as are asked for; what is no file
/// there is left out. The layer is read and checked as above.
std::map<std::size_t, std::string> read_entries(const Image& image, std::size_t layer,
                                                const std::map<std::size_t, std::uint64_t>& wanted,
                                                const LayerLimits& limits = {},
                                                const std::function<void(std::uint64_t)>& progress = {});

/// A layer of a source that streams once (Image::stream_layers): which one it is, its diff id tells.
struct StreamedLayer {
  std::optional<Digest> diff_id;     // nothing where its bytes could not be told from others
  LayerIndex index;                  // with its diff id checked against nothing
  std::exception_ptr failure;        // why there is no index
};
/// Reads `layer` to its end. Throws what the reader throws, and nothing for what is wrong with the layer.
StreamedLayer read_streamed_layer(ByteReader& layer, Digest::Algorithm algorithm, const CapturePolicy& policy,
                                  const LayerLimits& limits = {},
                                  const std::function<void(std::uint64_t)>& progress = {});

}  // namespace imgforge
