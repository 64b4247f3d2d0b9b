#include "layer/layer_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "layer/captures.hpp"
#include "layer/companions.hpp"
#include "layer/layer_cache.hpp"
#include "layer/parallel.hpp"

namespace imgforge {

namespace {

// Linux mounts 128 lower folders at most, containerd's snapshotters a few hundred.
constexpr std::size_t most_layers = 500;
constexpr std::size_t most_passes_again = 200;
constexpr std::size_t most_streams_again = 8;  // each is the whole image
constexpr std::uint64_t path_bytes_an_entry = 64;
constexpr std::uint64_t least_content = 64 << 10;     // who asks for the start of a file often asks for the rest of it
constexpr std::uint64_t largest_kept = 1 << 20;       // of contents that were not captured in passing
constexpr std::uint64_t most_together = 16ull << 20;  // of files that are taken along with one that is asked for

std::string name_of(const Image& image, std::size_t number) {
  const LayerBlob& blob = image.layers()[number];
  return fmt::format("layer {} of {} ({})", number + 1, image.layers().size(),
                     blob.digest    ? blob.digest->to_string()
                     : blob.diff_id ? "diff id " + blob.diff_id->to_string()
                                    : "no digest");
}

}  // namespace

LayerLoader::LayerLoader(const Image& image, RootOptions options)
    : image_(image),
      options_(std::move(options)),
      policy_(standard_captures(options_.capture_paths)),
      layers_(image.layers().size()) {
  if (options_.assurance == Assurance::full) options_.cache = nullptr;
  if (image.config_comes_last()) load_before_config();
  if (layers_.size() > most_layers) {
    throw Error(ErrorKind::image_limit,
                fmt::format("{} has {} layers, imgforge reads at most {}", image.name(), layers_.size(), most_layers));
  }
  for (const LayerBlob& blob : image.layers()) bytes_total_ += blob.size;
}

LayerLoader::~LayerLoader() {
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    if (!layers_[number].has_news) continue;
    try {
      keep(number);
    } catch (const std::exception&) {
      // The cache then lacks a capture.
    }
  }
}

// --- reading ---

void LayerLoader::count(std::size_t number, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_read_ += bytes;
  if (!options_.progress) return;
  progress_done_ += bytes;
  const std::uint64_t done = bytes_total_ == 0 ? progress_done_ : std::min(progress_done_, bytes_total_);
  if (layer_done_.size() <= number) layer_done_.resize(number + 1);
  layer_done_[number] += bytes;
  const std::uint64_t size = number < layers_.size() ? image_.layers()[number].size : 0;
  // A layer may be read again for a content that was not kept.
  if (size != 0 && layer_done_[number] > size) layer_done_[number] = bytes;
  options_.progress({done, bytes_total_, number, layers_.size(), layer_done_[number], size, question_});
}

LayerLimits LayerLoader::limits() {
  const std::lock_guard lock(mutex_);
  LayerLimits limits;
  limits.entries = options_.file_limit;
  limits.path_bytes = std::max(limits.path_bytes, options_.file_limit * path_bytes_an_entry);
  limits.capture_bytes = capture_bytes_left_;
  return limits;
}

void LayerLoader::spend_captures(const LayerIndex& index) {
  std::uint64_t kept = 0;
  for (const auto& capture : index.captures) kept += capture.second.size();
  const std::lock_guard lock(mutex_);
  capture_bytes_left_ -= std::min(capture_bytes_left_, kept);
}

std::optional<Digest> LayerLoader::key_of(std::size_t number) const {
  const LayerBlob& blob = image_.layers()[number];
  return blob.digest ? blob.digest : blob.diff_id;
}

void LayerLoader::keep(std::size_t number) {
  Layer& layer = layers_[number];
  const std::optional<Digest> key = key_of(number);
  // What was read under a changing file is proven by its digest, but the file's state says nothing of it.
  if (options_.cache == nullptr || !key || image_.layer_stamp(number) != layer.stamp) return;
  options_.cache->store(*key, layer.stamp, *layer.index);
  layer.has_news = false;
}

