#include "layer/layer_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/decompressor.hpp"
#include "layer/elf_parts.hpp"
#include "layer/elf_start.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::size_t chunk_size = 256 << 10;
constexpr std::size_t most_secrets = 10'000;  // of a layer: no honest one has as many

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
    const std::uint64_t again = source_->bytes_again();
    if (progress_ && count + again != again_) progress_(count + again - again_);
    again_ = again;
    return count;
  }

  std::uint64_t count() const { return count_; }

  void drain() {
    std::vector<char> buffer(chunk_size);
    while (read(buffer.data(), buffer.size()) != 0) {
    }
  }

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
  std::uint64_t again_ = 0;  // of it, what its source had to fetch twice
};

/// The tar on its way to libarchive: counted, and hashed where the diff id has to be checked.
class TarBytes {
 public:
  TarBytes(Decompressor& decompressor, std::optional<Digest::Algorithm> hash, std::uint64_t limit) : decompressor_(decompressor), limit_(limit) {
    if (hash) hasher_.emplace(*hash);
  }

  std::size_t next() {
    std::size_t size = 0;
    while (size < buffer_.size()) {
      const std::size_t more = decompressor_.read(buffer_.data() + size, buffer_.size() - size);
      if (more == 0) break;
      size += more;
    }
    if (hasher_) hasher_->update(buffer_.data(), size);
    count_ += size;
    if (count_ > limit_) throw Error(ErrorKind::image_limit, fmt::format("it unpacks to more than {}", human_size(limit_)));
    // `umoci insert` writes tars without the last file's padding; Go's reader, and so every runtime, takes them.
    const std::size_t padding = (block_size - count_ % block_size) % block_size;
    if (size < buffer_.size() && padding != 0 && !padded_) {
      padded_ = true;
      std::fill_n(buffer_.begin() + static_cast<std::ptrdiff_t>(size), std::min(padding, buffer_.size() - size), '\0');
      size += padding;
    }
    return size;
  }
  static constexpr std::size_t block_size = 512;
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
  bool padded_ = false;
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

/// libarchive turns names into the thread's locale and loses them where it cannot. In this one every name is kept: what
/// is no UTF-8 stays as it is.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  ::locale_t locale_;
  ::locale_t before_ = nullptr;
};

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchivePointer = std::unique_ptr<archive, FreeArchive>;

[[noreturn]] void fail(const TarBytes& bytes, archive* handle) {
  if (bytes.failure) std::rethrow_exception(bytes.failure);
  const char* reason = archive_error_string(handle);
  throw Error(ErrorKind::image_corrupt, fmt::format("its tar is damaged: {}", reason != nullptr ? escape_for_display(reason) : std::string("no reason given")));
}

/// A name or a link's target as the tar has it.
std::string_view raw_path(const char* text) {
  if (text == nullptr) throw Error(ErrorKind::image_corrupt, "its tar has an entry whose name cannot be read");
  const std::string_view path = text;
  if (path.size() > longest_path) throw Error(ErrorKind::image_limit, fmt::format("its tar has a path of more than {} bytes", longest_path));
  return path;
}

