#include "base/requirement.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t longest_requirement = 4096;
constexpr std::size_t deepest_marker = 32;

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_name_character(char c) noexcept { return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-'; }

/// Whether there is nothing before some comma.
bool has_empty_clause(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  return std::count_if(parts.begin(), parts.end() - 1, [](std::string_view part) { return trim(part).empty(); }) != 0;
}

struct Variable {
  std::string_view spelling;
  std::string_view name;
};
// PEP 508 "Environment Markers", with the spellings of the setuptools before it.
constexpr Variable variables[] = {
    {"python_version", "python_version"},
    {"python_full_version", "python_full_version"},
    {"os_name", "os_name"},
    {"os.name", "os_name"},
    {"sys_platform", "sys_platform"},
    {"sys.platform", "sys_platform"},
    {"platform_release", "platform_release"},
    {"platform_system", "platform_system"},
    {"platform_version", "platform_version"},
    {"platform.version", "platform_version"},
    {"platform_machine", "platform_machine"},
    {"platform.machine", "platform_machine"},
    {"platform_python_implementation", "platform_python_implementation"},
    {"platform.python_implementation", "platform_python_implementation"},
    {"python_implementation", "platform_python_implementation"},
    {"implementation_name", "implementation_name"},
    {"implementation_version", "implementation_version"},
    {"extra", "extra"},
};

bool is_version_variable(std::string_view name) {
  return name == "python_version" || name == "python_full_version" || name == "implementation_version" ||
         name == "platform_release";
}

}  // namespace

/// A tree: `all` and `any` have children, a comparison has two sides, of which at least one is a variable.
struct Requirement::Marker {
  enum class Kind { all, any, comparison };
  struct Side {
    std::string text;  // a variable's name, or a literal
    bool variable = false;
  };

  Kind kind = Kind::comparison;
  std::vector<Marker> children;
  Side left;
  Side right;
  std::string op;

  bool holds(const MarkerEnvironment& environment) const;
  std::string to_string() const;
};

namespace {

using Marker = Requirement::Marker;

/// Recursive descent over one requirement. A function that returns false or nothing has failed for good, except where
/// it is called take_...
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }

  bool skip_space() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
    return rest_.size() != before;
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// A word of letters that ends there ("and", "or", "in", "not").
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    if (rest_.size() > word.size() && (is_name_character(rest_[word.size()]))) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view take_until(std::string_view stops) {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(found.size());
    return found;
  }

  std::optional<std::string> name() {
    const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_name_character);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    if (!is_project_name(found)) return std::nullopt;
    rest_.remove_prefix(found.size());
    return std::string(found);
  }

  std::optional<Marker> marker(std::size_t depth) { return chain(depth, "or", Marker::Kind::any); }

 private:
  /// marker_or = marker_and ("or" marker_and)*, marker_and = atom ("and" atom)*
  std::optional<Marker> chain(std::size_t depth, std::string_view word, Marker::Kind kind) {
    Marker result;
    result.kind = kind;
    do {
      std::optional<Marker> operand = kind == Marker::Kind::any ? chain(depth, "and", Marker::Kind::all) : atom(depth);
      if (!operand) return std::nullopt;
      result.children.push_back(std::move(*operand));
      skip_space();
    } while (take_word(word));
    if (result.children.size() > 1) return result;
    Marker only = std::move(result.children.front());
    return only;
  }

  std::optional<Marker> atom(std::size_t depth) {
    skip_space();
    if (take("(")) {
      if (depth == 0) return std::nullopt;
      std::optional<Marker> inner = marker(depth - 1);
      if (!inner || !take(")")) return std::nullopt;
      return inner;
    }
    Marker comparison;
    if (!side(comparison.left)) return std::nullopt;
    skip_space();
    if (!comparison_operator(comparison.op)) return std::nullopt;
    skip_space();
    if (!side(comparison.right)) return std::nullopt;
    // Two literals decide nothing; packaging refuses to evaluate them.
    if (!comparison.left.variable && !comparison.right.variable) return std::nullopt;
    return comparison;
  }

  bool side(Marker::Side& side) {
    for (const std::string_view quote : {"'", "\""}) {
      if (!take(quote)) continue;
      side.text = std::string(take_until(quote));
      return take(quote);
    }
    for (const Variable& variable : variables) {
      if (!take_word(variable.spelling)) continue;
      side.text = std::string(variable.name);
      side.variable = true;
      return true;
    }
    return false;
  }

  bool comparison_operator(std::string& op) {
    for (const std::string_view candidate : {"===", "==", "~=", "!=", "<=", ">=", "<", ">"}) {
      if (!take(candidate)) continue;
      op = std::string(candidate);
      return true;
    }
    if (take_word("in")) {
      op = "in";
      return true;
    }
    if (!take_word("not") || !skip_space() || !take_word("in")) return false;
    op = "not in";
    return true;
  }

  std::string_view rest_;
};

}  // namespace

