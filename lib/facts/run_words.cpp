#include "facts/run_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "facts/shell_scanner.hpp"

namespace imgforge {
namespace {

using shell::Piece;
using shell::Word;

constexpr std::size_t max_fields = 2'000;
constexpr std::size_t max_value = 64 << 10;  // bytes of a word
constexpr std::size_t max_braces = 256;      // words that one word's braces become
constexpr int max_depth = 8;                 // of ${A:-${B:-...}}

/// Variables that a container or a shell has without anybody setting them: their values are not known here.
bool is_always_there(std::string_view name) {
  static constexpr std::array<std::string_view, 25> names = {
      "HOME", "PATH",       "HOSTNAME",    "PWD",        "OLDPWD",      "IFS",      "PS1",     "PS2",   "PS4",
      "UID",  "EUID",       "PPID",        "RANDOM",     "SECONDS",     "LINENO",   "SHELL",   "SHLVL", "OPTIND",
      "_",    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "no_proxy", "NO_PROXY"};
  return std::find(names.begin(), names.end(), name) != names.end() || name.starts_with("BASH");
}

/// What a piece comes to: text, or not known.
struct Value {
  bool known = true;
  bool set = true;
  std::string text;
};

class Expander {
 public:
  explicit Expander(const RunScope& scope) : scope_(scope) {}

  void word(const Word& word, bool whole, std::vector<RunField>& fields) {
    if (word.pieces.size() == 1 && (word.pieces[0].text == "@" || word.pieces[0].text == "*") &&
        word.pieces[0].kind == Piece::Kind::parameter && !whole) {
      for (const CommandWord& one : scope_.positional) fields.push_back({one, word.offset, false});
      return;
    }
    RunField field;
    field.offset = word.offset;
    bool open = false;    // the field has something, be it an empty quoted text
    bool lost = false;    // a part is not known
    std::string missing;  // the first unset name
    const auto finish = [&] {
      if (lost) {
        std::string prefix = std::exchange(field.word.text, {});
        field.word = CommandWord::not_known(word.written.substr(0, 4096));
        field.word.prefix = std::move(prefix);
      }
      fields.push_back(std::exchange(field, {}));
      field.offset = word.offset;
      open = lost = false;
    };
    const auto add = [&](std::string_view text) {
      if (!lost && field.word.text.size() + text.size() > max_value) lost = true;
      if (!lost) field.word.text += text;
    };
    const std::size_t first = fields.size();
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
      const Piece& piece = word.pieces[i];
      if (piece.kind == Piece::Kind::literal) {
        std::string_view text = piece.text;
        if (i == 0 && !piece.quoted && (text == "~" || text.starts_with("~/"))) {
          const Value home = variable("HOME");
          open = true;
          if (home.known) {
            add(home.text);
            text.remove_prefix(1);
          } else {
            lost = true;
          }
        }
        add(text);
        open = open || piece.quoted || !text.empty();
        field.glob = field.glob || (!piece.quoted && text.find_first_of("*?[") != std::string_view::npos);
        continue;
      }
      const Value value = value_of(piece, 0);
      if (!value.known) {
        lost = open = true;
        continue;
      }
      if (!value.set && missing.empty()) missing = name_of(piece);
      if (piece.quoted || whole) {
        add(value.text);
        open = open || piece.quoted || !value.text.empty();
        continue;
      }
      std::size_t at = 0;
      while (at < value.text.size()) {
        const std::size_t end = std::min(value.text.find_first_of(" \t\n", at), value.text.size());
        if (end > at) {
          add(std::string_view(value.text).substr(at, end - at));
          open = true;
        }
        if (end < value.text.size() && open) finish();
        at = end + 1;
        if (fields.size() > max_fields) return;
      }
    }
    if (open || whole) finish();
    if (!missing.empty() && scope_.unset && scope_.unset->size() < 1000) {
      UnsetVariable use;
      use.name = missing;
      for (std::size_t i = first; i < fields.size() && i < first + 16; ++i)
        use.result += (i > first ? " " : "") + fields[i].word.text;
      use.written = word.written.substr(0, 200);
      use.offset = word.offset;
      scope_.unset->push_back(std::move(use));
    }
  }

