#include "image/docker_stream.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/store.hpp"
#include "image/tar_cursor.hpp"
#include "image/tar_header.hpp"

namespace imgforge {

namespace {

class StreamInput final : public TarInput {
 public:
  StreamInput(std::shared_ptr<ByteReader> stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t count = stream_->read(buffer, size);
    if (begun_) return count;
    begun_ = true;
    // A pipe may give its first bytes one by one.
    for (std::size_t more = count; more != 0 && count < tar_block_bytes && count < size; count += more)
      more = stream_->read(buffer + count, size - count);
    if (count == 0) {
      throw Error(ErrorKind::image_unsupported, name_ + " is empty, the tar of docker save is expected",
                  "whoever writes it may have failed: look at what it said");
    }
    if (const auto compression = compression_of({buffer, count})) {
      throw Error(
          ErrorKind::image_unsupported,
          fmt::format("{} is compressed with {}; image archives are read uncompressed", name_, *compression),
          fmt::format("decompress it on the way: ... | {} -dc | imgforge verify docker-archive:-", *compression));
    }
    return count;
  }

 private:
  std::shared_ptr<ByteReader> stream_;
  std::string name_;
  bool begun_ = false;
};

class TextReader final : public ByteReader {
 public:
  explicit TextReader(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = text_.copy(buffer, size, position_);
    position_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t position_ = 0;
};

/// The member that the cursor is at, whose first bytes were looked at already.
class PassingMember final : public ByteReader {
 public:
  PassingMember(TarCursor& cursor, std::uint64_t size) : cursor_(cursor), left_(size) {
    while (peeked_ < start_.size()) {
      const std::size_t count = take(start_.data() + peeked_, start_.size() - peeked_);
      if (count == 0) break;
      peeked_ += count;
    }
  }

  std::string_view start() const { return {start_.data(), peeked_}; }

  std::size_t read(char* buffer, std::size_t size) override {
    if (given_ == peeked_) return take(buffer, size);
    const std::size_t count = start().copy(buffer, size, given_);
    given_ += count;
    return count;
  }

 private:
  std::size_t take(char* buffer, std::size_t size) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    if (wanted == 0) return 0;
    const std::size_t count = cursor_.read_data(buffer, wanted);
    if (count == 0) throw Error(ErrorKind::image_corrupt, "the stream ends inside of a member");
    left_ -= count;
    return count;
  }

  TarCursor& cursor_;
  std::uint64_t left_;
  std::array<char, tar_block_bytes> start_{};
  std::size_t peeked_ = 0;
  std::size_t given_ = 0;  // of what was peeked
};

bool begins_as_layer(std::string_view start) {
  if (compression_of(start)) return true;
  return start.size() == tar_block_bytes && (is_zero_block(start) || parse_tar_header(start));
}

/// What a pass leaves behind.
class Remains final : public FileTree {
 public:
  Remains(std::string name, const DockerStreamLimits& limits)
      : name_(name), limits_(limits), members_(std::move(name), limits.tar) {}

  void pass(TarCursor& cursor, archive_entry* entry, const LayerVisitor& visit) {
    const std::string path = members_.add(entry, cursor.header_position());
    const TarMember member = describe_tar_member(entry, 0);
    if (!path.empty()) documents_.erase(path);  // the later of two holds
    if (member.kind != TarMember::Kind::file) return;
    PassingMember reader(cursor, member.size);
    if (begins_as_layer(reader.start()) || path.ends_with(".tar")) {
      visit(reader, member.size);
    } else if (!path.empty() && member.size <= max_document_bytes && kept_ + member.size <= limits_.document_bytes) {
      kept_ += member.size;
      documents_[path] = read_all(reader, max_document_bytes, escape_for_display(path));
    }
  }

  std::optional<std::uint64_t> size_of(const std::string& path) const override {
    const auto found = members_.resolve(path);
    return found ? std::optional(found->member.size) : std::nullopt;
  }

  std::unique_ptr<ByteReader> open(const std::string& path) const override {
    const auto found = members_.resolve(path);
    if (!found) return nullptr;
    const auto document = documents_.find(found->name);
    if (document == documents_.end()) {
      throw Error(ErrorKind::image_limit,
                  fmt::format("{} in {} is none of the documents that are kept while it passes: at most {} each, {} "
                              "together",
                              escape_for_display(path), name_, human_size(max_document_bytes),
                              human_size(limits_.document_bytes)));
    }
    return std::make_unique<TextReader>(document->second);
  }

  std::unique_ptr<ByteReader> open_range(const std::string&, std::uint64_t, std::uint64_t) const override {
    return nullptr;
  }
  std::optional<FileStamp> stamp_of(const std::string&) const override { return std::nullopt; }

 private:
  std::string name_;
  DockerStreamLimits limits_;
  TarMembers members_;
  std::map<std::string, std::string> documents_;
  std::uint64_t kept_ = 0;
};

/// Whoever writes into a pipe must not find it closed before the last record.
void drain(ByteReader& stream, std::uint64_t limit) {
  std::array<char, 64 << 10> buffer{};
  std::uint64_t count = 0;
  while (count <= limit) {
    const std::size_t more = stream.read(buffer.data(), buffer.size());
    if (more == 0) return;
    count += more;
  }
}

}  // namespace

std::unique_ptr<FileTree> walk_docker_stream(std::unique_ptr<ByteReader> stream, std::string name,
                                             const LayerVisitor& visit, const DockerStreamLimits& limits) {
  const std::shared_ptr<ByteReader> bytes = std::move(stream);
  auto remains = std::make_unique<Remains>(name, limits);
  {
    TarCursor cursor(std::make_unique<StreamInput>(bytes, name), name);
    while (archive_entry* entry = cursor.next()) remains->pass(cursor, entry, visit);
  }
  drain(*bytes, limits.trailing_bytes);
  return remains;
}

}  // namespace imgforge