bool LayerLoader::load_cached(std::size_t number) {
  const std::optional<Digest> key = key_of(number);
  if (options_.cache == nullptr || !key) return false;
  Layer& layer = layers_[number];
  std::optional<FileStamp> stamp = image_.layer_stamp(number);
  std::optional<LayerIndex> found = options_.cache->find(*key, stamp);
  if (!found || found->entries.size() > options_.file_limit) return false;
  // A file whose bytes are proven to be those of the digest proves the diff id that this config gives only if it is
  // the one that was checked.
  const LayerBlob& blob = image_.layers()[number];
  if (blob.diff_id && found->diff_id && *blob.diff_id != *found->diff_id) return false;
  layer.index = std::make_shared<LayerIndex>(std::move(*found));
  layer.stamp = stamp;
  layer.from = From::cache;
  return true;
}

bool LayerLoader::load_toc(std::size_t number) {
  if (options_.assurance == Assurance::full) return false;
  const std::optional<TocPlace> place = find_toc(image_.layers()[number]);
  if (!place) return false;
  Layer& layer = layers_[number];
  layer.stamp = image_.layer_stamp(number);
  const LayerLimits own = limits();
  std::optional<Toc> toc = read_toc(image_, number, *place, {.entries = own.entries, .path_bytes = own.path_bytes});
  if (!toc) return false;
  count(number, toc->bytes_read);
  auto shared = std::make_shared<Toc>(std::move(*toc));
  layer.index = {shared, &shared->index};
  layer.toc = std::move(shared);
  layer.has_news = true;  // once it is known what is asked of it
  return true;
}

void LayerLoader::load_whole(std::size_t number) {
  Layer& layer = layers_[number];
  const bool full = options_.assurance == Assurance::full;
  layer.stamp = image_.layer_stamp(number);
  auto index = std::make_shared<LayerIndex>(read_layer(
      image_, number, policy_, limits(), [this, number](std::uint64_t bytes) { count(number, bytes); }, full));
  spend_captures(*index);
  if (full) compare_with_toc(number, *index);
  layer.index = std::move(index);
  keep(number);
}

void LayerLoader::compare_with_toc(std::size_t number, const LayerIndex& index) {
  const std::optional<TocPlace> place = find_toc(image_.layers()[number]);
  if (!place) return;
  const LayerLimits own = limits();
  const std::optional<Toc> toc =
      read_toc(image_, number, *place, {.entries = own.entries, .path_bytes = own.path_bytes});
  if (!toc) return;
  count(number, toc->bytes_read);
  if (const auto difference = first_difference(toc->index, index))
    throw Error(ErrorKind::image_corrupt, fmt::format("{}: its table of contents is not that of its tar: {}",
                                                      name_of(image_, number), *difference));
}

void LayerLoader::load_streamed() {
  std::optional<Digest::Algorithm> algorithm;
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    const std::optional<Digest>& diff_id = image_.layers()[number].diff_id;
    if (!diff_id)
      throw Error(ErrorKind::image_corrupt, name_of(image_, number) + ": nothing says what its diff id has to be");
    algorithm = diff_id->algorithm();
  }
  if (!algorithm) return;
  std::vector<std::shared_ptr<LayerIndex>> found(layers_.size());
  std::exception_ptr unknown;  // why a member could not be told to be ours
  std::size_t next = 0;        // for the progress
  image_.stream_layers([&](ByteReader& reader, std::uint64_t) {
    const std::size_t shown = std::min(next++, layers_.size() - 1);
    StreamedLayer streamed =
        read_streamed_layer(reader, *algorithm, policy_, limits(), [&](std::uint64_t bytes) { count(shown, bytes); });
    std::shared_ptr<LayerIndex> index;
    for (std::size_t number = 0; number < layers_.size(); ++number) {
      if (layers_[number].index || found[number] || streamed.diff_id != image_.layers()[number].diff_id) continue;
      if (streamed.failure) {
        try {
          std::rethrow_exception(streamed.failure);
        } catch (const Error& error) {
          throw error.within(name_of(image_, number));
        }
      }
      if (!index) {
        index = std::make_shared<LayerIndex>(std::move(streamed.index));
        if (options_.assurance == Assurance::full) index->proof = Proof::full;
        spend_captures(*index);
      }
      found[number] = index;
    }
    if (!index && streamed.failure && !unknown) unknown = streamed.failure;
  });
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    if (layers_[number].index || found[number]) continue;
    const std::string name = name_of(image_, number);
    if (!unknown) throw Error(ErrorKind::image_corrupt, name + ": no layer of the stream has this digest");
    try {
      std::rethrow_exception(unknown);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: no layer of the stream has this digest, and one of them is damaged", name));
    }
  }
  // Only now has the source checked what it said of the image.
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    if (!found[number]) continue;
    layers_[number].index = std::move(found[number]);
    keep(number);
  }
}

