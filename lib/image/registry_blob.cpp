#include "image/registry_blob.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/retry.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

// A layer of gigabytes over a bad line may break often; who sends a byte a connection is not worth it.
constexpr std::size_t most_resumes = 100;
constexpr std::uint64_t worthwhile = 64 << 10;  // bytes between two breaks that make patience anew

/// Whether a server that answers this to a Range does not know ranges, or not this one.
bool knows_no_range(int status) { return status == 400 || status == 405 || status == 416 || status == 501; }

/// Why a 206 does not hold the bytes from `first` to `last` of a blob; empty where it does.
std::string wrong_range(const HttpResponse& response, std::uint64_t first, std::uint64_t last, std::uint64_t size) {
  const std::string text = response.header("content-range").value_or("");
  const std::optional<ContentRange> range = parse_content_range(text);
  if (!range) return "its Content-Range is \"" + escape_for_display(text.substr(0, 100)) + "\"";
  if (range->first == first && range->last == last && range->total.value_or(size) == size) return "";
  return fmt::format("asked for the bytes {} to {} of {}, it sends {}", first, last, size,
                     escape_for_display(text.substr(0, 100)));
}

/// The bytes from `begin` to `end` of a blob or a manifest, over as many connections as it takes.
class BlobReader final : public ByteReader {
 public:
  BlobReader(std::shared_ptr<RegistrySession> session, OtherPlaces elsewhere, std::string path, std::string_view accept,
             const Descriptor& descriptor, std::string_view what, std::uint64_t begin, std::uint64_t end)
      : session_(std::move(session)),
        elsewhere_(std::move(elsewhere)),
        path_(std::move(path)),
        accept_(accept),
        descriptor_(descriptor),
        what_(what),
        position_(begin),
        end_(end),
        budget_(session_->retry_policy()) {}

  /// With the response to the first request; its body begins at the reader's begin.
  void take(HttpResponse response) { response_.emplace(std::move(response)); }

  std::size_t read(char* buffer, std::size_t size) override {
    if (position_ == end_ && end_ != descriptor_.size) return 0;  // what a range has more than asked for is left
    for (;;) {
      std::string why = "the server closed the connection";
      const auto asked = std::chrono::steady_clock::now();
      try {
        const std::size_t count = response_->read(buffer, size);
        if (count != 0) return advance(count);
        if (position_ == end_ || size == 0) return 0;
        // With a Content-Length the end came early; without one, it may be all that there is.
        if (!response_->content_length()) throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, position_);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::image_network) throw;
        why = error.message();
      }
      resume(why, std::chrono::steady_clock::now() - asked);
    }
  }

  std::uint64_t bytes_again() const noexcept override { return again_; }

 private:
  std::size_t advance(std::size_t count) {
    if (end_ == descriptor_.size && count > end_ - position_) {
      throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, position_ + count);
    }
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, end_ - position_));
    position_ += count;
    return count;
  }

  [[noreturn]] void give_up(const std::string& why) const {
    throw Error(ErrorKind::image_network,
                fmt::format("{}, after {} of {} bytes: {}", what_, position_, descriptor_.size, why));
  }

  /// After `spent` time in which nothing came.
  void resume(const std::string& why, std::chrono::steady_clock::duration spent) {
    response_.reset();  // its connection is of no use any more
    if (position_ >= broke_at_ + worthwhile) budget_ = RetryBudget(session_->retry_policy());
    broke_at_ = position_;
    budget_.spend(std::chrono::duration_cast<std::chrono::milliseconds>(spent));
    for (bool moved = false;;) {
      try {
        if (!moved) spend_attempt(why);
        moved = false;
        if (go_on()) return;
      } catch (const Error& error) {
        response_.reset();
        moved = move_on(error);
        if (moved) continue;
        if (places_left_.empty()) throw;
        throw Error(error.kind(), error.message() + places_left_, error.hint());
      }
    }
  }

  void spend_attempt(const std::string& why) {
    if (++resumes_ > most_resumes) give_up(fmt::format("{} (and so {} times)", why, most_resumes));
    if (!budget_.wait()) give_up(why);
  }

  /// Asks for the rest. Whether it comes now; where not, the same may be tried again. Throws where that is pointless.
  bool go_on() {
    const bool by_range = ranges_ && position_ != 0;
    RegistryRequest request{path_, accept_, what_};
    if (by_range) request.range = {position_, end_ - 1};
    RegistryAnswer answer = session_->ask(request);
    const int status = answer.response.status();
    if (by_range && status == 206) {
      if (wrong_range(answer.response, position_, end_ - 1, descriptor_.size).empty()) {
        response_.emplace(std::move(answer.response));
        return true;
      }
      ranges_ = false;
    } else if (status == 200) {
      const std::optional<std::uint64_t> length = answer.response.content_length();
      if (length && *length != descriptor_.size)
        throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, *length);
      response_.emplace(std::move(answer.response));
      return skip();
    } else if (by_range && knows_no_range(status)) {
      ranges_ = false;
    } else if (!is_worth_retrying(answer.response)) {
      session_->throw_refused(answer, what_);
    }
    return false;
  }

  /// To the next place, where there is one: what came so far stays, and the rest comes from there.
  bool move_on(const Error& failure) {
    std::shared_ptr<RegistrySession> next = elsewhere_ ? elsewhere_(failure) : nullptr;
    if (!next) return false;
    places_left_ += fmt::format("; its mirror {} failed before: {}", session_->reference().host(), failure.message());
    session_ = std::move(next);
    budget_ = RetryBudget(session_->retry_policy());
    resumes_ = 0;
    ranges_ = true;
    return true;
  }

  /// Passes over what was handed out before. False where the connection broke meanwhile.
  bool skip() {
    std::array<char, 64 << 10> scratch;
    for (std::uint64_t left = position_; left != 0;) {
      try {
        const std::size_t count =
            response_->read(scratch.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, scratch.size())));
        if (count == 0) return false;
        left -= count;
        again_ += count;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::image_network) throw;
        return false;
      }
    }
    return true;
  }

  std::shared_ptr<RegistrySession> session_;
  OtherPlaces elsewhere_;
  std::string places_left_;  // what happened there, for a last message
  std::string path_;
  std::string_view accept_;
  Descriptor descriptor_;
  std::string what_;
  std::uint64_t position_;
  std::uint64_t end_;
  RetryBudget budget_;
  std::optional<HttpResponse> response_;
  std::size_t resumes_ = 0;
  std::uint64_t broke_at_ = 0;
  std::uint64_t again_ = 0;
  bool ranges_ = true;
};

