#include "image/credentials.hpp"

#include <catch2/catch.hpp>

#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

// "joe:sesame"
std::string config_for(const std::string& key) { return R"({"auths":{")" + key + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})"; }
bool has(const std::string& key, const std::string& host) {
  return find_credentials(config_for(key), host).found.has_value();
}

}  // namespace

TEST_CASE("credentials are decoded", "[credentials]") {
  const auto lookup = find_credentials(config_for("localhost:5000"), "localhost:5000");
  REQUIRE(lookup.found);
  CHECK(lookup.found->user == "joe");
  CHECK(lookup.found->password == "sesame");
  CHECK(lookup.found->basic() == "Basic am9lOnNlc2FtZQ==");
  const auto plain = find_credentials(R"({"auths":{"h.example":{"username":"joe","password":"a:b"}}})", "h.example");
  CHECK(plain.found->password == "a:b");
}

TEST_CASE("a key fits its own host and port only", "[credentials]") {
  CHECK(has("r.example", "r.example"));
  CHECK(has("https://r.example/v1/", "r.example"));
  CHECK(has("http://r.example:5000", "r.example:5000"));
  CHECK(has("R.example", "r.example"));
  CHECK_FALSE(has("r.example", "r.example:5000"));
  CHECK_FALSE(has("r.example:5000", "r.example"));
  CHECK_FALSE(has("r.example", "r.example.evil"));
  CHECK_FALSE(has("r.example", "evil-r.example"));
  CHECK_FALSE(has("r.example/team", "r.example"));
}

TEST_CASE("Docker Hub has names of its own", "[credentials]") {
  CHECK(has("https://index.docker.io/v1/", "docker.io"));
  CHECK(has("docker.io", "docker.io"));
  CHECK_FALSE(has("https://index.docker.io/v1/", "quay.io"));
}

TEST_CASE("what the file leaves to others is said", "[credentials]") {
  CHECK(find_credentials(R"({"credsStore":"desktop","auths":{"r.example":{}}})", "r.example").note.find("helper") !=
        std::string::npos);
  CHECK(find_credentials(R"({"credHelpers":{"gcr.io":"gcloud"}})", "gcr.io").note.find("helper") != std::string::npos);
  CHECK(find_credentials(R"({"credHelpers":{"gcr.io":"gcloud"}})", "r.example").note.empty());
  CHECK(find_credentials(R"({"auths":{"r.example":{"identitytoken":"secret"}}})", "r.example")
            .note.find("identity token") != std::string::npos);
  CHECK(find_credentials("{}", "r.example").note.empty());
}

TEST_CASE("hostile: config.json of the wrong shape never shows its content", "[credentials][hostile]") {
  for (const std::string text :
       {R"({"auths":{"r.example":{"auth":"c2VzYW1l"}}})", R"({"auths":{"r.example":{"auth":"sesame!"}}})",
        R"(["sesame"])", R"({"sesame":1,"sesame":2})", "sesame"}) {
    INFO(text);
    const Error error = error_of([&] { find_credentials(text, "r.example"); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK_FALSE(mentions(error, "sesame"));
  }
  CHECK_FALSE(find_credentials(R"({"auths":[],"credHelpers":7,"credsStore":[]})", "r.example").found);
  CHECK_FALSE(find_credentials(R"({"auths":{"r.example":7}})", "r.example").found);
}

TEST_CASE("the file is where docker keeps it", "[credentials]") {
  const TemporaryFolder folder;
  write_file(folder / "config.json", config_for("r.example"));
  ::setenv("DOCKER_CONFIG", folder.path.c_str(), 1);
  CHECK(find_credentials("r.example").found);
  CHECK_FALSE(find_credentials("other.example").found);
  ::setenv("DOCKER_CONFIG", (folder / "none").c_str(), 1);
  CHECK_FALSE(find_credentials("r.example").found);
  ::setenv("DOCKER_CONFIG", "/nonexistent", 1);
}
