#include "layer/cache_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "layer/cache_columns.hpp"
#include "layer/captures.hpp"

namespace imgforge {

namespace {

constexpr std::string_view magic = "imgforge layer\n";
constexpr std::uint64_t format_version = 3;
constexpr int level = 3;
constexpr std::size_t block_size = 256 << 10;             // of captures together, before they are compressed
constexpr std::uint64_t most_capture_bytes = 1ull << 30;  // in a block, and of the table of captures
constexpr std::uint64_t most_ratio = 40'000;
constexpr std::size_t seal_size = 64;                               // hex of SHA-256
constexpr std::size_t part_count = EntryColumns::column_count + 1;  // and the table of captures

/// A frame in the file.
struct Part {
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;
  std::uint64_t size = 0;  // uncompressed
};

struct Head {
  std::optional<Digest> digest;
  std::optional<Digest> diff_id;
  std::uint64_t blob_size = 0;
  std::uint64_t tar_size = 0;
  Proof proof = Proof::digest;
  EntryColumns::Counts counts;
  std::array<Part, part_count> parts;
  std::uint64_t captures_begin = 0;
  std::uint64_t file_size = 0;
  std::vector<FileStamp> stamps;
};

void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes += text;
}

std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto size = take_number(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return text;
}

/// Takes numbers, and remembers whether one was missing.
class Numbers {
 public:
  explicit Numbers(std::string_view& bytes) : bytes_(bytes) {}
  std::uint64_t next() {
    const auto value = take_number(bytes_);
    good_ = good_ && value.has_value();
    return value.value_or(0);
  }
  bool good() const { return good_; }

