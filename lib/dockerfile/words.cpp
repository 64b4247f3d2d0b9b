#include "dockerfile/words.hpp"

#include <nlohmann/json.hpp>

#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

// Texts of one array; anything else in it is only noted. The parser behind it does not recurse.
class StringArrayHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<std::string> strings;
  bool only_strings = true;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool start_object(std::size_t) override { return other(); }
  bool key(string_t&) override { return other(); }
  bool end_object() override { return true; }
  bool string(string_t& value) override {
    if (only_strings) strings.push_back(value);
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_++ != 0) only_strings = false;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool other() {
    only_strings = false;
    return true;
  }
  std::size_t depth_ = 0;
};

// Where the texts of a valid array start: at their opening quotes.
std::vector<std::size_t> string_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '"') continue;
    offsets.push_back(i);
    for (++i; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\') ++i;
    }
  }
  return offsets;
}

// Takes flags off the front of `text` from `position` on; returns where the arguments begin.
std::size_t take_flags(std::string_view text, std::size_t position, char escape, std::vector<Span>& flags) {
  for (;;) {
    while (position < text.size() && is_byte_space(text[position])) ++position;
    if (!text.substr(position).starts_with("--")) return position;
    Span flag{position, {}};
    char quote = '\0';
    for (; position < text.size(); ++position) {
      char c = text[position];
      if (quote == '\0' && is_byte_space(c)) break;
      if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
        quote = quote == '\0' ? c : '\0';
        continue;
      }
      if (c == escape) {
        if (++position == text.size()) break;
        c = text[position];
      }
      flag.text += c;
    }
    if (flag.text == "--") return position;
    flags.push_back(std::move(flag));
  }
}

}  // namespace

std::vector<Span> split_at_spaces(std::string_view text) {
  std::vector<Span> words;
  for (std::size_t i = 0; i < text.size();) {
    if (is_word_space(text[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < text.size() && !is_word_space(text[i])) ++i;
    words.push_back({start, std::string(text.substr(start, i - start))});
  }
  return words;
}

std::vector<Span> split_quoted(std::string_view text, char escape) {
  std::vector<Span> words;
  std::size_t i = 0;
  for (;;) {
    while (const std::size_t length = space_length(text, i)) i += length;
    if (i >= text.size()) return words;
    Span word{i, {}};
    char quote = '\0';
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (quote == '\0' && space_length(text, i) != 0) break;
      if (c == escape && quote != '\'') {
        if (i + 1 == text.size()) continue;  // at the end it escapes nothing
        word.text += c;
        word.text += text[++i];
        continue;
      }
      if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = '\0';
      }
      word.text += c;
    }
    if (!word.text.empty()) words.push_back(std::move(word));
  }
}

Command split_command(std::string_view text, char escape) {
  const auto offset_of = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - text.data()); };
  const std::string_view trimmed = trim_space(text);
  const std::size_t end = offset_of(trimmed) + trimmed.size();
  std::size_t position = offset_of(trimmed);
  while (position < end && !is_word_space(text[position])) ++position;
  Command command;
  command.keyword_offset = offset_of(trimmed);
  command.keyword = std::string(text.substr(command.keyword_offset, position - command.keyword_offset));
  position = take_flags(text.substr(0, end), position, escape, command.flags);
  const std::string_view arguments = trim_space(text.substr(position, end - position));
  command.arguments_offset = arguments.empty() ? end : offset_of(arguments);
  command.arguments_length = arguments.size();
  return command;
}

JsonStrings read_json_strings(std::string_view text) {
  JsonStrings result;
  if (!trim_left_space(text).starts_with('[')) return result;
  StringArrayHandler handler;
  if (!nlohmann::json::sax_parse(text, &handler)) return result;
  if (!handler.only_strings) {
    result.kind = JsonStrings::Kind::not_strings;
    return result;
  }
  result.kind = JsonStrings::Kind::strings;
  const std::vector<std::size_t> offsets = string_offsets(text);
  for (std::size_t i = 0; i < handler.strings.size() && i < offsets.size(); ++i) {
    result.strings.push_back({offsets[i], std::move(handler.strings[i])});
  }
  return result;
}

}  // namespace imgforge::dockerfile
