// Versions, specifiers and requirements: what parses has a canonical spelling that parses to the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/requirement.hpp"
#include "base/version.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Version python = *Version::parse("3.11.4");
  if (const auto version = Version::parse(text)) {
    const auto again = Version::parse(version->to_string());
    // A spelling may grow ("1rc" is "1rc0"); beyond the limit it is refused.
    if (again ? *again != *version : version->to_string().size() <= 256) std::abort();
    if (!(*version == *version) || *version < *version) std::abort();
  }
  if (const auto set = SpecifierSet::parse(text)) {
    set->contains(python);
    set->contains(python, false);
    const auto again = SpecifierSet::parse(set->to_string());
    if (again && again->to_string() != set->to_string()) std::abort();
  }
  if (const auto requirement = Requirement::parse(text)) {
    requirement->applies(linux_markers(python, "x86_64"));
    const std::string canonical = requirement->to_string();
    const auto again = Requirement::parse(canonical);
    if (again ? again->to_string() != canonical : canonical.size() <= 256) std::abort();
  }
  PythonMinor::parse(text);
  return 0;
}
