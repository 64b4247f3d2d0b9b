#include "layer/toc_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <streambuf>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::size_t deepest = 16;  // objects and lists in another: a table needs four

[[noreturn]] void damaged(const std::string& why) {
  throw Error(ErrorKind::image_corrupt, "its table of contents is damaged: " + why);
}

/// The bytes of a reader as a stream, which is what the JSON parser can pull from.
class ReaderBuffer final : public std::streambuf {
 public:
  explicit ReaderBuffer(ByteReader& reader) : reader_(reader) {}

 protected:
  int_type underflow() override {
    const std::size_t count = reader_.read(buffer_.data(), buffer_.size());
    if (count == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  ByteReader& reader_;
  std::array<char, 64 << 10> buffer_{};
};

/// One row, as it stands in the table.
struct Row {
  std::string type, name, link, digest, chunk_digest, chunk_type;
  std::uint64_t size = 0, mode = 0, uid = 0, gid = 0;
  std::uint64_t offset = 0, end_offset = 0, chunk_offset = 0, chunk_size = 0, inner_offset = 0;
};

std::optional<std::array<unsigned char, 32>> sha256_of(std::string_view text) {
  const std::optional<Digest> digest = Digest::parse(text);
  if (!digest || digest->algorithm() != Digest::Algorithm::sha256) return std::nullopt;
  std::array<unsigned char, 32> bytes{};
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(value(digest->hex()[2 * i]) << 4 | value(digest->hex()[2 * i + 1]));
  return bytes;
}

/// Rows → entries and chunks.
class Builder {
 public:
  Builder(std::uint64_t table_offset, const TocLimits& limits) : table_offset_(table_offset), limits_(limits) {
    toc_.index.proof = Proof::toc;
  }

  void add(const Row& row) {
    if (row.type == "chunk") {
      if (file_.readable && row.name == file_.name) add_chunk(row);
      return;
    }
    end_file();
    Entry entry;
    if (row.name.size() > longest_path || row.link.size() > longest_path)
      throw Error(ErrorKind::image_limit,
                  fmt::format("its table of contents has a path of more than {} bytes", longest_path));
    if (row.name.find('\0') != std::string::npos || row.link.find('\0') != std::string::npos)
      damaged("a name has a NUL in it");
    EntryName name = entry_name(row.name);
    if (name.kind == EntryName::Kind::reserved) return;
    entry.path = std::move(name.path);
    if (name.kind != EntryName::Kind::plain) {
      entry.type = name.kind == EntryName::Kind::opaque ? EntryType::opaque : EntryType::whiteout;
    } else {
      describe(row, entry);
    }
    path_bytes_ += entry.path.size() + entry.link.size();
    if (toc_.index.entries.size() >= limits_.entries)
      throw Error(ErrorKind::image_limit,
                  fmt::format("its table of contents has more than {} entries", limits_.entries));
    if (path_bytes_ > limits_.path_bytes)
      throw Error(ErrorKind::image_limit,
                  fmt::format("the paths of its table of contents take more than {}", human_size(limits_.path_bytes)));
    toc_.first_chunk.push_back(static_cast<std::uint32_t>(toc_.chunks.size()));
    toc_.index.entries.push_back(entry);
    if (entry.type != EntryType::file || entry.size == 0) return;
    file_ = {row.name, entry.size, 0, toc_.chunks.size(), true, true};
    add_chunk(row);
  }

  Toc finish() {
    end_file();
    toc_.first_chunk.push_back(static_cast<std::uint32_t>(toc_.chunks.size()));
    std::vector<std::uint64_t> begins;
    begins.reserve(toc_.chunks.size() + 1);
    for (const TocChunk& chunk : toc_.chunks) begins.push_back(chunk.offset);
    begins.push_back(table_offset_);
    std::sort(begins.begin(), begins.end());
    for (TocChunk& chunk : toc_.chunks) {
      if (chunk.zeros) continue;
      const std::uint64_t next = *std::upper_bound(begins.begin(), begins.end(), chunk.offset);
      chunk.end = chunk.end <= chunk.offset ? next : std::min(chunk.end, next);
    }
    return std::move(toc_);
  }

 private:
  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t covered = 0;
    std::size_t first_chunk = 0;
    bool open = false;
    bool readable = false;
  };

  static void describe(const Row& row, Entry& entry) {
    entry.mode = static_cast<std::uint32_t>(row.mode & 07777);
    const auto id = [](std::uint64_t value) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF));
    };
    entry.uid = id(row.uid);
    entry.gid = id(row.gid);
    if (row.type == "reg") {
      entry.type = EntryType::file;
      entry.size = row.size;
    } else if (row.type == "dir") {
      entry.type = EntryType::directory;
    } else if (row.type == "symlink") {
      entry.type = EntryType::symlink;
      entry.link = row.link;
    } else if (row.type == "hardlink") {
      entry.type = EntryType::hardlink;
      entry.link = clean_path(row.link);
    } else if (row.type == "char") {
      entry.type = EntryType::character_device;
    } else if (row.type == "block") {
      entry.type = EntryType::block_device;
    } else if (row.type == "fifo") {
      entry.type = EntryType::fifo;
    } else {
      damaged(fmt::format("there is no type \"{}\" of entries", escape_for_display(row.type.substr(0, 40))));
    }
  }

  /// The next part of the file; where it does not fit, the file's content cannot be had by the table.
  void add_chunk(const Row& row) {
    const bool first = file_.covered == 0;
    TocChunk chunk;
    chunk.offset = row.offset;
    chunk.end = row.end_offset;
    chunk.inner_offset = row.inner_offset;
    chunk.zeros = row.chunk_type == "zeros";
    const std::uint64_t rest = file_.size - file_.covered;
    chunk.size = row.chunk_size == 0 ? rest : row.chunk_size;
    const bool whole = first && chunk.size == file_.size;
    const auto digest = sha256_of(!row.chunk_digest.empty() || !whole ? row.chunk_digest : row.digest);
    const bool known_type = row.chunk_type.empty() || row.chunk_type == "data" || chunk.zeros;
    if (row.chunk_offset != file_.covered || chunk.size == 0 || chunk.size > rest || (!digest && !chunk.zeros) ||
        !known_type || (!chunk.zeros && chunk.offset >= table_offset_)) {
      file_.readable = false;
      return;
    }
    if (digest) chunk.sha256 = *digest;
    // A chunk's end in containers/storage's table is that of the whole file.
    if (!first) toc_.chunks.back().end = 0;
    file_.covered += chunk.size;
    toc_.chunks.push_back(chunk);
  }

  void end_file() {
    if (file_.open && (!file_.readable || file_.covered != file_.size)) toc_.chunks.resize(file_.first_chunk);
    file_ = {};
  }

  std::uint64_t table_offset_;
  const TocLimits& limits_;
  Toc toc_;
  File file_;
  std::uint64_t path_bytes_ = 0;
};