std::unique_ptr<ByteReader> open_whole(std::shared_ptr<RegistrySession> session, OtherPlaces elsewhere,
                                       const std::string& path, std::string_view accept, const Descriptor& descriptor,
                                       std::string_view what) {
  HttpResponse response = session->open({path, accept, what});
  const std::optional<std::uint64_t> length = response.content_length();
  if (length && *length != descriptor.size) throw_size_mismatch(what, descriptor.digest, descriptor.size, *length);
  auto reader = std::make_unique<BlobReader>(std::move(session), std::move(elsewhere), path, accept, descriptor, what,
                                             0, descriptor.size);
  reader->take(std::move(response));
  return reader;
}

std::string path_of(const Descriptor& descriptor) { return "blobs/" + descriptor.digest.to_string(); }

}  // namespace

std::unique_ptr<ByteReader> open_registry_blob(std::shared_ptr<RegistrySession> session, const Descriptor& descriptor,
                                               std::string_view what, OtherPlaces elsewhere) {
  return open_whole(std::move(session), std::move(elsewhere), path_of(descriptor), "", descriptor, what);
}

std::unique_ptr<ByteReader> open_registry_blob_range(std::shared_ptr<RegistrySession> session,
                                                     const Descriptor& descriptor, std::string_view what,
                                                     std::uint64_t offset, std::uint64_t length,
                                                     OtherPlaces elsewhere) {
  if (length == 0 || offset >= descriptor.size || length > descriptor.size - offset) return nullptr;
  const std::uint64_t last = offset + length - 1;
  RegistryRequest request{path_of(descriptor), "", what};
  request.range = {offset, last};
  RetryBudget budget(session->retry_policy());
  for (;;) {
    RegistryAnswer answer = session->ask(request);
    const int status = answer.response.status();
    if (knows_no_range(status) || (status == 200 && offset != 0)) return nullptr;
    if (status != 200 && status != 206) {
      if (budget.wait_after(answer.response)) continue;
      session->throw_refused(answer, what);
    }
    if (status == 206) {
      const std::string wrong = wrong_range(answer.response, offset, last, descriptor.size);
      if (!wrong.empty()) throw Error(ErrorKind::image_corrupt, fmt::format("{}: {}", what, wrong));
    }
    auto reader = std::make_unique<BlobReader>(std::move(session), std::move(elsewhere), request.path, "", descriptor,
                                               what, offset, last + 1);
    reader->take(std::move(answer.response));
    return reader;
  }
}

std::unique_ptr<ByteReader> open_registry_manifest(std::shared_ptr<RegistrySession> session,
                                                   const Descriptor& descriptor, OtherPlaces elsewhere) {
  return open_whole(std::move(session), std::move(elsewhere), "manifests/" + descriptor.digest.to_string(),
                    accepted_manifests, descriptor, "the manifest");
}

std::optional<ContentRange> parse_content_range(std::string_view text) noexcept {
  constexpr std::string_view unit = "bytes ";
  if (!text.starts_with(unit)) return std::nullopt;
  text.remove_prefix(unit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = to_number(text.substr(0, dash));
  const auto last = to_number(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total = text.substr(slash + 1);
  if (!first || !last || *last < *first || (total != "*" && !to_number(total))) return std::nullopt;
  return ContentRange{*first, *last, to_number(total)};
}

}  // namespace imgforge
