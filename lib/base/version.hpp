// Python package versions and version specifiers: PEP 440.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge {

class Version {
 public:
  enum class Phase { alpha, beta, candidate };
  struct Pre {
    Phase phase;
    std::uint64_t number;
    auto operator<=>(const Pre&) const = default;
  };

  /// Any spelling that PEP 440 accepts ("v1.0-RC.1"); nothing where it is none. At most 256 bytes.
  static std::optional<Version> parse(std::string_view text);

  std::string to_string() const;  // canonical: "1.0rc1", "2.0.1+cu118"

  std::uint64_t epoch() const noexcept { return epoch_; }
  const std::vector<std::uint64_t>& release() const noexcept { return release_; }
  std::uint64_t major() const noexcept { return part(0); }
  std::uint64_t minor() const noexcept { return part(1); }
  std::uint64_t micro() const noexcept { return part(2); }
  const std::optional<Pre>& pre() const noexcept { return pre_; }
  const std::optional<std::uint64_t>& post() const noexcept { return post_; }
  const std::optional<std::uint64_t>& dev() const noexcept { return dev_; }
  const std::string& local() const noexcept { return local_; }  // "cu118", empty where there is none

  bool is_prerelease() const noexcept { return pre_.has_value() || dev_.has_value(); }
  Version base() const;    // epoch and release alone
  Version public_part() const;  // without the local part

  /// PEP 440's total order: trailing zeros do not count ("2.0" == "2.0.0").
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == 0; }

 private:
  friend class SpecifierSet;
  std::uint64_t part(std::size_t index) const noexcept { return index < release_.size() ? release_[index] : 0; }

  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> release_;
  std::optional<Pre> pre_;
  std::optional<std::uint64_t> post_;
  std::optional<std::uint64_t> dev_;
  std::string local_;
};

/// ">=3.8,!=3.9.*": a set of clauses that all have to hold. The empty set holds for every version.
class SpecifierSet {
 public:
  static std::optional<SpecifierSet> parse(std::string_view text);

  /// Whether `version` satisfies every clause. Pre-releases count only where a clause names one or `prereleases` is set
  /// (PEP 440 "Handling of pre-releases"; pip check sets it).
  bool contains(const Version& version, bool prereleases = true) const;

  /// The version of a lone "==X" (no wildcard) or "===X" clause.
  std::optional<Version> pinned() const;
  bool empty() const noexcept { return clauses_.empty(); }
  std::string to_string() const;  // as written, normalised: "!=3.9.*,>=3.8"

 private:
  enum class Operator { compatible, equal, not_equal, less_equal, greater_equal, less, greater, arbitrary };
  struct Clause {
    Operator op;
    Version version;
    bool wildcard = false;
    std::string text;  // of ===
  };
  static std::optional<Clause> parse_clause(std::string_view text);
  static bool holds(const Clause& clause, const Version& version);
  std::vector<Clause> clauses_;
};

/// "3.11": what decides which wheels and which interpreter fit.
struct PythonMinor {
  unsigned major = 3;
  unsigned minor = 0;

  static std::optional<PythonMinor> parse(std::string_view text);  // exactly "X.Y"
  static PythonMinor of(const Version& version);
  std::string to_string() const;
  auto operator<=>(const PythonMinor&) const = default;
};

}  // namespace imgforge
