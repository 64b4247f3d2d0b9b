#include "layer/layer_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/decompressor.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::size_t chunk_size = 256 << 10;

/// The blob on its way in: counted and hashed.
class BlobReader final : public ByteReader {
 public:
  BlobReader(const Image& image, const LayerBlob& blob, const std::function<void(std::uint64_t)>& progress)
      : source_(image.open_layer(blob.index)), blob_(blob), progress_(progress) {
    if (blob.digest) hasher_.emplace(blob.digest->algorithm());
  }

  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = source_->read(buffer, size);
    if (hasher_) hasher_->update(buffer, count);
    count_ += count;
    if (count_ > blob_.size) {
      throw Error(ErrorKind::image_corrupt, fmt::format("it has more bytes than the {} of its descriptor: the size does not match", blob_.size));
    }
    if (count != 0 && progress_) progress_(count);
    return count;
  }

  std::uint64_t count() const { return count_; }

  /// The digest of what was read, checked; absent where the source names none.
  std::optional<Digest> finish() {
    if (count_ != blob_.size) {
      throw Error(ErrorKind::image_corrupt, fmt::format("it has {} bytes, its descriptor says {}: the size does not match", count_, blob_.size));
    }
    if (!hasher_) return std::nullopt;
    const Digest actual = hasher_->finish();
    if (actual != *blob_.digest) throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch: its bytes are {}", actual.to_string()));
    return actual;
  }

 private:
  std::unique_ptr<ByteReader> source_;
  const LayerBlob& blob_;
  const std::function<void(std::uint64_t)>& progress_;
  std::optional<Hasher> hasher_;
  std::uint64_t count_ = 0;
};

/// The tar on its way to libarchive: counted, and hashed where the diff id has to be checked.
class TarBytes {
 public:
  TarBytes(Decompressor& decompressor, std::optional<Digest::Algorithm> hash, std::uint64_t limit) : decompressor_(decompressor), limit_(limit) {
    if (hash) hasher_.emplace(*hash);
  }

  std::size_t next() {
    const std::size_t size = decompressor_.read(buffer_.data(), buffer_.size());
    if (hasher_) hasher_->update(buffer_.data(), size);
    count_ += size;
    if (count_ > limit_) throw Error(ErrorKind::image_limit, fmt::format("it unpacks to more than {}", human_size(limit_)));
    return size;
  }
  const char* data() const { return buffer_.data(); }
  std::uint64_t count() const { return count_; }
  std::optional<Digest> finish() { return hasher_ ? std::optional<Digest>(hasher_->finish()) : std::nullopt; }

  /// An exception that was thrown below libarchive, which is C and must not see it.
  std::exception_ptr failure;

 private:
  Decompressor& decompressor_;
  std::uint64_t limit_;
  std::vector<char> buffer_ = std::vector<char>(chunk_size);
  std::optional<Hasher> hasher_;
  std::uint64_t count_ = 0;
};

la_ssize_t give_bytes(archive* handle, void* data, const void** buffer) {
  auto& bytes = *static_cast<TarBytes*>(data);
  try {
    const std::size_t size = bytes.next();
    *buffer = bytes.data();
    return static_cast<la_ssize_t>(size);
  } catch (...) {
    bytes.failure = std::current_exception();
    archive_set_error(handle, EIO, "the stream failed");
    return ARCHIVE_FATAL;
  }
}

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchivePointer = std::unique_ptr<archive, FreeArchive>;

[[noreturn]] void fail(const TarBytes& bytes, archive* handle) {
  if (bytes.failure) std::rethrow_exception(bytes.failure);
  const char* reason = archive_error_string(handle);
  throw Error(ErrorKind::image_corrupt, fmt::format("its tar is damaged: {}", reason != nullptr ? escape_for_display(reason) : std::string("no reason given")));
}

constexpr std::string_view whiteout_prefix = ".wh.";
constexpr std::string_view opaque_name = ".wh..wh..opq";
constexpr std::string_view reserved_prefix = ".wh..wh.";  // AUFS's own files: never part of the root

