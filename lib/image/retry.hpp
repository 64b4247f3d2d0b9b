// What passes by itself, and how long to wait for it. RFC 9110 section 10.2.3; distribution-spec leaves it to clients.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/http.hpp"

namespace imgforge {

/// Whether the same request may get another answer in a moment: 408, 429, 499, 500, 502, 503, 504, 522.
bool is_retryable_status(int status) noexcept;

/// Whether this response, or the lack of one, is worth another attempt.
bool is_worth_retrying(const HttpResponse& response);

/// Retry-After: seconds, or a date; a day at most. Nothing where it is not there or makes no sense.
std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response);

/// The attempts for one manifest or blob: so many, and so much waiting in all.
class RetryBudget {
 public:
  RetryBudget() = default;
  /// For what can be had elsewhere.
  static RetryBudget short_one() {
    RetryBudget budget;
    budget.attempts_left_ = 1;
    budget.left_ = std::chrono::seconds(2);
    return budget;
  }

  /// Waits before the next attempt, as long as the server asked or ever longer; false where it is not to be made: the
  /// answer is none that passes, or the attempts or the time are used up.
  bool wait_after(const HttpResponse& response);
  /// The same for a connection that broke while a body was read.
  bool wait();

 private:
  bool wait_for(std::chrono::milliseconds pause);

  std::size_t attempts_left_ = 5;
  std::chrono::milliseconds left_{30'000};
  std::chrono::milliseconds next_{300};
};

}  // namespace imgforge
