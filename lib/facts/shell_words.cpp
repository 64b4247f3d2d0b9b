#include "facts/shell_words.hpp"

#include <utility>

#include "base/text.hpp"

namespace imgforge {

using shell::Piece;
using shell::Word;

namespace {

constexpr std::size_t max_line = 256;     // words of a command line
constexpr std::size_t max_value = 4'096;  // bytes of a word

/// "$@": each word on its own.
void spread(const CommandLine& words, bool apart, const std::string& word, CommandLine& line) {
  if (apart) {
    line.insert(line.end(), words.begin(), words.end());
    return;
  }
  // X="$@" and "$*" join the words; a lone "$@" stays what it is, to be split again where it is used without quotes.
  if (words.size() == 1 && word.find('"') == std::string::npos) {
    line.push_back(words.front());
    return;
  }
  if (words.size() == 1 && words.front().kind == CommandWord::Kind::text) {
    line.push_back(words.front());
    return;
  }
  line.push_back(CommandWord::not_known(word));
}

void split_fields(const CommandWord& value, const std::string& word, CommandLine& line) {
  if (value.kind != CommandWord::Kind::text) {
    line.push_back(value);
    return;
  }
  if (value.text.find_first_of("*?[") != std::string::npos) {
    line.push_back(CommandWord::not_known(word));
    return;
  }
  std::string field;
  for (const char c : value.text + ' ') {
    if (c != ' ' && c != '\t' && c != '\n') {
      field += c;
    } else if (!field.empty()) {
      line.push_back(CommandWord::of(std::exchange(field, {})));
    }
  }
}

CommandWord count(const CommandLine& positional) {
  std::size_t known = 0;
  bool exact = true;
  for (const CommandWord& word : positional) {
    if (word.kind == CommandWord::Kind::text) {
      ++known;
    } else {
      // Beam's runners give at least --id and --provision_endpoint.
      if (word.kind == CommandWord::Kind::arguments) known += 2;
      exact = false;
    }
  }
  if (exact) return CommandWord::of(std::to_string(known));
  CommandWord word = CommandWord::not_known("$#");
  word.at_least = known;
  return word;
}

CommandWord nth(const CommandLine& positional, std::uint64_t number, const std::string& written) {
  for (std::size_t i = 0; i < positional.size(); ++i) {
    const CommandWord& word = positional[i];
    if (word.kind == CommandWord::Kind::arguments) {
      CommandWord one = CommandWord::not_known(written);
      if (i + 1 == number || i + 2 == number) one.prefix = "--";
      return one;
    }
    if (word.kind == CommandWord::Kind::unknown) return CommandWord::not_known(written);
    if (i + 1 == number) return word;
  }
  return CommandWord::of("");
}

/// `whole`: no splitting into fields, as in assignments and between quotes.
void expand_piece(const Piece& piece, const std::string& word, const ShellScope& scope, bool whole, CommandLine& line) {
  if (piece.kind == Piece::Kind::other) {
    line.push_back(CommandWord::not_known(word.substr(0, 256)));
    return;
  }
  if (piece.kind == Piece::Kind::literal) {
    const bool glob = !piece.quoted && !whole && piece.text.find_first_of("*?[") != std::string::npos &&
                      piece.text != "[" && piece.text != "[[";
    const bool home = !piece.quoted && piece.text.starts_with("~");
    line.push_back(glob || home ? CommandWord::not_known(piece.text) : CommandWord::of(piece.text));
    return;
  }
  const std::string& name = piece.text;
  if (name == "@" || name == "*") {
    spread(scope.positional, name == "@" ? piece.quoted || !whole : !piece.quoted && !whole, word, line);
    return;
  }
  if (name == "#") {
    line.push_back(count(scope.positional));
    return;
  }
  if (name == "0") {
    line.push_back(CommandWord::of(scope.self));
    return;
  }
  if (const auto number = to_number(name)) {
    line.push_back(nth(scope.positional, *number, word));
    if (line.back().kind == CommandWord::Kind::text && line.back().text.empty() && !piece.quoted && !whole)
      line.pop_back();
    return;
  }
  const bool array = name.ends_with("[@]") || name.ends_with("[*]");
  const std::string plain = array ? name.substr(0, name.size() - 3) : name;
  const auto found = scope.context.variables.find(plain);
  if (found == scope.context.variables.end() || !found->second) {
    line.push_back(CommandWord::not_known(word));
    return;
  }
  const CommandLine& value = *found->second;
  if (array) {
    spread(value, name.ends_with("[@]") ? true : !piece.quoted, word, line);
  } else if (piece.quoted || whole) {
    if (value.size() == 1 && (value.front().kind == CommandWord::Kind::text || (whole && !piece.quoted))) {
      line.push_back(value.front());
    } else {
      line.push_back(CommandWord::not_known(word));  // "$ARGS" with all arguments in one word
    }
  } else {
    for (const CommandWord& one : value) split_fields(one, word, line);
  }
}

void expand_word(const Word& word, const ShellScope& scope, bool assignment, CommandLine& line) {
  if (word.pieces.size() == 1) {
    expand_piece(word.pieces.front(), word.written, scope, assignment, line);
    return;
  }
  std::string text;
  for (const Piece& piece : word.pieces) {
    CommandLine part;
    expand_piece(piece, word.written, scope, true, part);
    if (part.size() != 1 || part.front().kind != CommandWord::Kind::text) {
      CommandWord unknown = CommandWord::not_known(word.written);
      if (part.size() == 1) text += part.front().prefix;  // "x$1" starts with "x--"
      unknown.prefix = text;
      line.push_back(std::move(unknown));
      return;
    }
    text += part.front().text;
    if (text.size() > max_value) {
      line.push_back(CommandWord::not_known(word.written.substr(0, 256)));
      return;
    }
  }
  line.push_back(CommandWord::of(std::move(text)));
}

Truth truth_of(bool value) { return value ? Truth::yes : Truth::no; }

Truth is_empty(const CommandWord& word) {
  if (word.kind == CommandWord::Kind::text) return truth_of(word.text.empty());
  if (word.kind == CommandWord::Kind::arguments || !word.prefix.empty()) return Truth::no;
  return Truth::maybe;
}

Truth equal(const CommandWord& a, const CommandWord& b) {
  if (a.kind == CommandWord::Kind::text && b.kind == CommandWord::Kind::text) return truth_of(a.text == b.text);
  const CommandWord& open = a.kind == CommandWord::Kind::text ? b : a;
  const CommandWord& fixed = a.kind == CommandWord::Kind::text ? a : b;
  if (fixed.kind != CommandWord::Kind::text) return Truth::maybe;
  if (open.kind == CommandWord::Kind::arguments) return Truth::maybe;
  if (!open.prefix.empty() && !fixed.text.starts_with(open.prefix)) return Truth::no;
  if (open.at_least > 0) {
    const auto number = to_number(fixed.text);
    if (number && *number < open.at_least) return Truth::no;
  }
  return Truth::maybe;
}

Truth decide(const CommandLine& line) {
  if (line.size() == 1) return !is_empty(line[0]);
  if (line.size() == 2 && line[0].text == "-z") return is_empty(line[1]);
  if (line.size() == 2 && line[0].text == "-n") return !is_empty(line[1]);
  if (line.size() != 3 || line[1].kind != CommandWord::Kind::text) return Truth::maybe;
  const std::string& op = line[1].text;
  if (op == "=" || op == "==" || op == "!=") {
    const Truth same = equal(line[0], line[2]);
    return op == "!=" ? !same : same;
  }
  const auto right = line[2].kind == CommandWord::Kind::text ? to_number(line[2].text) : std::nullopt;
  if (!right) return Truth::maybe;
  const auto left = line[0].kind == CommandWord::Kind::text ? to_number(line[0].text) : std::nullopt;
  const std::uint64_t least = left ? *left : line[0].at_least;
  if (!left && line[0].at_least == 0) return Truth::maybe;
  if (op == "-eq") return left ? truth_of(*left == *right) : least > *right ? Truth::no : Truth::maybe;
  if (op == "-ne") return left ? truth_of(*left != *right) : least > *right ? Truth::yes : Truth::maybe;
  if (op == "-gt") return least > *right ? Truth::yes : left ? Truth::no : Truth::maybe;
  if (op == "-ge") return least >= *right ? Truth::yes : left ? Truth::no : Truth::maybe;
  if (op == "-lt") return least >= *right ? Truth::no : left ? Truth::yes : Truth::maybe;
  if (op == "-le") return least > *right ? Truth::no : left ? Truth::yes : Truth::maybe;
  return Truth::maybe;
}

}  // namespace

std::optional<std::string> ShellContext::variable(std::string_view name) const {
  const auto found = variables.find(name);
  if (found == variables.end()) return variables_lost ? std::nullopt : std::optional<std::string>("");
  if (!found->second || found->second->size() != 1 || found->second->front().kind != CommandWord::Kind::text)
    return std::nullopt;
  return found->second->front().text;
}

CommandLine expand_words(const std::vector<Word>& words, const ShellScope& scope, bool assignment) {
  CommandLine line;
  for (const Word& word : words) {
    expand_word(word, scope, assignment, line);
    if (line.size() > max_line) {
      line.resize(1);
      line.push_back(CommandWord::not_known("too many words"));
      return line;
    }
  }
  return line;
}

Truth operator!(Truth truth) {
  return truth == Truth::maybe ? Truth::maybe : truth == Truth::yes ? Truth::no : Truth::yes;
}

Truth decide_test(const std::vector<Word>& words, const ShellScope& scope) {
  CommandLine line;
  for (const Word& word : words) {
    CommandLine one;
    expand_word(word, scope, false, one);
    // A word that is gone or became several has no place in a test that is to be understood.
    if (one.size() != 1) return Truth::maybe;
    line.push_back(std::move(one.front()));
  }
  return decide_test(line);
}

Truth decide_test(const CommandLine& line) {
  const auto text = [&](std::size_t i) {
    return i < line.size() && line[i].kind == CommandWord::Kind::text ? line[i].text : std::string();
  };
  std::size_t from = 1, to = line.size();
  if (text(0) != "test") {
    if (to < 2 || (text(to - 1) != "]" && text(to - 1) != "]]")) return Truth::maybe;
    --to;
  }
  bool negated = false;
  while (from < to && text(from) == "!" && to - from > 1) {
    negated = !negated;
    ++from;
  }
  const Truth truth = decide(
      CommandLine(line.begin() + static_cast<std::ptrdiff_t>(from), line.begin() + static_cast<std::ptrdiff_t>(to)));
  return negated ? !truth : truth;
}

}  // namespace imgforge
