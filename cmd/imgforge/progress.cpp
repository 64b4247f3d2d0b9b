#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "options.hpp"

namespace imgforge {

namespace {

using namespace std::chrono_literals;

constexpr auto between_drawings = 100ms;
constexpr auto between_plain_lines = 10s;
constexpr auto forgotten_after = 2s;  // of a layer only a part may be wanted, which nobody says
constexpr std::size_t longest_name = 60;
constexpr std::size_t longest_question = 100;
constexpr std::size_t most_lines = 8;

/// At most `bytes` bytes, and no half character.
std::string cut(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes != 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
  return text;
}

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1u : 79u;  // the last column would wrap
}

std::string amount(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? human_size(done) : human_size(done) + " of " + human_size(total);
}

std::string rate(std::uint64_t bytes, std::chrono::steady_clock::duration time) {
  if (time < 500ms) return "";
  const double seconds = std::chrono::duration<double>(time).count();
  return fmt::format(", {}/s", human_size(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)));
}

std::string looking_for(std::string_view question) {
  return question.empty() ? "" : ", looking for " + cut(escape_for_display(question.substr(0, 400)), longest_question);
}

}  // namespace

ProgressMode progress_mode(const std::string& text) {
  if (text == "plain") return ProgressMode::plain;
  if (text == "none") return ProgressMode::none;
  return ::isatty(STDERR_FILENO) == 1 ? ProgressMode::line : ProgressMode::none;
}

Progress::Progress(std::string name, ProgressMode mode) : name_(cut(display_safe(name), longest_name)), mode_(mode) {}

Progress::~Progress() {
  if (lines_ == 0) return;
  tell(lines_ > 1 ? fmt::format("\r\x1b[{}A\x1b[J", lines_ - 1) : "\r\x1b[J");
}

void Progress::show(const ReadProgress& now) {
  if (mode_ == ProgressMode::none) return;
  const Time time = std::chrono::steady_clock::now();
  const auto [place, inserted] = layers_.try_emplace(now.layer);
  Layer& layer = place->second;
  const bool is_new = inserted || now.layer_done < layer.done;  // or it is read again
  if (is_new) layer = {.first = now.layer_done, .began = time, .told = time};
  layer.done = now.layer_done;
  layer.total = now.layer_total;
  layer.heard = time;
  if (mode_ == ProgressMode::plain)
    tell_plain(now, layer, is_new, time);
  else if (time - drawn_ >= between_drawings)
    draw(now, time);
  if (layer.total != 0 && layer.done >= layer.total) layers_.erase(place);
}

void Progress::draw(const ReadProgress& now, Time time) {
  drawn_ = time;
  std::erase_if(layers_, [&](const auto& layer) { return time - layer.second.heard > forgotten_after; });
  const std::size_t width = terminal_width();
  std::string text = lines_ > 1 ? fmt::format("\r\x1b[{}A\x1b[J", lines_ - 1) : "\r\x1b[J";
  text += cut(fmt::format("reading {}: {}", name_, amount(now.done, now.total)), width);
  lines_ = 1;
  const std::string question = looking_for(now.question);
  for (const auto& [number, layer] : layers_) {
    if (lines_ == most_lines) break;
    ++lines_;
    text += "\n" + cut(fmt::format("  layer {} of {}: {}{}{}", number + 1, std::max(now.layers, number + 1),
                                   amount(layer.done, layer.total), rate(layer.done - layer.first, time - layer.began),
                                   question),
                       width);
  }
  tell(text);
}

void Progress::tell_plain(const ReadProgress& now, Layer& layer, bool is_new, Time time) const {
  const bool ends = layer.total != 0 && layer.done >= layer.total;
  if (!is_new && !ends && time - layer.told < between_plain_lines) return;
  layer.told = time;
  tell(fmt::format("imgforge: reading {}: layer {} of {}: {}{}{}\n", name_, now.layer + 1,
                   std::max(now.layers, now.layer + 1), amount(layer.done, layer.total),
                   rate(layer.done - layer.first, time - layer.began), looking_for(now.question)));
}

}  // namespace imgforge