void LayerLoader::load_before_config() {
  constexpr std::uint64_t start_of_program = 4 << 10;
  // What the config starts is not known yet, so the start of every program is kept, by which its kind is told.
  const CapturePolicy policy = [&](const Entry& entry, std::size_t position) {
    const Capture usual = policy_(entry, position);
    const bool program = entry.type == EntryType::file && (entry.mode & 0111) != 0;
    if (!program || (usual.limit != 0 && !usual.script)) return usual;
    // What may be a script is no longer than one, and kept whether it is or not.
    return Capture{.limit = usual.script ? usual.limit : start_of_program, .prefix = true, .judge = usual.judge};
  };
  std::vector<StreamedLayer> passed;
  image_.stream_layers([&](ByteReader& reader, std::uint64_t) {
    if (passed.size() == most_layers)
      throw Error(ErrorKind::image_limit, fmt::format("{} has more than {} layers", image_.name(), most_layers));
    passed.push_back(read_streamed_layer(reader, Digest::Algorithm::sha256, policy, limits(),
                                         [&](std::uint64_t bytes) { count(0, bytes); }));
    spend_captures(passed.back().index);
  });
  std::vector<std::shared_ptr<LayerIndex>> indexes(passed.size());  // a layer may be in an image twice
  layers_.resize(image_.layers().size());
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    const auto found = std::find_if(passed.begin(), passed.end(), [&](const StreamedLayer& streamed) {
      return streamed.diff_id && streamed.diff_id == image_.layers()[number].diff_id;
    });
    const std::string name = name_of(image_, number);
    if (found == passed.end()) throw Error(ErrorKind::image_corrupt, name + ": no layer of the stream has this digest");
    if (found->failure) {
      try {
        std::rethrow_exception(found->failure);
      } catch (const Error& error) {
        throw error.within(name);
      }
    }
    std::shared_ptr<LayerIndex>& index = indexes[static_cast<std::size_t>(found - passed.begin())];
    if (!index) index = std::make_shared<LayerIndex>(std::move(found->index));
    if (options_.assurance == Assurance::full) index->proof = Proof::full;
    layers_[number].index = index;
  }
}

void LayerLoader::load(std::size_t number) {
  if (load_cached(number)) return;
  if (!load_toc(number)) load_whole(number);
}

const LayerIndex& LayerLoader::index(std::size_t number) {
  if (layers_[number].index) return *layers_[number].index;
  if (image_.streams_once())
    load_all();
  else
    load(number);
  return *layers_[number].index;
}

void LayerLoader::load_all() {
  std::vector<std::size_t> missing;
  for (std::size_t number = 0; number < layers_.size(); ++number) {
    if (!layers_[number].index) missing.push_back(number);
  }
  if (missing.empty()) return;
  std::stable_sort(missing.begin(), missing.end(), [&](std::size_t one, std::size_t other) {
    return image_.layers()[one].size > image_.layers()[other].size;
  });
  if (image_.streams_once()) {
    std::erase_if(missing, [&](std::size_t number) { return load_cached(number); });
    if (!missing.empty()) load_streamed();
    return;
  }
  in_parallel(missing, [&](std::size_t number) { load(number); });
}

// --- contents ---

std::optional<std::string> LayerLoader::kept(std::size_t number, std::size_t entry, std::size_t size) const {
  const LayerIndex& index = *layers_[number].index;
  if (const auto found = index.captures.find(entry); found != index.captures.end())
    return found->second.size() >= size ? std::optional(found->second.substr(0, size)) : std::nullopt;
  if (!index.stored_captures || index.stored_captures->size(entry) < size) return std::nullopt;
  return index.stored_captures->read(entry, size);
}

bool LayerLoader::is_kept(std::size_t number, std::size_t entry) const {
  const LayerIndex& index = *layers_[number].index;
  return index.captures.contains(entry) || (index.stored_captures && index.stored_captures->size(entry) != 0);
}