  Value text(std::string_view text, int depth) {
    // Double-quote rules: what ${V:-...} and heredocs have.
    Value result;
    for (std::size_t i = 0; i < text.size() && result.known;) {
      const char c = text[i];
      if (c == '\\' && i + 1 < text.size() &&
          std::string_view("$`\"\\\n").find(text[i + 1]) != std::string_view::npos) {
        if (text[i + 1] != '\n') result.text += text[i + 1];
        i += 2;
      } else if (c == '`' || (c == '$' && i + 1 < text.size() && text[i + 1] == '(')) {
        result.known = false;
      } else if (c == '$' && i + 1 < text.size() && text[i + 1] == '{') {
        std::size_t end = i + 2;
        int open = 1;
        while (end < text.size() && open > 0) {
          if (text[end] == '{') ++open;
          if (text[end] == '}') --open;
          ++end;
        }
        append(result, braces(text.substr(i + 2, end - i - 3), depth + 1));
        i = end;
      } else if (c == '$' && i + 1 < text.size() && shell::is_name_start(text[i + 1])) {
        std::size_t end = i + 1;
        while (end < text.size() && shell::is_name(text[end])) ++end;
        append(result, variable(text.substr(i + 1, end - i - 1)));
        i = end;
      } else if (c == '$' && i + 1 < text.size() &&
                 (shell::is_digit(text[i + 1]) ||
                  std::string_view("@*#?$!-").find(text[i + 1]) != std::string_view::npos)) {
        append(result, parameter(text.substr(i + 1, 1)));
        i += 2;
      } else {
        result.text += c;
        ++i;
      }
      if (result.text.size() > max_value) result.known = false;
    }
    return result;
  }

 private:
  static void append(Value& to, const Value& part) {
    to.known = to.known && part.known;
    to.text += part.text;
  }

  static std::string name_of(const Piece& piece) {
    if (piece.kind == Piece::Kind::parameter) return piece.text;
    std::size_t end = 2;
    while (end < piece.text.size() && shell::is_name(piece.text[end])) ++end;
    return piece.text.substr(std::min<std::size_t>(2, piece.text.size()), end - 2);
  }

  Value value_of(const Piece& piece, int depth) {
    if (piece.kind == Piece::Kind::parameter) return parameter(piece.text);
    if (piece.text.starts_with("${") && piece.text.ends_with("}"))
      return braces(std::string_view(piece.text).substr(2, piece.text.size() - 3), depth + 1);
    if (makes_temporary(piece.text)) return {true, true, "/tmp/tmp." + std::to_string(piece.offset)};
    return {false, true, {}};
  }

  /// $(mktemp), $(mktemp -d): the name differs with every run, and no step can mean it: any fresh one stands for it.
  static bool makes_temporary(std::string_view text) {
    if (text.starts_with("`") && text.ends_with("`") && text.size() > 1) {
      text = text.substr(1, text.size() - 2);
    } else if (text.starts_with("$(") && text.ends_with(")")) {
      text = text.substr(2, text.size() - 3);
    } else {
      return false;
    }
    text = trim(text);
    return text == "mktemp" || text == "mktemp -d" || text == "mktemp -q" || text == "mktemp --directory" || text == "mktemp -dq";
  }

  Value variable(std::string_view name) {
    const auto found = scope_.context.variables.find(name);
    if (found == scope_.context.variables.end()) {
      if (name == "PWD" && scope_.context.folder) return {true, true, *scope_.context.folder};
      if (scope_.context.variables_lost || is_always_there(name)) return {false, true, {}};
      return {true, false, {}};
    }
    if (!found->second || found->second->size() != 1 || found->second->front().kind != CommandWord::Kind::text)
      return {false, true, {}};
    return {true, true, found->second->front().text};
  }

  Value parameter(std::string_view name) {
    if (!name.empty() && shell::is_name_start(name.front()) && name.find('[') == std::string_view::npos)
      return variable(name);
    if (name == "0") return {true, true, "/bin/sh"};
    const bool all_known = std::all_of(scope_.positional.begin(), scope_.positional.end(),
                                       [](const CommandWord& word) { return word.kind == CommandWord::Kind::text; });
    if (name == "#") return {all_known, true, all_known ? std::to_string(scope_.positional.size()) : std::string()};
    if (name == "@" || name == "*") {
      Value result{all_known, true, {}};
      for (std::size_t i = 0; all_known && i < scope_.positional.size(); ++i)
        result.text += (i > 0 ? " " : "") + scope_.positional[i].text;
      return result;
    }
    if (const auto number = to_number(name)) {
      if (!all_known) return {false, true, {}};
      if (*number == 0 || *number > scope_.positional.size()) return {true, true, {}};
      return {true, true, scope_.positional[static_cast<std::size_t>(*number - 1)].text};
    }
    return {false, true, {}};  // arrays, $?, $$, $!
  }

