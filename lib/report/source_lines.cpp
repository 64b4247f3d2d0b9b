#include "report/source_lines.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "recipe/secret.hpp"

namespace imgforge {

std::optional<std::string_view> SourceLines::line(const Place& place) {
  auto found = lines_.find(place.file);
  if (found == lines_.end()) {
    const auto text = texts_.find(place.file);
    if (text == texts_.end() || text->second == nullptr) return std::nullopt;
    found = lines_.emplace(place.file, lines(*text->second)).first;
  }
  if (place.line == 0 || place.line > found->second.size()) return std::nullopt;
  return found->second[place.line - 1];
}

std::size_t SourceLines::column(const Place& place) {
  if (place.line == 0 || place.column == 0) return 0;
  const std::optional<std::string_view> text = line(place);
  if (!text) return place.column;
  const std::string_view before = text->substr(0, std::min(place.column - 1, text->size()));
  const auto characters = std::count_if(before.begin(), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return static_cast<std::size_t>(characters) + 1;
}

std::string SourceLines::shown(const Place& place) {
  const std::optional<std::string_view> text = line(place);
  constexpr std::size_t longest = 64 * 1024;
  if (!text || trim(*text).empty() || text->size() > longest || looks_secret(*text, *text)) return {};
  Diagnostic diagnostic;
  diagnostic.place = place;
  diagnostic.line_text = std::string(*text);
  return shown_line(diagnostic);
}

}  // namespace imgforge
