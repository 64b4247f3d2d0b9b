#include "base/version.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t longest_version = 256;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'z'); }
bool is_separator(char c) noexcept { return c == '-' || c == '_' || c == '.'; }

/// Walks over lower-case text. Everything that is taken is consumed; what is not there leaves the text as it is.
struct Scanner {
  std::string_view rest;

  bool take(std::string_view word) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }
  void take_separator() {
    if (!rest.empty() && is_separator(rest.front())) rest.remove_prefix(1);
  }
  std::string_view digits() {
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
    const std::string_view found = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(found.size());
    return found;
  }
};

/// The number of a phase: what is left out is 0. False where it does not fit.
bool number_of(std::string_view digits, std::uint64_t& number) {
  number = 0;
  if (digits.empty()) return true;
  const std::optional<std::uint64_t> value = to_number(digits);
  if (value) number = *value;
  return value.has_value();
}

std::string_view without_leading_zeros(std::string_view digits) {
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? digits.substr(digits.size() - 1) : digits.substr(first);
}

bool is_number(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }

/// "[a-z0-9]+([-_.][a-z0-9]+)*" with dots between and numbers without leading zeros, or nothing.
std::optional<std::string> parse_local(std::string_view text) {
  std::string result;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_separator(text[i])) {
      if (!is_alphanumeric(text[i])) return std::nullopt;
      continue;
    }
    const std::string_view segment = text.substr(start, i - start);
    if (segment.empty()) return std::nullopt;
    if (!result.empty()) result += '.';
    result += is_number(segment) ? without_leading_zeros(segment) : segment;
    start = i + 1;
  }
  return result;
}

/// Numbers after words, numbers by value (they have no leading zeros), words by their bytes.
std::strong_ordering compare_local(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) return !left.empty() <=> !right.empty();
  const std::vector<std::string_view> a = split(left, '.');
  const std::vector<std::string_view> b = split(right, '.');
  return std::lexicographical_compare_three_way(
      a.begin(), a.end(), b.begin(), b.end(), [](std::string_view x, std::string_view y) -> std::strong_ordering {
        const bool x_number = is_number(x);
        if (x_number != is_number(y)) return x_number ? std::strong_ordering::greater : std::strong_ordering::less;
        if (x_number && x.size() != y.size()) return x.size() <=> y.size();
        return x <=> y;
      });
}

/// Releases as if both went on with zeros for ever.
std::strong_ordering compare_release(const std::vector<std::uint64_t>& left, const std::vector<std::uint64_t>& right) {
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::uint64_t a = i < left.size() ? left[i] : 0;
    const std::uint64_t b = i < right.size() ? right[i] : 0;
    if (a != b) return a <=> b;
  }
  return std::strong_ordering::equal;
}

