#include "image/credentials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::size_t max_document_text = 1 << 20;

/// A key of `auths` as HOST or HOST/PATH, in the spelling of references: without scheme, and without the paths of the
/// API that docker writes.
std::string normal_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) {
      key.remove_prefix(scheme.size());
      break;
    }
  }
  const std::size_t slash = key.find('/');
  std::string_view path = slash == std::string_view::npos ? "" : key.substr(slash);
  if (path == "/" || path == "/v1/" || path == "/v1" || path == "/v2/" || path == "/v2") path = "";
  std::string host = lower(key.substr(0, slash));
  if (host == "index.docker.io" || host == "registry-1.docker.io") host = "docker.io";
  return host + std::string(path);
}

/// HOST/A/B, HOST/A, HOST.
std::vector<std::string> prefixes_of(const CredentialQuestion& question) {
  const std::string host = normal_key(question.host);
  std::vector<std::string> result;
  std::string path = question.repository.empty() ? host : host + "/" + question.repository;
  while (path.size() > host.size()) {
    result.push_back(path);
    path.resize(path.rfind('/'));
  }
  result.push_back(host);
  return result;
}

std::string text_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Nothing where the entry has no secret: helpers leave empty ones behind.
std::optional<Credentials> credentials_of(const json& entry, std::string_view shown) {
  Credentials result;
  result.from = shown;
  result.user = text_of(entry, "username");
  result.password = text_of(entry, "password");
  result.identity_token = text_of(entry, "identitytoken");
  result.registry_token = text_of(entry, "registrytoken");
  if (const std::string encoded = text_of(entry, "auth"); !encoded.empty()) {
    std::optional<std::string> decoded = base64_decode(encoded);
    const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
    if (colon == std::string::npos)
      throw Error(ErrorKind::image_access, fmt::format("{} has an \"auth\" that is no base64 of USER:PASSWORD", shown),
                  "docker login writes it anew");
    result.user = decoded->substr(0, colon);
    result.password = decoded->substr(colon + 1);
    // Old versions of docker pad it with NULs.
    if (const std::size_t last = result.password.find_last_not_of('\0'); last + 1 < result.password.size())
      result.password.resize(last + 1);
  }
  if (result.user == "<token>" && result.identity_token.empty()) {
    result.identity_token = result.password;
    result.user.clear();
    result.password.clear();
  }
  if (!result.has_password() && result.identity_token.empty() && result.registry_token.empty()) return std::nullopt;
  return result;
}

std::optional<Credentials> from_auths(const json& auths, std::string_view shown, const CredentialQuestion& question) {
  for (const std::string& wanted : prefixes_of(question)) {
    // The key as people write it goes before those that only mean the same.
    if (const auto exact = auths.find(wanted); exact != auths.end() && exact->is_object()) {
      if (auto found = credentials_of(*exact, shown)) return found;
    }
    for (const auto& [key, entry] : auths.items()) {
      if (!entry.is_object() || key == wanted || normal_key(key) != wanted) continue;
      if (auto found = credentials_of(entry, shown)) return found;
    }
  }
  return std::nullopt;
}

/// How docker names a registry to helpers.
std::string server_of(const std::string& host) { return host == "docker.io" ? "https://index.docker.io/v1/" : host; }

}  // namespace

std::string Credentials::basic() const { return "Basic " + base64_encode(user + ":" + password); }

std::vector<std::string> secrets_of(const Credentials& credentials) {
  std::vector<std::string> result;
  for (const std::string& secret : {credentials.password, credentials.identity_token, credentials.registry_token}) {
    if (!secret.empty()) result.push_back(secret);
  }
  if (credentials.has_password()) result.push_back(base64_encode(credentials.user + ":" + credentials.password));
  return result;
}

std::optional<Credentials> find_credentials(std::string_view document, std::string_view shown,
                                            const CredentialQuestion& question, const CredentialHelper& helper) {
  json config;
  try {
    config = parse_json(document, shown, {.bytes = max_document_text});
  } catch (const Error&) {
    // Not the parser's own words: a damaged file could be quoted, and it holds secrets.
    throw Error(ErrorKind::image_access, fmt::format("{} is no valid JSON", shown),
                "docker login writes it anew; without a login, move it away");
  }
  if (!config.is_object()) throw Error(ErrorKind::image_access, fmt::format("{} is no JSON object", shown));
  const std::string host = normal_key(question.host);
  const auto ask = [&](const std::string& name) -> std::optional<Credentials> {
    try {
      return helper(name, server_of(host));
    } catch (const Error& error) {
      throw error.within(shown);
    }
  };
  if (const auto helpers = config.find("credHelpers"); helpers != config.end() && helpers->is_object()) {
    for (const auto& [key, name] : helpers->items()) {
      if (!name.is_string() || normal_key(key) != host) continue;
      if (auto found = ask(name.get<std::string>())) return found;
      break;
    }
  }
  if (const std::string store = text_of(config, "credsStore"); !store.empty()) {
    if (auto found = ask(store)) return found;
  }
  if (const auto auths = config.find("auths"); auths != config.end() && auths->is_object())
    return from_auths(*auths, shown, question);
  return std::nullopt;
}

}  // namespace imgforge