/// The entry's type and paths; nothing where it is no part of the root.
std::optional<Entry> describe(archive_entry* raw) {
  const char* name = archive_entry_pathname(raw);
  if (name == nullptr) throw Error(ErrorKind::image_corrupt, "its tar has an entry whose name cannot be read");
  if (std::strlen(name) > longest_path) throw Error(ErrorKind::image_limit, fmt::format("its tar has a path of more than {} bytes", longest_path));
  Entry entry;
  entry.path = clean_path(name);
  const std::size_t slash = entry.path.rfind('/');
  const std::string base = slash == std::string::npos ? entry.path : entry.path.substr(slash + 1);
  if (base.starts_with(whiteout_prefix)) {
    const std::string folder = slash == std::string::npos ? std::string() : entry.path.substr(0, slash);
    if (base == opaque_name) {
      entry.type = EntryType::opaque;
      entry.path = folder;
      return entry;
    }
    const std::string hidden = base.substr(whiteout_prefix.size());
    if (base.starts_with(reserved_prefix) || hidden.empty() || hidden == "." || hidden == "..") return std::nullopt;
    entry.type = EntryType::whiteout;
    entry.path = folder.empty() ? hidden : folder + "/" + hidden;
    return entry;
  }
  entry.mode = static_cast<std::uint32_t>(archive_entry_perm(raw)) & 07777;
  const auto id = [](la_int64_t value) { return value < 0 || value > 0xFFFFFFFFll ? 0xFFFFFFFFu : static_cast<std::uint32_t>(value); };
  entry.uid = id(archive_entry_uid(raw));
  entry.gid = id(archive_entry_gid(raw));
  if (const char* target = archive_entry_hardlink(raw)) {
    entry.type = EntryType::hardlink;
    entry.link = clean_path(std::string_view(target).substr(0, longest_path));
    return entry;
  }
  switch (archive_entry_filetype(raw)) {
    case AE_IFDIR: entry.type = EntryType::directory; break;
    case AE_IFLNK: {
      entry.type = EntryType::symlink;
      const char* target = archive_entry_symlink(raw);
      entry.link = target != nullptr ? std::string_view(target).substr(0, longest_path) : std::string_view{};
      break;
    }
    case AE_IFCHR: entry.type = EntryType::character_device; break;
    case AE_IFBLK: entry.type = EntryType::block_device; break;
    case AE_IFIFO: entry.type = EntryType::fifo; break;
    default: {
      entry.type = EntryType::file;
      const la_int64_t size = archive_entry_size(raw);
      if (size < 0) throw Error(ErrorKind::image_corrupt, "its tar has a file of negative size");
      entry.size = static_cast<std::uint64_t>(size);
    }
  }
  return entry;
}

std::uint16_t elf_machine(std::string_view start) {
  if (start.size() < 20 || !start.starts_with(ELFMAG)) return EM_NONE;
  const auto low = static_cast<unsigned char>(start[18]);
  const auto high = static_cast<unsigned char>(start[19]);
  return static_cast<std::uint16_t>(start[EI_DATA] == ELFDATA2MSB ? (low << 8 | high) : (high << 8 | low));
}

/// Reads the data of the entry as far as it is wanted. `start` gets the first bytes, `content` all of `wanted` bytes.
void read_data(const TarBytes& bytes, archive* handle, std::uint64_t wanted, std::string& start, std::string* content) {
  constexpr std::size_t start_size = 20;
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(handle, &block, &size, &offset);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK) fail(bytes, handle);
    const auto position = static_cast<std::uint64_t>(offset);
    const auto* data = static_cast<const char*>(block);
    if (position == 0) start.assign(data, std::min(size, start_size));
    if (content == nullptr) return;  // the rest is skipped
    // A sparse file's holes read as zeros.
    if (position >= wanted) return;
    content->resize(position, '\0');
    content->append(data, std::min<std::uint64_t>(size, wanted - position));
    if (content->size() >= wanted) return;
  }
  if (content != nullptr) content->resize(wanted, '\0');
}

