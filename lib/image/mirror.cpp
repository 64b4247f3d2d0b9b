#include "image/mirror.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr const char* example = "as in docker.io=localhost:5000, or docker.io=mirror.example/docker-hub";

/// The host as references spell it, or nothing where it is none.
std::optional<std::string> host_of(std::string_view text) {
  std::string host = lower(text);
  if (host.find('/') != std::string::npos) return std::nullopt;
  if (host == "index.docker.io" || host == "registry-1.docker.io") host = "docker.io";
  const std::optional<Reference> trial = Reference::parse(host + "/x/y");
  return trial && trial->has_explicit_host() && trial->host() == host ? std::optional(host) : std::nullopt;
}

std::optional<Reference> within(const std::string& location, const Reference& reference) {
  std::string name = location + "/" + reference.repository();
  if (!reference.tag().empty()) name += ":" + reference.tag();
  if (reference.digest()) name += "@" + reference.digest()->to_string();
  return Reference::parse(name);
}

}  // namespace

Mirror parse_mirror(std::string_view text) {
  const std::string shown = escape_for_display(text.substr(0, 200));
  if (text.find('@') != std::string_view::npos)
    throw Error(ErrorKind::usage, "--mirror has an @ in it; a login is no part of it", example);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    throw Error(ErrorKind::usage, fmt::format("--mirror {} is not REGISTRY=MIRROR", shown), example);
  const std::optional<std::string> registry = host_of(text.substr(0, equals));
  std::string location(text.substr(equals + 1));
  while (location.ends_with('/')) location.pop_back();
  if (!registry) {
    throw Error(ErrorKind::usage, fmt::format("--mirror {}: what stands before the = is no host", shown), example);
  }
  const std::optional<std::string> host = host_of(std::string_view(location).substr(0, location.find('/')));
  // One path of any image, to see that the prefix is one.
  const std::optional<Reference> trial = Reference::parse(location + "/x/y:z");
  if (!host || !trial) {
    throw Error(ErrorKind::usage,
                fmt::format("--mirror {}: what stands behind the = is no HOST[:PORT][/PREFIX]", shown),
                location.find("://") != std::string::npos
                    ? "without the scheme: HTTPS is tried first; plain HTTP on this machine, and with --insecure"
                    : example);
  }
  return {*registry, std::move(location)};
}

std::vector<Reference> mirrored(const Reference& reference, const std::vector<Mirror>& mirrors) {
  std::vector<Reference> result;
  for (const Mirror& mirror : mirrors) {
    if (host_of(mirror.registry).value_or("") != reference.host()) continue;
    std::optional<Reference> there = within(mirror.location, reference);
    if (!there) {
      throw Error(ErrorKind::usage, fmt::format("the mirror \"{}\" has no place for {}",
                                                escape_for_display(mirror.location), reference.to_full_string()));
    }
    result.push_back(std::move(*there));
  }
  return result;
}

}  // namespace imgforge
