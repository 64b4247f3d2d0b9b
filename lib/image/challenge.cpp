#include "image/challenge.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace imgforge {

namespace {

bool is_token_character(char c) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         others.find(c) != std::string_view::npos;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  std::size_t position() const { return position_; }
  void back_to(std::size_t position) { position_ = position; }
  void skip(std::string_view characters) {
    while (!at_end() && characters.find(peek()) != std::string_view::npos) ++position_;
  }
  /// Whether a comma was among what was skipped.
  bool skip_list_separators() {
    bool comma = false;
    for (; !at_end() && (peek() == ' ' || peek() == '\t' || peek() == ','); ++position_) comma = comma || peek() == ',';
    return comma;
  }
  std::string_view token() {
    const std::size_t start = position_;
    while (!at_end() && is_token_character(peek())) ++position_;
    return text_.substr(start, position_ - start);
  }
  /// Token characters, "/" and the "=" at the end: credentials in one piece, which nobody here needs.
  void skip_token68() {
    while (!at_end() && (is_token_character(peek()) || peek() == '/' || peek() == '=')) ++position_;
  }
  bool take(char c) {
    if (peek() != c || at_end()) return false;
    ++position_;
    return true;
  }
  /// Behind the opening quote; nothing where the closing one is missing.
  std::optional<std::string> quoted() {
    std::string result;
    while (!at_end()) {
      char c = text_[position_++];
      if (c == '"') return result;
      if (c == '\\') {
        if (at_end()) return std::nullopt;
        c = text_[position_++];
      }
      result += c;
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// "name=value" at the scanner, or nothing and the scanner unmoved.
std::optional<std::pair<std::string, std::string>> parameter(Scanner& scanner) {
  const std::size_t start = scanner.position();
  const std::string name = lower(scanner.token());
  scanner.skip(" \t");
  if (!name.empty() && scanner.take('=')) {
    scanner.skip(" \t");
    if (scanner.take('"')) {
      if (std::optional<std::string> value = scanner.quoted()) return std::pair(name, std::move(*value));
    } else if (const std::string_view value = scanner.token(); !value.empty()) {
      return std::pair(name, std::string(value));
    }
  }
  scanner.back_to(start);
  return std::nullopt;
}

}  // namespace

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> challenges;
  Scanner scanner(header);
  scanner.skip_list_separators();
  while (!scanner.at_end()) {
    Challenge challenge{lower(scanner.token()), {}};
    if (challenge.scheme.empty()) return challenges;
    // A scheme stands alone or before a space; "name=" here would be a parameter that belongs to nothing.
    if (!scanner.at_end() && scanner.peek() != ' ' && scanner.peek() != '\t' && scanner.peek() != ',')
      return challenges;
    bool comma = scanner.skip_list_separators();
    bool first = true;
    while (!scanner.at_end()) {
      if (auto found = parameter(scanner)) {
        challenge.parameters.emplace(std::move(found->first), std::move(found->second));
      } else if (first && !comma) {
        scanner.skip_token68();
      } else {
        break;  // the next challenge
      }
      first = false;
      const std::size_t before = scanner.position();
      comma = scanner.skip_list_separators();
      if (!comma && !scanner.at_end()) {
        scanner.back_to(before);
        break;
      }
    }
    challenges.push_back(std::move(challenge));
    if (!comma && !scanner.at_end()) return challenges;  // something stands where a comma has to be
  }
  return challenges;
}

}  // namespace imgforge
