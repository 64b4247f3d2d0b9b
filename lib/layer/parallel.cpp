#include "layer/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace imgforge {

namespace {

constexpr unsigned most_workers = 4;  // each may inflate a layer of its own and need 128 MiB for a zstd window

}  // namespace

void in_parallel(const std::vector<std::size_t>& numbers, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::map<std::size_t, std::exception_ptr> failures;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto run = [&] {
    for (std::size_t i = next++; i < numbers.size() && !failed; i = next++) {
      try {
        work(numbers[i]);
      } catch (...) {
        failed = true;
        const std::lock_guard lock(mutex);
        failures.emplace(numbers[i], std::current_exception());
      }
    }
  };
  {
    const std::size_t workers =
        std::min<std::size_t>(numbers.size(), std::clamp(std::thread::hardware_concurrency(), 1u, most_workers));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(run);
    run();
  }
  if (!failures.empty()) std::rethrow_exception(failures.begin()->second);
}

}  // namespace imgforge