  /// The inside of ${...}.
  Value braces(std::string_view inner, int depth) {
    if (depth > max_depth) return {false, true, {}};
    const bool length = inner.size() > 1 && inner.front() == '#';
    if (length) inner.remove_prefix(1);
    std::size_t end = 0;
    if (!inner.empty() && shell::is_name_start(inner.front())) {
      while (end < inner.size() && shell::is_name(inner[end])) ++end;
    } else {
      while (end < inner.size() && shell::is_digit(inner[end])) ++end;
      if (end == 0 && !inner.empty() && std::string_view("@*#").find(inner.front()) != std::string_view::npos) end = 1;
    }
    if (end == 0) return {false, true, {}};
    const Value value = parameter(inner.substr(0, end));
    std::string_view rest = inner.substr(end);
    if (length) {
      if (!rest.empty() || !value.known) return {false, true, {}};
      return {true, true, std::to_string(value.text.size())};
    }
    if (rest.empty()) return value;
    if (!value.known) return {false, true, {}};
    const bool colon = rest.front() == ':';
    if (colon) rest.remove_prefix(1);
    if (rest.empty()) return {false, true, {}};
    const char operation = rest.front();
    const std::string_view operand = rest.substr(1);
    const bool there = value.set && !(colon && value.text.empty());
    switch (operation) {
      case '-':
      case '=': return there ? value : operand_text(operand, depth);
      case '+': return there ? operand_text(operand, depth) : Value{true, true, {}};
      case '?': return there ? value : Value{false, true, {}};
      default: break;
    }
    if (colon || !value.set) return {!value.set && !colon, value.set, {}};
    return strip_or_replace(value.text, rest, depth);
  }

  /// The word of ${V:-word}: its quotes go.
  Value operand_text(std::string_view operand, int depth) {
    if (operand.size() >= 2 && (operand.front() == '"' || operand.front() == '\'') &&
        operand.back() == operand.front() && operand.find(operand.front(), 1) == operand.size() - 1) {
      const std::string_view inner = operand.substr(1, operand.size() - 2);
      if (operand.front() == '\'') return {true, true, std::string(inner)};
      return text(inner, depth);
    }
    if (operand.find_first_of("\"'") != std::string_view::npos) return {false, true, {}};
    return text(operand, depth);
  }

  /// ${V#p}, ${V##p}, ${V%p}, ${V%%p}, ${V/p/r}, ${V//p/r}, where p is plain text, or plain text beside one star.
  Value strip_or_replace(const std::string& value, std::string_view rest, int depth) {
    const char operation = rest.front();
    rest.remove_prefix(1);
    const bool twice = !rest.empty() && rest.front() == operation;
    if (twice) rest.remove_prefix(1);
    if (operation == '/') {
      const std::size_t slash = rest.find('/');
      const Value pattern = operand_text(rest.substr(0, slash), depth);
      const Value with = slash == std::string_view::npos ? Value{} : operand_text(rest.substr(slash + 1), depth);
      if (!pattern.known || !with.known || pattern.text.empty() ||
          pattern.text.find_first_of("*?[\\#%") != std::string::npos)
        return {false, true, {}};
      std::string result;
      std::size_t at = 0;
      for (;;) {
        const std::size_t found = value.find(pattern.text, at);
        if (found == std::string::npos || result.size() > max_value) break;
        result.append(value, at, found - at).append(with.text);
        at = found + pattern.text.size();
        if (!twice) break;
      }
      result.append(value, at);
      return {result.size() <= max_value, true, result};
    }
    if (operation != '#' && operation != '%') return {false, true, {}};
    const Value operand = operand_text(rest, depth);
    if (!operand.known) return operand;
    std::string pattern = operand.text;
    const bool prefix = operation == '#';
    // "*." of ${V##*.} and ".*" of ${V%.*}: the star on the outer side.
    const bool star = !pattern.empty() && (prefix ? pattern.front() : pattern.back()) == '*';
    if (star) pattern.erase(prefix ? 0 : pattern.size() - 1, 1);
    if (pattern.find_first_of("*?[\\") != std::string::npos || pattern.empty()) return {false, true, {}};
    if (!star) {
      if (prefix && value.starts_with(pattern)) return {true, true, value.substr(pattern.size())};
      if (!prefix && value.ends_with(pattern)) return {true, true, value.substr(0, value.size() - pattern.size())};
      return {true, true, value};
    }
    const bool from_left = prefix != twice;
    const std::size_t found = from_left ? value.find(pattern) : value.rfind(pattern);
    if (found == std::string::npos) return {true, true, value};
    return {true, true, prefix ? value.substr(found + pattern.size()) : value.substr(0, found)};
  }

