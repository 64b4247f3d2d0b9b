#include <array>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "layer/toc.hpp"

namespace imgforge {

namespace {

constexpr std::string_view json_digest = "containerd.io/snapshot/stargz/toc.digest";

/// The same annotations under the prefix of containers/storage (podman, skopeo, buildah from 1.29 on) and under that of
/// stargz-snapshotter (nerdctl), which buildah wrote before.
constexpr std::array<std::string_view, 2> prefixes = {"io.github.containers.zstd-chunked.",
                                                      "io.containers.zstd-chunked."};
constexpr std::uint64_t json_table = 1;  // the only type of table that there is

std::optional<std::string> annotation(const LayerBlob& layer, const std::string& name) {
  const auto found = layer.annotations.find(name);
  return found == layer.annotations.end() ? std::nullopt : std::optional(found->second);
}

/// "OFFSET:LENGTH:UNCOMPRESSED LENGTH:TYPE".
std::optional<TocPlace> place_of(std::string_view position, std::string_view checksum, const LayerBlob& layer) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : split(position, ':')) {
    const std::optional<std::uint64_t> number = to_number(part);
    if (!number || numbers.size() == 4) return std::nullopt;
    numbers.push_back(*number);
  }
  const std::optional<Digest> digest = Digest::parse(checksum);
  if (numbers.size() != 4 || numbers[3] != json_table || !digest) return std::nullopt;
  const std::uint64_t offset = numbers[0];
  const std::uint64_t length = numbers[1];
  if (length == 0 || offset > layer.size || length > layer.size - offset) return std::nullopt;
  return TocPlace{TocKind::zstd_chunked, digest, std::nullopt, offset, length};
}

}  // namespace

std::optional<TocPlace> find_toc(const LayerBlob& layer) {
  std::optional<TocPlace> found;
  for (const std::string_view prefix : prefixes) {
    const auto position = annotation(layer, std::string(prefix) + "manifest-position");
    const auto checksum = annotation(layer, std::string(prefix) + "manifest-checksum");
    if (!position && !checksum) continue;
    const auto place = place_of(position.value_or(""), checksum.value_or(""), layer);
    if (!place) return std::nullopt;
    if (found &&
        (found->offset != place->offset || found->length != place->length || found->compressed != place->compressed)) {
      return std::nullopt;
    }
    found = place;
  }
  const auto json = annotation(layer, std::string(json_digest));
  if (!json) return found;
  const std::optional<Digest> digest = Digest::parse(*json);
  if (!digest) return std::nullopt;
  // nerdctl writes it beside the position of a zstd:chunked table: then it is one table with two digests.
  if (!found) found = TocPlace{TocKind::estargz, std::nullopt, std::nullopt, 0, 0};
  found->uncompressed = digest;
  return found;
}

}  // namespace imgforge
