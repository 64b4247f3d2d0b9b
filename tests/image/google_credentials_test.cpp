#include "image/google_credentials.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/http_server.hpp"
#include "base/text.hpp"
#include "image/environment.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

Reply token(const ReceivedRequest&) {
  return reply(200, R"({"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"})");
}

struct Key {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  Key() = default;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { EVP_PKEY_free(key); }
  std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
  }
  bool has_signed(const std::string& text, const std::string& signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key);
    const int good =
        EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    return good == 1;
  }
};

std::string from_base64_url(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.resize((text.size() + 3) / 4 * 4, '=');
  return base64_decode(text).value();
}

const std::string user_file =
    R"({"type":"authorized_user","client_id":"id","client_secret":"shh","refresh_token":"sesame"})";

}  // namespace

TEST_CASE("hostile: which hosts are Google's registries (GHSA-xcq4)", "[google][hostile]") {
  const auto google = [](const std::string& url) { return is_google_registry(*Url::parse(url)); };
  for (const std::string url : {"https://europe-docker.pkg.dev/v2/", "https://gcr.io/", "https://eu.gcr.io:443/"})
    CHECK(google(url));
  for (const std::string url :
       {"http://gcr.io/", "https://gcr.io:8443/", "http://gcr.io:443/", "https://notgcr.io/", "https://evilpkg.dev/",
        "https://pkg.dev/", "https://gcr.io.evil.example/", "https://x.pkg.dev.evil.example/", "https://gcr.io.:443/",
        "https://mirror.gcr.io.example/", "https://docker.io/"}) {
    INFO(url);
    CHECK_FALSE(google(url));
  }
}

TEST_CASE("a user's application-default credentials", "[google]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  HttpClient client;
  Reply answer = token({});
  HttpServer server([&](const ReceivedRequest&) { return answer; });
  write_file(folder / "adc.json", user_file);
  const GoogleSetup setup{folder / "adc.json", server.url("/token"), ""};
  const auto now = std::chrono::steady_clock::now();
  const auto found = google_credentials(client, setup);
  REQUIRE(found);
  CHECK(found->user == "oauth2accesstoken");
  CHECK(found->password == "ya29.x");
  CHECK(found->from.find("adc.json") != std::string::npos);
  REQUIRE(found->until);
  CHECK(*found->until > now + std::chrono::seconds(3500));
  CHECK(*found->until < now + std::chrono::seconds(3600));
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].method == "POST");
  CHECK(server.requests()[0].body == "grant_type=refresh_token&client_id=id&client_secret=shh&refresh_token=sesame");

  answer = reply(400, R"({"error":"invalid_grant","error_description":"Token has been expired or revoked."})");
  const Error error = error_of([&] { google_credentials(client, setup); });
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, "invalid_grant: Token has been expired or revoked."));
  CHECK(mentions(error, "gcloud auth application-default login"));
  for (const std::string body : {"sesame", "{}", "[]", R"({"access_token":""})", R"({"access_token":"a\nb"})"}) {
    INFO(body);
    answer = reply(200, body);
    const Error bad = error_of([&] { google_credentials(client, setup); });
    CHECK(bad.kind() == ErrorKind::image_corrupt);
    CHECK_FALSE(mentions(bad, "sesame"));
  }
}

TEST_CASE("a service account signs for itself", "[google]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  const Key key;
  HttpClient client;
  HttpServer server(token);
  const std::string address = server.url("/token");
  nlohmann::json file = {{"type", "service_account"},
                         {"client_email", "robot@project.iam.gserviceaccount.com"},
                         {"private_key_id", "k1"},
                         {"private_key", key.pem()},
                         {"token_uri", address}};
  const auto ask = [&] {
    write_file(folder / "adc.json", file.dump());
    return google_credentials(client, {folder / "adc.json", address, ""});
  };
  SECTION("with its key") {
    REQUIRE(ask());
    const std::string body = server.requests().at(0).body;
    const std::string start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    REQUIRE(body.starts_with(start));
    const auto parts = split(std::string_view(body).substr(start.size()), '.');
    REQUIRE(parts.size() == 3);
    CHECK(key.has_signed(std::string(parts[0]) + "." + std::string(parts[1]), from_base64_url(std::string(parts[2]))));
    const auto header = nlohmann::json::parse(from_base64_url(std::string(parts[0])));
    CHECK(header == nlohmann::json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}});
    const auto claims = nlohmann::json::parse(from_base64_url(std::string(parts[1])));
    CHECK(claims.at("iss") == "robot@project.iam.gserviceaccount.com");
    CHECK(claims.at("aud") == address);
    CHECK(claims.at("exp").get<long>() == claims.at("iat").get<long>() + 3600);
  }
  SECTION("for Google's servers only") {
    for (const std::string uri :
         {"http://oauth2.googleapis.com/token", "https://evil.example/token", "https://googleapis.com.evil.example/",
          "https://evilgoogleapis.com/", "https://oauth2.googleapis.com:444/token", "nonsense://"}) {
      INFO(uri);
      file["token_uri"] = uri;
      CHECK(mentions(error_of([&] { ask(); }), "*.googleapis.com"));
    }
    file["token_uri"] = server.url("/other");
    CHECK(mentions(error_of([&] { ask(); }), "*.googleapis.com"));
    CHECK(server.requests().empty());
  }
  SECTION("with a key that is none") {
    for (const std::string pem : {"", "sesame", "-----BEGIN PRIVATE KEY-----\nsesame\n-----END PRIVATE KEY-----\n"}) {
      file["private_key"] = pem;
      const Error error = error_of([&] { ask(); });
      CHECK(error.kind() == ErrorKind::image_access);
      CHECK_FALSE(mentions(error, "sesame"));
    }
  }
}

