#include "facts/system_packages.hpp"

#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::uint64_t max_database = 32 << 20;
constexpr std::size_t max_names = 100'000;

}  // namespace

std::vector<std::string> parse_dpkg_provides(std::string_view text) {
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string_view line : lines(text)) {
    const bool continued = !line.empty() && (line.front() == ' ' || line.front() == '\t');
    if (!continued) inside = lower(line.substr(0, 9)) == "provides:";
    if (!inside) continue;
    for (std::string_view one : split(continued ? line : line.substr(9), ',')) {
      one = trim(one);
      one = one.substr(0, one.find_first_of(" (:\t"));
      if (!one.empty() && names.size() < max_names) names.emplace_back(one);
    }
  }
  return names;
}

Fact<std::map<std::string, std::string>> read_system_packages(ImageReader& reader) {
  using Packages = Fact<std::map<std::string, std::string>>;
  std::map<std::string, std::string> packages = reader.packages();
  if (packages.empty()) return Packages::absent();
  if (const auto status = reader.root().read("/var/lib/dpkg/status", max_database)) {
    for (std::string& name : parse_dpkg_provides(*status)) packages.try_emplace(std::move(name));
  }
  return Packages::known(std::move(packages), {reader.package_evidence()});
}

}  // namespace imgforge
