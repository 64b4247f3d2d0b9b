#include "image/registry_session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/challenge.hpp"
#include "image/redirect.hpp"
#include "image/registry_answer.hpp"
#include "image/registry_certificates.hpp"
#include "image/registry_token.hpp"
#include "image/retry.hpp"

namespace imgforge {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds short_connect_timeout{5'000};  // of hosts that are near, or that others can stand in for

/// For where a registry redirects to another that gives everybody a token (registry.k8s.io does): that one's token,
/// asked for without any credentials. Empty where its challenge is none for a token that everybody gets.
std::string anonymous_authorization(HttpClient& client, const Url& url, const HttpResponse& response) {
  for (const std::string& header : response.headers("www-authenticate")) {
    for (const Challenge& challenge : parse_challenges(header)) {
      const auto parameter = [&](const char* name) {
        const auto found = challenge.parameters.find(name);
        return found == challenge.parameters.end() ? "" : found->second;
      };
      if (challenge.scheme != "bearer" || parameter("realm").empty() || parameter("scope").empty()) continue;
      try {
        return "Bearer " + fetch_token(client, {url, parameter("realm"), parameter("service"), parameter("scope"),
                                                std::nullopt, false})
                               .value;
      } catch (const Error&) {
        return "";  // then the 401 is what is told
      }
    }
  }
  return "";
}

}  // namespace

RegistrySession::RegistrySession(const Reference& reference, const SourceOptions& options, bool mirror)
    : reference_(reference),
      insecure_(options.insecure),
      mirror_(mirror),
      retry_policy_(mirror ? options.retry.short_one() : options.retry),
      client_({.stall_timeout = options.retry.stall_timeout, .stall_bytes = options.retry.stall_bytes}),
      login_(reference, options, mirror, client_) {
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
  RetryBudget budget(retry_policy_);
  for (;;) {
    RegistryAnswer answer = ask(request);
    const int status = answer.response.status();
    if (status == 200 || (status == 206 && request.range)) return std::move(answer.response);
    if (!budget.wait_after(answer.response)) throw_refused(answer, request.what);
  }
}

RegistryAnswer RegistrySession::ask(const RegistryRequest& wanted) {
  const std::string target = fmt::format("/v2/{}/{}", reference_.repository(), wanted.path);
  LoginAttempts attempts;
  std::size_t redirects = 0;
  bool asked_again = false;
  std::string visitor;  // the authorization of a redirect's target
  Url registry = origin();
  const auto at_registry_again = [&] {
    Url url = registry;
    url.target = target;
    redirects = 0;
    return url;
  };
  Url url = at_registry_again();
  for (;;) {
    const bool at_registry = url.same_origin(registry);
    HttpRequest request;
    request.url = url;
    request.verify_tls = !insecure_;
    request.range = wanted.range;
    request.tls = certificates_for(url);
    if (!wanted.accept.empty()) request.headers.emplace_back("Accept", wanted.accept);
    const std::string authorization = at_registry ? login_.authorization(registry) : visitor;
    if (!authorization.empty()) request.headers.emplace_back("Authorization", authorization);
    if (mirror_ || is_loopback_host(url.host)) request.connect_timeout = short_connect_timeout;
    HttpResponse response = client_.get(request);
    if (response.failure()) {
      if (at_registry && redirects == 0 && fall_back(registry, *response.failure())) {
        registry = origin();
        url = at_registry_again();
        continue;
      }
      return {std::move(response), url};
    }
    const int status = response.status();
    if (is_redirect(status)) {
      if (++redirects > max_redirects)
        throw Error(ErrorKind::image_network, fmt::format("{}: more than {} redirects, the last from {}", wanted.what,
                                                          max_redirects, url.to_display_string()));
      try {
        const Url next = follow_redirect(url, response.header("location").value_or(""));
        if (!next.same_origin(url)) visitor.clear();
        url = next;
      } catch (const Error& error) {
        throw error.within(wanted.what);
      }
      continue;
    }
    if (at_registry && (status == 401 || status == 403)) {
      try {
        if (login_.answer(registry, response, authorization, attempts)) continue;
      } catch (const Error& error) {
        throw error.within(wanted.what);
      }
    } else if (status == 401 && visitor.empty()) {
      visitor = anonymous_authorization(client_, url, response);
      if (!visitor.empty()) continue;
    } else if (status == 403 && !at_registry && !asked_again) {
      // Signed addresses expire, some within minutes; the registry signs another one.
      asked_again = true;
      url = at_registry_again();
      continue;
    }
    return {std::move(response), url};
  }
}

Url RegistrySession::origin() const {
  const std::lock_guard lock(mutex_);
  return origin_;
}

bool RegistrySession::fall_back(const Url& registry, const HttpFailure& failure) {
  if (!may_be_plain_ || registry.scheme != "https") return false;
  const bool nobody_there = failure.kind == HttpFailure::Kind::unreachable && plain_.port != origin_.port;
  if (failure.kind != HttpFailure::Kind::no_tls && failure.kind != HttpFailure::Kind::interrupted &&
      failure.kind != HttpFailure::Kind::timeout && !nobody_there) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (login_.is_used()) return false;  // it spoke TLS before; what was a secret there stays one
  origin_ = plain_;
  return true;
}

void RegistrySession::throw_refused(RegistryAnswer& answer, std::string_view what) const {
  const std::string where = answer.url.to_display_string();
  if (const auto& failure = answer.response.failure()) {
    std::string hint;
    if (failure->kind == HttpFailure::Kind::certificate) {
      hint =
          "put its certificate authority into ~/.config/containers/certs.d/HOST:PORT/ca.crt, name it with "
          "SSL_CERT_FILE "
          "(CURL_CA_BUNDLE goes before it), or use --insecure";
    }
    if (failure->kind == HttpFailure::Kind::no_tls) hint = "if the registry speaks plain HTTP: --insecure";
    throw Error(ErrorKind::image_network, fmt::format("cannot read {} from {}: {}", what, where, failure->message),
                hint);
  }
  const int status = answer.response.status();
  const std::string message =
      fmt::format("{}: {} answered {}{}", what, where, status, said_by_server(answer.response, login_.secrets()));
  if (status == 404 || status == 410) throw Error(ErrorKind::image_not_found, message);
  if (status == 401 || status == 403) {
    // A login helps at the registry only; where it redirects to, none is ever sent.
    throw Error(ErrorKind::image_access, message,
                answer.url.same_origin(origin()) ? "docker login " + reference_.host() : "");
  }
  if (status == 429)
    throw Error(ErrorKind::image_network, message, "it allows no more requests for now: wait, or log in");
  throw Error(ErrorKind::image_network, message);
}

}  // namespace imgforge
