#include "image/registry_session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "image/challenge.hpp"
#include "image/credentials.hpp"
#include "image/redirect.hpp"
#include "image/retry.hpp"

namespace imgforge {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_redirects = 5;
constexpr milliseconds loopback_connect_timeout{5'000};
constexpr std::size_t max_error_body = 16 << 10;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
/// Up to `limit` bytes of a body that is only good for a message; a fault while reading it is none.
std::string start_of_body(HttpResponse& response, std::size_t limit) {
  std::string body(limit, '\0');
  std::size_t count = 0;
  try {
    while (count < limit) {
      const std::size_t now = response.read(body.data() + count, limit - count);
      if (now == 0) break;
      count += now;
    }
  } catch (const Error&) {
  }
  body.resize(count);
  return body;
}

/// " (MANIFEST_UNKNOWN: manifest unknown)" of a registry's error document, or nothing. distribution-spec, "Error
/// codes".
std::string said_by_registry(HttpResponse& response) {
  try {
    const nlohmann::json document = parse_json(start_of_body(response, max_error_body), "error");
    const nlohmann::json& first = document.at("errors").at(0);
    std::string said = first.at("code").get<std::string>();
    if (const auto message = first.find("message"); message != first.end() && message->is_string())
      said += ": " + message->get<std::string>();
    return fmt::format(" ({})", escape_for_display(said.substr(0, 200)));
  } catch (const std::exception&) {
    return "";  // many registries and all proxies answer in HTML or not at all
  }
}

}  // namespace

RegistrySession::RegistrySession(const Reference& reference, const SourceOptions& options)
    : reference_(reference), insecure_(options.insecure) {
  const std::string host = reference.host() == "docker.io" ? "registry-1.docker.io" : reference.host();
  const std::optional<Url> https = Url::parse("https://" + host + "/v2/");
  const std::optional<Url> http = Url::parse("http://" + host + "/v2/");
  if (!https || !http)
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is no host of a registry", escape_for_display(host)));
  origin_ = *https;
  plain_ = *http;
  may_be_plain_ = insecure_ || is_loopback_host(origin_.host);
}

HttpResponse RegistrySession::open(const RegistryRequest& request) {
  RetryBudget budget;
  for (;;) {
    RegistryAnswer answer = ask(request);
    const int status = answer.response.status();
    if (status == 200 || (status == 206 && request.range)) return std::move(answer.response);
    if (!budget.wait_after(answer.response)) throw_refused(answer, request.what);
  }
}

RegistryAnswer RegistrySession::ask(const RegistryRequest& wanted) {
  const std::string target = fmt::format("/v2/{}/{}", reference_.repository(), wanted.path);
  const std::string_view what = wanted.what;
  bool logged_in = false;
  std::size_t redirects = 0;
  Url registry = origin();
  Url url = registry;
  url.target = target;
  for (;;) {
    HttpRequest request{.url = url, .verify_tls = !insecure_, .range = wanted.range};
    if (!wanted.accept.empty()) request.headers.emplace_back("Accept", wanted.accept);
    const bool at_registry = url.same_origin(registry);
    const std::string authorization = at_registry ? authorization_for(registry) : "";
    if (!authorization.empty()) request.headers.emplace_back("Authorization", authorization);
    if (is_loopback_host(url.host)) request.connect_timeout = loopback_connect_timeout;
    HttpResponse response = client_.get(request);
    if (response.failure()) {
      if (at_registry && redirects == 0 && fall_back(registry, *response.failure())) {
        registry = origin();
        url = registry;
        url.target = target;
        continue;
      }
      return {std::move(response), url};
    }
    if (is_redirect(response.status())) {
      if (++redirects > max_redirects)
        throw Error(ErrorKind::image_network, fmt::format("{}: more than {} redirects, the last from {}", what,
                                                          max_redirects, url.to_display_string()));
      try {
        url = follow_redirect(url, response.header("location").value_or(""));
      } catch (const Error& error) {
        throw error.within(what);
      }
      continue;
    }
    if (response.status() == 401 && at_registry && (!logged_in || !authorization.empty())) {
      log_in(registry, response, !authorization.empty());
      logged_in = true;
      continue;
    }
    return {std::move(response), url};
  }
}

Url RegistrySession::origin() const {
  const std::lock_guard lock(mutex_);
  return origin_;
}

std::string RegistrySession::authorization_for(const Url& registry) const {
  const std::lock_guard lock(mutex_);
  return registry.same_origin(origin_) ? authorization_ : "";
}

bool RegistrySession::fall_back(const Url& registry, const HttpFailure& failure) {
  if (!may_be_plain_ || registry.scheme != "https") return false;
  const bool nobody_there = failure.kind == HttpFailure::Kind::unreachable && plain_.port != origin_.port;
  if (failure.kind != HttpFailure::Kind::no_tls && failure.kind != HttpFailure::Kind::interrupted &&
      failure.kind != HttpFailure::Kind::timeout && !nobody_there) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (!authorization_.empty()) return false;  // it spoke TLS before; what was a secret there stays one
  origin_ = plain_;
  return true;
}

std::string RegistrySession::way_out() const {
  return fmt::format("skopeo copy docker://{} oci:/tmp/image:latest, then verify oci:/tmp/image:latest",
                     reference_.to_full_string());
}

void RegistrySession::log_in(const Url& registry, const HttpResponse& response, bool was_sent) {
  if (was_sent)
    throw Error(ErrorKind::image_access,
                fmt::format("{} refuses the credentials of docker's config.json", reference_.host()),
                "docker login " + reference_.host());
  bool basic = false;
  bool bearer = false;
  for (const std::string& header : response.headers("www-authenticate")) {
    for (const Challenge& challenge : parse_challenges(header)) {
      basic = basic || challenge.scheme == "basic";
      bearer = bearer || challenge.scheme == "bearer";
    }
  }
  CredentialLookup lookup;
  if (basic) lookup = find_credentials({reference_.host(), reference_.repository()}, "");
  if (lookup.found) {
    const std::lock_guard lock(mutex_);
    if (registry.same_origin(origin_)) authorization_ = lookup.found->basic();
    return;
  }
  if (bearer)
    throw Error(ErrorKind::image_access,
                fmt::format("{} wants a token, and token authentication is not spoken yet", reference_.host()),
                way_out());
  if (basic) {
    throw Error(ErrorKind::image_access,
                fmt::format("{} wants a login, and there is none for it{}{}", reference_.host(),
                            lookup.note.empty() ? "" : ": ", lookup.note),
                lookup.note.empty() ? "docker login " + reference_.host() : way_out());
  }
  throw Error(ErrorKind::image_access,
              fmt::format("{} answers 401 without a way to log in that imgforge knows (Basic)", reference_.host()),
              way_out());
}

void RegistrySession::throw_refused(RegistryAnswer& answer, std::string_view what) const {
  const std::string where = answer.url.to_display_string();
  if (const auto& failure = answer.response.failure()) {
    std::string hint;
    if (failure->kind == HttpFailure::Kind::certificate) {
      hint = "name its certificate authority with SSL_CERT_FILE (CURL_CA_BUNDLE goes before it), or use --insecure";
    }
    if (failure->kind == HttpFailure::Kind::no_tls) hint = "if the registry speaks plain HTTP: --insecure";
    throw Error(ErrorKind::image_network, fmt::format("cannot read {} from {}: {}", what, where, failure->message),
                hint);
  }
  const int status = answer.response.status();
  const std::string message =
      fmt::format("{}: {} answered {}{}", what, where, status, said_by_registry(answer.response));
  if (status == 404 || status == 410) throw Error(ErrorKind::image_not_found, message);
  if (status == 401 || status == 403)
    throw Error(ErrorKind::image_access, message, "docker login " + reference_.host());
  if (status == 429)
    throw Error(ErrorKind::image_network, message, "it allows no more requests for now: wait, or log in");
  throw Error(ErrorKind::image_network, message);
}

}  // namespace imgforge