  const RunScope& scope_;
};

/// Where a brace group is in unquoted text: {a,b} or {1..3}; nothing where there is none.
struct BraceGroup {
  std::size_t open = 0, close = 0;  // of '{' and '}'
  std::vector<std::string> parts;
};

std::optional<BraceGroup> find_braces(const std::string& text) {
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    BraceGroup group;
    group.open = open;
    int depth = 0;
    std::size_t part = open + 1;
    for (std::size_t i = open; i < text.size() && i < open + 4096; ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == ',' && depth == 1) {
        group.parts.push_back(text.substr(part, i - part));
        part = i + 1;
      }
      if (text[i] == '}' && --depth == 0) {
        group.close = i;
        group.parts.push_back(text.substr(part, i - part));
        break;
      }
    }
    if (group.close == 0) continue;
    if (group.parts.size() == 1) {
      const std::string inner = group.parts.front();
      const std::size_t dots = inner.find("..");
      if (dots == std::string::npos) continue;
      const auto from = to_number(inner.substr(0, dots)), to = to_number(inner.substr(dots + 2));
      if (!from || !to || *from > *to || *to - *from > max_braces) continue;
      group.parts.clear();
      for (std::uint64_t i = *from; i <= *to; ++i) group.parts.push_back(std::to_string(i));
    }
    return group;
  }
  return std::nullopt;
}

/// The words that a word's braces make of it, in order; the word itself where there are none.
std::vector<Word> expand_braces(const Word& word, std::string& seen) {
  std::vector<Word> words = {word};
  for (std::size_t i = 0; i < words.size();) {
    bool changed = false;
    for (std::size_t p = 0; p < words[i].pieces.size() && !changed; ++p) {
      const Piece& piece = words[i].pieces[p];
      if (piece.kind != Piece::Kind::literal || piece.quoted) continue;
      const auto group = find_braces(piece.text);
      if (!group) continue;
      if (seen.empty()) seen = piece.text.substr(group->open, group->close - group->open + 1).substr(0, 60);
      std::vector<Word> made;
      for (const std::string& part : group->parts) {
        Word copy = words[i];
        copy.pieces[p].text = piece.text.substr(0, group->open) + part + piece.text.substr(group->close + 1);
        made.push_back(std::move(copy));
      }
      if (words.size() + made.size() > max_braces) return {word};
      const auto at = words.begin() + static_cast<std::ptrdiff_t>(i);
      words.insert(words.erase(at), made.begin(), made.end());
      changed = true;
    }
    if (!changed) ++i;
  }
  return words;
}

}  // namespace

std::vector<RunField> expand_run_words(const std::vector<Word>& words, const RunScope& scope, bool whole) {
  std::vector<RunField> fields;
  Expander expander(scope);
  for (const Word& word : words) {
    std::string braces;
    if (!whole && word.written.find('{') != std::string::npos) {
      const std::vector<Word> expanded = expand_braces(word, braces);
      if (!braces.empty() && scope.bash_uses && scope.bash_uses->size() < 1000)
        scope.bash_uses->push_back({braces, word.offset});
      if (!braces.empty() && scope.bash) {
        for (const Word& one : expanded) expander.word(one, whole, fields);
        continue;
      }
    }
    expander.word(word, whole, fields);
    if (fields.size() > max_fields) {
      fields.resize(max_fields);
      fields.push_back({CommandWord::not_known("too many words"), word.offset, false});
      return fields;
    }
  }
  return fields;
}

std::optional<std::string> expand_run_text(std::string_view text, const RunScope& scope) {
  if (text.size() > max_value) return std::nullopt;
  const auto value = Expander(scope).text(text, 0);
  if (!value.known) return std::nullopt;
  return value.text;
}

}  // namespace imgforge