TEST_CASE("application-default credentials that are not spoken, or none", "[google]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  HttpClient client;
  for (const std::string text : {R"({"type":"external_account","x":"sesame"})", R"({"type":"sesa\u001bme"})", "sesame",
                                 R"(["sesame"])", R"({"type":"authorized_user"})"}) {
    INFO(text);
    write_file(folder / "adc.json", text);
    const Error error = error_of([&] { google_credentials(client, {folder / "adc.json", "http://127.0.0.1:1/", ""}); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK_FALSE(mentions(error, "sesame"));
    CHECK_FALSE(mentions(error, "\x1b"));
  }
  CHECK(error_of([&] {
          google_credentials(client, {folder / "none.json", "", ""});
        }).kind() == ErrorKind::image_access);
  CHECK_FALSE(google_credentials(client, {"", "", ""}));
}

TEST_CASE("federation and impersonation are told from each other, and what serves instead", "[google]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  HttpClient client;
  // Servers that such files name are never asked.
  HttpServer server([](const ReceivedRequest&) { return reply(200, "{}"); });
  const auto told = [&](const std::string& type) {
    write_file(folder / "adc.json",
               R"({"type":")" + type + R"(","token_url":")" + server.url() + R"(","subject_token":"sesame",)" +
                   R"("service_account_impersonation_url":")" + server.url() +
                   R"(","source_credentials":{"type":"authorized_user","refresh_token":"sesame"}})");
    return error_of([&] { google_credentials(client, {folder / "adc.json", server.url(), ""}); });
  };
  for (const auto& [type, what] : std::vector<std::pair<std::string, std::string>>{
           {"external_account", "(workload identity federation)"},
           {"external_account_authorized_user", "(workload identity federation)"},
           {"impersonated_service_account", "(impersonation)"}}) {
    INFO(type);
    const Error error = told(type);
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(error.message().find("\"" + type + "\" " + what) != std::string::npos);
    CHECK(error.message().find("gcloud auth print-access-token") != std::string::npos);
    CHECK_FALSE(mentions(error, "sesame"));
  }
  CHECK(told("gdch_service_account").message().find("print-access-token") == std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE("the metadata server", "[google]") {
  const CleanEnvironment environment;
  HttpClient client;
  const std::vector<std::string> flavor = {"Metadata-Flavor: Google"};
  Reply answer = reply(200, R"({"access_token":"ya29.m","expires_in":10})", flavor);
  HttpServer server([&](const ReceivedRequest&) { return answer; });
  const auto ask = [&] { return google_credentials(client, {"", "", server.url("")}); };
  const auto found = ask();
  REQUIRE(found);
  CHECK(found->password == "ya29.m");
  const ReceivedRequest request = server.requests().at(0);
  CHECK(request.target == "/computeMetadata/v1/instance/service-accounts/default/token");
  CHECK(request.header("metadata-flavor") == "Google");
  answer = reply(200, R"({"access_token":"ya29.m"})");
  CHECK(mentions(error_of([&] { ask(); }), "does not answer as Google's metadata server does"));
  answer = reply(404, "", flavor);
  CHECK_FALSE(ask());
  answer = reply(500, "", flavor);
  CHECK(error_of([&] { ask(); }).kind() == ErrorKind::image_access);
}

TEST_CASE("where Google's credentials are", "[google]") {
  const CleanEnvironment environment;
  const TemporaryFolder folder;
  CHECK(google_setup().file.empty());
  CHECK(google_setup().token_server == "https://oauth2.googleapis.com/token");
  ::setenv("HOME", folder.path.c_str(), 1);
  CHECK(google_setup().file.empty());
  write_file(folder / ".config/gcloud/application_default_credentials.json", user_file);
  CHECK(google_setup().file == folder / ".config/gcloud/application_default_credentials.json");
  ::setenv("CLOUDSDK_CONFIG", (folder / "sdk").c_str(), 1);
  CHECK(google_setup().file.empty());
  write_file(folder / "sdk/application_default_credentials.json", user_file);
  CHECK(google_setup().file == folder / "sdk/application_default_credentials.json");
  ::setenv("GOOGLE_APPLICATION_CREDENTIALS", "/elsewhere.json", 1);
  CHECK(google_setup().file == "/elsewhere.json");
  ::setenv("GCE_METADATA_HOST", "127.0.0.1:8080", 1);
  CHECK(google_setup().metadata_server == "http://127.0.0.1:8080");
}
