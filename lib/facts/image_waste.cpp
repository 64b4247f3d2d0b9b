#include "facts/image_waste.hpp"

#include <algorithm>
#include <set>

namespace imgforge {
namespace {

constexpr std::size_t max_worst = 10;

bool all_read(const RootView& root) {
  const ReadCost cost = root.cost();
  return cost.layers_read + cost.layers_cached == cost.layers_total;
}

}  // namespace

Fact<ImageSize> read_image_size(const Image& image, RootView& root) {
  ImageSize size;
  bool known = true;
  std::set<std::string> seen;
  for (const LayerBlob& layer : image.layers()) {
    if (!layer.digest || layer.size == 0) {
      known = false;
    } else if (seen.insert(layer.digest->to_string()).second) {
      size.compressed += layer.size;
    }
  }
  if (!known) size.compressed = 0;
  if (all_read(root)) {
    for (std::size_t layer = 0; layer < image.layers().size(); ++layer) {
      const EntryList& entries = root.layer(layer).entries;
      for (std::size_t position = 0; position < entries.size(); ++position) {
        if (entries.type(position) == EntryType::file) size.unpacked += entries.file_size(position);
      }
    }
  }
  return Fact<ImageSize>::known(size);
}

Fact<Waste> read_waste(RootView& root) {
  if (!all_read(root)) return Fact<Waste>::unknown("not every layer was read");
  const std::size_t layers = root.cost().layers_total;
  std::vector<std::vector<bool>> seen(layers);
  for (std::size_t layer = 0; layer < layers; ++layer) seen[layer].resize(root.layer(layer).entries.size());
  root.walk([&](const Node& node) {
    // A hard link is what it names: as long as one of the names is there, so are the bytes.
    if (node.type == EntryType::file && node.entry < seen[node.layer].size()) seen[node.layer][node.entry] = true;
  });
  Waste waste;
  std::set<std::string> counted;
  for (std::size_t layer = layers; layer-- > 0;) {
    if (!counted.insert(root.layer_name(layer)).second) continue;  // it is in the image twice, and stored once
    const EntryList& entries = root.layer(layer).entries;
    struct Folder {
      std::uint64_t bytes = 0;
      std::uint32_t files = 0;
      std::uint32_t one = 0;  // of the files
    };
    std::vector<Folder> folders(entries.folder_count());
    for (std::size_t position = 0; position < entries.size(); ++position) {
      if (seen[layer][position] || entries.type(position) != EntryType::file) continue;
      Folder& folder = folders.at(entries.folder(position));
      folder.bytes += entries.file_size(position);
      folder.one = static_cast<std::uint32_t>(position);
      ++folder.files;
    }
    for (std::uint32_t number = 0; number < folders.size(); ++number) {
      const Folder& folder = folders[number];
      if (folder.bytes == 0) continue;
      waste.bytes += folder.bytes;
      if (waste.worst.size() == max_worst && waste.worst.back().bytes >= folder.bytes) continue;
      const std::string parent(entries.folder_path(number));
      const std::string path =
          folder.files == 1 ? "/" + entries[folder.one].path : (parent.empty() ? "/" : "/" + parent + "/");
      if (waste.worst.size() == max_worst) waste.worst.pop_back();
      const auto place =
          std::upper_bound(waste.worst.begin(), waste.worst.end(), folder.bytes,
                           [](std::uint64_t bytes, const Waste::Path& one) { return bytes > one.bytes; });
      waste.worst.insert(place, {path, folder.bytes, Evidence::in_layer(root.layer_name(layer), path)});
    }
  }
  std::vector<Evidence> evidence;
  for (const Waste::Path& one : waste.worst) evidence.push_back(one.evidence);
  return Fact<Waste>::known(std::move(waste), std::move(evidence));
}

}  // namespace imgforge
