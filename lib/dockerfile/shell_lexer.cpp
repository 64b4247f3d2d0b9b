#include "dockerfile/shell_lexer.hpp"

#include <algorithm>
#include <optional>

#include "dockerfile/pattern.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

constexpr std::size_t deepest = 64;  // of ${A:-${B:-...}}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_special_parameter(char c) { return std::string_view("@*#?-$!").find(c) != std::string_view::npos; }

class Lexer {
 public:
  Lexer(std::string_view source, const LexerOptions& options, const LookUp& look_up)
      : source_(source), options_(options), raw_escapes_(options.raw_escapes), look_up_(look_up) {}

  Lexed run() {
    Lexed result;
    std::optional<std::string> text = until(std::nullopt, options_.raw_escapes, &result.words);
    if (!text) {
      result.error = error_;
      result.words.clear();
    } else {
      result.text = std::move(*text);
    }
    result.undeclared = std::move(undeclared_);
    result.unknown = std::move(unknown_);
    return result;
  }

 private:
  // Splits at white space that was neither quoted nor escaped. Nothing between two spaces is no word; "" is none
  // either.
  class Splitter {
   public:
    explicit Splitter(std::vector<std::string>* words) : words_(words) {}
    void add(std::string_view text) {
      for (std::size_t i = 0; i < text.size();) {
        const std::size_t space = space_length(text, i);
        if (space == 0) {
          add_raw(text.substr(i, 1));
        } else if (!word_.empty()) {
          finish();
        }
        i += space == 0 ? 1 : space;
      }
    }
    void add_raw(std::string_view text) {
      if (words_ != nullptr) word_ += text;
    }
    void finish() {
      if (words_ != nullptr && !word_.empty()) words_->push_back(std::move(word_));
      word_.clear();
    }

   private:
    std::vector<std::string>* words_;
    std::string word_;
  };

  bool at_end() const { return position_ >= source_.size(); }
  char peek() const { return source_[position_]; }
  bool peek_is(char c) const { return !at_end() && peek() == c; }

  std::nullopt_t fail(std::string message) {
    error_ = std::move(message);
    return std::nullopt;
  }

  // Text up to `stop`, which is taken, too; without `stop` to the end.
  std::optional<std::string> until(std::optional<char> stop, bool raw_escapes, std::vector<std::string>* words) {
    const bool outer_raw_escapes = raw_escapes_;
    raw_escapes_ = raw_escapes;
    std::optional<std::string> text = until_stop(stop, words);
    raw_escapes_ = outer_raw_escapes;
    return text;
  }

  std::optional<std::string> until_stop(std::optional<char> stop, std::vector<std::string>* words) {
    std::string text;
    Splitter splitter(words);
    while (!at_end()) {
      const char c = peek();
      if (stop && c == *stop) {
        ++position_;
        splitter.finish();
        return text;
      }
      std::optional<std::string> part;
      if (c == '$') {
        if (!(part = dollar())) return std::nullopt;
        text += *part;
        splitter.add(*part);
      } else if (c == '<') {
        text += *(part = heredoc_sign());
        splitter.add_raw(*part);
      } else if (!options_.skip_quotes && (c == '\'' || c == '"')) {
        if (!(part = c == '"' ? double_quoted() : single_quoted())) return std::nullopt;
        text += *part;
        splitter.add_raw(*part);
      } else {
        const std::size_t length = std::max<std::size_t>(1, space_length(source_, position_));
        const std::string_view character = source_.substr(position_, length);
        position_ += length;
        if (c != options_.escape) {
          text += character;
          splitter.add(character);
          continue;
        }
        if (raw_escapes_) {
          text += c;
          splitter.add_raw(character);
        }
        if (at_end()) break;
        const char escaped = source_[position_++];
        text += escaped;
        splitter.add_raw(std::string_view(&escaped, 1));
      }
    }
    if (stop) return fail("unexpected end of statement while looking for matching " + std::string(1, *stop));
    splitter.finish();
    return text;
  }

  std::optional<std::string> single_quoted() {
    const std::size_t end = source_.find('\'', position_ + 1);
    if (end == std::string_view::npos) {
      position_ = source_.size();
      return fail("unexpected end of statement while looking for matching single-quote");
    }
    std::string text(source_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return options_.raw_quotes ? "'" + text + "'" : text;
  }

  std::optional<std::string> double_quoted() {
    std::string text;
    ++position_;
    if (options_.raw_quotes) text += '"';
    while (!at_end()) {
      const char c = peek();
      if (c == '$') {
        const std::optional<std::string> value = dollar();
        if (!value) return std::nullopt;
        text += *value;
        continue;
      }
      ++position_;
      if (c == '"') {
        if (options_.raw_quotes) text += '"';
        return text;
      }
      if (c != options_.escape) {
        text += c;
        continue;
      }
      if (raw_escapes_) text += c;
      if (at_end()) continue;
      // Only these can be escaped in double quotes; before anything else the escape stays.
      const char next = peek();
      if (next == '"' || next == '$' || next == options_.escape) {
        ++position_;
        text += next;
      } else {
        text += c;
      }
    }
    return fail("unexpected end of statement while looking for matching double-quote");
  }

  // "<<" with the white space behind it, so that "<< EOF" is one word.
  std::string heredoc_sign() {
    ++position_;
    if (!peek_is('<')) return "<";
    ++position_;
    std::string text = "<<";
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) text += source_[position_++];
    return text;
  }

  std::string name() {
    const std::size_t start = position_;
    if (at_end()) return {};
    if (is_digit(peek())) {
      while (!at_end() && is_digit(peek())) ++position_;
    } else if (is_special_parameter(peek())) {
      ++position_;
    } else {
      while (!at_end() && is_name_character(peek())) ++position_;
    }
    return std::string(source_.substr(start, position_ - start));
  }

