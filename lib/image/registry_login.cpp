#include "image/registry_login.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/google_credentials.hpp"
#include "image/redirect.hpp"
#include "image/registry_answer.hpp"

namespace imgforge {

namespace {

using Clock = std::chrono::steady_clock;

// Helpers and clouds give out passwords that live for an hour or less.
constexpr std::chrono::minutes credentials_age{5};
constexpr int max_answers = 5;
constexpr std::size_t max_scope = 1024;

std::string parameter(const Challenge& challenge, const std::string& name) {
  const auto found = challenge.parameters.find(name);
  return found == challenge.parameters.end() ? "" : found->second;
}

/// The first challenge of a scheme; a Bearer without a realm is none.
std::optional<Challenge> challenge_of(const HttpResponse& response, std::string_view scheme) {
  for (const std::string& header : response.headers("www-authenticate")) {
    for (Challenge& challenge : parse_challenges(header)) {
      if (challenge.scheme != scheme) continue;
      if (scheme == "bearer" && parameter(challenge, "realm").empty()) continue;
      return std::move(challenge);
    }
  }
  return std::nullopt;
}

}  // namespace

RegistryLogin::RegistryLogin(const Reference& reference, const SourceOptions& options, bool mirror, HttpClient& client)
    : reference_(reference),
      authfile_(options.authfile),
      insecure_(options.insecure),
      mirror_(mirror),
      client_(client) {}

std::string RegistryLogin::value() const {
  if (kind_ == Kind::basic) return credentials_->basic();
  if (kind_ == Kind::bearer) return "Bearer " + token_.value;
  return "";
}

bool RegistryLogin::is_used() const {
  const std::lock_guard lock(mutex_);
  return kind_ != Kind::none;
}

std::vector<std::string> RegistryLogin::all_secrets() const {
  std::vector<std::string> result = credentials_ ? secrets_of(*credentials_) : std::vector<std::string>{};
  if (!token_.value.empty()) result.push_back(token_.value);
  return result;
}

std::vector<std::string> RegistryLogin::secrets() const {
  const std::lock_guard lock(mutex_);
  return all_secrets();
}

std::string RegistryLogin::authorization(const Url& registry) {
  const std::lock_guard lock(mutex_);
  if (kind_ == Kind::none || !registry.same_origin(origin_)) return "";
  if (kind_ == Kind::bearer && Clock::now() >= token_.until) {
    look_up_again(registry);
    fetch(registry, challenge_, scope_);
  }
  return value();
}

void RegistryLogin::look_up(const Url& registry) {
  CredentialLookup lookup = find_credentials({reference_.host(), reference_.repository()}, authfile_);
  if (!lookup.found && !mirror_ && !insecure_ && is_google_registry(registry)) {
    try {
      lookup.found = google_credentials(client_, google_setup());
    } catch (const Error& error) {
      // Nobody configured it for this registry, and the image may be everybody's.
      lookup.note = error.message();
    }
  }
  credentials_ = std::move(lookup.found);
  note_ = std::move(lookup.note);
  looked_up_ = Clock::now();
}

void RegistryLogin::look_up_again(const Url& registry) {
  const Clock::time_point now = Clock::now();
  if (credentials_ && (now >= *looked_up_ + credentials_age || (credentials_->until && now >= *credentials_->until)))
    look_up(registry);
}

void RegistryLogin::fetch(const Url& registry, const Challenge& challenge, const std::string& scope) {
  if (credentials_ && !credentials_->registry_token.empty()) {
    if (!is_header_word(credentials_->registry_token)) {
      throw Error(ErrorKind::image_access,
                  fmt::format("the registrytoken of {} is none that a header can carry", credentials_->from));
    }
    token_ = {credentials_->registry_token, Clock::time_point::max()};
  } else {
    check_realm(registry, parameter(challenge, "realm"));  // what it throws is no word of the token server
    try {
      token_ = fetch_token(client_, {registry, parameter(challenge, "realm"), parameter(challenge, "service"), scope,
                                     credentials_, insecure_});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::image_access) throw;
      if (!credentials_) throw_missing(error.message());
      throw Error(
          ErrorKind::image_access,
          fmt::format("the login for {} from {} got {}", reference_.host(), credentials_->from, error.message()),
          error.hint().empty() ? "docker login " + reference_.host() : error.hint());
    }
  }
  challenge_ = challenge;
  scope_ = scope;
  origin_ = registry;
  kind_ = Kind::bearer;
}

