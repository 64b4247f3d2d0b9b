#include "image/retry.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <thread>

#include "base/text.hpp"

namespace imgforge {

using std::chrono::milliseconds;

bool is_retryable_status(int status) noexcept {
  // 499 and 522 are no standard: nginx and Cloudflare answer so where the one behind them did not.
  return status == 408 || status == 429 || status == 499 || status == 500 || status == 502 || status == 503 ||
         status == 504 || status == 522;
}

bool is_worth_retrying(const HttpResponse& response) {
  if (const auto& failure = response.failure()) return failure->kind == HttpFailure::Kind::interrupted;
  return is_retryable_status(response.status());
}

std::optional<milliseconds> parse_retry_after(std::string_view text, std::time_t now) {
  if (text.empty()) return std::nullopt;
  constexpr std::uint64_t longest = 24 * 3600;
  if (text.find_first_not_of("0123456789") == std::string_view::npos)
    return milliseconds(1000 * std::min(to_number(text).value_or(longest), longest));
  const std::optional<std::time_t> when = parse_http_date(text);
  if (!when) return std::nullopt;
  return milliseconds(*when <= now ? 0
                                   : 1000 * std::min<std::uint64_t>(static_cast<std::uint64_t>(*when - now), longest));
}

bool RetryBudget::wait_after(const HttpResponse& response) {
  if (!is_worth_retrying(response)) return false;
  const std::optional<std::string> asked = response.failure() ? std::nullopt : response.header("retry-after");
  return wait_for(parse_retry_after(asked.value_or(""), std::time(nullptr)).value_or(next_));
}

bool RetryBudget::wait() { return wait_for(next_); }

bool RetryBudget::wait_for(milliseconds pause) {
  if (attempts_left_ == 0 || left_ == milliseconds(0) || pause > left_ || pause > longest_pause_) return false;
  // A little longer than asked, and not by the same for everybody: whoever was refused together comes back apart.
  static thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(pause + milliseconds(random() % (static_cast<unsigned long>(pause.count()) / 10 + 1)));
  --attempts_left_;
  left_ -= pause;
  next_ *= 2;
  return true;
}

}  // namespace imgforge