/// The walk: every entry of the tar, in order.
void walk(TarBytes& bytes, archive* handle, LayerIndex& index, const CapturePolicy& policy, const LayerLimits& limits) {
  std::uint64_t path_bytes = 0, captured = 0;
  for (;;) {
    archive_entry* raw = nullptr;
    const int result = archive_read_next_header(handle, &raw);
    if (result == ARCHIVE_EOF) return;
    // WARN is about a name that is no UTF-8, or a pax attribute of no interest; RETRY would let the rest vanish.
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail(bytes, handle);
    std::optional<Entry> entry = describe(raw);
    if (!entry) continue;
    if (entry->size > limits.tar_bytes) throw Error(ErrorKind::image_corrupt, fmt::format("its tar has a file of {} bytes", entry->size));
    path_bytes += entry->path.size() + entry->link.size();
    if (index.entries.size() >= limits.entries) throw Error(ErrorKind::image_limit, fmt::format("it has more than {} entries", limits.entries));
    if (path_bytes > limits.path_bytes) throw Error(ErrorKind::image_limit, fmt::format("its paths take more than {}", human_size(limits.path_bytes)));
    if (entry->type == EntryType::file && entry->size != 0) {
      const Capture capture = policy ? policy(*entry, index.entries.size()) : Capture{};
      const std::uint64_t wanted = capture.prefix ? std::min(capture.limit, entry->size) : entry->size;
      const bool keep = capture.limit != 0 && wanted <= capture.limit && captured + wanted <= limits.capture_bytes;
      std::string start, content;
      read_data(bytes, handle, wanted, start, keep ? &content : nullptr);
      entry->elf_machine = elf_machine(start);
      if (keep) {
        captured += content.size();
        index.captures.emplace(index.entries.size(), std::move(content));
      }
    } else if (entry->type == EntryType::file && policy && policy(*entry, index.entries.size()).limit != 0) {
      index.captures.emplace(index.entries.size(), std::string());
    }
    index.entries.push_back(std::move(*entry));
  }
}

LayerIndex read_checked(const Image& image, const LayerBlob& blob, const CapturePolicy& policy, const LayerLimits& limits,
                        const std::function<void(std::uint64_t)>& progress) {
  BlobReader blob_reader(image, blob, progress);
  Decompressor decompressor(blob_reader);
  // A layer needs one proof: its blob's digest, or its diff id. The diff id of a plain tar is the digest of its blob, so
  // it costs nothing to check there.
  const bool plain = decompressor.compression() == Compression::none;
  const bool prove_by_diff_id = !blob.digest && blob.diff_id;
  if (!blob.digest && !blob.diff_id) throw Error(ErrorKind::image_corrupt, "nothing says what its digest has to be");
  TarBytes bytes(decompressor, prove_by_diff_id ? std::optional(blob.diff_id->algorithm()) : std::nullopt, limits.tar_bytes);

  LayerIndex index;
  const ArchivePointer handle(archive_read_new());
  if (!handle) throw std::bad_alloc();
  archive_read_support_format_tar(handle.get());
  archive_read_support_format_empty(handle.get());  // a layer of no bytes is a layer without entries
  if (archive_read_open(handle.get(), &bytes, nullptr, give_bytes, nullptr) != ARCHIVE_OK) fail(bytes, handle.get());
  walk(bytes, handle.get(), index, policy, limits);
  // What lies behind the tar's end belongs to the digests.
  while (bytes.next() != 0) {
  }
  index.digest = blob_reader.finish();
  index.diff_id = bytes.finish();
  if (plain && index.digest && blob.diff_id && blob.diff_id->algorithm() == index.digest->algorithm()) index.diff_id = index.digest;
  if (index.diff_id && blob.diff_id && *index.diff_id != *blob.diff_id) {
    throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch: its diff id is {}, the config says {}", index.diff_id->to_string(), blob.diff_id->to_string()));
  }
  index.blob_size = blob_reader.count();
  index.tar_size = bytes.count();
  return index;
}

}  // namespace

LayerIndex read_layer(const Image& image, std::size_t layer, const CapturePolicy& policy, const LayerLimits& limits,
                      const std::function<void(std::uint64_t)>& progress) {
  const LayerBlob& blob = image.layers().at(layer);
  try {
    return read_checked(image, blob, policy, limits, progress);
  } catch (const Error& error) {
    const std::string name = blob.digest ? blob.digest->to_string() : blob.diff_id ? "of diff id " + blob.diff_id->to_string() : "";
    throw error.within(fmt::format("layer {} of {} ({})", layer + 1, image.layers().size(), name));
  }
}

}  // namespace imgforge
