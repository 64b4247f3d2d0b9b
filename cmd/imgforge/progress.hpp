// How far the reading of an image has come, on stderr.
#pragma once

#include <chrono>
#include <string>

#include "layer/root_view.hpp"

namespace imgforge {

enum class ProgressMode {
  line,   // one line that changes; takes itself away at the end
  plain,  // a line whenever another layer is read, for logs of CI
  none,
};

/// --progress auto|plain|none: auto is a line on a terminal and nothing elsewhere.
ProgressMode progress_mode(const std::string& text);

class Progress {
 public:
  Progress(std::string name, ProgressMode mode);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const ReadProgress& now);

 private:
  void show_line(const ReadProgress& now);
  void show_plain(const ReadProgress& now);

  std::string name_;
  ProgressMode mode_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
  std::size_t layer_ = ~std::size_t{0};
  bool shown_ = false;
};

}  // namespace imgforge
