#include "recipe/secret.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"

namespace imgforge {

namespace {

bool is_word(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_token(char c) noexcept { return is_word(c) || c == '_' || c == '-'; }

bool secret_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> words = {"token",  "secret",     "password",    "passwd",    "api_key",
                                                     "apikey", "credential", "private_key", "access_key"};
  std::string lowered = lower(name);
  std::replace_if(
      lowered.begin(), lowered.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  // TOKENIZERS_PARALLELISM and its like tokenize text.
  for (std::size_t at = lowered.find("tokeniz"); at != std::string::npos; at = lowered.find("tokeniz"))
    lowered.erase(at, 7);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lowered.find(word) != std::string::npos; });
}

/// `prefix` at the start of a word, with at least six characters of a token behind it.
bool has_token(std::string_view value, std::string_view prefix) {
  constexpr std::size_t least = 6;
  for (std::size_t at = value.find(prefix); at != std::string_view::npos; at = value.find(prefix, at + 1)) {
    if (at != 0 && is_word(value[at - 1])) continue;
    const std::string_view rest = value.substr(at + prefix.size());
    if (rest.size() >= least && std::all_of(rest.begin(), rest.begin() + least, is_token)) return true;
  }
  return false;
}

/// "scheme://user:password@host"
bool has_password(std::string_view value) {
  for (std::size_t at = value.find("://"); at != std::string_view::npos; at = value.find("://", at + 3)) {
    const std::string_view authority = value.substr(at + 3, value.find_first_of("/?# ", at + 3) - (at + 3));
    const std::size_t user_end = authority.rfind('@');
    if (user_end != std::string_view::npos && authority.substr(0, user_end).find(':') != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

bool looks_secret(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 17> prefixes = {"ghp_",  "gho_",  "ghu_",  "ghs_",  "ghr_", "github_pat_",
                                                         "hf_",   "AKIA",  "ASIA",  "ya29.", "AIza", "glpat-",
                                                         "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"};
  if (secret_name(name)) return true;
  if (value.find("-----BEGIN") != std::string_view::npos) return true;
  if (has_password(value)) return true;
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return has_token(value, prefix); });
}

}  // namespace imgforge
