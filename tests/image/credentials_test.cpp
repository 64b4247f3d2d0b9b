#include "image/credentials.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "image/environment.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const CredentialHelper no_helper = [](const std::string& name, const std::string&) -> std::optional<Credentials> {
  FAIL_CHECK("asked the helper " << name);
  return std::nullopt;
};

std::optional<Credentials> find(const std::string& document, const std::string& host,
                                const std::string& repository = "") {
  return find_credentials(document, "the file", {host, repository}, no_helper);
}

// "joe:sesame"
std::string config_for(const std::string& key) { return R"({"auths":{")" + key + R"(":{"auth":"am9lOnNlc2FtZQ=="}}})"; }
bool has(const std::string& key, const std::string& host, const std::string& repository = "") {
  return find(config_for(key), host, repository).has_value();
}
std::string config_of(const std::map<std::string, std::string>& users) {
  std::string list;
  for (const auto& [key, user] : users)
    list += fmt::format(R"({}"{}":{{"username":"{}","password":"sesame"}})", list.empty() ? "" : ",", key, user);
  return R"({"auths":{)" + list + "}}";
}

}  // namespace

TEST_CASE("credentials are decoded", "[credentials]") {
  const auto found = find(config_for("localhost:5000"), "localhost:5000");
  REQUIRE(found);
  CHECK(found->user == "joe");
  CHECK(found->password == "sesame");
  CHECK(found->basic() == "Basic am9lOnNlc2FtZQ==");
  CHECK(found->from == "the file");
  const auto plain = find(R"({"auths":{"h.example":{"username":"joe","password":"a:b"}}})", "h.example");
  REQUIRE(plain);
  CHECK(plain->password == "a:b");
}

TEST_CASE("tokens are told apart", "[credentials]") {
  const auto identity =
      find(R"({"auths":{"r.example":{"auth":"MDAwOg==","identitytoken":"refresh"}}})", "r.example");  // "000:"
  REQUIRE(identity);
  CHECK(identity->identity_token == "refresh");
  CHECK_FALSE(identity->has_password());
  const auto marked = find(R"({"auths":{"r.example":{"username":"<token>","password":"refresh"}}})", "r.example");
  REQUIRE(marked);
  CHECK(marked->identity_token == "refresh");
  CHECK_FALSE(marked->has_password());
  const auto ready = find(R"({"auths":{"r.example":{"registrytoken":"access"}}})", "r.example");
  REQUIRE(ready);
  CHECK(ready->registry_token == "access");
  CHECK_FALSE(find(R"({"auths":{"r.example":{}}})", "r.example"));
  CHECK_FALSE(find(R"({"auths":{"r.example":{"username":"joe"}}})", "r.example"));
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

TEST_CASE("the longest key that is a prefix of the repository decides", "[credentials]") {
  const std::string config =
      config_of({{"quay.io", "host"}, {"quay.io/team", "team"}, {"quay.io/team/image", "image"}});
  CHECK(find(config, "quay.io", "team/image")->user == "image");
  CHECK(find(config, "quay.io", "team/image/sub")->user == "image");
  CHECK(find(config, "quay.io", "team/imagery")->user == "team");
  CHECK(find(config, "quay.io", "team")->user == "team");
  CHECK(find(config, "quay.io", "teams/image")->user == "host");
  CHECK_FALSE(has("quay.io/team", "quay.io", "teams/image"));
  // An empty entry, as a helper leaves it behind, hides nothing.
  CHECK(find(R"({"auths":{"quay.io/team":{},"quay.io":{"username":"joe","password":"x"}}})", "quay.io", "team/image"));
}

TEST_CASE("Docker Hub has names of its own", "[credentials]") {
  CHECK(has("https://index.docker.io/v1/", "docker.io", "library/python"));
  CHECK(has("docker.io", "docker.io"));
  CHECK(has("docker.io/library", "docker.io", "library/python"));
  CHECK(find(config_of({{"https://index.docker.io/v1/", "old"}, {"docker.io", "new"}}), "docker.io")->user == "new");
  CHECK_FALSE(has("https://index.docker.io/v1/", "quay.io"));
}

TEST_CASE("helpers of a registry go before the store, and the store before what the file holds", "[credentials]") {
  std::vector<std::string> asked;
  bool one_has = true;
  const CredentialHelper helper = [&](const std::string& name, const std::string& server) {
    asked.push_back(name + " " + server);
    Credentials found;
    found.user = name;
    found.password = "x";
    return name == "one" && !one_has ? std::nullopt : std::optional(found);
  };
  const std::string config =
      R"({"credHelpers":{"r.example":"one"},"credsStore":"all","auths":{"r.example":{"auth":"am9lOnNlc2FtZQ=="}}})";
  CHECK(find_credentials(config, "f", {"r.example", "a/b"}, helper)->user == "one");
  CHECK(find_credentials(config, "f", {"other.example", "a/b"}, helper)->user == "all");
  CHECK(find_credentials(config, "f", {"docker.io", "a/b"}, helper)->user == "all");
  one_has = false;
  CHECK(find_credentials(config, "f", {"r.example", "a/b"}, helper)->user == "all");
  CHECK(asked == std::vector<std::string>{"one r.example", "all other.example", "all https://index.docker.io/v1/",
                                          "one r.example", "all r.example"});
  const CredentialHelper none = [](const std::string&, const std::string&) { return std::nullopt; };
  CHECK(find_credentials(config, "f", {"r.example", "a/b"}, none)->user == "joe");
}

TEST_CASE("hostile: a helper that fails is no reason for another secret (CVE-2021-41092)", "[credentials][hostile]") {
  const CredentialHelper failing = [](const std::string&, const std::string&) -> std::optional<Credentials> {
    throw Error(ErrorKind::image_access, "the helper is broken");
  };
  const Error error = error_of([&] {
    find_credentials(R"({"credsStore":"x","auths":{"r.example":{"auth":"am9lOnNlc2FtZQ=="}}})", "the file",
                     {"r.example", ""}, failing);
  });
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, "the file: the helper is broken"));
}

