// Which files of a layer may hold a secret, by their names, and whether their contents do.
//
// This stands so low in the house because contents pass once: they are judged while they pass, what they were found to
// be is kept (and goes to the cache), and the contents are not. So nothing that was found to be a secret is on disk
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace imgforge {

/// The numbers are in cache files.
enum class SecretKind : std::uint8_t {
  none = 0,
  private_key = 1,  // PEM: PKCS #1, PKCS #8, SEC 1, also encrypted ones
  openssh_private_key = 2,
  pgp_private_key = 3,
  putty_private_key = 4,
  service_account = 5,      // JSON of Google Cloud's
  application_default = 6,  // the refresh token of a Google user
  docker_login = 7,         // "auths" of a Docker or Podman config
  netrc_password = 8,
  pypirc_password = 9,
  url_password = 10,  // in an index URL, a Git remote, ...
  aws_key = 11,
  npm_token = 12,
  access_token = 13,  // Hugging Face, and whatever else has a shape of its own
};
inline constexpr std::uint8_t most_secret_kind = 13;

/// "an OpenSSH private key".
std::string_view name_of(SecretKind kind) noexcept;

inline constexpr std::uint64_t most_secret_bytes = 1 << 20;  // of a file that is looked at

enum class SecretCandidate : std::uint8_t {
  no,
  by_ending,  // *.pem, *.key, *.json: most are none
  by_name,    // id_rsa, .netrc, .docker/config.json, ...
};

/// By path (relative to the root, as entries have it) and size of a regular file. Cheap: it is asked of every file.
SecretCandidate secret_candidate(std::string_view path, std::uint64_t size) noexcept;
SecretCandidate secret_candidate(std::string_view folder, std::string_view name, std::uint64_t size) noexcept;

/// What a candidate's content is. Placeholders ("<password>", "${TOKEN}"), public keys and certificates are none.
SecretKind secret_in(std::string_view path, std::string_view content);

/// Stands for the two functions above: another judgement has another number. For what is kept between runs.
inline constexpr std::uint64_t secret_rules = 1;

}  // namespace imgforge
