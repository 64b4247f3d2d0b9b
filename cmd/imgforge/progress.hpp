// How far the reading of an image has come, on stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "layer/root_view.hpp"

namespace imgforge {

enum class ProgressMode {
  line,   // a line for each layer that is being read, which changes; they take themselves away at the end
  plain,  // a line when a layer is begun, when it ends, and now and then between, for logs of CI
  none,
};

/// --progress auto|plain|none: auto is lines on a terminal and nothing elsewhere.
ProgressMode progress_mode(const std::string& text);

class Progress {
 public:
  Progress(std::string name, ProgressMode mode);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const ReadProgress& now);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Layer {
    std::uint64_t done = 0;
    std::uint64_t total = 0;  // 0 where nobody knows
    std::uint64_t first = 0;  // bytes when it was first heard of
    Time began{};
    Time heard{};
    Time told{};  // in plain mode
  };

  void draw(const ReadProgress& now, Time time);
  void tell_plain(const ReadProgress& now, Layer& layer, bool is_new, Time time) const;

  std::string name_;
  ProgressMode mode_;
  Time drawn_{};
  std::map<std::size_t, Layer> layers_;  // that were heard of and are not read to their end
  std::size_t lines_ = 0;                // on the terminal
};

}  // namespace imgforge
