#include "layer/secret_file.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "layer/secret_text.hpp"
#include "recipe/secret.hpp"

namespace imgforge {
namespace {

constexpr std::uint64_t most_json = 64 << 10;  // keys and logins are far smaller
constexpr std::size_t least_key_body = 32;     // characters of base64: the shortest real key has 64

template <std::size_t Size>
bool is_one_of(std::string_view name, const std::array<std::string_view, Size>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 19> names_of_candidates = {"id_rsa",
                                                                  "id_dsa",
                                                                  "id_ecdsa",
                                                                  "id_ed25519",
                                                                  "id_ecdsa_sk",
                                                                  "id_ed25519_sk",
                                                                  ".netrc",
                                                                  "_netrc",
                                                                  ".pypirc",
                                                                  "pip.conf",
                                                                  "pip.ini",
                                                                  ".condarc",
                                                                  ".gitconfig",
                                                                  ".git-credentials",
                                                                  ".dockercfg",
                                                                  "auth.conf",
                                                                  ".npmrc",
                                                                  "adc.json",
                                                                  "application_default_credentials.json"};

/// The last folder of a folder's path.
std::string_view last_of(std::string_view folder) {
  const std::size_t slash = folder.rfind('/');
  return slash == std::string_view::npos ? folder : folder.substr(slash + 1);
}

bool is_word(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_base64(char c) noexcept { return is_word(c) || c == '+' || c == '/' || c == '='; }

/// What people write where the real one comes later.
bool is_placeholder(std::string_view value) {
  if (value.size() < 4) return true;
  if (value.front() == '$' || value.find("${") != std::string_view::npos ||
      value.find("{{") != std::string_view::npos || value.find("%(") != std::string_view::npos ||
      (value.front() == '%' && value.back() == '%'))
    return true;
  if (value.front() == '<' || value.front() == '[' || value.front() == '{') return true;
  if (value.find_first_not_of(value.front()) == std::string_view::npos) return true;  // xxxx, ****
  const std::string lowered = lower(value);
  constexpr std::array<std::string_view, 10> words = {"password", "changeme", "secret", "token", "none",
                                                      "null",     "passwd",   "pass",   "dummy", "placeholder"};
  return is_one_of(lowered, words) || lowered.starts_with("your") || lowered.starts_with("my-") ||
         lowered.find("redacted") != std::string::npos;
}

/// A PEM (or OpenPGP) block with a private key in it: RFC 7468, RFC 1421 headers, OpenSSH's PROTOCOL.key.
SecretKind key_in(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ";
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + begin.size())) {
    std::string_view rest = text.substr(at + begin.size());
    const std::size_t label_end = rest.substr(0, 64).find("-----");
    if (label_end == std::string_view::npos) continue;
    const std::string_view label = rest.substr(0, label_end);
    const bool pgp = label == "PGP PRIVATE KEY BLOCK";
    if (!pgp && !label.ends_with("PRIVATE KEY")) continue;
    rest.remove_prefix(label_end + 5);
    rest = rest.substr(0, rest.find("-----"));
    std::size_t body = 0;
    while (!rest.empty() && body < least_key_body) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = trim(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!line.empty() && std::all_of(line.begin(), line.end(), is_base64)) body += line.size();
    }
    if (body < least_key_body) continue;
    return pgp                              ? SecretKind::pgp_private_key
           : label == "OPENSSH PRIVATE KEY" ? SecretKind::openssh_private_key
                                            : SecretKind::private_key;
  }
  if (text.starts_with("PuTTY-User-Key-File-") && text.find("Private-Lines:") != std::string_view::npos)
    return SecretKind::putty_private_key;
  return SecretKind::none;
}

/// A URL with a password, or with a token in the place of a user.
bool has_url_password(std::string_view text) {
  for (std::size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\r\n\"'", begin), text.size());
    const std::string_view authority = text.substr(begin, end - begin);
    const std::size_t sign = authority.rfind('@');
    if (sign == std::string_view::npos) continue;
    const std::string_view user = authority.substr(0, sign);
    const std::size_t colon = user.find(':');
    if (colon != std::string_view::npos) {
      if (!is_placeholder(user.substr(colon + 1))) return true;
      continue;
    }
    const bool digit = std::any_of(user.begin(), user.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool plain = std::all_of(user.begin(), user.end(), [](char c) { return is_word(c) || c == '-' || c == '_'; });
    if (looks_secret({}, user) || (user.size() >= 20 && digit && plain)) return true;
  }
  return false;
}

