#include "base/unfinished_file.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>

namespace imgforge {

namespace {

// A signal's handler may use nothing that locks or allocates, so there is a fixed place for each file.
struct Slot {
  enum State { empty, filling, making, made };
  std::atomic<int> state = empty;
  ::pthread_t thread = {};
  int directory = -1;
  char path[PATH_MAX] = {};
};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::size_t most_files = 64;  // each thread that reads a layer writes one at most
std::array<Slot, most_files> slots;
std::atomic<bool> ending = false;

/// Where writers stop as soon as the process is about to end: what they would do next could only fail.
void stop_if_ending() {
  while (ending) ::pause();
}

void handle(int number) {
  ending = true;
  // Who did not stop is about to make its file, which takes a while when the disk is busy. Not our own thread: that is
  // here, before or behind the call.
  constexpr int most_waits = 1000;
  const timespec millisecond{0, 1'000'000};
  int waits = 0;
  for (Slot& slot : slots) {
    while (slot.state.load() == Slot::making && ::pthread_equal(slot.thread, ::pthread_self()) == 0 &&
           waits++ < most_waits)
      ::nanosleep(&millisecond, nullptr);
    const int state = slot.state.load();
    if (state == Slot::making || state == Slot::made) ::unlinkat(slot.directory, slot.path, 0);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);  // takes effect when this returns
}

void install_handlers() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // What is ignored (nohup) stays so, and a handler of somebody else, too.
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = handle;
    ours.sa_flags = SA_RESTART;
    ::sigfillset(&ours.sa_mask);
    ::sigaction(number, &ours, nullptr);
  }
}

}  // namespace

UnfinishedFile::UnfinishedFile(int directory, const std::string& path) {
  install_handlers();
  if (path.size() < PATH_MAX) {
    for (std::size_t i = 0; i < slots.size() && slot_ < 0; ++i) {
      int state = Slot::empty;
      if (!slots[i].state.compare_exchange_strong(state, Slot::filling)) continue;
      slots[i].thread = ::pthread_self();
      slots[i].directory = directory;
      std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
      slots[i].state = Slot::making;
      slot_ = static_cast<int>(i);
    }
  }
  if (slot_ >= 0 && ending) slots[static_cast<std::size_t>(slot_)].state = Slot::empty;
  stop_if_ending();
}

UnfinishedFile::~UnfinishedFile() {
  stop_if_ending();
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state = Slot::empty;
}

void UnfinishedFile::made() noexcept {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state = Slot::made;
}

std::string unlikely_digits() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace imgforge
