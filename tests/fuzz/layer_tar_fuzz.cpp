// Any bytes as a layer: compressed or not, a tar or not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "../layer/memory_image.hpp"
#include "base/error.hpp"
#include "layer/captures.hpp"
#include "layer/layer_reader.hpp"
#include "layer/root_view.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  test::MemoryImage image;
  image.add(std::string(reinterpret_cast<const char*>(data), size));
  const LayerLimits limits{.entries = 5000, .path_bytes = 1 << 20, .tar_bytes = 16 << 20, .capture_bytes = 4 << 20};
  try {
    const LayerIndex index = read_layer(image, 0, [](const Entry&, std::size_t) { return Capture{.limit = 1 << 20, .prefix = true}; }, limits);
    for (const Entry& entry : index.entries) {
      if (entry.path.starts_with("/") || entry.path.find("//") != std::string::npos || ("/" + entry.path + "/").find("/../") != std::string::npos) std::abort();
    }
    RootView view(image, {});
    view.walk([&](const Node& node) {
      const Lookup found = view.lookup_link(node.path);
      if (!found || found.node->path != node.path || found.node->type != node.type) std::abort();
    });
  } catch (const Error&) {
  }
  return 0;
}