/// A prefix that only tokens have, at the start of a word, and behind it as much as theirs have at least. Words in
/// lower case are no tokens: hf_transfer is a package.
bool has_token_shape(std::string_view text) {
  struct Shape {
    std::string_view prefix;
    std::size_t least;
  };
  constexpr std::array<Shape, 17> shapes = {{{"ghp_", 16},
                                             {"gho_", 16},
                                             {"ghu_", 16},
                                             {"ghs_", 16},
                                             {"ghr_", 16},
                                             {"hf_", 16},
                                             {"AKIA", 16},
                                             {"ASIA", 16},
                                             {"ya29.", 16},
                                             {"AIza", 20},
                                             {"glpat-", 16},
                                             {"xoxa-", 12},
                                             {"xoxb-", 12},
                                             {"xoxp-", 12},
                                             {"xoxr-", 12},
                                             {"xoxs-", 12},
                                             {"github_pat_", 16}}};
  for (const Shape& shape : shapes) {
    for (std::size_t at = text.find(shape.prefix); at != std::string_view::npos; at = text.find(shape.prefix, at + 1)) {
      if (at != 0 && (is_word(text[at - 1]) || text[at - 1] == '_' || text[at - 1] == '/')) continue;
      std::size_t size = 0;
      bool digit = false, upper = false, lower_case = false;
      for (const char c : text.substr(at + shape.prefix.size())) {
        if (!is_word(c) && c != '_' && c != '-') break;
        ++size;
        digit = digit || (c >= '0' && c <= '9');
        upper = upper || (c >= 'A' && c <= 'Z');
        lower_case = lower_case || (c >= 'a' && c <= 'z');
      }
      if (size >= shape.least && (digit || (upper && lower_case))) return true;
    }
  }
  return false;
}