bool Requirement::Marker::holds(const MarkerEnvironment& environment) const {
  const auto child_holds = [&](const Marker& child) { return child.holds(environment); };
  if (kind == Kind::all) return std::all_of(children.begin(), children.end(), child_holds);
  if (kind == Kind::any) return std::any_of(children.begin(), children.end(), child_holds);

  const auto value = [&](const Side& side) {
    if (!side.variable) return side.text;
    const auto found = environment.find(side.text);
    return found == environment.end() ? std::string() : found->second;
  };
  std::string a = value(left);
  std::string b = value(right);
  const std::string& variable = left.variable ? left.text : right.text;
  if (variable == "extra") {
    a = normalise_name(a);
    b = normalise_name(b);
  }
  if (op == "in") return b.find(a) != std::string::npos;
  if (op == "not in") return b.find(a) == std::string::npos;
  if (is_version_variable(variable)) {
    const std::optional<Version> version = Version::parse(a);
    const std::optional<SpecifierSet> specifier =
        b.find(',') == std::string::npos ? SpecifierSet::parse(op + b) : std::nullopt;
    if (version && specifier) return specifier->contains(*version);
  }
  // Texts have no order: as packaging has it since release 25, of <= and >= the equality is left.
  if (op == "==" || op == "===" || op == "<=" || op == ">=") return a == b;
  if (op == "!=") return a != b;
  return false;  // "<" and ">"; "~=" of what is no version
}

std::string Requirement::Marker::to_string() const {
  if (kind == Kind::comparison) {
    const auto text = [](const Side& side) {
      if (side.variable) return side.text;
      const std::string quote = side.text.find('"') == std::string::npos ? "\"" : "'";
      return quote + side.text + quote;
    };
    return text(left) + " " + op + " " + text(right);
  }
  std::vector<std::string> parts;
  for (const Marker& child : children) {
    const bool group = child.kind == Kind::any || child.kind == kind;
    parts.push_back(group ? "(" + child.to_string() + ")" : child.to_string());
  }
  return join(parts, kind == Kind::all ? " and " : " or ");
}

std::string normalise_name(std::string_view name) {
  std::string result;
  for (const char c : lower(name)) {
    if (c != '-' && c != '_' && c != '.')
      result += c;
    else if (result.empty() || result.back() != '-')
      result += '-';
  }
  return result;
}

bool is_project_name(std::string_view name) noexcept {
  const auto is_end = [](char c) { return is_letter(c) || is_digit(c); };
  return !name.empty() && is_end(name.front()) && is_end(name.back()) &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

MarkerEnvironment linux_markers(const Version& python, std::string_view machine) {
  const std::string minor = PythonMinor::of(python).to_string();
  // python_full_version always has a third part.
  const std::string full =
      python.release().size() < 3 ? minor + "." + std::to_string(python.micro()) : python.to_string();
  return {
      {"implementation_name", "cpython"},
      {"implementation_version", full},
      {"os_name", "posix"},
      {"platform_machine", std::string(machine)},
      {"platform_python_implementation", "CPython"},
      {"platform_release", ""},
      {"platform_system", "Linux"},
      {"platform_version", ""},
      {"python_full_version", full},
      {"python_version", minor},
      {"sys_platform", "linux"},
      {"extra", ""},
  };
}

std::optional<Requirement> Requirement::parse(std::string_view text) {
  if (text.size() > longest_requirement) return std::nullopt;
  // One line of printable text: anything else has no place in a requirement.
  if (std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; }))
    return std::nullopt;
  Parser parser(trim(text));
  Requirement requirement;

  std::optional<std::string> name = parser.name();
  if (!name) return std::nullopt;
  requirement.name_ = std::move(*name);
  parser.skip_space();
  if (parser.take("[")) {
    parser.skip_space();
    while (!parser.take("]")) {
      if (!requirement.extras_.empty() && !parser.take(",")) return std::nullopt;
      parser.skip_space();
      std::optional<std::string> extra = parser.name();
      if (!extra) return std::nullopt;
      requirement.extras_.push_back(std::move(*extra));
      parser.skip_space();
    }
    parser.skip_space();
  }
  if (parser.take("@")) {
    parser.skip_space();
    requirement.url_ = std::string(parser.take_until(" \t"));
    if (requirement.url_.empty()) return std::nullopt;
    // "name @ url;marker" is all URL: PEP 508 wants a space before the semicolon.
    if (!parser.skip_space() && !parser.done()) return std::nullopt;
  } else {
    const bool bracketed = parser.take("(");
    const std::string_view specifiers = parser.take_until(bracketed ? ");" : ";");
    if (bracketed && !parser.take(")")) return std::nullopt;
    // A comma stands behind a clause: one at the end is let pass, as pip does, others are not.
    if (has_empty_clause(specifiers)) return std::nullopt;
    std::optional<SpecifierSet> set = SpecifierSet::parse(specifiers);
    if (!set) return std::nullopt;
    requirement.specifiers_ = std::move(*set);
    parser.skip_space();
  }
  if (parser.take(";")) {
    std::optional<Marker> marker = parser.marker(deepest_marker);
    if (!marker) return std::nullopt;
    requirement.marker_ = std::make_shared<const Marker>(std::move(*marker));
    parser.skip_space();
  }
  if (!parser.done()) return std::nullopt;
  return requirement;
}

bool Requirement::applies(const MarkerEnvironment& environment) const {
  return !marker_ || marker_->holds(environment);
}

std::string Requirement::to_string() const {
  std::string text = name_;
  if (!extras_.empty()) {
    std::vector<std::string> extras = extras_;
    std::sort(extras.begin(), extras.end());
    extras.erase(std::unique(extras.begin(), extras.end()), extras.end());
    text += "[" + join(extras, ",") + "]";
  }
  if (!url_.empty())
    text += " @ " + url_;
  else
    text += specifiers_.to_string();
  if (marker_) text += std::string(url_.empty() ? "" : " ") + "; " + marker_->to_string();
  return text;
}

}  // namespace imgforge
