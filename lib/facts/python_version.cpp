#include "facts/python_version.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "facts/package_databases.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t max_header = 64 << 10;
constexpr std::uint64_t max_program = 64 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of(const std::optional<Version>& version, const PythonMinor& minor) {
  return version && version->epoch() == 0 && version->local().empty() && version->release().size() == 3 &&
         PythonMinor::of(*version) == minor;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::optional<Version> version_of_patchlevel(std::string_view header) {
  for (const std::string_view line : lines(header)) {
    std::string_view rest = trim(line);
    if (!rest.starts_with("#define")) continue;
    rest = trim(rest.substr(7));
    if (!rest.starts_with("PY_VERSION") || rest.size() < 11 || (rest[10] != ' ' && rest[10] != '\t')) continue;
    const std::size_t open = rest.find('"');
    const std::size_t close = open == std::string_view::npos ? open : rest.find('"', open + 1);
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view text = rest.substr(open + 1, close - open - 1);
    while (text.ends_with('+')) text.remove_suffix(1);  // a build between releases
    return Version::parse(text);
  }
  return std::nullopt;
}

std::optional<Version> version_of_conda_record(std::string_view file_name) {
  if (!file_name.starts_with("python-") || !file_name.ends_with(".json")) return std::nullopt;
  file_name.remove_prefix(7);
  file_name.remove_suffix(5);
  const std::size_t dash = file_name.find('-');
  if (dash == std::string_view::npos || file_name.find('-', dash + 1) != std::string_view::npos) return std::nullopt;
  return Version::parse(file_name.substr(0, dash));
}

std::optional<Version> version_of_standalone_folder(std::string_view name) {
  if (!name.starts_with("cpython-")) return std::nullopt;
  name.remove_prefix(8);
  name = name.substr(0, name.find('-'));
  return Version::parse(name.substr(0, name.find('+')));
}

std::optional<Version> version_in_program(std::string_view bytes, const PythonMinor& minor) {
  const std::string start = minor.to_string() + ".";
  std::optional<Version> found;
  for (std::size_t at = bytes.find(start); at != std::string_view::npos; at = bytes.find(start, at + 1)) {
    // A text of its own: "\0" "3.11.9" "\0", or "Python 3.11.9".
    if (at == 0) continue;
    const bool own = bytes[at - 1] == '\0' || (at >= 7 && bytes.substr(at - 7, 7) == "Python ");
    std::size_t end = at + start.size();
    while (end < bytes.size() && end - at < 24 &&
           (is_digit(bytes[end]) || bytes[end] == 'a' || bytes[end] == 'b' || bytes[end] == 'r' || bytes[end] == 'c'))
      ++end;
    if (!own || end == at + start.size() || end >= bytes.size() ||
        (bytes[end] != '\0' && bytes[end] != '\n' && bytes[end] != '+'))
      continue;
    const auto version = Version::parse(bytes.substr(at, end - at));
    if (!is_of(version, minor)) continue;
    if (found && !(*found == *version)) return std::nullopt;
    found = version;
  }
  return found;
}

std::optional<PythonMinor> minor_in_name(std::string_view name) {
  const std::size_t at = name.find("python");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + 6);
  std::size_t end = 0;
  while (end < rest.size() && is_digit(rest[end])) ++end;
  if (end == 0 || end >= rest.size() || rest[end] != '.') return std::nullopt;
  std::size_t stop = end + 1;
  while (stop < rest.size() && is_digit(rest[stop])) ++stop;
  return PythonMinor::parse(rest.substr(0, stop));
}

std::optional<ProvenVersion> prove_version(ImageReader& reader, const std::string& prefix, const PythonMinor& minor,
                                           const Node& program) {
  RootView& root = reader.root();
  const std::string name = "python" + minor.to_string();
  const std::string base = prefix == "/" ? "" : prefix;

  for (const std::string& folder : {base + "/include/" + name, base + "/include/" + name + "m"}) {
    const Lookup found = root.lookup(folder + "/patchlevel.h");
    if (!found || found.node->type != EntryType::file) continue;
    const auto version = version_of_patchlevel(root.read(*found.node, max_header).value_or(""));
    if (is_of(version, minor)) return ProvenVersion{*version, reader.evidence(*found.node)};
  }

  if (reader.is_folder(base + "/conda-meta")) {
    std::optional<ProvenVersion> proven;
    bool several = false;
    for (const Node& node : root.list(base + "/conda-meta")) {
      const auto version = version_of_conda_record(base_name(node.path));
      if (!is_of(version, minor)) continue;
      several = several || proven.has_value();
      proven = ProvenVersion{*version, reader.evidence(node)};
    }
    if (proven && !several) return proven;
  }

  if (prefix == "/usr") {
    for (const std::string& package : {name + "-minimal", "lib" + name + "-minimal", std::string("python3")}) {
      const auto found = reader.packages().find(package);
      if (found == reader.packages().end()) continue;
      const auto version = upstream_version(found->second);
      if (is_of(version, minor)) return ProvenVersion{*version, reader.package_evidence()};
    }
  }

  // The prefix of python-build-standalone, which uv puts into a folder of that name; "python" or "install" may be
  // below.
  for (std::string_view path = prefix; path.size() > 1; path = path.substr(0, path.rfind('/'))) {
    const auto version = version_of_standalone_folder(base_name(path));
    if (is_of(version, minor)) return ProvenVersion{*version, reader.evidence(program)};
    if (path.rfind('/') == std::string_view::npos) break;
  }

  if (prefix == "/usr/local") {
    const auto text = reader.config().variable("PYTHON_VERSION");
    const auto version = text ? Version::parse(*text) : std::nullopt;
    if (is_of(version, minor)) return ProvenVersion{*version, Evidence::in_config("Env.PYTHON_VERSION")};
  }

  for (const std::string& path :
       {base + "/lib/lib" + name + ".so.1.0", base + "/lib64/lib" + name + ".so.1.0", program.path}) {
    const Lookup found = root.lookup(path);
    if (!found || found.node->type != EntryType::file) continue;
    const auto version = version_in_program(root.read(*found.node, max_program).value_or(""), minor);
    if (version) return ProvenVersion{*version, reader.evidence(*found.node)};
  }
  return std::nullopt;
}

}  // namespace imgforge