void LayerLoader::remember(std::size_t number, std::size_t entry, std::string content) {
  {
    const std::lock_guard lock(mutex_);
    if (content.size() > capture_bytes_left_) return;
    capture_bytes_left_ -= content.size();
  }
  layers_[number].index->captures[entry] = std::move(content);
  layers_[number].has_news = true;
}

std::optional<std::string> LayerLoader::content(std::size_t number, std::size_t entry, std::size_t size) {
  index(number);
  if (std::optional<std::string> found = kept(number, entry, size)) return found;
  std::optional<std::string> content;
  if (layers_[number].index->proof == Proof::toc) content = by_toc(number, entry);
  if (!content) {
    spend_pass_again();
    content = image_.streams_once() ? by_streaming_again(number, entry, size) : by_passing_again(number, entry, size);
  }
  if (!content || content->size() < size) return std::nullopt;
  std::string start = content->substr(0, size);
  // A content that the table of captures wants would have been kept in passing, whatever its size.
  const Entry described = layers_[number].index->entries[entry];
  if (content->size() <= largest_kept || content->size() <= policy_(described, entry).limit)
    remember(number, entry, std::move(*content));
  return start;
}

void LayerLoader::spend_pass_again() {
  const bool streams = image_.streams_once();
  const std::size_t most = streams ? most_streams_again : most_passes_again;
  if (++passes_again_ <= most) return;
  if (!streams) {
    throw Error(ErrorKind::image_limit,
                fmt::format("{}: its layers had to be read again for single files more than {} times", image_.name(), most));
  }
  throw Error(ErrorKind::image_limit,
              fmt::format("{}: the whole image had to be streamed again for single files more than {} times",
                          image_.name(), most),
              "from a file each of them is found at once: docker save NAME -o FILE, then docker-archive:FILE");
}

std::optional<std::string> LayerLoader::by_toc(std::size_t number, std::size_t entry) {
  Layer& layer = layers_[number];
  if (!layer.toc) {  // the index came from the cache
    const std::optional<TocPlace> place = find_toc(image_.layers()[number]);
    if (!place) return std::nullopt;
    const LayerLimits own = limits();
    std::optional<Toc> toc = read_toc(image_, number, *place, {.entries = own.entries, .path_bytes = own.path_bytes});
    if (!toc) return std::nullopt;
    count(number, toc->bytes_read);
    if (toc->index.entries.size() != layer.index->entries.size() ||
        toc->index.entries.at(entry).path != layer.index->entries.at(entry).path)
      return std::nullopt;
    layer.toc = std::make_shared<Toc>(std::move(*toc));
  }
  // Files of one name mostly are asked for together: the metadata of every package.
  const EntryList& entries = layer.index->entries;
  std::vector<std::size_t> positions = {entry};
  std::uint64_t together = 0;
  for (std::size_t other = 0; other < entries.size(); ++other) {
    if (other == entry || entries.type(other) != EntryType::file || entries.name(other) != entries.name(entry))
      continue;
    const Entry described = entries[other];
    const Capture capture = policy_(described, other);
    if (capture.script || described.size == 0 || described.size > capture.limit || kept(number, other, described.size))
      continue;
    together += described.size;
    if (together > most_together) break;
    positions.push_back(other);
  }
  std::sort(positions.begin(), positions.end());
  std::uint64_t bytes = 0;
  std::map<std::size_t, std::string> contents = read_toc_files(image_, number, *layer.toc, std::move(positions), bytes);
  count(number, bytes);
  std::optional<std::string> wanted;
  for (auto& [position, content] : contents) {
    if (position == entry)
      wanted = std::move(content);
    else
      remember(number, position, std::move(content));
  }
  return wanted;
}

