// The tar of `docker save`, read once from its start to its end, as a daemon or a pipe gives it. Its members come in
// any order, manifest.json mostly last: layers are handed out as they pass, whatever image they belong to, and
// documents are kept until it is clear which of them matter. Memory is bounded, nothing is written anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "image/file_tree.hpp"
#include "image/source.hpp"

namespace imgforge {

struct DockerStreamLimits {
  TarLimits tar = {.members = 100'000, .name_bytes = 16 << 20};
  std::uint64_t document_bytes = 64 << 20;  // of all documents together that are kept; of one, max_document_bytes
  std::uint64_t trailing_bytes = 1 << 20;   // that may follow the tar's end: writers fill up their last record
};

using LayerVisitor = std::function<void(ByteReader& layer, std::uint64_t size)>;

/// Calls `visit` for each layer: a member that begins as a tar or a compressed one does, or is named *.tar. What it
/// does not read of a layer, is skipped. Returns what is left: sizes of all members, contents of the documents; open()
/// of anything else throws Error(image_limit). `name` is how messages name the stream, escaped for display. Throws
/// Error(image_*), and what `visit` throws.
std::unique_ptr<FileTree> walk_docker_stream(std::unique_ptr<ByteReader> stream, std::string name,
                                             const LayerVisitor& visit, const DockerStreamLimits& limits = {});

}  // namespace imgforge