/// {"version": 1, "entries": [{...}, ...]}, as events. Keys that are not known, and what is in them, are passed over.
class TocEvents final : public nlohmann::json_sax<json> {
 public:
  explicit TocEvents(Builder& builder) : builder_(builder) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return number(std::nullopt); }  // negative
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t, const string_t&) override { return number(std::nullopt); }
  bool string(string_t& value) override {
    if (in_row() && texts_)
      row_.*texts_ = std::move(value);
    else if (in_row() && numbers_)
      damaged(fmt::format("\"{}\" is no number", escape_for_display(key_)));
    return true;
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    descend();
    if (in_row()) {
      row_ = {};
      seen_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (in_row()) builder_.add(row_);
    return ascend();
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1 && key_ == "entries") {
      in_entries_ = true;
      seen_entries_ = true;
    }
    return descend();
  }
  bool end_array() override {
    ascend();
    if (depth_ == 1) in_entries_ = false;
    return true;
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    texts_ = nullptr;
    numbers_ = nullptr;
    if (depth_ == 1 && key_ == "entries" && seen_entries_) damaged("it has its entries twice");
    if (!in_row()) return true;
    static constexpr std::array<std::pair<std::string_view, std::string Row::*>, 6> texts = {
        {{"type", &Row::type},
         {"name", &Row::name},
         {"linkName", &Row::link},
         {"digest", &Row::digest},
         {"chunkDigest", &Row::chunk_digest},
         {"chunkType", &Row::chunk_type}}};
    static constexpr std::array<std::pair<std::string_view, std::uint64_t Row::*>, 9> numbers = {
        {{"size", &Row::size},
         {"mode", &Row::mode},
         {"uid", &Row::uid},
         {"gid", &Row::gid},
         {"offset", &Row::offset},
         {"endOffset", &Row::end_offset},
         {"chunkOffset", &Row::chunk_offset},
         {"chunkSize", &Row::chunk_size},
         {"innerOffset", &Row::inner_offset}}};
    for (const auto& [known, member] : texts) {
      if (key_ == known) texts_ = member;
    }
    for (const auto& [known, member] : numbers) {
      if (key_ == known) numbers_ = member;
    }
    // Of a key that is there twice, two readers may take two values.
    if ((texts_ || numbers_) && !seen_.insert(key_).second) damaged(fmt::format("an entry has \"{}\" twice", key_));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    damaged(fmt::format("no valid JSON at byte {}", position));
  }

  bool complete() const { return seen_entries_; }

 private:
  bool in_row() const { return in_entries_ && depth_ == 3; }
  bool descend() {
    if (++depth_ > deepest) damaged("it is nested too deep");
    return true;
  }
  bool ascend() {
    --depth_;
    return true;
  }
  bool number(std::optional<std::uint64_t> value) {
    if (!in_row() || (!numbers_ && !texts_)) return true;
    if (!value || texts_) damaged(fmt::format("\"{}\" has a value that it cannot have", escape_for_display(key_)));
    row_.*numbers_ = *value;
    return true;
  }

  Builder& builder_;
  Row row_;
  std::set<std::string> seen_;
  std::string key_;
  std::string Row::*texts_ = nullptr;
  std::uint64_t Row::*numbers_ = nullptr;
  std::size_t depth_ = 0;
  bool in_entries_ = false;
  bool seen_entries_ = false;
};

}  // namespace

Toc parse_toc(ByteReader& reader, std::uint64_t table_offset, const TocLimits& limits) {
  Builder builder(table_offset, limits);
  TocEvents events(builder);
  ReaderBuffer buffer(reader);
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // what the reader throws comes through
  json::sax_parse(stream, &events);
  if (!events.complete()) damaged("it has no entries");
  return builder.finish();
}

}  // namespace imgforge
