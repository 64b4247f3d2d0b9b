#include "image/registry_token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "image/redirect.hpp"
#include "image/registry_answer.hpp"
#include "image/registry_certificates.hpp"
#include "image/retry.hpp"

namespace imgforge {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr std::size_t max_token_body = 1 << 20;
constexpr std::int64_t shortest_life = 60;        // seconds; what the specification gives to a token that does not say
constexpr std::int64_t longest_life = 24 * 3600;  // beyond it nobody renews
constexpr seconds margin{10};                     // a request has to arrive, too

struct Answer {
  HttpResponse response;
  Url url;
};

/// One answer of the server, after redirects. `authorization` and `form` go to the realm's origin only.
Answer ask(HttpClient& client, const TokenQuestion& question, const Url& realm, const std::string& authorization,
           const std::optional<std::string>& form) {
  RetryBudget budget;
  for (;;) {
    Url url = realm;
    for (std::size_t redirects = 0;;) {
      const bool at_home = url.same_origin(realm);
      const bool at_registry = url.host == question.registry.host && url.port == question.registry.port;
      HttpRequest request;
      request.url = url;
      // What --insecure says of the registry does not hold for the server that gets the password (CVE-2019-10214).
      request.verify_tls = !(question.insecure && at_registry);
      request.tls = certificates_for(url);
      request.headers.emplace_back("Accept", "application/json");
      if (at_home && !authorization.empty()) request.headers.emplace_back("Authorization", authorization);
      request.form = form;
      HttpResponse response = client.get(request);
      if (response.failure() || !is_redirect(response.status())) {
        if (is_worth_retrying(response) && budget.wait_after(response)) break;
        return {std::move(response), url};
      }
      if (++redirects > max_redirects)
        throw Error(ErrorKind::image_network, fmt::format("the token server {} redirects more than {} times",
                                                          realm.to_display_string(), max_redirects));
      const Url next = follow_redirect(url, response.header("location").value_or(""));
      check_realm(question.registry, next.to_string());
      if (form && !next.same_origin(realm)) {
        throw Error(ErrorKind::image_access,
                    fmt::format("the token server {} redirects to {}, which is not given the identity token",
                                realm.to_display_string(), next.to_display_string()));
      }
      url = next;
    }
  }
}

std::vector<std::string> secrets_in(const TokenQuestion& question) {
  return question.credentials ? secrets_of(*question.credentials) : std::vector<std::string>{};
}

[[noreturn]] void throw_refused(Answer& answer, const TokenQuestion& question) {
  const std::string where = answer.url.to_display_string();
  if (const auto& failure = answer.response.failure())
    throw Error(ErrorKind::image_network, fmt::format("no token from {}: {}", where, failure->message));
  const int status = answer.response.status();
  const bool refused = status == 400 || status == 401 || status == 403 || status == 404;
  throw Error(refused ? ErrorKind::image_access : ErrorKind::image_network,
              fmt::format("no token from {}: it answered {}{}", where, status,
                          said_by_server(answer.response, secrets_in(question))));
}

AccessToken read_token(Answer& answer, Clock::time_point asked) {
  const std::string where = answer.url.to_display_string();
  return parse_token(read_body(answer.response, max_token_body, "the token of " + where), where, asked);
}

}  // namespace

AccessToken parse_token(std::string_view body, std::string_view where, Clock::time_point asked) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorKind::image_corrupt, fmt::format("{} answered {}", where, why));
  };
  nlohmann::json document;
  try {
    document = parse_json(body, "token", {.bytes = max_token_body});
  } catch (const Error&) {
    refuse("with something else than a token: it is no valid JSON");  // the parser's own words may quote the token
  }
  AccessToken token;
  std::int64_t life = shortest_life;
  if (document.is_object()) {
    for (const char* key : {"token", "access_token"}) {
      const auto found = document.find(key);
      if (found != document.end() && found->is_string() && token.value.empty()) token.value = found->get<std::string>();
    }
    if (const auto found = document.find("expires_in"); found != document.end() && found->is_number()) {
      const double said = found->get<double>();
      life = said > 0 ? static_cast<std::int64_t>(std::min<double>(said, longest_life)) : shortest_life;
    }
  }
  if (token.value.empty()) refuse("without \"token\" and without \"access_token\"");
  if (!is_header_word(token.value)) refuse("with a token that no header can carry");
  token.until = asked + seconds(std::max(life, shortest_life)) - margin;
  return token;
}

AccessToken fetch_token(HttpClient& client, const TokenQuestion& question) {
  const Url realm = check_realm(question.registry, question.realm);
  std::vector<std::pair<std::string, std::string>> fields;
  if (!question.service.empty()) fields.emplace_back("service", question.service);
  fields.emplace_back("scope", question.scope);
  const std::optional<Credentials>& credentials = question.credentials;
  const Clock::time_point asked = Clock::now();

  std::optional<Answer> refused;
  if (credentials && !credentials->identity_token.empty()) {
    auto form = fields;
    form.emplace_back("grant_type", "refresh_token");
    form.emplace_back("refresh_token", credentials->identity_token);
    form.emplace_back("client_id", "imgforge");
    Answer answer = ask(client, question, realm, "", form_encode(form));
    const int status = answer.response.status();
    if (status == 200) return read_token(answer, asked);
    if (status != 404 && status != 405 && status != 401) throw_refused(answer, question);
    refused = std::move(answer);
  }
  std::string authorization;
  if (credentials && credentials->has_password())
    authorization = credentials->basic();
  else if (credentials && !credentials->identity_token.empty())
    authorization = Credentials{"<token>", credentials->identity_token, "", "", ""}.basic();
  Url url = realm;
  url.target += (url.target.find('?') == std::string::npos ? "?" : "&") + form_encode(fields);
  Answer answer = ask(client, question, url, authorization, std::nullopt);
  if (answer.response.status() == 200) return read_token(answer, asked);
  // Where both ways fail, the first refusal says more about the identity token.
  throw_refused(refused && refused->response.status() == 401 ? *refused : answer, question);
}

}  // namespace imgforge