/// The entry's type and paths; nothing where it is no part of the root.
std::optional<Entry> describe(archive_entry* raw) {
  Entry entry;
  EntryName name = entry_name(raw_path(archive_entry_pathname(raw)));
  if (name.kind == EntryName::Kind::reserved) return std::nullopt;
  entry.path = std::move(name.path);
  if (name.kind != EntryName::Kind::plain) {
    entry.type = name.kind == EntryName::Kind::opaque ? EntryType::opaque : EntryType::whiteout;
    return entry;
  }
  entry.mode = static_cast<std::uint32_t>(archive_entry_perm(raw)) & 07777;
  const auto id = [](la_int64_t value) { return value < 0 || value > 0xFFFFFFFFll ? 0xFFFFFFFFu : static_cast<std::uint32_t>(value); };
  entry.uid = id(archive_entry_uid(raw));
  entry.gid = id(archive_entry_gid(raw));
  if (const char* target = archive_entry_hardlink(raw)) {
    entry.type = EntryType::hardlink;
    entry.link = clean_path(raw_path(target));
    return entry;
  }
  switch (archive_entry_filetype(raw)) {
    case AE_IFDIR: entry.type = EntryType::directory; break;
    case AE_IFLNK: {
      entry.type = EntryType::symlink;
      entry.link = raw_path(archive_entry_symlink(raw));
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

/// The data of the entry that the walk is at, from its start as far as it is wanted.
class FileData {
 public:
  FileData(const TarBytes& bytes, archive* handle) : bytes_(bytes), handle_(handle) {}

  /// The first `size` bytes, which is at most the file's size.
  std::string& start(std::uint64_t size) {
    while (data_.size() < size && !ended_) {
      if (block_.empty()) {
        next();
      } else if (offset_ > data_.size()) {
        data_.resize(std::min(offset_, size), '\0');  // a sparse file's holes are zeros
      } else {
        const std::size_t count = std::min<std::uint64_t>(block_.size(), size - data_.size());
        data_.append(block_.substr(0, count));
        block_.remove_prefix(count);
        offset_ += count;
      }
    }
    if (data_.size() < size) data_.resize(size, '\0');
    return data_;
  }

  /// `size` bytes from `offset`, which is behind everything that was taken so far; what lies between is gone, and start
  /// has no more than it had.
  std::string piece(std::uint64_t offset, std::uint64_t size) {
    std::string found;
    while (found.size() < size && !ended_) {
      const std::uint64_t at = offset + found.size();
      if (block_.empty()) {
        next();
      } else if (offset_ < at) {
        const std::size_t count = std::min<std::uint64_t>(block_.size(), at - offset_);
        block_.remove_prefix(count);
        offset_ += count;
      } else if (offset_ > at) {
        found.resize(std::min(offset_ - offset, size), '\0');  // a hole
      } else {
        const std::size_t count = std::min<std::uint64_t>(block_.size(), size - found.size());
        found.append(block_.substr(0, count));
        block_.remove_prefix(count);
        offset_ += count;
      }
    }
    found.resize(size, '\0');
    return found;
  }

 private:
  void next() {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(handle_, &block, &size, &offset);
    if (result == ARCHIVE_EOF) {
      ended_ = true;
      return;
    }
    if (result != ARCHIVE_OK) fail(bytes_, handle_);
    block_ = {static_cast<const char*>(block), size};
    offset_ = static_cast<std::uint64_t>(offset);
    if (offset_ < data_.size()) throw Error(ErrorKind::image_corrupt, "its tar has a sparse file whose parts overlap");
  }

  const TarBytes& bytes_;
  archive* handle_;
  std::string data_;
  std::string_view block_;  // what is left of libarchive's
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

/// An ELF file on its way past.
class PassingElf final : public ElfSource {
 public:
  PassingElf(FileData& data, std::uint64_t size, std::uint64_t kept) : data_(data), size_(size), kept_(kept) {
    keep(std::min(size, first_part));
  }
  std::optional<std::string_view> bytes(std::uint64_t offset, std::uint64_t size) override {
    if (offset > size_ || size > size_ - offset) return std::nullopt;
    if (offset + size <= kept_) return std::string_view(data_.start(kept_)).substr(offset, size);
    // Tables that lie side by side may overlap: an older piece has what is wanted, or its start.
    for (const auto& [begin, piece] : pieces_) {
      if (offset >= begin && offset + size <= begin + piece.size()) return std::string_view(piece).substr(offset - begin, size);
    }
    std::string content;
    std::uint64_t from = offset;
    if (pieces_.empty() && offset < kept_) {
      content = data_.start(kept_).substr(offset);
      from = kept_;
    } else if (!pieces_.empty() && offset < passed_) {
      const auto& [begin, piece] = pieces_.back();
      if (offset < begin) return std::nullopt;
      content = piece.substr(offset - begin);
      from = passed_;
    }
    content += data_.piece(from, offset + size - from);
    passed_ = offset + size;
    pieces_.emplace_back(offset, std::move(content));
    return std::string_view(pieces_.back().second);
  }
  void keep(std::uint64_t end) override {
    if (!pieces_.empty()) return;
    kept_ = std::max(kept_, std::min(end, size_));
    data_.start(kept_);
  }
  std::uint64_t size() const override { return size_; }

 private:
  static constexpr std::uint64_t first_part = 4 << 10;  // the headers, mostly

  FileData& data_;
  std::uint64_t size_;
  std::uint64_t kept_;
  std::uint64_t passed_ = 0;
  std::deque<std::pair<std::uint64_t, std::string>> pieces_;
};

/// The walk: every entry of the tar, in order.
class Walk {
 public:
  Walk(TarBytes& bytes, archive* handle, const CapturePolicy& policy, const LayerLimits& limits, bool keep_entries)
      : bytes_(bytes), handle_(handle), policy_(policy), limits_(limits), keep_entries_(keep_entries) {}

  LayerIndex run() {
    while (archive_entry* raw = next()) {
      last_size_ = archive_entry_sparse_count(raw) == 0 ? archive_entry_size(raw) : 0;
      std::optional<Entry> entry = describe(raw);
      if (!entry) continue;
      path_bytes_ += entry->path.size() + entry->link.size();
      if (position_ >= limits_.entries) throw Error(ErrorKind::image_limit, fmt::format("it has more than {} entries", limits_.entries));
      if (path_bytes_ > limits_.path_bytes) throw Error(ErrorKind::image_limit, fmt::format("its paths take more than {}", human_size(limits_.path_bytes)));
      if (entry->type == EntryType::file) read_file(*entry);
      if (keep_entries_) index_.entries.push_back(std::move(*entry));
      ++position_;
    }
    check_last_file();
    if (keep_entries_ && !parts_.empty()) index_.captures.emplace(position_, parts_.take());
    return std::move(index_);
  }

 private:
  /// Where the tar's end was padded for it, all of the last file has to be in front of the padding.
  void check_last_file() const {
    const std::uint64_t given = bytes_.count() % TarBytes::block_size;
    if (given == 0 || static_cast<std::uint64_t>(archive_filter_bytes(handle_, 0)) <= bytes_.count()) return;
    const std::uint64_t needed = static_cast<std::uint64_t>(last_size_) % TarBytes::block_size;
    if (needed == 0 || given < needed) throw Error(ErrorKind::image_corrupt, "its tar is damaged: it ends inside of an entry");
  }

  archive_entry* next() {
    archive_entry* raw = nullptr;
    const int result = archive_read_next_header(handle_, &raw);
    // At the end, a failed read may look like the lack of a second block of zeros.
    if (bytes_.failure) std::rethrow_exception(bytes_.failure);
    if (result == ARCHIVE_EOF) return nullptr;
    if (result == ARCHIVE_WARN) {
      // Most warnings are about names that are no UTF-8, or attributes of no interest. Not this one: other readers may
      // see another path or size than libarchive does.
      const char* reason = archive_error_string(handle_);
      if (reason != nullptr && std::string_view(reason).find("pax extended attribute") != std::string_view::npos) fail(bytes_, handle_);
    } else if (result != ARCHIVE_OK) {
      fail(bytes_, handle_);  // RETRY too: the rest would vanish
    }
    return raw;
  }

  void read_file(Entry& entry) {
    if (entry.size > limits_.tar_bytes) throw Error(ErrorKind::image_corrupt, fmt::format("its tar has a file of {} bytes", entry.size));
    FileData data(bytes_, handle_);
    const std::string& start = data.start(std::min<std::uint64_t>(entry.size, elf_start));
    entry.elf_machine = elf_machine_in(start);
    const Capture capture = policy_ ? policy_(entry, position_) : Capture{};
    if (capture.judge && entry.size <= most_secret_bytes && index_.secrets.size() < most_secrets) {
      const std::string& content = data.start(entry.size);
      const SecretKind kind = secret_in(entry.path, std::string_view(content).substr(0, entry.size));
      if (kind != SecretKind::none) index_.secrets.emplace(position_, kind);
    }
    const std::uint64_t wanted = std::min(capture.limit, entry.size);
    const bool has_parts = capture.elf && entry.elf_machine != 0 && entry.size > elf_start;
    if (has_parts) {
      const bool kept = wanted == entry.size || capture.prefix;
      PassingElf source(data, entry.size, data.start(kept ? wanted : elf_start).size());
      if (const auto elf = read_elf(source)) parts_.add(position_, *elf);
    }
    if (capture.limit == 0 || (wanted < entry.size && !capture.prefix) || (capture.script && !start.starts_with("#!")) ||
        wanted > limits_.capture_bytes - captured_) {
      return;
    }
    std::string& content = data.start(wanted);
    captured_ += wanted;
    if (content.size() > 2 * wanted) {
      index_.captures.emplace(position_, content.substr(0, wanted));
    } else {
      content.resize(wanted);
      index_.captures.emplace(position_, std::move(content));
    }
  }

  TarBytes& bytes_;
  archive* handle_;
  const CapturePolicy& policy_;
  const LayerLimits& limits_;
  bool keep_entries_;
  LayerIndex index_;
  ElfPartsWriter parts_;
  la_int64_t last_size_ = 0;  // of the last entry's data
  std::size_t position_ = 0;
  std::uint64_t path_bytes_ = 0;
  std::uint64_t captured_ = 0;
};

LayerIndex walk(TarBytes& bytes, const CapturePolicy& policy, const LayerLimits& limits, bool keep_entries) {
  const Utf8Locale locale;
  const ArchivePointer handle(archive_read_new());
  if (!handle) throw std::bad_alloc();
  archive_read_support_format_tar(handle.get());
  archive_read_support_format_empty(handle.get());  // a layer of no bytes is a layer without entries
  if (archive_read_open(handle.get(), &bytes, nullptr, give_bytes, nullptr) != ARCHIVE_OK) fail(bytes, handle.get());
  LayerIndex index = Walk(bytes, handle.get(), policy, limits, keep_entries).run();
  // What lies behind the tar's end belongs to the digests.
  while (bytes.next() != 0) {
  }
  return index;
}

LayerIndex read_checked(const Image& image, const LayerBlob& blob, const CapturePolicy& policy, const LayerLimits& limits,
                        const std::function<void(std::uint64_t)>& progress, bool keep_entries, bool both) {
  if (!blob.digest && !blob.diff_id) throw Error(ErrorKind::image_corrupt, "nothing says what its digest has to be");
  BlobReader blob_reader(image, blob, progress);
  LayerIndex index;
  bool plain = false;
  try {
    Decompressor decompressor(blob_reader);
    plain = decompressor.compression() == Compression::none;
    // A layer needs one proof: its blob's digest, or its diff id.
    const bool hash_tar = blob.diff_id && (!blob.digest || (both && !plain));
    TarBytes bytes(decompressor, hash_tar ? std::optional(blob.diff_id->algorithm()) : std::nullopt, limits.tar_bytes);
    index = walk(bytes, policy, limits, keep_entries);
    index.diff_id = bytes.finish();
    index.tar_size = bytes.count();
  } catch (const Error& error) {
    // Bytes that are not those of the descriptor are the better explanation of whatever went wrong with them.
    if (error.kind() == ErrorKind::image_corrupt) {
      blob_reader.drain();
      blob_reader.finish();
    }
    throw;
  }
  index.digest = blob_reader.finish();
  // The diff id of a plain tar is the digest of its blob, so it costs nothing to check there.
  if (plain && index.digest && blob.diff_id && blob.diff_id->algorithm() == index.digest->algorithm()) index.diff_id = index.digest;
  if (index.diff_id && blob.diff_id && *index.diff_id != *blob.diff_id) {
    throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch: its diff id is {}, the config says {}", index.diff_id->to_string(), blob.diff_id->to_string()));
  }
  index.blob_size = blob_reader.count();
  if (both && index.diff_id && blob.diff_id) index.proof = Proof::full;
  return index;
}

LayerIndex pass(const Image& image, std::size_t layer, const CapturePolicy& policy, const LayerLimits& limits,
                const std::function<void(std::uint64_t)>& progress, bool keep_entries, bool both) {
  const LayerBlob& blob = image.layers().at(layer);
  try {
    return read_checked(image, blob, policy, limits, progress, keep_entries, both);
  } catch (const Error& error) {
    const std::string name = blob.digest ? blob.digest->to_string() : blob.diff_id ? "diff id " + blob.diff_id->to_string() : "no digest";
    throw error.within(fmt::format("layer {} of {} ({})", layer + 1, image.layers().size(), name));
  }
}

}  // namespace

LayerIndex read_layer(const Image& image, std::size_t layer, const CapturePolicy& policy, const LayerLimits& limits,
                      const std::function<void(std::uint64_t)>& progress, bool both) {
  return pass(image, layer, policy, limits, progress, true, both);
}

std::map<std::size_t, std::string> read_entries(const Image& image, std::size_t layer,
                                                const std::map<std::size_t, std::uint64_t>& wanted,
                                                const LayerLimits& limits,
                                                const std::function<void(std::uint64_t)>& progress) {
  const CapturePolicy policy = [&](const Entry&, std::size_t position) {
    const auto found = wanted.find(position);
    return found == wanted.end() ? Capture{} : Capture{.limit = found->second, .prefix = true};
  };
  return pass(image, layer, policy, limits, progress, false, false).captures;
}

namespace {

/// A member of a stream on its way in.
class StreamedBytes final : public ByteReader {
 public:
  StreamedBytes(ByteReader& source, const std::function<void(std::uint64_t)>& progress) : source_(source), progress_(progress) {}
  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t count = 0;
    try {
      count = source_.read(buffer, size);
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
    count_ += count;
    if (count != 0 && progress_) progress_(count);
    return count;
  }
  std::uint64_t count() const { return count_; }

  std::exception_ptr failure;  // of the source: what is wrong with the layer is another matter

 private:
  ByteReader& source_;
  const std::function<void(std::uint64_t)>& progress_;
  std::uint64_t count_ = 0;
};

}  // namespace

StreamedLayer read_streamed_layer(ByteReader& layer, Digest::Algorithm algorithm, const CapturePolicy& policy,
                                  const LayerLimits& limits, const std::function<void(std::uint64_t)>& progress) {
  StreamedBytes source(layer, progress);
  StreamedLayer result;
  try {
    Decompressor decompressor(source);
    TarBytes bytes(decompressor, algorithm, limits.tar_bytes);
    try {
      result.index = walk(bytes, policy, limits, true);
    } catch (const Error&) {
      result.failure = std::current_exception();
      // Which layer it is that failed is still to be told, by the rest of its bytes.
      while (bytes.next() != 0) {
      }
    }
    result.diff_id = bytes.finish();
    result.index.tar_size = bytes.count();
  } catch (const Error&) {
    if (source.failure) std::rethrow_exception(source.failure);
    if (!result.failure) result.failure = std::current_exception();
  }
  std::vector<char> rest(chunk_size);
  while (source.read(rest.data(), rest.size()) != 0) {
  }
  result.index.diff_id = result.diff_id;
  result.index.blob_size = source.count();
  return result;
}

}  // namespace imgforge