void RegistryLogin::throw_missing(std::string_view because) const {
  throw Error(ErrorKind::image_access,
              fmt::format("{} wants a login for {}, or has no such repository, and there is no login for it{}{}{}",
                          reference_.host(), reference_.repository(), because.empty() ? "" : ": ", because,
                          note_.empty() ? "" : "; " + note_),
              "docker login " + reference_.host());
}

void RegistryLogin::throw_refused(HttpResponse& response) const {
  const std::string said = said_by_server(response, all_secrets());
  if (!credentials_) throw_missing(fmt::format("it answered {}{}", response.status(), said));
  throw Error(ErrorKind::image_access,
              fmt::format("{} refuses the credentials of {} for {}: it answered {}{}", reference_.host(),
                          credentials_->from, reference_.repository(), response.status(), said),
              "docker login " + reference_.host());
}

bool RegistryLogin::answer(const Url& registry, HttpResponse& response, const std::string& sent,
                           LoginAttempts& attempts) {
  const std::lock_guard lock(mutex_);
  const std::optional<Challenge> bearer = challenge_of(response, "bearer");
  if (response.status() == 403) {
    if (!bearer || kind_ != Kind::bearer || parameter(*bearer, "error") != "insufficient_scope" || attempts.widened)
      return false;
  } else if (sent != value() && kind_ != Kind::none && registry.same_origin(origin_) && !attempts.fresh) {
    // Another thread was here first.
    attempts.fresh = true;
    return true;
  }
  // A registry that asks for Basic and Bearer in turn would have us go round for ever.
  if (++attempts.answers > max_answers) throw_refused(response);
  if (bearer) return answer_bearer(registry, response, *bearer, kind_ == Kind::bearer && !sent.empty(), attempts);
  if (challenge_of(response, "basic")) return answer_basic(registry, response, kind_ == Kind::basic && !sent.empty());
  throw Error(ErrorKind::image_access,
              fmt::format("{} answers 401 without a way to log in that imgforge knows (Bearer, Basic){}",
                          reference_.host(), said_by_server(response)),
              fmt::format("skopeo copy docker://{} oci:/tmp/image:latest, then verify oci:/tmp/image:latest",
                          reference_.to_full_string()));
}

bool RegistryLogin::answer_basic(const Url& registry, HttpResponse& response, bool was_sent) {
  if (was_sent) {
    const std::string before = value();
    look_up_again(registry);
    if (!credentials_ || !credentials_->has_password() || value() == before) throw_refused(response);
    return true;
  }
  if (!looked_up_) look_up(registry);
  if (!credentials_) throw_missing("");
  if (!credentials_->has_password()) {
    throw Error(
        ErrorKind::image_access,
        fmt::format("{} wants a user and a password, and {} has a token for it", reference_.host(), credentials_->from),
        "docker login " + reference_.host());
  }
  kind_ = Kind::basic;
  origin_ = registry;
  return true;
}

bool RegistryLogin::answer_bearer(const Url& registry, HttpResponse& response, const Challenge& challenge,
                                  bool was_sent, LoginAttempts& attempts) {
  const std::string own = fmt::format("repository:{}:pull", reference_.repository());
  if (!was_sent) {
    if (!looked_up_) look_up(registry);
    attempts.fresh = true;
    fetch(registry, challenge, own);
    return true;
  }
  const std::string asked = parameter(challenge, "scope");
  if (parameter(challenge, "error") == "insufficient_scope" && !attempts.widened && !asked.empty() &&
      asked.size() <= max_scope) {
    // Some registries read only the first, so what was missing goes before ours.
    attempts.widened = true;
    attempts.fresh = true;
    fetch(registry, challenge, asked == own ? own : asked + " " + own);
    return true;
  }
  if (attempts.fresh) throw_refused(response);
  attempts.fresh = true;
  look_up_again(registry);
  fetch(registry, challenge, scope_.empty() ? own : scope_);
  return true;
}

}  // namespace imgforge