/// The value of "key = value" or "key: value" lines whose key ends in one of `keys`.
template <std::size_t Size>
bool has_setting(std::string_view text, const std::array<std::string_view, Size>& keys, std::size_t least) {
  for (const std::string_view line : lines(text)) {
    const std::string_view trimmed = trim(line);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    const std::size_t sign = trimmed.find('=') != std::string_view::npos ? trimmed.find('=') : trimmed.find(':');
    if (sign == std::string_view::npos) continue;
    const std::string_view key = trim(trimmed.substr(0, sign));
    std::string_view value = trim(trimmed.substr(sign + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    const bool wanted = std::any_of(keys.begin(), keys.end(), [&](std::string_view one) { return key.ends_with(one); });
    if (wanted && value.size() >= least && !is_placeholder(value)) return true;
  }
  return false;
}

/// netrc(5): words, of which the one behind "password" counts.
bool has_netrc_password(std::string_view text) {
  bool next = false;
  for (const std::string_view line : lines(text)) {
    if (trim(line).starts_with('#')) continue;
    std::size_t at = 0;
    while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      const std::string_view word = line.substr(at, end - at);
      if (next && !is_placeholder(word)) return true;
      next = word == "password";
      at = end;
    }
  }
  return false;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "auths" (and the older form without it) of ~/.docker/config.json and containers-auth.json(5).
bool has_docker_login(const nlohmann::json& hosts) {
  static constexpr const char* keys[] = {"auth", "password", "identitytoken", "registrytoken"};
  if (!hosts.is_object()) return false;
  return std::any_of(hosts.begin(), hosts.end(), [&](const nlohmann::json& host) {
    return host.is_object() && std::any_of(std::begin(keys), std::end(keys),
                                           [&](const char* key) { return !is_placeholder(text_of(host, key)); });
  });
}

SecretKind secret_in_json(std::string_view name, std::string_view content) {
  const auto names = [&](std::string_view key) { return content.find(key) != std::string_view::npos; };
  if (!names("\"private_key\"") && !names("\"refresh_token\"") && !names("\"auth\"") && !names("\"password\"") &&
      !names("token\""))
    return SecretKind::none;
  nlohmann::json document;
  try {
    document = parse_json(content, "a candidate", {.depth = 16, .elements = 4'000, .bytes = most_secret_bytes});
  } catch (const Error&) {
    return SecretKind::none;
  }
  if (!document.is_object()) return SecretKind::none;
  const std::string type = text_of(document, "type");
  const std::string key = text_of(document, "private_key");
  if (key_in(key) != SecretKind::none)
    return type == "service_account" ? SecretKind::service_account : SecretKind::private_key;
  const nlohmann::json& user = type == "impersonated_service_account" && document.contains("source_credentials")
                                   ? document["source_credentials"]
                                   : document;
  if (user.is_object() && text_of(user, "type") == "authorized_user" && !is_placeholder(text_of(user, "refresh_token")))
    return SecretKind::application_default;
  if (document.contains("auths") && has_docker_login(document["auths"])) return SecretKind::docker_login;
  if (name == ".dockercfg" && has_docker_login(document)) return SecretKind::docker_login;
  return SecretKind::none;
}

}  // namespace

std::string_view name_of(SecretKind kind) noexcept {
  switch (kind) {
    case SecretKind::none: return "no secret";
    case SecretKind::private_key: return "a private key";
    case SecretKind::openssh_private_key: return "an OpenSSH private key";
    case SecretKind::pgp_private_key: return "an OpenPGP private key";
    case SecretKind::putty_private_key: return "a PuTTY private key";
    case SecretKind::service_account: return "the key of a service account";
    case SecretKind::application_default: return "the application default credentials of a user";
    case SecretKind::docker_login: return "a registry login";
    case SecretKind::netrc_password: return "a password of netrc";
    case SecretKind::pypirc_password: return "a password for a package index";
    case SecretKind::url_password: return "a URL with a password";
    case SecretKind::aws_key: return "a key of AWS";
    case SecretKind::npm_token: return "a token of npm";
    case SecretKind::access_token: return "an access token";
  }
  return "a secret";
}

SecretCandidate secret_candidate(std::string_view folder, std::string_view name, std::uint64_t size) noexcept {
  if (size < 16 || size > most_secret_bytes || name.empty()) return SecretCandidate::no;
  if (is_one_of(name, names_of_candidates)) return SecretCandidate::by_name;
  const std::string_view parent = last_of(folder);
  if (name == "config.json" && (parent == ".docker" || parent == "docker")) return SecretCandidate::by_name;
  if (name == "auth.json" && parent == "containers") return SecretCandidate::by_name;
  if ((name == "credentials" || name == "config") && parent == ".aws") return SecretCandidate::by_name;
  if (name == "config" && parent == ".git") return SecretCandidate::by_name;  // remotes
  if (name == "token" && (parent == "huggingface" || parent == ".huggingface")) return SecretCandidate::by_name;
  if (parent == "auth.conf.d" && name.ends_with(".conf")) return SecretCandidate::by_name;
  if (name.starts_with("ssh_host_") && name.ends_with("_key")) return SecretCandidate::by_name;
  if (name.ends_with(".json")) return size <= most_json ? SecretCandidate::by_ending : SecretCandidate::no;
  for (const std::string_view ending :
       {".pem", ".key", ".ppk", ".asc", ".p8", "_rsa", "_dsa", "_ecdsa", "_ed25519", "_key"}) {
    if (name.ends_with(ending)) return SecretCandidate::by_ending;
  }
  return SecretCandidate::no;
}

SecretCandidate secret_candidate(std::string_view path, std::uint64_t size) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return secret_candidate({}, path, size);
  return secret_candidate(path.substr(0, slash), path.substr(slash + 1), size);
}

SecretKind secret_in(std::string_view path, std::string_view content) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view folder = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  const auto as = [](bool found, SecretKind kind) { return found ? kind : SecretKind::none; };
  constexpr std::array<std::string_view, 1> password = {"password"};
  constexpr std::array<std::string_view, 3> npm = {"_authToken", "_password", "_auth"};
  constexpr std::array<std::string_view, 2> aws = {"aws_secret_access_key", "aws_session_token"};
  if (name.ends_with(".json") || name == ".dockercfg") return secret_in_json(name, content);
  if (name == ".netrc" || name == "_netrc" || name == "auth.conf" || last_of(folder) == "auth.conf.d")
    return as(has_netrc_password(content), SecretKind::netrc_password);
  if (name == ".pypirc") {
    return as(has_setting(content, password, 4) || has_url_password(content), SecretKind::pypirc_password);
  }
  if (name == "pip.conf" || name == "pip.ini" || name == ".condarc" || name == ".gitconfig" ||
      name == ".git-credentials" || last_of(folder) == ".git")
    return as(has_url_password(content), SecretKind::url_password);
  if (name == ".npmrc") return as(has_setting(content, npm, 8), SecretKind::npm_token);
  if (last_of(folder) == ".aws") return as(has_setting(content, aws, 16), SecretKind::aws_key);
  if (name == "token") return as(looks_secret({}, trim(content)), SecretKind::access_token);
  return key_in(content);
}

SecretKind secret_in_text(std::string_view text) {
  if (const SecretKind key = key_in(text); key != SecretKind::none) return key;
  if (has_url_password(text)) return SecretKind::url_password;
  if (has_token_shape(text)) return SecretKind::access_token;
  return SecretKind::none;
}

}  // namespace imgforge