/// Whether the release of `version` begins with the first `length` parts of `prefix`.
bool has_prefix(const Version& version, const Version& prefix, std::size_t length) {
  if (version.epoch() != prefix.epoch()) return false;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t part = i < version.release().size() ? version.release()[i] : 0;
    if (part != prefix.release()[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<Version> Version::parse(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > longest_version) return std::nullopt;
  const std::string lowered = lower(text);
  Scanner scanner{lowered};
  Version version;

  scanner.take("v");
  std::string_view digits = scanner.digits();
  if (digits.empty()) return std::nullopt;
  if (scanner.take("!")) {
    if (!number_of(digits, version.epoch_)) return std::nullopt;
    digits = scanner.digits();
  }
  for (;;) {
    const std::optional<std::uint64_t> part = to_number(digits);
    if (!part) return std::nullopt;
    version.release_.push_back(*part);
    if (scanner.rest.size() < 2 || scanner.rest[0] != '.' || !is_digit(scanner.rest[1])) break;
    scanner.rest.remove_prefix(1);
    digits = scanner.digits();
  }

  // A phase: an optional separator, a word, an optional separator, an optional number. Long spellings come first.
  const auto phase = [&scanner](std::initializer_list<std::string_view> words) {
    Scanner attempt = scanner;
    attempt.take_separator();
    for (const std::string_view word : words) {
      if (!attempt.take(word)) continue;
      attempt.take_separator();
      scanner = attempt;
      return true;
    }
    return false;
  };
  std::optional<Phase> pre_phase;
  if (phase({"alpha", "a"}))
    pre_phase = Phase::alpha;
  else if (phase({"beta", "b"}))
    pre_phase = Phase::beta;
  else if (phase({"preview", "pre", "rc", "c"}))
    pre_phase = Phase::candidate;
  if (pre_phase) {
    std::uint64_t number = 0;
    if (!number_of(scanner.digits(), number)) return std::nullopt;
    version.pre_ = Pre{*pre_phase, number};
  }
  if (scanner.rest.size() > 1 && scanner.rest[0] == '-' && is_digit(scanner.rest[1])) {
    scanner.rest.remove_prefix(1);
    version.post_ = to_number(scanner.digits());
    if (!version.post_) return std::nullopt;
  } else if (phase({"post", "rev", "r"})) {
    std::uint64_t number = 0;
    if (!number_of(scanner.digits(), number)) return std::nullopt;
    version.post_ = number;
  }
  if (phase({"dev"})) {
    std::uint64_t number = 0;
    if (!number_of(scanner.digits(), number)) return std::nullopt;
    version.dev_ = number;
  }
  if (scanner.take("+")) {
    std::optional<std::string> local = parse_local(scanner.rest);
    if (!local) return std::nullopt;
    version.local_ = std::move(*local);
    scanner.rest = {};
  }
  if (!scanner.rest.empty()) return std::nullopt;
  return version;
}

std::string Version::to_string() const {
  std::string text;
  if (epoch_ != 0) text += std::to_string(epoch_) + "!";
  for (std::size_t i = 0; i < release_.size(); ++i) {
    if (i != 0) text += '.';
    text += std::to_string(release_[i]);
  }
  if (pre_) {
    constexpr std::string_view words[] = {"a", "b", "rc"};
    text += words[static_cast<std::size_t>(pre_->phase)];
    text += std::to_string(pre_->number);
  }
  if (post_) text += ".post" + std::to_string(*post_);
  if (dev_) text += ".dev" + std::to_string(*dev_);
  if (!local_.empty()) text += "+" + local_;
  return text;
}

Version Version::base() const {
  Version version;
  version.epoch_ = epoch_;
  version.release_ = release_;
  return version;
}

Version Version::public_part() const {
  Version version = *this;
  version.local_.clear();
  return version;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  if (epoch_ != other.epoch_) return epoch_ <=> other.epoch_;
  if (const auto order = compare_release(release_, other.release_); order != 0) return order;
  // PEP 440 "Summary of permitted suffixes and relative ordering": .devN alone, aN, bN, rcN, none, .postN.
  const auto rank = [](const Version& version) {
    if (version.pre_) return 1;
    return !version.post_ && version.dev_ ? 0 : 2;
  };
  if (rank(*this) != rank(other)) return rank(*this) <=> rank(other);
  if (pre_ && other.pre_ && *pre_ != *other.pre_) return *pre_ <=> *other.pre_;
  if (post_ != other.post_) return post_ <=> other.post_;  // none is less than any
  if (dev_ != other.dev_) {
    if (!dev_ || !other.dev_) return other.dev_.has_value() <=> dev_.has_value();  // none is greater than any
    return *dev_ <=> *other.dev_;
  }
  return compare_local(local_, other.local_);
}

std::optional<SpecifierSet::Clause> SpecifierSet::parse_clause(std::string_view text) {
  struct Spelling {
    std::string_view text;
    Operator op;
  };
  constexpr Spelling spellings[] = {
      {"===", Operator::arbitrary}, {"~=", Operator::compatible}, {"==", Operator::equal},
      {"!=", Operator::not_equal},  {"<=", Operator::less_equal}, {">=", Operator::greater_equal},
      {"<", Operator::less},        {">", Operator::greater},
  };
  text = trim(text);
  const auto* spelling = std::find_if(std::begin(spellings), std::end(spellings),
                                      [&](const Spelling& candidate) { return text.starts_with(candidate.text); });
  if (spelling == std::end(spellings)) return std::nullopt;
  text = trim(text.substr(spelling->text.size()));
  Clause clause;
  clause.op = spelling->op;
  if (clause.op == Operator::arbitrary) {
    const bool fits = !text.empty() && text.size() <= longest_version &&
                      std::all_of(text.begin(), text.end(),
                                  [](char c) { return c > ' ' && c < 0x7F && c != ';' && c != ')' && c != ','; });
    if (!fits) return std::nullopt;
    clause.text = std::string(text);
    return clause;
  }
  const bool equality = clause.op == Operator::equal || clause.op == Operator::not_equal;
  if (text.ends_with(".*")) {
    if (!equality) return std::nullopt;
    clause.wildcard = true;
    text.remove_suffix(2);
    if (text.empty() || !is_digit(text.back())) return std::nullopt;  // no "1 .*"
  }
  std::optional<Version> version = Version::parse(text);
  if (!version) return std::nullopt;
  if (clause.wildcard && (version->pre() || version->post() || version->dev() || !version->local().empty()))
    return std::nullopt;
  if (!equality && !version->local().empty()) return std::nullopt;
  if (clause.op == Operator::compatible && version->release().size() < 2) return std::nullopt;
  clause.version = std::move(*version);
  return clause;
}

std::optional<SpecifierSet> SpecifierSet::parse(std::string_view text) {
  SpecifierSet set;
  for (const std::string_view part : split(text, ',')) {
    if (trim(part).empty()) continue;  // as pip: ">=1," is ">=1"
    std::optional<Clause> clause = parse_clause(part);
    if (!clause) return std::nullopt;
    set.clauses_.push_back(std::move(*clause));
  }
  return set;
}

bool SpecifierSet::holds(const Clause& clause, const Version& version) {
  const Version& wanted = clause.version;
  const auto equal = [&] {
    if (clause.wildcard) return has_prefix(version, wanted, wanted.release().size());
    return (wanted.local().empty() ? version.public_part() : version) == wanted;
  };
  switch (clause.op) {
    case Operator::compatible:
      return version.public_part() >= wanted && has_prefix(version, wanted, wanted.release().size() - 1);
    case Operator::equal: return equal();
    case Operator::not_equal: return !equal();
    case Operator::less_equal: return version.public_part() <= wanted;
    case Operator::greater_equal: return version.public_part() >= wanted;
    case Operator::less: {
      // The pre-releases of the very version that is excluded are not meant: they begin with its .dev0.
      if (wanted.is_prerelease()) return version < wanted;
      Version first = wanted;
      first.dev_ = 0;
      return version < first;
    }
    case Operator::greater:
      // Nor are its local versions, and its post-releases where it is none itself.
      if (version.public_part() <= wanted) return false;
      return wanted.dev() || wanted.post() || version.base() != wanted.base() || version.pre() != wanted.pre();
    case Operator::arbitrary: return lower(version.to_string()) == lower(clause.text);
  }
  return false;
}

bool SpecifierSet::contains(const Version& version, bool prereleases) const {
  if (version.is_prerelease() && !prereleases) {
    const bool named = std::any_of(clauses_.begin(), clauses_.end(), [](const Clause& clause) {
      if (clause.op == Operator::not_equal || clause.wildcard) return false;
      if (clause.op != Operator::arbitrary) return clause.version.is_prerelease();
      const std::optional<Version> wanted = Version::parse(clause.text);
      return wanted && wanted->is_prerelease();
    });
    if (!named) return false;
  }
  return std::all_of(clauses_.begin(), clauses_.end(), [&](const Clause& clause) { return holds(clause, version); });
}

std::optional<Version> SpecifierSet::pinned() const {
  if (clauses_.size() != 1) return std::nullopt;
  const Clause& clause = clauses_.front();
  if (clause.op == Operator::arbitrary) return Version::parse(clause.text);
  if (clause.op == Operator::equal && !clause.wildcard) return clause.version;
  return std::nullopt;
}

std::string SpecifierSet::to_string() const {
  constexpr std::string_view words[] = {"~=", "==", "!=", "<=", ">=", "<", ">", "==="};
  std::vector<std::string> parts;
  for (const Clause& clause : clauses_) {
    std::string text(words[static_cast<std::size_t>(clause.op)]);
    text += clause.op == Operator::arbitrary ? clause.text : clause.version.to_string();
    if (clause.wildcard) text += ".*";
    parts.push_back(std::move(text));
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return join(parts, ",");
}

std::optional<PythonMinor> PythonMinor::parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 2) return std::nullopt;
  unsigned numbers[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<std::uint64_t> number = to_number(parts[i]);
    if (!number || *number > 999 || parts[i] != std::to_string(*number)) return std::nullopt;
    numbers[i] = static_cast<unsigned>(*number);
  }
  return PythonMinor{numbers[0], numbers[1]};
}

PythonMinor PythonMinor::of(const Version& version) {
  return PythonMinor{static_cast<unsigned>(version.major()), static_cast<unsigned>(version.minor())};
}

std::string PythonMinor::to_string() const { return std::to_string(major) + "." + std::to_string(minor); }

}  // namespace imgforge
