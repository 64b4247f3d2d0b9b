// Where the indexes of an image's layers come from, and contents of files: the cache, tables of contents, whole layers,
// or one pass over a source that streams once. What the root view is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/source.hpp"
#include "layer/layer_index.hpp"
#include "layer/layer_reader.hpp"
#include "layer/root_view.hpp"
#include "layer/toc.hpp"

namespace imgforge {

class LayerLoader {
 public:
  /// `image` has to outlive the loader. Where its config comes last (Image::config_comes_last), the loader reads it all
  /// at once. Throws Error(image_limit) where it has more layers than any runtime mounts.
  LayerLoader(const Image& image, RootOptions options);
  /// Keeps in the cache what was captured since.
  ~LayerLoader();
  LayerLoader(const LayerLoader&) = delete;
  LayerLoader& operator=(const LayerLoader&) = delete;

  std::size_t size() const { return layers_.size(); }
  /// What the reading that follows is for; progress tells it. Not while a layer is read.
  void looking_for(std::string_view question) { question_ = question; }
  /// The index of a layer, read if it was not.
  const LayerIndex& index(std::size_t number);
  /// Reads all that is missing, in parallel, the longest first.
  void load_all();

  /// The first `size` bytes of a regular file that has as many. From a capture where there is one; else from the
  /// layer's table of contents, else by reading that layer again. Nothing where the file cannot be found again.
  std::optional<std::string> content(std::size_t number, std::size_t entry, std::size_t size);

  ReadCost cost() const;
  std::optional<Proof> proof() const;

 private:
  enum class From { cache, image };
  struct Layer {
    std::shared_ptr<LayerIndex> index;
    std::shared_ptr<const Toc> toc;  // where it was read
    std::optional<FileStamp> stamp;  // when the index was made
    From from = From::image;
    bool has_news = false;  // captures that the cache does not know
  };

  void count(std::size_t number, std::uint64_t bytes);
  LayerLimits limits();
  void spend_captures(const LayerIndex& index);
  void load(std::size_t number);
  bool load_cached(std::size_t number);
  bool load_toc(std::size_t number);
  void load_whole(std::size_t number);
  void load_streamed();
  void load_before_config();
  void compare_with_toc(std::size_t number, const LayerIndex& index);
  void keep(std::size_t number);
  std::optional<Digest> key_of(std::size_t number) const;

  std::optional<std::string> kept(std::size_t number, std::size_t entry, std::size_t size) const;
  bool is_kept(std::size_t number, std::size_t entry) const;  // at least its start
  std::optional<std::string> by_toc(std::size_t number, std::size_t entry);
  std::optional<std::string> by_passing_again(std::size_t number, std::size_t entry, std::size_t size);
  std::optional<std::string> by_streaming_again(std::size_t number, std::size_t entry, std::size_t size);
  void remember(std::size_t number, std::size_t entry, std::string content);
  void spend_pass_again();

  const Image& image_;
  RootOptions options_;
  CapturePolicy policy_;
  std::vector<Layer> layers_;
  std::string question_;
  mutable std::mutex mutex_;  // of what follows
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_total_ = 0;
  std::uint64_t progress_done_ = 0;
  std::vector<std::uint64_t> layer_done_;  // bytes, as progress tells it; by layer
  std::uint64_t capture_bytes_left_ = 192 << 20;  // of all layers together
  std::size_t passes_again_ = 0;                  // of layers, for single contents
};

}  // namespace imgforge
