#include <algorithm>

#include "dockerfile/dockerfile.hpp"

namespace imgforge::dockerfile {

void MappedText::append(std::string_view text, const Place& place) {
  if (text.empty()) return;
  runs_.push_back({text_.size(), place});
  text_ += text;
}

void MappedText::append(const MappedText& part) {
  for (const Run& run : part.runs_) runs_.push_back({text_.size() + run.offset, run.place});
  text_ += part.text_;
}

Place MappedText::place_at(std::size_t offset) const {
  if (runs_.empty()) return {};
  offset = std::min(offset, text_.size() - 1);
  auto run = std::upper_bound(runs_.begin(), runs_.end(), offset,
                              [](std::size_t at, const Run& candidate) { return at < candidate.offset; });
  --run;
  Place place = run->place;
  place.column += offset - run->offset;
  return place;
}

MappedText MappedText::slice(std::size_t offset, std::size_t length) const {
  MappedText part;
  if (offset >= text_.size()) return part;
  const std::size_t end = offset + std::min(length, text_.size() - offset);
  auto run = std::upper_bound(runs_.begin(), runs_.end(), offset,
                              [](std::size_t at, const Run& candidate) { return at < candidate.offset; });
  --run;
  for (; run != runs_.end() && run->offset < end; ++run) {
    const std::size_t from = std::max(run->offset, offset);
    const std::size_t to = std::next(run) == runs_.end() ? end : std::min(std::next(run)->offset, end);
    Place place = run->place;
    place.column += from - run->offset;
    part.append(std::string_view(text_).substr(from, to - from), place);
  }
  return part;
}

}  // namespace imgforge::dockerfile
