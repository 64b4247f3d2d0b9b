#include "facts/package_databases.hpp"

#include "base/text.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_packages = 100'000;

bool same_field(std::string_view name, std::string_view wanted) { return lower(name) == wanted; }

}  // namespace

std::map<std::string, std::string> parse_dpkg_status(std::string_view text) {
  std::map<std::string, std::string> packages;
  std::string name, version, status;
  const auto close = [&] {
    const bool installed = status.empty() || status.ends_with(" installed");
    if (!name.empty() && !version.empty() && installed && packages.size() < max_packages) packages[name] = version;
    name.clear();
    version.clear();
    status.clear();
  };
  for (const std::string_view line : lines(text)) {
    if (trim(line).empty()) {
      close();
      continue;
    }
    const std::size_t colon = line.find(':');
    if (line.front() == ' ' || line.front() == '\t' || colon == std::string_view::npos) continue;
    const std::string_view field = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1)).substr(0, 256);
    if (same_field(field, "package")) name = value;
    if (same_field(field, "version")) version = value;
    if (same_field(field, "status")) status = value;
  }
  close();
  return packages;
}

std::map<std::string, std::string> parse_apk_installed(std::string_view text) {
  std::map<std::string, std::string> packages;
  std::string name;
  for (const std::string_view line : lines(text)) {
    if (line.empty()) name.clear();
    if (line.starts_with("P:")) name = line.substr(2, 256);
    if (line.starts_with("V:") && !name.empty() && packages.size() < max_packages) packages[name] = line.substr(2, 256);
  }
  return packages;
}

std::optional<Version> upstream_version(std::string_view package_version) {
  const std::size_t colon = package_version.find(':');
  if (colon != std::string_view::npos) package_version.remove_prefix(colon + 1);
  const std::size_t dash = package_version.rfind('-');
  if (dash != std::string_view::npos) package_version = package_version.substr(0, dash);
  package_version = package_version.substr(0, package_version.find('+'));
  std::string text;
  for (const char letter : package_version) {
    if (letter != '~') text += letter;
  }
  return Version::parse(text);
}

}  // namespace imgforge