  Variable find(const std::string& name) const { return look_up_ ? look_up_(name) : Variable{}; }

  // A variable's value where nothing stands in for it.
  std::string plain(const std::string& name, const Variable& variable) {
    if (variable.state == Variable::State::unknown) unknown_.push_back(name);
    if (variable.state == Variable::State::unset) undeclared_.push_back(name);
    return variable.state == Variable::State::set ? variable.value : std::string();
  }

  std::optional<std::string> dollar() {
    ++position_;
    if (!peek_is('{')) {
      const std::string variable_name = name();
      if (variable_name.empty()) return "$";
      const Variable variable = find(variable_name);
      if (options_.keep_unset && variable.state == Variable::State::unset) return "$" + variable_name;
      return plain(variable_name, variable);
    }
    ++position_;
    if (at_end()) return fail("syntax error: missing '}'");
    if (peek() == '{' || peek() == '}' || peek() == ':') return fail("syntax error: bad substitution");
    if (depth_ == deepest) return fail("substitutions are nested more than " + std::to_string(deepest) + " deep");
    ++depth_;
    std::optional<std::string> text = braced();
    --depth_;
    return text;
  }

  std::nullopt_t unsupported(std::string_view modifier) {
    return fail("unsupported modifier (" + std::string(modifier) + ") in substitution");
  }

  std::optional<std::string> braced() {
    const std::string variable_name = name();
    if (at_end()) return fail("syntax error: missing '}'");
    const std::size_t modifier_start = position_;
    char modifier = source_[position_++];
    if (modifier == '}') {
      const Variable variable = find(variable_name);
      if (options_.keep_unset && variable.state == Variable::State::unset) return "${" + variable_name + "}";
      return plain(variable_name, variable);
    }
    if (modifier == '/') return replaced(variable_name);
    const bool empty_is_unset = modifier == ':';
    if (empty_is_unset) {
      if (at_end()) return fail("syntax error: missing '}'");
      modifier = source_[position_++];
    }
    const std::string signs(source_.substr(modifier_start, position_ - modifier_start));
    const bool cuts = modifier == '#' || modifier == '%';
    if (empty_is_unset ? cuts : !cuts && std::string_view("+-?").find(modifier) == std::string_view::npos) {
      return unsupported(signs);
    }
    // Whatever the word asks for counts only where the word is used.
    const std::size_t undeclared_before = undeclared_.size();
    const std::size_t unknown_before = unknown_.size();
    std::optional<std::string> word = until('}', cuts, nullptr);
    if (!word) return at_end() ? fail("syntax error: missing '}'") : word;
    if (empty_is_unset && std::string_view("+-?").find(modifier) == std::string_view::npos) return unsupported(signs);
    const auto forget_word = [&] {
      undeclared_.resize(undeclared_before);
      unknown_.resize(unknown_before);
    };

    const Variable variable = find(variable_name);
    if (options_.keep_unset && variable.state == Variable::State::unset)
      return "${" + variable_name + signs + *word + "}";
    if (variable.state == Variable::State::unknown) {
      forget_word();
      unknown_.push_back(variable_name);
      return "";
    }
    const bool set = variable.state == Variable::State::set && !(empty_is_unset && variable.value.empty());
    switch (modifier) {
      case '-':
        if (!set) return word;
        forget_word();
        return variable.value;
      case '+':
        if (set) return word;
        forget_word();
        return "";
      case '?':
        if (!set) return fail(variable_name + ": " + missing_message(*word, variable));
        forget_word();
        return variable.value;
      default: return cut(variable_name, variable, modifier, *word);
    }
  }

  static std::string missing_message(const std::string& word, const Variable& variable) {
    if (!word.empty()) return word;
    return variable.state == Variable::State::set ? "is not allowed to be empty" : "is not allowed to be unset";
  }

  std::optional<std::string> cut(const std::string& variable_name, const Variable& variable, char modifier,
                                 std::string_view word) {
    const bool longest = word.starts_with(modifier);
    if (longest) word.remove_prefix(1);
    const PatternEnd end = modifier == '#' ? PatternEnd::prefix : PatternEnd::suffix;
    return finished(variable_name, cut_pattern(plain(variable_name, variable), word, end, longest));
  }

  std::optional<std::string> replaced(const std::string& variable_name) {
    const bool all = peek_is('/');
    if (all) ++position_;
    const std::optional<std::string> pattern = until('/', true, nullptr);
    if (!pattern) return at_end() ? fail("syntax error: missing '/' in ${}") : pattern;
    const std::optional<std::string> replacement = until('}', true, nullptr);
    if (!replacement) return at_end() ? fail("syntax error: missing '}'") : replacement;
    const Variable variable = find(variable_name);
    if (options_.keep_unset && variable.state == Variable::State::unset) {
      return "${" + variable_name + "/" + *pattern + "/" + *replacement + "}";
    }
    return finished(variable_name, replace_pattern(plain(variable_name, variable), *pattern, *replacement, all));
  }

  std::optional<std::string> finished(const std::string& variable_name, PatternResult result) {
    if (!result.error.empty()) return fail(std::move(result.error));
    if (!result.text) {
      unknown_.push_back(variable_name);
      return "";
    }
    return result.text;
  }

  std::string_view source_;
  LexerOptions options_;
  bool raw_escapes_;
  const LookUp& look_up_;
  std::size_t position_ = 0;
  std::size_t depth_ = 0;
  std::string error_;
  std::vector<std::string> undeclared_;
  std::vector<std::string> unknown_;
};

}  // namespace

Lexed lex(std::string_view source, const LexerOptions& options, const LookUp& look_up) {
  return Lexer(source, options, look_up).run();
}

}  // namespace imgforge::dockerfile
