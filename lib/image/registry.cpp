// Registries over HTTP: distribution-spec 1.1, "Pulling manifests" and "Pulling blobs".
//
// What travels where: credentials go to the registry's own scheme, host and port only, and only after it asked for
// them. Redirects are followed by hand, at most five, never from https to http, and without credentials to anywhere
// else.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/http.hpp"
#include "base/json.hpp"
#include "base/reference.hpp"
#include "base/text.hpp"
#include "image/challenge.hpp"
#include "image/credentials.hpp"
#include "image/redirect.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_redirects = 5;
constexpr std::size_t max_attempts = 6;
constexpr milliseconds retry_budget{30'000};  // of waiting between attempts, for one manifest or blob
constexpr milliseconds first_delay{300};
constexpr milliseconds loopback_connect_timeout{5'000};
constexpr std::size_t max_error_body = 16 << 10;

constexpr std::string_view accepted_manifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
bool is_retryable(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
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

/// Retry-After, RFC 9110 section 10.2.3: seconds or a date.
std::optional<milliseconds> retry_after(const HttpResponse& response) {
  const std::optional<std::string> text = response.header("retry-after");
  if (!text) return std::nullopt;
  constexpr std::uint64_t longest = 24 * 3600;
  if (text->find_first_not_of("0123456789") == std::string::npos)
    return milliseconds(1000 * std::min(to_number(*text).value_or(longest), longest));
  const std::optional<std::time_t> when = parse_http_date(*text);
  if (!when) return std::nullopt;
  const std::time_t now = std::time(nullptr);
  return milliseconds(*when <= now ? 0
                                   : 1000 * std::min<std::uint64_t>(static_cast<std::uint64_t>(*when - now), longest));
}

std::string without_parameters(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

/// One repository of one registry. Thread-safe.
class Session {
 public:
  Session(const Reference& reference, bool insecure) : reference_(reference), insecure_(insecure) {
    const std::string host = reference.host() == "docker.io" ? "registry-1.docker.io" : reference.host();
    const std::optional<Url> https = Url::parse("https://" + host + "/v2/");
    const std::optional<Url> http = Url::parse("http://" + host + "/v2/");
    if (!https || !http)
      throw Error(ErrorKind::usage, fmt::format("\"{}\" is no host of a registry", escape_for_display(host)));
    origin_ = *https;
    plain_ = *http;
    may_be_plain_ = insecure || is_loopback_host(origin_.host);
  }

  const Reference& reference() const noexcept { return reference_; }

  /// A response with status 200 to GET /v2/NAME/PATH, its body unread. `what` names the thing in messages.
  HttpResponse open(const std::string& path, std::string_view accept, std::string_view what) {
    const std::string target = fmt::format("/v2/{}/{}", reference_.repository(), path);
    milliseconds budget = retry_budget;
    milliseconds delay = first_delay;
    for (std::size_t attempt = 1;; ++attempt) {
      Answer answer = ask(target, accept, what);
      const std::optional<HttpFailure>& failure = answer.response.failure();
      if (!failure && answer.response.status() == 200) return std::move(answer.response);
      const bool again =
          failure ? failure->kind == HttpFailure::Kind::interrupted : is_retryable(answer.response.status());
      const milliseconds pause = failure ? delay : retry_after(answer.response).value_or(delay);
      if (!again || attempt == max_attempts || pause > budget) throw_refused(answer, what);
      std::this_thread::sleep_for(pause);
      budget -= pause;
      delay *= 2;
    }
  }

 private:
  struct Answer {
    HttpResponse response;
    Url url;  // that answered, after redirects
  };

  /// One attempt: redirects, a login where it is asked for, and plain HTTP where that is allowed.
  Answer ask(const std::string& target, std::string_view accept, std::string_view what) {
    bool logged_in = false;
    std::size_t redirects = 0;
    Url registry = origin();
    Url url = registry;
    url.target = target;
    for (;;) {
      HttpRequest request{.url = url, .verify_tls = !insecure_};
      if (!accept.empty()) request.headers.emplace_back("Accept", accept);
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

  Url origin() const {
    const std::lock_guard lock(mutex_);
    return origin_;
  }

  std::string authorization_for(const Url& registry) const {
    const std::lock_guard lock(mutex_);
    return registry.same_origin(origin_) ? authorization_ : "";
  }

  /// Whether plain HTTP is to be tried from now on, since the host does not speak TLS.
  bool fall_back(const Url& registry, const HttpFailure& failure) {
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

  std::string way_out() const {
    return fmt::format("skopeo copy docker://{} oci:/tmp/image:latest, then verify oci:/tmp/image:latest",
                       reference_.to_full_string());
  }

  /// Sets what the next requests carry, or throws Error(image_access) saying what is missing.
  void log_in(const Url& registry, const HttpResponse& response, bool was_sent) {
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
    if (basic) lookup = find_credentials(reference_.host());
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

  [[noreturn]] void throw_refused(Answer& answer, std::string_view what) const {
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

  Reference reference_;
  bool insecure_;
  bool may_be_plain_ = false;
  Url plain_;
  HttpClient client_;
  mutable std::mutex mutex_;
  Url origin_;                 // scheme, host and port of the registry, as they turned out
  std::string authorization_;  // for that origin alone
};

/// A body that has to be as long as its descriptor says.
class BodyReader final : public ByteReader {
 public:
  BodyReader(std::shared_ptr<Session> session, HttpResponse response, const Descriptor& descriptor,
             std::string_view what)
      : session_(std::move(session)), response_(std::move(response)), descriptor_(descriptor), what_(what) {
    const std::optional<std::uint64_t> length = response_.content_length();
    if (length && *length != descriptor.size) throw_size_mismatch(what_, descriptor.digest, descriptor.size, *length);
  }

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t count = 0;
    try {
      count = response_.read(buffer, size);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}, after {} of {} bytes", what_, done_, descriptor_.size));
    }
    done_ += count;
    if (done_ > descriptor_.size || (count == 0 && size != 0 && done_ != descriptor_.size)) {
      throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, done_);
    }
    return count;
  }

 private:
  std::shared_ptr<Session> session_;
  HttpResponse response_;
  Descriptor descriptor_;
  std::string what_;
  std::uint64_t done_ = 0;
};

class RegistryStore final : public BlobStore {
 public:
  explicit RegistryStore(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  std::unique_ptr<ByteReader> open_blob(const Descriptor& descriptor, std::string_view what) const override {
    return std::make_unique<BodyReader>(session_, session_->open("blobs/" + descriptor.digest.to_string(), "", what),
                                        descriptor, what);
  }

  std::unique_ptr<ByteReader> open_manifest(const Descriptor& descriptor) const override {
    constexpr std::string_view what = "the manifest";
    return std::make_unique<BodyReader>(
        session_, session_->open("manifests/" + descriptor.digest.to_string(), accepted_manifests, what), descriptor,
        what);
  }

 private:
  std::shared_ptr<Session> session_;
};

class ResponseReader final : public ByteReader {
 public:
  explicit ResponseReader(HttpResponse& response) : response_(response) {}
  std::size_t read(char* buffer, std::size_t size) override { return response_.read(buffer, size); }

 private:
  HttpResponse& response_;
};

/// What Content-Type says about a manifest, where it says anything: proxies and old registries send a generic type.
std::string manifest_media_type(const HttpResponse& response) {
  const std::string type = without_parameters(response.header("content-type").value_or(""));
  const bool generic =
      type == "application/json" || type == "text/plain" || type == "application/octet-stream" || type == "text/html";
  return generic ? "" : type;
}

Document top_document(Session& session) {
  constexpr std::string_view what = "the manifest";
  const Reference& reference = session.reference();
  HttpResponse response = session.open("manifests/" + reference.identifier(), accepted_manifests, what);
  ResponseReader reader(response);
  std::string bytes = read_all(reader, max_document_bytes, what);
  const std::string announced = response.header("docker-content-digest").value_or("");
  const std::optional<Digest> claim = Digest::parse(announced);
  if (!claim && (announced.starts_with("sha256:") || announced.starts_with("sha512:"))) {
    throw Error(ErrorKind::image_corrupt, fmt::format("the registry's Docker-Content-Digest is no digest: \"{}\"",
                                                      escape_for_display(announced.substr(0, 200))));
  }
  for (const std::optional<Digest>& expected : {reference.digest(), claim}) {
    if (!expected) continue;
    const Digest found = Digest::of(bytes, expected->algorithm());
    if (found != *expected) {
      throw Error(ErrorKind::image_corrupt, fmt::format("digest mismatch of the manifest: expected {}, found {}",
                                                        expected->to_string(), found.to_string()));
    }
  }
  Digest digest = reference.digest() ? *reference.digest() : claim ? *claim : Digest::of(bytes);
  return {std::move(bytes), manifest_media_type(response), std::move(digest)};
}

}  // namespace

std::unique_ptr<Image> open_registry_image(std::string_view name, const SourceOptions& options) {
  std::string why;
  const std::optional<Reference> reference = Reference::parse(name, &why);
  if (!reference)
    throw Error(ErrorKind::usage, "it is no image reference: " + why,
                "as in python:3.11, or europe-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG");
  const auto session = std::make_shared<Session>(*reference, options.insecure);
  Document top = top_document(*session);
  return assemble_image(std::make_shared<RegistryStore>(session), std::move(top), options, reference->to_full_string());
}

}  // namespace imgforge
