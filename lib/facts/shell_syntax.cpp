#include "facts/shell_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "facts/shell_scanner.hpp"

namespace imgforge::shell {
namespace {

constexpr std::size_t max_text = 256 << 10;
constexpr std::size_t max_commands = 20'000;

bool is_declaration(std::string_view word) {
  static constexpr std::array<std::string_view, 5> words = {"export", "declare", "local", "readonly", "typeset"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Parser : private Scanner {
 public:
  explicit Parser(std::string_view text) : Scanner(text) {}

  Script script() {
    Script script;
    script.statements = list();
    if (!at_end()) fail("unexpected text");
    script.heredocs = std::move(heredocs_);
    script.bash = std::move(bash_);
    return script;
  }

 private:
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
    for (const PendingHeredoc& pending : pending_) read_heredoc(pending);
    pending_.clear();
  }

  struct PendingHeredoc {
    std::size_t position;  // in heredocs_
    std::string delimiter;
    bool strip;
  };

  void read_heredoc(const PendingHeredoc& pending) {
    Heredoc& heredoc = heredocs_[pending.position];
    heredoc.offset = at_;
    while (!at_end()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      std::string_view bare = line;
      if (bare.ends_with('\r')) bare.remove_suffix(1);
      const std::size_t tabs = pending.strip ? std::min(line.find_first_not_of('\t'), line.size()) : 0;
      line.remove_prefix(tabs);
      bare.remove_prefix(std::min(tabs, bare.size()));
      if (bare == pending.delimiter) return;
      heredoc.verbatim = heredoc.verbatim && tabs == 0;
      heredoc.text += line;
      heredoc.text += '\n';
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
      if (peek(1) == '&') note("|&", at_);
      at_ += peek(1) == '&' ? 2 : 1;
      skip_lines();
      pipeline.commands.push_back(command());
    }
  }

  Command command() {
    const Deeper deeper(*this);
    if (++commands_ > max_commands) fail("too many commands");
    skip_blank();
    const std::size_t start = at_;
    Command result = any_command();
    result.offset = start;
    result.end = at_;
    return result;
  }

  Command any_command() {
    Command result;
    if (looking_at("((")) {
      note("((", at_);
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
    } else if (bare_word() == "for" || bare_word() == "select") {
      if (bare_word() == "select") note("select", at_);
      at_ += bare_word().size();
      result = each();
    } else if (take_word("case")) {
      result = choice();
    } else if (bare_word() == "function") {
      note("function", at_);
      take_word("function");
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
    skip_redirections(result);
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
      note("for ((", at_);
      result.kind = Command::Kind::loop;  // a number of turns that is not looked at
      result.words.push_back(literal("for"));
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
      if (redirection(result)) continue;
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
      if (result.words.empty() && bare_word() == "[[") {
        note("[[", at_);
        result.words.push_back(here(literal("[["), at_));
        take_word("[[");
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
      } else if (bare_word() == "]]") {
        result.words.push_back(here(literal("]]"), at_));
        take_word("]]");
        return;
      } else if (std::string_view("()<>;&|").find(peek()) != std::string_view::npos) {
        const std::size_t size = looking_at("&&") || looking_at("||") ? 2 : 1;
        result.words.push_back(here(literal(text_.substr(at_, size)), at_));
        at_ += size;
      } else {
        result.words.push_back(word(true));
      }
      if (result.words.size() > max_commands) fail("too many words");
    }
  }

  static Word here(Word word, std::size_t offset) {
    word.offset = offset;
    for (Piece& piece : word.pieces) piece.offset = offset;
    return word;
  }

  bool assignment(std::vector<Assignment>& into) {
    std::size_t end = at_;
    if (end >= text_.size() || !is_name_start(text_[end])) return false;
    while (end < text_.size() && is_name(text_[end])) ++end;
    Assignment found;
    found.name = std::string(text_.substr(at_, end - at_));
    found.offset = at_;
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
    if (found.array) note("array", at_);
    if (found.append && !found.array) note("+=", at_);
    at_ = end + 1;
    if (peek() == '(') {
      if (!found.array) note("array", found.offset);
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
      found.values.push_back(here(literal(""), at_));
    }
    into.push_back(std::move(found));
    return true;
  }

  void skip_redirections(Command& command) {
    do skip_blank();
    while (redirection(command));
  }

  /// A redirection at the cursor, if there is one, goes to `command`.
  bool redirection(Command& command) {
    const std::size_t from = at_;
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
    if (command.redirections.size() > 256) fail("too many redirections");
    if (*found == "<<<" || *found == "&>" || *found == "&>>") note(*found, start);
    at_ = start + found->size();
    skip_blank();
    Redirection made;
    made.operation = std::string(text_.substr(from, start + found->size() - from));
    made.target = word();
    made.offset = from;
    if (command.kind == Command::Kind::simple && !command.words.empty()) {
      const Word& last = command.words.back();
      if (last.offset + last.written.size() == from) made.offset = last.offset;
    }
    made.written = std::string(text_.substr(made.offset, at_ - made.offset));
    if (*found == "<<" || *found == "<<-") {
      if (heredocs_.size() > 1000) fail("too many heredocs");
      PendingHeredoc pending{heredocs_.size(), {}, *found == "<<-"};
      Heredoc heredoc;
      heredoc.offset = at_;
      for (const Piece& piece : made.target.pieces) {
        pending.delimiter += piece.text;
        heredoc.expand = heredoc.expand && !piece.quoted;
      }
      made.heredoc = heredocs_.size();
      heredocs_.push_back(std::move(heredoc));
      pending_.push_back(std::move(pending));
    }
    command.redirections.push_back(std::move(made));
    return true;
  }

  std::size_t commands_ = 0;
  std::vector<Heredoc> heredocs_;
  std::vector<PendingHeredoc> pending_;
};

}  // namespace

std::optional<Statements> parse(std::string_view text, std::string& why) {
  auto script = parse_script(text, why);
  if (!script) return std::nullopt;
  return std::move(script->statements);
}

std::optional<Script> parse_script(std::string_view text, std::string& why) {
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
