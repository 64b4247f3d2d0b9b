// What passes by itself, and how long to wait for it. RFC 9110 section 10.2.3; distribution-spec leaves it to clients.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/http.hpp"

namespace imgforge {

/// Whether the same request may get another answer in a moment: 408, 429, 499, 500, 502, 503, 504, 522.
bool is_retryable_status(int status) noexcept;

/// Whether this response, or the lack of one, is worth another attempt.
bool is_worth_retrying(const HttpResponse& response);

/// Retry-After: seconds, or a date, which is seen from `now`; a day at most. Nothing where it makes no sense.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text, std::time_t now);

/// How patient to be with one manifest or blob.
struct RetryPolicy {
  std::size_t attempts = 5;                    // after the first
  std::chrono::milliseconds budget{120'000};   // of waiting in all
  std::chrono::milliseconds first_pause{300};  // doubled from one attempt to the next, where the server says nothing
  std::chrono::milliseconds longest_pause{60'000};  // that a Retry-After is granted
  // A server that sends less than this in so much time, while it is waited for, is as good as gone: below 1 KiB a
  // second nobody wants to wait for a layer. Whatever is complete in that time is not held to it.
  std::chrono::milliseconds stall_timeout{60'000};
  std::uint64_t stall_bytes = 64 << 10;

  /// For what can be had elsewhere.
  RetryPolicy short_one() const {
    RetryPolicy policy = *this;
    policy.attempts = 1;
    policy.budget = std::min(budget, std::chrono::milliseconds(2'000));
    return policy;
  }
};

/// The attempts that are left of a policy.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryPolicy& policy = {})
      : attempts_left_(policy.attempts),
        left_(policy.budget),
        next_(policy.first_pause),
        longest_pause_(policy.longest_pause) {}

  /// Waits before the next attempt, as long as the server asked or ever longer; false where it is not to be made: the
  /// answer is none that passes, or the attempts or the time are used up.
  bool wait_after(const HttpResponse& response);
  /// The same for a connection that broke while a body was read.
  bool wait();
  /// Time that went by for nothing elsewhere, as with a server that stalled, counts as waiting.
  void spend(std::chrono::milliseconds time) noexcept { left_ -= std::min(time, left_); }

 private:
  bool wait_for(std::chrono::milliseconds pause);

  std::size_t attempts_left_;
  std::chrono::milliseconds left_;
  std::chrono::milliseconds next_;
  std::chrono::milliseconds longest_pause_;
};

}  // namespace imgforge
