#include "facts/shebang.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace imgforge {

std::optional<std::vector<std::string>> parse_shebang(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, std::min(text.find('\n'), std::size_t{257}) - 2);
  line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  std::vector<std::string> words;
  const std::size_t space = line.find_first_of(" \t");
  words.emplace_back(line.substr(0, space));
  if (space == std::string_view::npos) return words;
  const std::string_view rest = trim(line.substr(space));
  const bool splits = words.front().ends_with("/env") && (rest.starts_with("-S") || rest.starts_with("--split-string"));
  if (!splits) {
    words.emplace_back(rest);
    return words;
  }
  std::string word;
  for (const char c : std::string(rest) + ' ') {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

}  // namespace imgforge
