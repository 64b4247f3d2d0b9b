#include "image/google_credentials.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "image/registry_answer.hpp"

namespace imgforge {

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::seconds;

constexpr std::size_t max_answer = 1 << 20;
constexpr std::uint64_t max_file_bytes = 1 << 20;
constexpr std::int64_t token_life = 3600;  // seconds; the longest that Google signs for
constexpr const char* helper_hint = "gcloud auth configure-docker HOST sets up a credential helper instead";
constexpr const char* login_hint = "gcloud auth application-default login, or docker login";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string text_of(const json& document, const char* key) {
  if (!document.is_object()) return "";
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

bool runs_at_google() {
  try {
    return read_file("/sys/class/dmi/id/product_name", 4096).starts_with("Google");
  } catch (const Error&) {
    return false;  // no such hardware, or a sandbox that hides it
  }
}

/// The access token of an answer of Google's, as the password that registries take.
Credentials read_token(HttpResponse& response, const std::string& where, const std::string& from,
                       const std::vector<std::string>& secrets, Clock::time_point asked) {
  if (const auto& failure = response.failure())
    throw Error(ErrorKind::image_network, fmt::format("{}: no token from {}: {}", from, where, failure->message));
  if (response.status() != 200) {
    throw Error(ErrorKind::image_access,
                fmt::format("{}: no token from {}: it answered {}{}", from, where, response.status(),
                            said_by_server(response, secrets)),
                login_hint);
  }
  json document;
  try {
    document = parse_json(read_body(response, max_answer, "the token of " + where), "token", {.bytes = max_answer});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::image_corrupt) throw;
    throw Error(ErrorKind::image_corrupt, fmt::format("{}: {} answered with no valid JSON", from, where));
  }
  Credentials result;
  result.user = "oauth2accesstoken";
  result.password = text_of(document, "access_token");
  result.from = from;
  if (!is_header_word(result.password))
    throw Error(ErrorKind::image_corrupt, fmt::format("{}: {} answered without a usable access_token", from, where));
  std::int64_t life = 300;
  if (const auto found = document.find("expires_in"); found != document.end() && found->is_number())
    life = static_cast<std::int64_t>(std::clamp<double>(found->get<double>(), 60, 24 * 3600));
  result.until = asked + seconds(life - 30);
  return result;
}

Credentials post(HttpClient& client, const Url& server, const std::vector<std::pair<std::string, std::string>>& fields,
                 const std::string& from, const std::vector<std::string>& secrets) {
  HttpRequest request;
  request.url = server;
  request.form = form_encode(fields);
  const Clock::time_point asked = Clock::now();
  HttpResponse response = client.get(request);
  return read_token(response, server.to_display_string(), from, secrets, asked);
}

Url server_of(const std::string& address) {
  const std::optional<Url> url = Url::parse(address);
  if (!url) throw Error(ErrorKind::image_access, "Google's token server has no usable address");
  return *url;
}

/// RFC 7515 section 2: base64url without padding.
std::string base64_url(std::string_view bytes) {
  std::string text = base64_encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.resize(std::min(text.size(), text.find('=')));
  return text;
}

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

/// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 section 3.3); nothing where the PEM holds no such key.
std::optional<std::string> signed_by(const std::string& pem, const std::string& text) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) return std::nullopt;
  // Without this, OpenSSL would ask for the password of an encrypted key at the terminal.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, Free> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::optional<std::string> signature;
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (key && context && EVP_PKEY_base_id(key.get()) == EVP_PKEY_RSA &&
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1) {
    signature.emplace(size, '\0');
    if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature->data()), &size, bytes, text.size()) ==
        1) {
      signature->resize(size);
    } else {
      signature.reset();
    }
  }
  ERR_clear_error();  // it is per thread, and libcurl's TLS looks at it
  return signature;
}

Credentials of_user(HttpClient& client, const GoogleSetup& setup, const json& file, const std::string& from) {
  const std::string secret = text_of(file, "client_secret");
  const std::string refresh = text_of(file, "refresh_token");
  if (refresh.empty() || text_of(file, "client_id").empty())
    throw Error(ErrorKind::image_access, from + " have no refresh_token or no client_id", login_hint);
  std::vector<std::string> secrets = {refresh};
  if (!secret.empty()) secrets.push_back(secret);
  return post(client, server_of(setup.token_server),
              {{"grant_type", "refresh_token"},
               {"client_id", text_of(file, "client_id")},
               {"client_secret", secret},
               {"refresh_token", refresh}},
              from, secrets);
}

