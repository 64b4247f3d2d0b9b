#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "options.hpp"

namespace imgforge {

namespace {

constexpr std::chrono::milliseconds between_lines{100};
constexpr std::size_t longest_name = 60;

}  // namespace

ProgressMode progress_mode(const std::string& text) {
  if (text == "plain") return ProgressMode::plain;
  if (text == "none") return ProgressMode::none;
  return ::isatty(STDERR_FILENO) == 1 ? ProgressMode::line : ProgressMode::none;
}

Progress::Progress(std::string name, ProgressMode mode)
    : name_(display_safe(name).substr(0, longest_name)), mode_(mode) {}

Progress::~Progress() {
  if (shown_) tell("\r\x1b[K");
}

void Progress::show(const ReadProgress& now) {
  if (mode_ == ProgressMode::line) show_line(now);
  if (mode_ == ProgressMode::plain) show_plain(now);
}

void Progress::show_line(const ReadProgress& now) {
  const auto time = std::chrono::steady_clock::now();
  if (time - last_ < between_lines) return;
  last_ = time;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(time - began_).count();
  std::string line =
      fmt::format("\r\x1b[Kreading {}: layer {} of {}, {}", name_, now.layer + 1, now.layers, human_size(now.done));
  if (now.total != 0) line += " of " + human_size(now.total);
  if (seconds > 0.5)
    line += fmt::format(", {}/s", human_size(static_cast<std::uint64_t>(static_cast<double>(now.done) / seconds)));
  tell(line);
}

void Progress::show_plain(const ReadProgress& now) {
  if (now.layer == layer_) return;
  layer_ = now.layer;
  std::string line =
      fmt::format("imgforge: reading {}: layer {} of {}, {}", name_, now.layer + 1, now.layers, human_size(now.done));
  if (now.total != 0) line += " of " + human_size(now.total);
  tell(line + "\n");
}

}  // namespace imgforge