TEST_CASE("hostile: a document of the wrong shape never shows its content", "[credentials][hostile]") {
  for (const std::string text :
       {R"({"auths":{"r.example":{"auth":"c2VzYW1l"}}})", R"({"auths":{"r.example":{"auth":"sesame!"}}})",
        R"(["sesame"])", R"({"sesame":1,"sesame":2})", "sesame"}) {
    INFO(text);
    const Error error = error_of([&] { find(text, "r.example"); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "the file"));
    CHECK_FALSE(mentions(error, "sesame"));
  }
  CHECK_FALSE(find(R"({"auths":[],"credHelpers":7,"credsStore":[]})", "r.example"));
  CHECK_FALSE(find(R"({"auths":{"r.example":7}})", "r.example"));
}

TEST_CASE("the places are asked in order", "[credentials]") {
  const TemporaryFolder folder;
  const CleanEnvironment environment;
  const auto who = [](const std::string& authfile = "") {
    const auto lookup = find_credentials({"r.example", "a/b"}, authfile);
    return lookup.found ? lookup.found->user : "(" + lookup.note + ")";
  };
  CHECK(who() == "()");
  // From the last place to the first: each one hides those before.
  ::setenv("HOME", folder.path.c_str(), 1);
  write_file(folder / ".docker/config.json", config_of({{"r.example", "docker, at home"}, {"other.example", "other"}}));
  CHECK(who() == "docker, at home");
  ::setenv("DOCKER_CONFIG", (folder / "docker").c_str(), 1);
  CHECK(who() == "()");
  write_file(folder / "docker/config.json", config_of({{"r.example", "docker"}, {"other.example", "other"}}));
  CHECK(who() == "docker");
  write_file(folder / ".config/containers/auth.json", config_of({{"r.example", "containers, at home"}}));
  CHECK(who() == "containers, at home");
  ::setenv("XDG_CONFIG_HOME", (folder / "config").c_str(), 1);
  CHECK(who() == "docker");
  write_file(folder / "config/containers/auth.json", config_of({{"r.example", "containers"}}));
  CHECK(who() == "containers");
  ::setenv("XDG_RUNTIME_DIR", (folder / "run").c_str(), 1);
  write_file(folder / "run/containers/auth.json", config_of({{"r.example", "runtime"}}));
  CHECK(who() == "runtime");
  ::setenv("DOCKER_AUTH_CONFIG", config_of({{"r.example", "environment"}}).c_str(), 1);
  CHECK(who() == "environment");
  CHECK(find_credentials({"other.example", "a/b"}, "").found->user == "other");  // the first that has something
  ::setenv("REGISTRY_AUTH_FILE", (folder / "none.json").c_str(), 1);
  CHECK(who().find("none.json, which is not there") != std::string::npos);
  write_file(folder / "auth.json", config_of({{"r.example", "file"}}));
  ::setenv("REGISTRY_AUTH_FILE", (folder / "auth.json").c_str(), 1);
  CHECK(who() == "file");
  CHECK_FALSE(find_credentials({"other.example", "a/b"}, "").found);  // and nowhere else
  write_file(folder / "mine.json", config_of({{"r.example", "mine"}}));
  CHECK(who(folder / "mine.json") == "mine");
  CHECK(error_of([&] { who(folder / "nothing.json"); }).kind() == ErrorKind::image_access);
}