Credentials of_service_account(HttpClient& client, const GoogleSetup& setup, const json& file,
                               const std::string& from) {
  const std::string said = text_of(file, "token_uri");
  const std::string address = said.empty() ? setup.token_server : said;
  const std::optional<Url> server = Url::parse(address);
  // The file may come from anywhere, and what is signed here is worth an access token.
  const bool is_google =
      server && server->scheme == "https" && server->port == 443 && server->host.ends_with(".googleapis.com");
  if (!server || (!is_google && address != setup.token_server)) {
    throw Error(ErrorKind::image_access, fmt::format("{} have a token_uri that is not https on *.googleapis.com: {}",
                                                     from, server ? server->to_display_string() : "no usable address"));
  }
  const std::time_t now = std::time(nullptr);
  json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (const std::string id = text_of(file, "private_key_id"); !id.empty()) header["kid"] = id;
  const json claims = {{"iss", text_of(file, "client_email")},
                       {"scope", "https://www.googleapis.com/auth/cloud-platform"},
                       {"aud", address},
                       {"iat", now},
                       {"exp", now + token_life}};
  const std::string text = base64_url(to_json_line(header)) + "." + base64_url(to_json_line(claims));
  const std::optional<std::string> signature = signed_by(text_of(file, "private_key"), text);
  if (!signature) throw Error(ErrorKind::image_access, from + " have no usable private_key (RSA, PEM)");
  const std::string assertion = text + "." + base64_url(*signature);
  return post(client, *server,
              {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", assertion}}, from,
              {assertion});
}

/// These lead over servers that the file names (a cloud's token exchange, the impersonation of an account): gcloud goes
/// that way, and what it gets can be handed over. In the message itself, since a registry's login quotes no hint.
[[noreturn]] void throw_not_spoken(const std::string& type, const std::string& from) {
  std::string what;
  if (type == "external_account" || type == "external_account_authorized_user")
    what = " (workload identity federation)";
  if (type == "impersonated_service_account") what = " (impersonation)";
  const std::string_view remedy =
      what.empty() ? "" : ": gcloud auth print-access-token | docker login -u oauth2accesstoken --password-stdin HOST";
  throw Error(ErrorKind::image_access,
              fmt::format("{} are of the type \"{}\"{}, which imgforge does not read{}", from,
                          escape_for_display(std::string_view(type).substr(0, 60)), what, remedy),
              helper_hint);
}

Credentials of_file(HttpClient& client, const GoogleSetup& setup) {
  const std::string from = fmt::format("Google's application-default credentials ({})", escape_for_display(setup.file));
  std::string text;
  try {
    text = read_file(setup.file, max_file_bytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::image_access, error.message(), error.hint());
  }
  json file;
  try {
    file = parse_json(text, "credentials", {.bytes = max_file_bytes});
  } catch (const Error&) {
    throw Error(ErrorKind::image_access, from + " are no valid JSON", login_hint);  // the parser might quote them
  }
  const std::string type = text_of(file, "type");
  if (type == "authorized_user") return of_user(client, setup, file, from);
  if (type == "service_account") return of_service_account(client, setup, file, from);
  throw_not_spoken(type, from);
}

std::optional<Credentials> of_machine(const GoogleSetup& setup) {
  // It answers at once, or it is not there.
  HttpClient client({.connect_timeout = seconds(1), .stall_timeout = seconds(5), .stall_bytes = 1});
  HttpRequest request;
  request.url = server_of(setup.metadata_server);
  request.url.target = "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers.emplace_back("Metadata-Flavor", "Google");
  request.direct = true;
  const Clock::time_point asked = Clock::now();
  HttpResponse response = client.get(request);
  const std::string where = request.url.to_display_string();
  if (!response.failure() && response.header("metadata-flavor").value_or("") != "Google")
    throw Error(ErrorKind::image_access, where + " does not answer as Google's metadata server does");
  if (!response.failure() && response.status() == 404) return std::nullopt;  // a machine without a service account
  return read_token(response, where, "the metadata server", {}, asked);
}

}  // namespace

bool is_google_registry(const Url& registry) noexcept {
  const std::string& host = registry.host;
  return registry.scheme == "https" && registry.port == 443 &&
         (host == "gcr.io" || host.ends_with(".gcr.io") || host.ends_with(".pkg.dev"));
}

GoogleSetup google_setup() {
  GoogleSetup setup;
  setup.file = environment("GOOGLE_APPLICATION_CREDENTIALS");
  if (setup.file.empty()) {
    const std::string config = environment("CLOUDSDK_CONFIG");
    const std::string home = environment("HOME");
    const std::string folder = !config.empty() ? config : home.starts_with('/') ? home + "/.config/gcloud" : "";
    const std::string file = folder + "/application_default_credentials.json";
    if (!folder.empty() && ::access(file.c_str(), F_OK) == 0) setup.file = file;
  }
  if (const std::string host = environment("GCE_METADATA_HOST"); !host.empty())
    setup.metadata_server = "http://" + host;
  else if (setup.file.empty() && runs_at_google())
    setup.metadata_server = "http://metadata.google.internal";
  return setup;
}

std::optional<Credentials> google_credentials(HttpClient& client, const GoogleSetup& setup) {
  if (!setup.file.empty()) return of_file(client, setup);
  if (!setup.metadata_server.empty()) return of_machine(setup);
  return std::nullopt;
}

}  // namespace imgforge