 private:
  std::string_view& bytes_;
  bool good_ = true;
};

std::string head_bytes(const Digest& key, const Head& head) {
  std::string bytes(magic);
  put_number(bytes, format_version);
  put_number(bytes, capture_set());
  put_text(bytes, key.to_string());
  put_text(bytes, head.digest ? head.digest->to_string() : "");
  put_text(bytes, head.diff_id ? head.diff_id->to_string() : "");
  for (const std::uint64_t value :
       {head.blob_size, head.tar_size, static_cast<std::uint64_t>(head.proof), head.counts.entries, head.counts.folders,
        head.counts.attributes, head.counts.links})
    put_number(bytes, value);
  for (const Part& part : head.parts) {
    for (const std::uint64_t value : {part.offset, part.stored, part.size}) put_number(bytes, value);
  }
  put_number(bytes, head.captures_begin);
  put_number(bytes, head.file_size);
  put_number(bytes, head.stamps.size());
  for (const FileStamp& stamp : head.stamps) {
    for (const std::uint64_t value :
         {stamp.device, stamp.inode, stamp.size, static_cast<std::uint64_t>(stamp.modified_ns),
          static_cast<std::uint64_t>(stamp.changed_ns), stamp.offset})
      put_number(bytes, value);
  }
  bytes.resize(cache_head_size, '\0');
  seal_cache_head(bytes.data());
  return bytes;
}

bool take_digest(std::string_view& bytes, std::optional<Digest>& digest) {
  const auto text = take_text(bytes);
  if (!text) return false;
  if (text->empty()) return true;
  digest = Digest::parse(*text);
  return digest.has_value();
}

std::optional<Head> parse_head(std::string_view bytes, const Digest& key) {
  std::string sealed(bytes);
  seal_cache_head(sealed.data());
  if (sealed != bytes || !bytes.starts_with(magic)) return std::nullopt;
  bytes.remove_prefix(magic.size());
  Head head;
  Numbers numbers(bytes);
  if (numbers.next() != format_version || numbers.next() != capture_set()) return std::nullopt;
  if (take_text(bytes) != key.to_string() || !take_digest(bytes, head.digest) || !take_digest(bytes, head.diff_id))
    return std::nullopt;
  head.blob_size = numbers.next();
  head.tar_size = numbers.next();
  const std::uint64_t proof = numbers.next();
  if (proof > static_cast<std::uint64_t>(Proof::full)) return std::nullopt;
  head.proof = static_cast<Proof>(proof);
  head.counts.entries = numbers.next();
  head.counts.folders = numbers.next();
  head.counts.attributes = numbers.next();
  head.counts.links = numbers.next();
  for (Part& part : head.parts) {
    part.offset = numbers.next();
    part.stored = numbers.next();
    part.size = numbers.next();
  }
  head.captures_begin = numbers.next();
  head.file_size = numbers.next();
  const std::uint64_t stamps = numbers.next();
  if (!numbers.good() || stamps > most_stamps) return std::nullopt;
  for (std::uint64_t i = 0; i < stamps; ++i) {
    FileStamp stamp;
    stamp.device = numbers.next();
    stamp.inode = numbers.next();
    stamp.size = numbers.next();
    stamp.modified_ns = static_cast<std::int64_t>(numbers.next());
    stamp.changed_ns = static_cast<std::int64_t>(numbers.next());
    stamp.offset = numbers.next();
    head.stamps.push_back(stamp);
  }
  const EntryColumns::Counts& counts = head.counts;
  // An entry has one folder, one set of attributes and one link at most, and so no more of them are of use.
  if (!numbers.good() || counts.entries > EntryColumns::most_entries || counts.folders > counts.entries ||
      counts.attributes > counts.entries || counts.links > counts.entries)
    return std::nullopt;
  return head;
}

bool write_all(int descriptor, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ::ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool read_all(int descriptor, char* buffer, std::size_t size, std::uint64_t offset) {
  while (size != 0) {
    const ::ssize_t count = ::pread(descriptor, buffer, size, static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    buffer += count;
    size -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

/// Frames one behind the other.
class FrameWriter {
 public:
  FrameWriter(int descriptor, std::uint64_t offset)
      : descriptor_(descriptor), offset_(offset), context_(ZSTD_createCCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void add(std::string_view bytes) {
    size_ += bytes.size();
    run(bytes, ZSTD_e_continue);
  }
  Part end() {
    run({}, ZSTD_e_end);
    flush();
    const Part part{start_, offset_ - start_, size_};
    start_ = offset_;
    size_ = 0;
    return part;
  }
  bool good() const { return good_; }
  std::uint64_t offset() const { return offset_; }

 private:
  void run(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    while (good_) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), used_};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
      if (ZSTD_isError(left) != 0) good_ = false;
      used_ = output.pos;
      if (used_ == buffer_.size()) flush();
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }
  void flush() {
    good_ = good_ && write_all(descriptor_, {buffer_.data(), used_}, offset_);
    offset_ += used_;
    used_ = 0;
  }

  int descriptor_;
  std::uint64_t offset_;
  std::uint64_t start_ = offset_;
  std::uint64_t size_ = 0;
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> context_;
  std::vector<char> buffer_ = std::vector<char>(128 << 10);
  std::size_t used_ = 0;
  bool good_ = true;
};

class FrameReader {
 public:
  FrameReader() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
  }
  std::optional<std::string> read(int descriptor, const Part& part) {
    // Memory is given only for what such a frame can hold: a block of 128 KiB takes four bytes at least.
    if (part.size / most_ratio > part.stored) return std::nullopt;
    stored_.resize(part.stored);
    if (!read_all(descriptor, stored_.data(), stored_.size(), part.offset)) return std::nullopt;
    std::string bytes(part.size, '\0');
    const std::size_t count =
        ZSTD_decompressDCtx(context_.get(), bytes.data(), bytes.size(), stored_.data(), stored_.size());
    if (ZSTD_isError(count) != 0 || count != bytes.size()) return std::nullopt;
    return bytes;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context_;
  std::string stored_;
};

class FileCaptures final : public StoredCaptures {
 public:
  struct Item {
    std::size_t position = 0;
    std::uint32_t block = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  FileCaptures(std::shared_ptr<const int> descriptor, std::vector<Part> blocks, std::vector<Item> items)
      : descriptor_(std::move(descriptor)), blocks_(std::move(blocks)), items_(std::move(items)) {}

  std::vector<std::size_t> positions() const override {
    std::vector<std::size_t> all;
    all.reserve(items_.size());
    for (const Item& item : items_) all.push_back(item.position);
    return all;
  }
  std::uint64_t size(std::size_t position) const override {
    const Item* item = find(position);
    return item == nullptr ? 0 : item->size;
  }
  std::optional<std::string> read(std::size_t position, std::uint64_t most) const override {
    const Item* item = find(position);
    if (item == nullptr) return std::nullopt;
    const std::uint64_t wanted = std::min(most, item->size);
    const std::lock_guard lock(mutex_);
    if (item->size > block_size) return read_large(*item, wanted);
    if (!bytes_ || in_memory_ != item->block) {
      bytes_ = reader_.read(*descriptor_, blocks_[item->block]);
      in_memory_ = item->block;
    }
    if (!bytes_) return std::nullopt;
    return bytes_->substr(item->offset, wanted);
  }

 private:
  /// Only as many of its blocks as are asked for: of a program of 20 MB mostly the start is.
  std::optional<std::string> read_large(const Item& item, std::uint64_t wanted) const {
    std::string content;
    content.reserve(wanted);
    for (std::uint32_t block = item.block; content.size() < wanted; ++block) {
      const std::optional<std::string> bytes = reader_.read(*descriptor_, blocks_[block]);
      if (!bytes) return std::nullopt;
      content.append(*bytes, 0, wanted - content.size());
    }
    return content;
  }

  const Item* find(std::size_t position) const {
    const auto found = std::lower_bound(items_.begin(), items_.end(), position,
                                        [](const Item& item, std::size_t wanted) { return item.position < wanted; });
    return found != items_.end() && found->position == position ? &*found : nullptr;
  }

  std::shared_ptr<const int> descriptor_;
  std::vector<Part> blocks_;
  std::vector<Item> items_;  // by position
  mutable std::mutex mutex_;
  mutable FrameReader reader_;
  mutable std::optional<std::string> bytes_;
  mutable std::uint32_t in_memory_ = 0;
};

/// The table of captures: how many blocks, and of each its place; how many captures, and of each how far it is from the
/// one before it, whether a block begins with it, and its size. One that is larger than a block has blocks of its own.
std::shared_ptr<const StoredCaptures> read_captures(std::string_view& table, const Head& head,
                                                    std::shared_ptr<const int> descriptor) {
  Numbers numbers(table);
  const std::uint64_t block_count = numbers.next();
  if (block_count > table.size()) return nullptr;
  std::vector<Part> blocks(block_count);
  std::uint64_t offset = head.captures_begin;
  for (Part& block : blocks) {
    block = {offset, numbers.next(), numbers.next()};
    if (!numbers.good() || block.stored > head.file_size - offset || block.size > most_capture_bytes) return nullptr;
    offset += block.stored;
  }
  const std::uint64_t count = numbers.next();
  if (!numbers.good() || offset != head.file_size || count > table.size()) return nullptr;
  std::vector<FileCaptures::Item> items(count);
  std::uint64_t block = 0, next_block = 0, position = 0, inside = 0;
  bool first = true;
  for (FileCaptures::Item& item : items) {
    const std::uint64_t further = numbers.next();
    const std::uint64_t begins = numbers.next();
    item.size = numbers.next();
    if (!numbers.good() || further > head.counts.entries || (further == 0 && !first) || begins > 1) return nullptr;
    position += further;
    // The one behind the last entry holds the ELF parts of all.
    if (position > head.counts.entries || item.size > most_capture_bytes) return nullptr;
    const bool large = item.size > block_size;
    if (begins == 1) {
      block = next_block;
      next_block += large ? (item.size + block_size - 1) / block_size : 1;
      inside = 0;
    }
    if (next_block > block_count || (begins == 0 && (first || large))) return nullptr;
    for (std::uint64_t number = block, left = item.size; large && number < next_block; ++number) {
      if (blocks[number].size != std::min<std::uint64_t>(left, block_size)) return nullptr;
      left -= blocks[number].size;
    }
    if (!large && (inside > blocks[block].size || item.size > blocks[block].size - inside)) return nullptr;
    first = false;
    item.position = position;
    item.block = static_cast<std::uint32_t>(block);
    item.offset = inside;
    inside += item.size;
  }
  return std::make_shared<FileCaptures>(std::move(descriptor), std::move(blocks), std::move(items));
}

/// Behind the table of captures: how many secrets were found, and of each how far it is from the one before it, and its
/// kind.
bool read_secrets(std::string_view table, const Head& head, std::map<std::size_t, SecretKind>& secrets) {
  Numbers numbers(table);
  const std::uint64_t count = numbers.next();
  if (!numbers.good() || count > table.size()) return false;
  std::uint64_t position = 0;
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::uint64_t further = numbers.next();
    const std::uint64_t kind = numbers.next();
    if (!numbers.good() || further > head.counts.entries || (further == 0 && number != 0) || kind == 0 ||
        kind > most_secret_kind)
      return false;
    position += further;
    if (position >= head.counts.entries) return false;
    secrets.emplace_hint(secrets.end(), position, static_cast<SecretKind>(kind));
  }
  return table.empty();
}

std::string write_secrets(const LayerIndex& index) {
  std::string bytes;
  put_number(bytes, index.secrets.size());
  std::size_t before = 0;
  for (const auto& [position, kind] : index.secrets) {
    put_number(bytes, position - before);
    put_number(bytes, static_cast<std::uint64_t>(kind));
    before = position;
  }
  return bytes;
}

/// What may be a secret is not written to disk a second time, however it came to be read.
bool is_writable(const LayerIndex& index, std::size_t position) {
  if (index.secrets.contains(position)) return false;
  const EntryList& entries = index.entries;
  const std::string_view folder = entries.folder_path(entries.folder(position));
  // Programs and scripts that the config names may end like a key, and are none.
  return index.proof != Proof::toc ||
         secret_candidate(folder, entries.name(position), most_secret_bytes) == SecretCandidate::no;
}

/// Writes the blocks; what the table of them says comes back.
std::string write_captures(FrameWriter& writer, const LayerIndex& index) {
  std::vector<std::size_t> positions;
  if (index.stored_captures) positions = index.stored_captures->positions();
  for (const auto& capture : index.captures) positions.push_back(capture.first);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  std::string blocks, items;
  std::uint64_t block_count = 0, count = 0, in_block = 0;
  std::size_t before = 0;
  const auto end_block = [&] {
    const Part part = writer.end();
    put_number(blocks, part.stored);
    put_number(blocks, part.size);
    ++block_count;
    in_block = 0;
  };
  bool open = false;
  for (const std::size_t position : positions) {
    if (position > index.entries.size() || (position < index.entries.size() && !is_writable(index, position))) continue;
    std::optional<std::string> read;
    std::string_view content;
    if (const auto found = index.captures.find(position); found != index.captures.end()) {
      content = found->second;
    } else {
      read = index.stored_captures->read(position, index.stored_captures->size(position));
      if (!read) continue;  // damaged: as if it had not been kept
      content = *read;
    }
    const bool begins = !open || in_block + content.size() > block_size;
    if (open && begins) end_block();
    put_number(items, position - before);
    put_number(items, begins ? 1 : 0);
    put_number(items, content.size());
    before = position;
    ++count;
    open = content.size() <= block_size;
    if (open) {
      writer.add(content);
      in_block += content.size();
    } else {
      for (; !content.empty(); content.remove_prefix(std::min(content.size(), block_size))) {
        writer.add(content.substr(0, block_size));
        end_block();
      }
    }
  }
  if (open) end_block();
  std::string table;
  put_number(table, block_count);
  table += blocks;
  put_number(table, count);
  return table + items;
}

std::optional<Head> read_head(int descriptor, const Digest& key) {
  struct ::stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string bytes(cache_head_size, '\0');
  if (!read_all(descriptor, bytes.data(), bytes.size(), 0)) return std::nullopt;
  std::optional<Head> head = parse_head(bytes, key);
  if (!head || head->file_size != static_cast<std::uint64_t>(status.st_size)) return std::nullopt;
  return head;
}

}  // namespace

void seal_cache_head(char* head) {
  const Digest digest = Digest::of({head, cache_head_size - seal_size});
  std::memcpy(head + cache_head_size - seal_size, digest.hex().data(), seal_size);
}

bool write_cache_file(int descriptor, const Digest& key, const LayerIndex& index,
                      const std::vector<FileStamp>& stamps) {
  Head head;
  head.digest = index.digest;
  head.diff_id = index.diff_id;
  head.blob_size = index.blob_size;
  head.tar_size = index.tar_size;
  head.proof = index.proof;
  head.counts = EntryColumns::counts(index.entries);
  head.stamps.assign(stamps.end() - static_cast<std::ptrdiff_t>(std::min(stamps.size(), most_stamps)), stamps.end());
  FrameWriter writer(descriptor, cache_head_size);
  for (std::uint8_t column = 0; column < EntryColumns::column_count; ++column) {
    EntryColumns::write(index.entries, static_cast<EntryColumns::Column>(column),
                        [&](std::string_view bytes) { writer.add(bytes); });
    head.parts[column] = writer.end();
  }
  head.captures_begin = writer.offset();
  writer.add(write_captures(writer, index) + write_secrets(index));
  head.parts[EntryColumns::column_count] = writer.end();
  head.file_size = writer.offset();
  return writer.good() && write_all(descriptor, head_bytes(key, head), 0);
}

std::optional<CacheFile> read_cache_file(int descriptor, const Digest& key) {
  const std::shared_ptr<const int> owned(new int(descriptor), [](const int* held) {
    ::close(*held);
    delete held;
  });
  std::optional<Head> head = read_head(descriptor, key);
  if (!head) return std::nullopt;
  FrameReader reader;
  EntryColumns columns(head->counts);
  for (std::uint8_t number = 0; number < part_count; ++number) {
    const Part& part = head->parts[number];
    const bool is_table = number == EntryColumns::column_count;
    const auto column = static_cast<EntryColumns::Column>(number);
    if (part.offset > head->file_size || part.stored > head->file_size - part.offset ||
        part.size > (is_table ? most_capture_bytes : EntryColumns::most_bytes(column, head->counts)))
      return std::nullopt;
  }
  for (std::uint8_t number = 0; number < EntryColumns::column_count; ++number) {
    std::optional<std::string> bytes = reader.read(descriptor, head->parts[number]);
    if (!bytes || !columns.read(static_cast<EntryColumns::Column>(number), std::move(*bytes))) return std::nullopt;
  }
  CacheFile file;
  const Part& table_part = head->parts[EntryColumns::column_count];
  const std::optional<std::string> table = reader.read(descriptor, table_part);
  if (!table) return std::nullopt;
  head->file_size = table_part.offset;  // captures end where their table begins
  if (head->captures_begin > head->file_size) return std::nullopt;
  std::string_view rest = *table;
  file.index.stored_captures = read_captures(rest, *head, owned);
  if (!file.index.stored_captures || !read_secrets(rest, *head, file.index.secrets)) return std::nullopt;
  file.index.entries = columns.finish();
  file.index.digest = std::move(head->digest);
  file.index.diff_id = std::move(head->diff_id);
  file.index.blob_size = head->blob_size;
  file.index.tar_size = head->tar_size;
  file.index.proof = head->proof;
  file.stamps = std::move(head->stamps);
  return file;
}

std::vector<FileStamp> read_cache_stamps(int descriptor, const Digest& key) {
  std::optional<Head> head = read_head(descriptor, key);
  return head ? std::move(head->stamps) : std::vector<FileStamp>();
}

}  // namespace imgforge
