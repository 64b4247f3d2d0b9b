// The login of one repository at one registry: challenges are answered with the credentials of that registry, tokens
// are renewed in time. distribution-spec 1.1 ("Authentication"), RFC 7617, RFC 6750.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http.hpp"
#include "base/reference.hpp"
#include "image/challenge.hpp"
#include "image/credentials.hpp"
#include "image/registry_token.hpp"
#include "image/source.hpp"

namespace imgforge {

/// What was tried for one request already; each thing is tried once.
struct LoginAttempts {
  bool fresh = false;    // what was sent had been made for this request
  bool widened = false;  // the scope that the registry asked for was added
  int answers = 0;
};

/// Thread-safe. Credentials are looked up when a registry first asks for them, and not before.
class RegistryLogin {
 public:
  /// `mirror`: it is asked instead of another registry, so clouds' own credentials are not for it.
  RegistryLogin(const Reference& reference, const SourceOptions& options, bool mirror, HttpClient& client);

  /// The value of the Authorization header for a request to `registry`; empty before a challenge, and for any other
  /// scheme, host or port than the one that asked. Throws as fetch_token does, where a token has to be renewed.
  std::string authorization(const Url& registry);

  /// After a 401 or 403 of `registry` to a request that carried `sent`. True where it is worth another attempt; false
  /// for a 403 that no token mends. Throws Error(image_access) that says what is missing, and as fetch_token does.
  bool answer(const Url& registry, HttpResponse& response, const std::string& sent, LoginAttempts& attempts);

  /// Whether anything was ever sent.
  bool is_used() const;

  /// What was sent, or may have been, and must not come back in a message.
  std::vector<std::string> secrets() const;

 private:
  enum class Kind { none, basic, bearer };
  std::string value() const;
  std::vector<std::string> all_secrets() const;
  void look_up(const Url& registry);
  void look_up_again(const Url& registry);
  void fetch(const Url& registry, const Challenge& challenge, const std::string& scope);
  bool answer_basic(const Url& registry, HttpResponse& response, bool was_sent);
  bool answer_bearer(const Url& registry, HttpResponse& response, const Challenge& challenge, bool was_sent,
                     LoginAttempts& attempts);
  [[noreturn]] void throw_refused(HttpResponse& response) const;
  [[noreturn]] void throw_missing(std::string_view because) const;

  Reference reference_;
  std::string authfile_;
  bool insecure_;
  bool mirror_;
  HttpClient& client_;

  mutable std::mutex mutex_;
  Kind kind_ = Kind::none;
  Url origin_;  // what is sent goes there and nowhere else
  std::optional<Credentials> credentials_;
  std::string note_;  // why there are none
  std::optional<std::chrono::steady_clock::time_point> looked_up_;
  Challenge challenge_;
  std::string scope_;
  AccessToken token_;
};

}  // namespace imgforge