std::optional<std::string> LayerLoader::by_passing_again(std::size_t number, std::size_t entry, std::size_t size) {
  const Entry described = layers_[number].index->entries.at(entry);
  const std::uint64_t wanted = std::min<std::uint64_t>(described.size, std::max<std::uint64_t>(size, least_content));
  const auto progress = [this, number](std::uint64_t bytes) { count(number, bytes); };
  if (layers_[number].index->proof != Proof::toc) {
    std::uint64_t budget = most_together;
    std::map<std::size_t, std::uint64_t> together =
        companions(layers_[number].index->entries, described, budget, [&](std::size_t other) {
          return other != entry && !is_kept(number, other);
        });
    together[entry] = wanted;
    std::map<std::size_t, std::string> contents = read_entries(image_, number, together, limits(), progress);
    std::optional<std::string> content;
    for (auto& [position, found] : contents) {
      if (position == entry)
        content = std::move(found);
      else
        remember(number, position, std::move(found));
    }
    return content;
  }
  // Positions in the tar are others than in its table; of several entries of one path the last one holds.
  LayerIndex again = read_layer(
      image_, number,
      [&](const Entry& other, std::size_t) {
        return other.path == described.path ? Capture{.limit = wanted, .prefix = true} : Capture{};
      },
      limits(), progress);
  if (again.captures.empty()) return std::nullopt;
  auto last = std::prev(again.captures.end());
  if (again.entries[last->first].size != described.size) {
    throw Error(ErrorKind::image_corrupt, name_of(image_, number) + ": its table of contents is not that of its tar");
  }
  return std::move(last->second);
}

std::optional<std::string> LayerLoader::by_streaming_again(std::size_t number, std::size_t entry, std::size_t size) {
  const Entry described = layers_[number].index->entries.at(entry);
  // Which layer it is, is known only behind it: so what lies at these places in any of them is kept for that long.
  std::vector<std::map<std::size_t, std::uint64_t>> wanted(layers_.size());
  std::map<std::size_t, std::uint64_t> anywhere;  // by position
  std::uint64_t budget = most_together;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t layer = (number + i) % layers_.size();  // its own first
    if (!layers_[layer].index) continue;
    wanted[layer] = companions(layers_[layer].index->entries, described, budget, [&](std::size_t other) {
      return !(layer == number && other == entry) && !is_kept(layer, other);
    });
  }
  wanted[number][entry] = std::min<std::uint64_t>(described.size, std::max<std::uint64_t>(size, least_content));
  for (const auto& positions : wanted) {
    for (const auto& [position, bytes] : positions) anywhere[position] = std::max(anywhere[position], bytes);
  }
  const auto is_one_of_ours = [&](const Entry& other, std::size_t position) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      if (wanted[layer].contains(position) && layers_[layer].index->entries[position].path == other.path) return true;
    }
    return false;
  };
  const Digest::Algorithm algorithm = image_.layers()[number].diff_id->algorithm();
  std::vector<std::map<std::size_t, std::string>> found(layers_.size());
  image_.stream_layers([&](ByteReader& reader, std::uint64_t) {
    StreamedLayer streamed = read_streamed_layer(
        reader, algorithm,
        [&](const Entry& other, std::size_t position) {
          const auto place = anywhere.find(position);
          return place != anywhere.end() && is_one_of_ours(other, position)
                     ? Capture{.limit = place->second, .prefix = true}
                     : Capture{};
        },
        limits(), [&](std::uint64_t bytes) { count(number, bytes); });
    if (streamed.failure) return;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      if (streamed.diff_id != image_.layers()[layer].diff_id) continue;
      for (const auto& [position, content] : streamed.index.captures) {
        if (wanted[layer].contains(position)) found[layer][position] = content;
      }
    }
  });
  // Only now has the source checked what it said of the image.
  std::optional<std::string> content;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (auto& [position, bytes] : found[layer]) {
      if (layer == number && position == entry)
        content = std::move(bytes);
      else
        remember(layer, position, std::move(bytes));
    }
  }
  return content;
}

// --- what it took ---

ReadCost LayerLoader::cost() const {
  const std::lock_guard lock(mutex_);
  ReadCost cost;
  cost.bytes_read = bytes_read_;
  cost.bytes_total = std::max(bytes_total_, image_.streams_once() ? bytes_read_ : 0);
  cost.layers_total = layers_.size();
  for (const Layer& layer : layers_) {
    if (!layer.index) continue;
    ++(layer.from == From::cache ? cost.layers_cached : cost.layers_read);
  }
  return cost;
}

std::optional<Proof> LayerLoader::proof() const {
  std::optional<Proof> weakest;
  for (const Layer& layer : layers_) {
    if (layer.index && (!weakest || layer.index->proof < *weakest)) weakest = layer.index->proof;
  }
  return weakest;
}

}  // namespace imgforge
