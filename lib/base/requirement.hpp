// Dependency specifiers: PEP 508 (names, extras, versions, URLs and markers), PEP 503 (normalised names).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"

namespace imgforge {

/// PEP 503: lower case, runs of "-", "_" and "." become one "-".
std::string normalise_name(std::string_view name);
/// Whether it is a project name by PEP 508: letters and digits at both ends, "._-" between.
bool is_project_name(std::string_view name) noexcept;

/// What markers are asked about: the variables of PEP 508, "extra" included.
using MarkerEnvironment = std::map<std::string, std::string, std::less<>>;

/// CPython of this version on Linux x86_64 or aarch64 (`machine` as uname prints it).
MarkerEnvironment linux_markers(const Version& python, std::string_view machine);

class Requirement {
 public:
  /// One requirement, without comments and pip options; nothing where it does not parse. At most 4096 bytes.
  static std::optional<Requirement> parse(std::string_view text);

  const std::string& name() const noexcept { return name_; }        // as written
  std::string normalised() const { return normalise_name(name_); }
  const std::vector<std::string>& extras() const noexcept { return extras_; }
  const SpecifierSet& specifiers() const noexcept { return specifiers_; }
  const std::string& url() const noexcept { return url_; }          // of "name @ url"
  bool has_marker() const noexcept { return marker_ != nullptr; }

  /// Whether the marker holds (true where there is none). Versions compare as PEP 440 says, other values as text.
  bool applies(const MarkerEnvironment& environment) const;

  std::string to_string() const;  // one canonical spelling, marker included

  struct Marker;

 private:
  std::string name_;
  std::vector<std::string> extras_;
  SpecifierSet specifiers_;
  std::string url_;
  std::shared_ptr<const Marker> marker_;
};

}  // namespace imgforge
