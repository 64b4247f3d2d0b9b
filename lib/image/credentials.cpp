#include "image/credentials.hpp"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::uint64_t max_config_bytes = 1 << 20;

/// The host of a key of `auths`, in the spelling of references; empty where the key means something else.
std::string host_of_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) {
      key.remove_prefix(scheme.size());
      break;
    }
  }
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view path = key.substr(slash);
    if (path != "/" && path != "/v1/" && path != "/v1" && path != "/v2/" && path != "/v2") return "";
    key = key.substr(0, slash);
  }
  const std::string host = lower(key);
  return host == "index.docker.io" || host == "registry-1.docker.io" ? "docker.io" : host;
}

std::string text_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Credentials> credentials_of(const json& entry) {
  if (const std::string encoded = text_of(entry, "auth"); !encoded.empty()) {
    const std::optional<std::string> decoded = base64_decode(encoded);
    const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
    if (colon == std::string::npos)
      throw Error(ErrorKind::image_access, "docker's config.json has an \"auth\" that is no base64 of USER:PASSWORD",
                  "docker login writes it anew");
    return Credentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
  }
  const std::string user = text_of(entry, "username");
  if (user.empty()) return std::nullopt;
  return Credentials{user, text_of(entry, "password")};
}

std::string config_path() {
  if (const char* folder = std::getenv("DOCKER_CONFIG"); folder && *folder) return std::string(folder) + "/config.json";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.docker/config.json";
  return "";
}

}  // namespace

std::string Credentials::basic() const { return "Basic " + base64_encode(user + ":" + password); }

CredentialLookup find_credentials(std::string_view config_json, std::string_view host) {
  json config;
  try {
    config = parse_json(config_json, "docker's config.json", {.bytes = max_config_bytes});
  } catch (const Error&) {
    // Not the parser's own words: a damaged file could be quoted, and it holds secrets.
    throw Error(ErrorKind::image_access, "docker's config.json is no valid JSON",
                "docker login writes it anew; without a login, move it away");
  }
  if (!config.is_object()) throw Error(ErrorKind::image_access, "docker's config.json is no JSON object");
  const std::string wanted = host_of_key(host);
  CredentialLookup result;
  bool identity_token = false;
  if (const auto auths = config.find("auths"); auths != config.end() && auths->is_object()) {
    for (const auto& [key, entry] : auths->items()) {
      if (!entry.is_object() || host_of_key(key) != wanted) continue;
      identity_token = identity_token || !text_of(entry, "identitytoken").empty();
      if (auto found = credentials_of(entry); found && !found->password.empty()) {
        result.found = std::move(found);
        return result;
      }
    }
  }
  const auto helpers = config.find("credHelpers");
  bool helper = !text_of(config, "credsStore").empty();
  if (helpers != config.end() && helpers->is_object()) {
    for (const auto& [key, program] : helpers->items())
      helper = helper || (program.is_string() && host_of_key(key) == wanted);
  }
  if (identity_token)
    result.note = "docker's config.json has an identity token for it, which is not used yet";
  else if (helper)
    result.note = "docker's config.json leaves it to a credential helper, and helpers are not asked yet";
  return result;
}

CredentialLookup find_credentials(std::string_view host) {
  const std::string path = config_path();
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return {};
  std::string content;
  try {
    content = read_file(path, max_config_bytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::image_access, error.message(), error.hint());
  }
  return find_credentials(content, host);
}

}  // namespace imgforge
