#include "facts/shell_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace imgforge::shell {
namespace {

constexpr std::size_t max_text = 256 << 10;
constexpr int max_depth = 48;
constexpr std::size_t max_commands = 20'000;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

bool is_declaration(std::string_view word) {
  static constexpr std::array<std::string_view, 5> words = {"export", "declare", "local", "readonly", "typeset"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Statements script() {
    Statements statements = list();
    if (!at_end()) fail("unexpected text");
    return statements;
  }

 private:
  // Failures unwind the recursion; they never leave parse().
  [[noreturn]] void fail(std::string_view what) const {
    const auto line =
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n') + 1;
    throw Error(ErrorKind::image_unsupported, fmt::format("line {}: {}", line, what));
  }

  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > max_depth) parser_.fail("too deeply nested");
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser_;
  };

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view what) const { return text_.substr(std::min(at_, text_.size())).starts_with(what); }

  void skip_blank() {
    while (!at_end()) {
      if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
        ++at_;
      } else if (looking_at("\\\n")) {
        at_ += 2;
      } else if (looking_at("\\\r\n")) {
        at_ += 3;
      } else if (peek() == '#') {
        while (!at_end() && peek() != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void newline() {
    ++at_;
    for (const auto& [delimiter, strip] : heredocs_) skip_heredoc(delimiter, strip);
    heredocs_.clear();
  }

  void skip_heredoc(const std::string& delimiter, bool strip) {
    while (!at_end()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (strip) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == delimiter) return;
    }
  }

  void skip_lines() {
    for (;;) {
      skip_blank();
      if (peek() != '\n' || at_end()) return;
      newline();
    }
  }

  /// The bare word at the cursor, without moving: how reserved words are recognised.
  std::string_view bare_word() const {
    std::size_t end = at_;
    while (end < text_.size() && std::string_view(" \t\r\n;&|<>()").find(text_[end]) == std::string_view::npos) ++end;
    return text_.substr(std::min(at_, text_.size()), end - at_);
  }

  bool take_word(std::string_view word) {
    if (bare_word() != word) return false;
    at_ += word.size();
    return true;
  }

  void expect_word(std::string_view word) {
    skip_lines();
    if (!take_word(word)) fail(fmt::format("expected \"{}\"", word));
  }

  bool ends_list() const {
    if (at_end() || peek() == ')' || looking_at(";;") || looking_at(";&")) return true;
    static constexpr std::array<std::string_view, 8> words = {"then", "do", "done", "fi", "elif", "else", "esac", "}"};
    return std::find(words.begin(), words.end(), bare_word()) != words.end();
  }

  Statements list() {
    const Deeper deeper(*this);
    Statements statements;
    for (;;) {
      skip_lines();
      if (ends_list()) return statements;
      statements.push_back(statement());
      skip_blank();
      if (at_end() || ends_list()) continue;
      if (peek() == '\n') {
        newline();
      } else if (peek() == ';') {
        ++at_;
      } else if (peek() == '&') {
        ++at_;
        statements.back().background = true;
      } else {
        fail(fmt::format("unexpected '{}'", peek()));
      }
    }
  }

  Statement statement() {
    Statement statement;
    statement.steps.push_back({Statement::Join::always, pipeline()});
    for (;;) {
      skip_blank();
      const bool success = looking_at("&&");
      if (!success && !looking_at("||")) return statement;
      at_ += 2;
      skip_lines();
      statement.steps.push_back({success ? Statement::Join::if_success : Statement::Join::if_failure, pipeline()});
    }
  }

  Pipeline pipeline() {
    Pipeline pipeline;
    skip_blank();
    for (;;) {
      if (take_word("!")) {
        pipeline.negated = !pipeline.negated;
      } else if (bare_word() == "time") {
        take_word("time");
        skip_blank();
        take_word("-p");
      } else {
        break;
      }
      skip_blank();
    }
    pipeline.commands.push_back(command());
    for (;;) {
      skip_blank();
      if (peek() != '|' || peek(1) == '|') return pipeline;
      at_ += peek(1) == '&' ? 2 : 1;
      skip_lines();
      pipeline.commands.push_back(command());
    }
  }

  Command command() {
    const Deeper deeper(*this);
    if (++commands_ > max_commands) fail("too many commands");
    skip_blank();
    Command result;
    if (looking_at("((")) {
      result.kind = Command::Kind::arithmetic;
      skip_parentheses();
    } else if (peek() == '(') {
      ++at_;
      result.kind = Command::Kind::subshell;
      result.body = list();
      if (peek() != ')') fail("expected ')'");
      ++at_;
    } else if (take_word("{")) {
      result.kind = Command::Kind::group;
      result.body = list();
      expect_word("}");
    } else if (take_word("if")) {
      result = condition();
    } else if (bare_word() == "while" || bare_word() == "until") {
      result.kind = Command::Kind::loop;
      result.words.push_back(literal(bare_word()));
      at_ += bare_word().size();
      result.condition = list();
      expect_word("do");
      result.body = list();
      expect_word("done");
    } else if (take_word("for") || take_word("select")) {
      result = each();
    } else if (take_word("case")) {
      result = choice();
    } else if (take_word("function")) {
      skip_blank();
      result.kind = Command::Kind::function;
      result.name = std::string(bare_word());
      at_ += result.name.size();
      skip_blank();
      if (peek() == '(') skip_parentheses();
      skip_lines();
      result.body = function_body();
    } else if (bare_word() == "coproc") {
      fail("coproc is not followed");
    } else {
      return simple();
    }
    skip_redirections();
    return result;
  }

  Command condition() {
    const Deeper deeper(*this);
    Command result;
    result.kind = Command::Kind::condition;
    result.condition = list();
    expect_word("then");
    result.body = list();
    if (take_word("elif")) {
      Statement nested;
      nested.steps.emplace_back();
      nested.steps.back().pipeline.commands.push_back(condition());
      result.otherwise.push_back(std::move(nested));
      return result;
    }
    if (take_word("else")) result.otherwise = list();
    expect_word("fi");
    return result;
  }

  Command each() {
    Command result;
    result.kind = Command::Kind::each;
    skip_blank();
    if (looking_at("((")) {
      skip_parentheses();
    } else {
      result.name = std::string(bare_word());
      at_ += result.name.size();
      skip_lines();
      if (take_word("in")) {
        for (;;) {
          skip_blank();
          if (at_end() || peek() == '\n' || peek() == ';') break;
          result.words.push_back(word());
        }
      }
    }
    skip_blank();
    if (peek() == ';') ++at_;
    expect_word("do");
    result.body = list();
    expect_word("done");
    return result;
  }

  Command choice() {
    Command result;
    result.kind = Command::Kind::choice;
    skip_blank();
    result.words.push_back(word());
    expect_word("in");
    for (;;) {
      skip_lines();
      if (take_word("esac")) return result;
      if (at_end()) fail("expected \"esac\"");
      Arm arm;
      if (peek() == '(') ++at_;
      for (;;) {
        skip_blank();
        arm.patterns.push_back(word());
        skip_blank();
        if (peek() != '|') break;
        ++at_;
      }
      if (peek() != ')') fail("expected ')' in case");
      ++at_;
      arm.body = list();
      result.arms.push_back(std::move(arm));
      if (looking_at(";;&")) {
        at_ += 3;
      } else if (looking_at(";;") || looking_at(";&")) {
        at_ += 2;
      }
    }
  }

  Statements function_body() {
    Statement statement;
    statement.steps.emplace_back();
    statement.steps.back().pipeline.commands.push_back(command());
    Statements body;
    body.push_back(std::move(statement));
    return body;
  }

  Command simple() {
    Command result;
    const std::size_t start = at_;
    bool declaration = false;
    for (;;) {
      skip_blank();
      if (at_end() || std::string_view("\n;|)").find(peek()) != std::string_view::npos) break;
      if (peek() == '&' && peek(1) != '>') break;
      if (redirection()) continue;
      if (result.words.empty() || declaration) {
        if (assignment(result.assignments)) continue;
      }
      if (peek() == '(') {
        // A function definition: name ( ) compound-command.
        if (result.words.size() != 1 || !result.assignments.empty()) fail("unexpected '('");
        ++at_;
        skip_blank();
        if (peek() != ')') fail("expected ')'");
        ++at_;
        skip_lines();
        Command function;
        function.kind = Command::Kind::function;
        function.name = result.words.front().written;
        function.body = function_body();
        return function;
      }
      if (result.words.empty() && take_word("[[")) {
        result.words.push_back(literal("[["));
        double_brackets(result);
        continue;
      }
      result.words.push_back(word());
      if (result.words.size() == 1) declaration = is_declaration(result.words.front().written);
      if (result.words.size() > max_commands) fail("too many words");
    }
    if (at_ == start) fail(at_end() ? "unexpected end" : fmt::format("unexpected '{}'", peek()));
    return result;
  }

  /// The inside of [[ ]], where && and < are no shell operators.
  void double_brackets(Command& result) {
    for (;;) {
      skip_blank();
      if (at_end()) fail("expected \"]]\"");
      if (peek() == '\n') {
        newline();
      } else if (take_word("]]")) {
        result.words.push_back(literal("]]"));
        return;
      } else if (std::string_view("()<>;&|").find(peek()) != std::string_view::npos) {
        const std::size_t size = looking_at("&&") || looking_at("||") ? 2 : 1;
        result.words.push_back(literal(text_.substr(at_, size)));
        at_ += size;
      } else {
        result.words.push_back(word(true));
      }
      if (result.words.size() > max_commands) fail("too many words");
    }
  }

  static Word literal(std::string_view text) {
    Word word;
    word.pieces.push_back({Piece::Kind::literal, std::string(text), false});
    word.written = std::string(text);
    return word;
  }

  bool assignment(std::vector<Assignment>& into) {
    std::size_t end = at_;
    if (end >= text_.size() || !is_name_start(text_[end])) return false;
    while (end < text_.size() && is_name(text_[end])) ++end;
    Assignment found;
    found.name = std::string(text_.substr(at_, end - at_));
    if (end < text_.size() && text_[end] == '[') {
      const std::size_t close = text_.substr(end, 256).find(']');
      if (close == std::string_view::npos) return false;
      // One element: the array as a whole is not known any more.
      found.append = true;
      found.array = true;
      end += close + 1;
    }
    if (end < text_.size() && text_[end] == '+') {
      found.append = true;
      ++end;
    }
    if (end >= text_.size() || text_[end] != '=') return false;
    at_ = end + 1;
    if (peek() == '(') {
      ++at_;
      found.array = true;
      for (;;) {
        skip_lines();
        if (at_end()) fail("expected ')'");
        if (peek() == ')') break;
        found.values.push_back(word());
        if (found.values.size() > max_commands) fail("too many words");
      }
      ++at_;
    } else if (!at_end() && std::string_view(" \t\r\n;&|<>)").find(peek()) == std::string_view::npos) {
      found.values.push_back(word());
    } else {
      found.values.push_back(literal(""));
    }
    into.push_back(std::move(found));
    return true;
  }

  void skip_redirections() {
    do skip_blank();
    while (redirection());
  }

  /// A redirection at the cursor, if there is one.
  bool redirection() {
    std::size_t start = at_;
    while (start < text_.size() && is_digit(text_[start])) ++start;
    if (start < text_.size() && text_[start] == '{' && start == at_) {
      const std::size_t close = text_.substr(start, 64).find('}');
      const std::size_t behind = start + close + 1;
      if (close != std::string_view::npos && behind < text_.size() && (text_[behind] == '<' || text_[behind] == '>')) {
        start = behind;
      }
    }
    if (start >= text_.size()) return false;
    const std::string_view rest = text_.substr(start);
    if (rest.starts_with("<(") || rest.starts_with(">(")) return false;  // a word: process substitution
    static constexpr std::array<std::string_view, 13> operators = {"<<<", "<<-", "<<", "<&", "<>", "<", "&>>",
                                                                   "&>",  ">>",  ">&", ">|", ">",  ""};
    const auto found =
        std::find_if(operators.begin(), operators.end(), [&](std::string_view one) { return rest.starts_with(one); });
    if (found->empty()) return false;
    at_ = start + found->size();
    skip_blank();
    const Word target = word();
    if (*found == "<<" || *found == "<<-") {
      std::string delimiter;
      for (const Piece& piece : target.pieces) delimiter += piece.text;
      heredocs_.emplace_back(std::move(delimiter), *found == "<<-");
    }
    return true;
  }

  /// A word; `inside_test` is for [[ ]], where patterns may hold characters that end words elsewhere.
  Word word(bool inside_test = false) {
    const Deeper deeper(*this);
    Word result;
    const std::size_t start = at_;
    const auto add = [&](Piece::Kind kind, std::string_view text, bool quoted) {
      if (kind == Piece::Kind::literal && !result.pieces.empty() && result.pieces.back().kind == kind &&
          result.pieces.back().quoted == quoted) {
        result.pieces.back().text += text;
      } else {
        result.pieces.push_back({kind, std::string(text), quoted});
      }
    };
    int parentheses = 0;
    while (!at_end()) {
      const char c = peek();
      if (c == '\\') {
        if (peek(1) == '\n') {
          at_ += 2;
          continue;
        }
        if (at_ + 1 < text_.size()) add(Piece::Kind::literal, text_.substr(at_ + 1, 1), true);
        at_ = std::min(at_ + 2, text_.size());
      } else if (c == '\'') {
        const std::size_t end = text_.find('\'', at_ + 1);
        if (end == std::string_view::npos) fail("a quote is not closed");
        add(Piece::Kind::literal, text_.substr(at_ + 1, end - at_ - 1), true);
        at_ = end + 1;
      } else if (c == '"' || (c == '$' && peek(1) == '"')) {
        at_ += c == '$' ? 2 : 1;
        double_quoted(add);
      } else if (c == '$' && peek(1) == '\'') {
        const std::size_t from = at_;
        at_ += 2;
        while (!at_end() && peek() != '\'') at_ += peek() == '\\' ? 2 : 1;
        if (at_end()) fail("a quote is not closed");
        ++at_;
        const std::string_view inner = text_.substr(from + 2, at_ - from - 3);
        const bool plain = inner.find('\\') == std::string_view::npos;
        add(plain ? Piece::Kind::literal : Piece::Kind::other, inner, true);
      } else if (c == '$') {
        expansion(add, false);
      } else if (c == '`') {
        backticks(add, false);
      } else if ((c == '<' || c == '>') && peek(1) == '(' && at_ == start) {
        const std::size_t from = at_++;
        skip_parentheses();
        add(Piece::Kind::other, text_.substr(from, at_ - from), false);
      } else if (std::string_view("?*+@!").find(c) != std::string_view::npos && peek(1) == '(') {
        const std::size_t from = at_++;
        skip_parentheses();  // an extended glob
        add(Piece::Kind::other, text_.substr(from, at_ - from), false);
      } else if (inside_test && c == '(' && at_ != start) {
        ++parentheses;
        add(Piece::Kind::other, "(", false);
        ++at_;
      } else if (inside_test && parentheses > 0 && (c == ')' || c == '|')) {
        parentheses -= c == ')' ? 1 : 0;
        add(Piece::Kind::other, ")", false);
        ++at_;
      } else if (std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos) {
        break;
      } else {
        add(Piece::Kind::literal, text_.substr(at_, 1), false);
        ++at_;
      }
    }
    if (at_ == start) fail(at_end() ? "unexpected end" : fmt::format("unexpected '{}'", peek()));
    result.written = std::string(text_.substr(start, at_ - start));
    // An empty "" beside something else adds nothing.
    if (result.pieces.size() > 1) {
      std::erase_if(result.pieces,
                    [](const Piece& piece) { return piece.kind == Piece::Kind::literal && piece.text.empty(); });
    }
    if (result.pieces.empty()) result.pieces.push_back({Piece::Kind::literal, "", true});
    return result;
  }

  template <class Add>
  void double_quoted(const Add& add) {
    add(Piece::Kind::literal, "", true);  // "" is a word, too
    while (!at_end()) {
      const char c = peek();
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\\' && std::string_view("$`\"\\\n").find(peek(1)) != std::string_view::npos) {
        if (peek(1) != '\n') add(Piece::Kind::literal, text_.substr(at_ + 1, 1), true);
        at_ += 2;
      } else if (c == '$') {
        expansion(add, true);
      } else if (c == '`') {
        backticks(add, true);
      } else {
        add(Piece::Kind::literal, text_.substr(at_, 1), true);
        ++at_;
      }
    }
    fail("a quote is not closed");
  }

  template <class Add>
  void backticks(const Add& add, bool quoted) {
    const std::size_t from = at_++;
    while (!at_end() && peek() != '`') at_ += peek() == '\\' ? 2 : 1;
    if (at_end()) fail("a backquote is not closed");
    ++at_;
    add(Piece::Kind::other, text_.substr(from, at_ - from), quoted);
  }

  /// From a '$' on.
  template <class Add>
  void expansion(const Add& add, bool quoted) {
    const std::size_t from = at_;
    const char next = peek(1);
    if (next == '(') {
      ++at_;
      skip_parentheses();
      add(Piece::Kind::other, text_.substr(from, at_ - from), quoted);
    } else if (next == '{') {
      at_ += 2;
      skip_braces();
      const std::string_view inner = text_.substr(from + 2, at_ - from - 3);
      add(is_plain_parameter(inner) ? Piece::Kind::parameter : Piece::Kind::other,
          is_plain_parameter(inner) ? inner : text_.substr(from, at_ - from), quoted);
    } else if (is_name_start(next)) {
      std::size_t end = at_ + 1;
      while (end < text_.size() && is_name(text_[end])) ++end;
      add(Piece::Kind::parameter, text_.substr(at_ + 1, end - at_ - 1), quoted);
      at_ = end;
    } else if (next != '\0' && (is_digit(next) || std::string_view("@*#?$!-").find(next) != std::string_view::npos)) {
      add(Piece::Kind::parameter, text_.substr(at_ + 1, 1), quoted);
      at_ += 2;
    } else {
      add(Piece::Kind::literal, "$", quoted);
      ++at_;
    }
  }

  static bool is_plain_parameter(std::string_view inner) {
    if (inner == "@" || inner == "*" || inner == "#") return true;
    if (!inner.empty() && std::all_of(inner.begin(), inner.end(), is_digit)) return true;
    if (inner.ends_with("[@]") || inner.ends_with("[*]")) inner.remove_suffix(3);
    return !inner.empty() && is_name_start(inner.front()) && std::all_of(inner.begin(), inner.end(), is_name);
  }

  /// From a '(' to behind the ')' that closes it; quotes, comments and nested ones are seen.
  void skip_parentheses() {
    const Deeper deeper(*this);
    int open = 0;
    while (!at_end()) {
      const char c = peek();
      if (c == '(') ++open;
      if (c == ')' && --open == 0) {
        ++at_;
        return;
      }
      if (c == '#' && at_ > 0 && std::string_view(" \t\n;(").find(text_[at_ - 1]) != std::string_view::npos) {
        while (!at_end() && peek() != '\n') ++at_;
        continue;
      }
      skip_quotable();
    }
    fail("a parenthesis is not closed");
  }

  /// From behind a '{' to behind the '}' that closes it.
  void skip_braces() {
    const Deeper deeper(*this);
    int open = 1;
    while (!at_end()) {
      const char c = peek();
      if (c == '{') ++open;
      if (c == '}' && --open == 0) {
        ++at_;
        return;
      }
      skip_quotable();
    }
    fail("a brace is not closed");
  }

  /// One character, or all of what it quotes.
  void skip_quotable() {
    const char c = peek();
    if (c == '\\') {
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) fail("a quote is not closed");
      at_ = end + 1;
    } else if (c == '"') {
      ++at_;
      const auto ignore = [](Piece::Kind, std::string_view, bool) {};
      double_quoted(ignore);
    } else {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t commands_ = 0;
  std::vector<std::pair<std::string, bool>> heredocs_;
};

}  // namespace

std::optional<Statements> parse(std::string_view text, std::string& why) {
  if (text.size() > max_text) {
    why = "the script is too large";
    return std::nullopt;
  }
  if (text.find('\0') != std::string_view::npos) {
    why = "it is no text";
    return std::nullopt;
  }
  try {
    return Parser(text).script();
  } catch (const Error& error) {
    why = error.message();
    return std::nullopt;
  }
}

}  // namespace imgforge::shell
