#include "layer/secret_file.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/digest.hpp"
#include "layer/cache_file.hpp"
#include "layer/captures.hpp"
#include "layer/layer_reader.hpp"
#include "memory_image.hpp"

using namespace imgforge;

namespace {

// Put together here, so that no scanner takes this file for a leak.
std::string pem(const std::string& label, const std::string& body = std::string(64, 'Q')) {
  return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n";
}
std::string escaped(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) text.replace(at, 1, "\\n");
  return text;
}
const std::string word = std::string("s3cr") + "et-w0rd";

}  // namespace

TEST_CASE("secret_candidate: by name, by ending, by size") {
  CHECK(secret_candidate("root/.ssh/id_rsa", 400) == SecretCandidate::by_name);
  CHECK(secret_candidate("id_ed25519", 400) == SecretCandidate::by_name);
  CHECK(secret_candidate("home/a/.docker/config.json", 60) == SecretCandidate::by_name);
  CHECK(secret_candidate("etc/app/config.json", 60) == SecretCandidate::by_ending);
  CHECK(secret_candidate("root/.aws/credentials", 60) == SecretCandidate::by_name);
  CHECK(secret_candidate("srv/credentials", 60) == SecretCandidate::no);
  CHECK(secret_candidate("app/key.json", 2'400) == SecretCandidate::by_ending);
  CHECK(secret_candidate("app/data.json", 65'537) == SecretCandidate::no);
  CHECK(secret_candidate("app/tls.key", 1 << 20) == SecretCandidate::by_ending);
  CHECK(secret_candidate("app/tls.key", (1 << 20) + 1) == SecretCandidate::no);
  CHECK(secret_candidate("root/.ssh/id_rsa.pub", 400) == SecretCandidate::no);
  CHECK(secret_candidate("app/main.py", 400) == SecretCandidate::no);
  CHECK(secret_candidate("", 400) == SecretCandidate::no);
}

TEST_CASE("secret_in: private keys are, public ones and certificates are not") {
  CHECK(secret_in("a/id_rsa", pem("OPENSSH PRIVATE KEY")) == SecretKind::openssh_private_key);
  for (const char* label : {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"}) {
    CHECK(secret_in("a/x.pem", pem(label)) == SecretKind::private_key);
    CHECK(secret_in("a/x.pem", pem("CERTIFICATE") + pem(label)) == SecretKind::private_key);
  }
  CHECK(secret_in("a/x.asc", pem("PGP PRIVATE KEY BLOCK")) == SecretKind::pgp_private_key);
  CHECK(secret_in("a/x.pem", pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\n" + std::string(64, 'B'))) ==
        SecretKind::private_key);
  for (const char* label : {"CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK", "DH PARAMETERS", "EC PARAMETERS"})
    CHECK(secret_in("a/x.pem", pem(label)) == SecretKind::none);
  CHECK(secret_in("a/x.pem", pem("PRIVATE KEY", "...")) == SecretKind::none);
  CHECK(secret_in("a/x.pem", "-----BEGIN PRIVATE KEY-----") == SecretKind::none);
  CHECK(secret_in("a/x.pem", "-----BEGIN ") == SecretKind::none);
}

TEST_CASE("secret_in: Google's, Docker's and others' files") {
  const std::string account =
      R"({"type": "service_account", "client_email": "a@b", "private_key": ")" + escaped(pem("PRIVATE KEY")) + R"("})";
  CHECK(secret_in("app/key.json", account) == SecretKind::service_account);
  CHECK(secret_in("app/key.json", R"({"type": "service_account", "private_key": "-----BEGIN ..."})") ==
        SecretKind::none);
  CHECK(secret_in("app/key.json", account.substr(1)) == SecretKind::none);
  CHECK(secret_in("a/application_default_credentials.json",
                  R"({"type": "authorized_user", "client_id": "x", "refresh_token": ")" + word + R"("})") ==
        SecretKind::application_default);
  CHECK(secret_in("a/application_default_credentials.json", R"({"type": "external_account", "token_url": "x"})") ==
        SecretKind::none);
  CHECK(secret_in("root/.docker/config.json", R"({"auths": {"gcr.io": {"auth": "dXNlcjpwYXNz"}}})") ==
        SecretKind::docker_login);
  CHECK(secret_in("root/.docker/config.json", R"({"auths": {"gcr.io": {}}, "credsStore": "gcloud"})") ==
        SecretKind::none);
  CHECK(secret_in("root/.docker/config.json", R"({"auths": [1], "auth": "x"})") == SecretKind::none);
  CHECK(secret_in("root/.netrc", "machine pypi.org\n  login a\n  password " + word) == SecretKind::netrc_password);
  CHECK(secret_in("root/.netrc", "machine pypi.org login a password ${TOKEN}") == SecretKind::none);
  CHECK(secret_in("root/.netrc", "machine pypi.org login password") == SecretKind::none);
  CHECK(secret_in("root/.pypirc", "[pypi]\nusername = __token__\npassword = " + word) == SecretKind::pypirc_password);
  CHECK(secret_in("root/.pypirc", "[pypi]\nusername = __token__\n# password = " + word) == SecretKind::none);
  CHECK(secret_in("etc/pip.conf", "[global]\nindex-url = https://a:" + word + "@pypi.example.com/simple") ==
        SecretKind::url_password);
  CHECK(secret_in("etc/pip.conf", "[global]\nindex-url = https://a:${PIP_PASSWORD}@pypi.example.com/simple") ==
        SecretKind::none);
  CHECK(secret_in("etc/pip.conf", "index-url = https://oauth2accesstoken@pypi.example.com/simple") == SecretKind::none);
  CHECK(secret_in("etc/pip.conf", "index-url = https://pypi.example.com/simple/@x:y") == SecretKind::none);
  CHECK(secret_in("root/.aws/credentials", "[default]\naws_access_key_id = A\naws_secret_access_key = " +
                                               std::string(20, 'a') + std::string(20, 'B')) == SecretKind::aws_key);
  CHECK(secret_in("app/.git/config", "[remote \"origin\"]\n\turl = https://a:" + word + "@github.com/a/b\n") ==
        SecretKind::url_password);
  CHECK(secret_in("app/.git/config", "[remote \"origin\"]\n\turl = git@github.com:a/b\n") == SecretKind::none);
  CHECK(secret_in("root/.aws/config", "[default]\nregion = eu-west-1") == SecretKind::none);
  CHECK(secret_in("root/.npmrc", "//registry.npmjs.org/:_authToken=" + word) == SecretKind::npm_token);
  CHECK(secret_in("root/.npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}") == SecretKind::none);
  CHECK(secret_in("root/.cache/huggingface/token", std::string("hf") + "_" + std::string(34, 'a')) ==
        SecretKind::access_token);
}

TEST_CASE("A layer's secrets are judged in passing; neither the index nor the cache has their contents") {
  using namespace imgforge::test;
  const std::string key = pem("OPENSSH PRIVATE KEY");
  MemoryImage image;
  image.tar({test::file("root/.ssh/id_rsa", key), test::file("etc/os-release", "ID=debian\n"),
             test::file("app/public.pem", pem("PUBLIC KEY")), test::file("app/start", "#!/bin/sh\n", 0755)});
  // Also where the config names it, and so would keep it.
  LayerIndex index = read_layer(image, 0, standard_captures({"/root/.ssh/id_rsa"}));
  REQUIRE(index.secrets.size() == 1);
  CHECK(index.secrets.begin()->first == 0);
  CHECK(index.secrets.begin()->second == SecretKind::openssh_private_key);
  CHECK_FALSE(index.captures.contains(2));

  char name[] = "/tmp/imgforge-secret-XXXXXX";
  const int descriptor = ::mkstemp(name);
  REQUIRE(descriptor >= 0);
  const Digest digest = Digest::of("a layer");
  index.captures[0] = key;  // read for a test of contents, say
  REQUIRE(write_cache_file(descriptor, digest, index, {}));
  const auto again = read_cache_file(descriptor, digest);
  ::unlink(name);
  REQUIRE(again);
  CHECK(again->index.secrets == index.secrets);
  REQUIRE(again->index.stored_captures);
  CHECK_FALSE(again->index.stored_captures->read(0, 100));
  CHECK(again->index.stored_captures->read(1, 100) == "ID=debian\n");
}
