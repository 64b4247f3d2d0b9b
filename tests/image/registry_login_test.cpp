// Tokens and logins, against a registry and token servers that do what real ones did, and what hostile ones would.
#include "image/registry_login.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/redirect.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string basic_joe = "Basic am9lOnNlc2FtZQ==";

/// A registry that wants a token of its own /token, which `token` answers; the token that it takes is `good`.
class TokenRegistry {
 public:
  using Handler = std::function<Reply(const ReceivedRequest&)>;
  explicit TokenRegistry(Handler token)
      : token_(std::move(token)), registry([this](const ReceivedRequest& request) { return first(request); }) {}

  std::optional<Reply> first(const ReceivedRequest& request) {
    if (request.target.starts_with("/token")) {
      ++token_requests;
      return token_(request);
    }
    if (request.header("authorization") == "Bearer " + std::string(good)) return std::nullopt;
    return challenge();
  }
  Reply challenge(const std::string& more = "") const {
    return reply(401, R"({"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]})",
                 {fmt::format(R"(WWW-Authenticate: Bearer realm="http://{}/token",service="the registry"{})",
                              registry.server.host(), more)});
  }
  std::vector<ReceivedRequest> token_asks() const {
    std::vector<ReceivedRequest> result;
    for (const ReceivedRequest& request : registry.server.requests()) {
      if (request.target.starts_with("/token")) result.push_back(request);
    }
    return result;
  }

  std::atomic<int> token_requests = 0;
  std::string good = "good";

 private:
  Handler token_;

 public:
  ScriptedRegistry registry;
};

/// The login `entry` for a host, in a config.json, as long as this lives.
struct Login {
  CleanEnvironment environment;
  TemporaryFolder folder;
  explicit Login(const std::string& host, const std::string& entry = R"({"auth":"am9lOnNlc2FtZQ=="})") {
    ::setenv("DOCKER_CONFIG", folder.path.c_str(), 1);
    write_file(folder / "config.json", fmt::format(R"({{"auths":{{"{}":{}}}}})", host, entry));
  }
};

Reply good_token(const ReceivedRequest&) { return reply(200, R"({"token":"good","expires_in":300})"); }

const std::string scope = "scope=repository%3Ax%2Fworker%3Apull";

}  // namespace

TEST_CASE("everybody gets a token for a public image", "[token]") {
  const CleanEnvironment environment;
  const std::string answer =
      GENERATE(as<std::string>(), R"({"token":"good","expires_in":300})", R"({"access_token":"good"})",
               R"({"token":"","access_token":"good"})", R"({"token":"good","expires_in":1e300,"issued_at":"x"})");
  TokenRegistry server([&](const ReceivedRequest&) { return reply(200, answer); });
  const auto image = open_image(server.registry.name(), impatient());
  CHECK(read_layer_bytes(*image, 1) == server.registry.image.layers[1]);
  CHECK(server.token_requests == 1);
  const auto asks = server.token_asks();
  CHECK(asks[0].method == "GET");
  CHECK(asks[0].target == "/token?service=the%20registry&" + scope);
  CHECK(asks[0].header("authorization").empty());
}

TEST_CASE("a login is changed into a token", "[token]") {
  TokenRegistry server([](const ReceivedRequest& request) {
    return request.header("authorization") == basic_joe ? good_token(request) : reply(401, "");
  });
  const Login login(server.registry.server.host());
  CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
  // The password goes to the token server only.
  for (const ReceivedRequest& request : server.registry.server.requests()) {
    if (!request.target.starts_with("/token")) CHECK(request.header("authorization") != basic_joe);
  }
}

TEST_CASE("a realm keeps its own query", "[token]") {
  const CleanEnvironment environment;
  std::string host;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/auth?")) return good_token(request);
    if (request.header("authorization") == "Bearer good") return std::nullopt;
    return reply(401, "", {fmt::format(R"(WWW-Authenticate: Bearer realm="http://{}/auth?tenant=7")", host)});
  });
  host = registry.server.host();
  CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
  CHECK(registry.server.requests()[1].target == "/auth?tenant=7&" + scope);
}

TEST_CASE("an identity token is posted", "[token]") {
  TokenRegistry server([](const ReceivedRequest& request) {
    return request.method == "POST" ? reply(200, R"({"access_token":"good","expires_in":300})") : reply(500, "");
  });
  const Login login(server.registry.server.host(), R"({"auth":"MDAwOg==","identitytoken":"re/fresh"})");
  CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
  const auto asks = server.token_asks();
  REQUIRE(asks.size() == 1);
  CHECK(asks[0].target == "/token");
  CHECK(asks[0].header("content-type") == "application/x-www-form-urlencoded");
  CHECK(asks[0].header("authorization").empty());
  CHECK(asks[0].body ==
        "service=the%20registry&" + scope + "&grant_type=refresh_token&refresh_token=re%2Ffresh&client_id=imgforge");
}

TEST_CASE("servers that do not know identity tokens are asked as with a password", "[token]") {
  const int status = GENERATE(404, 405, 401);
  TokenRegistry server([&](const ReceivedRequest& request) {
    if (request.method == "POST") return reply(status, R"({"error":"no such thing"})");
    return request.header("authorization").starts_with("Basic ") ? good_token(request) : reply(401, "");
  });
  SECTION("as <token>") {
    const Login login(server.registry.server.host(), R"({"identitytoken":"refresh"})");
    CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
    CHECK(server.token_asks().back().header("authorization") == "Basic " + base64_encode("<token>:refresh"));
  }
  SECTION("with the password that is there, too") {
    const Login login(server.registry.server.host(), R"({"auth":"am9lOnNlc2FtZQ==","identitytoken":"refresh"})");
    CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
    CHECK(server.token_asks().back().header("authorization") == basic_joe);
  }
}

TEST_CASE("a registry token is sent as it is", "[token]") {
  TokenRegistry server([](const ReceivedRequest&) { return reply(500, ""); });
  const Login login(server.registry.server.host(), R"({"registrytoken":"good"})");
  CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
  CHECK(server.token_requests == 0);
}

TEST_CASE("what the token server says is told, and no secret", "[token]") {
  const auto [body, words] = GENERATE(table<std::string, std::string>({
      {R"({"errors":[{"code":"DENIED","message":"quota"}]})", "401 (DENIED: quota)"},
      {R"({"details":"incorrect username or password"})", "401 (incorrect username or password)"},
      {R"({"error":"invalid_grant","error_description":"expired"})", "401 (invalid_grant: expired)"},
      {R"({"error":{"code":401,"message":"Bad","status":"UNAUTHENTICATED"}})", "401 (UNAUTHENTICATED: Bad)"},
      {R"({"details":"the password sesame is wrong"})", "answered 401"},
      {R"(["sesame"])", "answered 401"},
      {"<html>sesame", "answered 401"},
  }));
  const std::string answer = body;
  TokenRegistry server([&](const ReceivedRequest&) { return reply(401, answer); });
  const Login login(server.registry.server.host());
  const Error error = error_of_opening(server.registry.name());
  CHECK(error.kind() == ErrorKind::image_access);
  CHECK(mentions(error, words));
  CHECK(mentions(error, "config.json"));
  CHECK_FALSE(mentions(error, "sesame"));
  CHECK_FALSE(mentions(error, "am9lOnNlc2FtZQ"));
}

TEST_CASE("without a login, the refusal says so", "[token]") {
  const CleanEnvironment environment;
  SECTION("of the token server") {
    TokenRegistry server([](const ReceivedRequest&) { return reply(401, ""); });
    const Error error = error_of_opening(server.registry.name());
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "there is no login for it"));
    CHECK(mentions(error, "docker login " + server.registry.server.host()));
  }
  SECTION("of the registry, which gives tokens to everybody") {
    TokenRegistry server([](const ReceivedRequest&) { return reply(200, R"({"token":"visitor"})"); });
    const Error error = error_of_opening(server.registry.name());
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, "there is no login for it"));
    CHECK(mentions(error, "UNAUTHORIZED: authentication required"));
    CHECK(server.token_requests == 1);
  }
}

TEST_CASE("hostile: tokens that are none", "[token][hostile]") {
  const CleanEnvironment environment;
  const auto refused = [](const std::string& body, ErrorKind kind) {
    INFO(body.substr(0, 100));
    TokenRegistry server([&](const ReceivedRequest&) { return reply(200, body); });
    const Error error = error_of_opening(server.registry.name());
    CHECK(error.kind() == kind);
    CHECK_FALSE(mentions(error, "sesame"));
  };
  refused("sesame", ErrorKind::image_corrupt);
  refused(R"({"token":"sesame","token":"sesame"})", ErrorKind::image_corrupt);
  refused(R"(["sesame"])", ErrorKind::image_corrupt);
  refused("{}", ErrorKind::image_corrupt);
  refused(R"({"token":7})", ErrorKind::image_corrupt);
  refused(R"({"token":"sesame\r\nX-Injected: 1"})", ErrorKind::image_corrupt);
  refused(R"({"token":"ses ame"})", ErrorKind::image_corrupt);
  refused(R"({"token":")" + std::string(2 << 20, 'a') + "\"}", ErrorKind::image_limit);
}

TEST_CASE("a token is renewed in time", "[token]") {
  const CleanEnvironment environment;
  HttpClient client;
  ScriptedRegistry server([](const ReceivedRequest& request) -> std::optional<Reply> {
    const auto life = request.header("x-life");
    return reply(200, request.target.find("short") != std::string::npos  ? R"({"token":"good","expires_in":5})"
                      : request.target.find("long") != std::string::npos ? R"({"token":"good","expires_in":600})"
                                                                         : R"({"token":"good"})");
  });
  const auto life = [&](const std::string& path) {
    const Url registry = *Url::parse(server.server.url());
    const auto start = std::chrono::steady_clock::now();
    const AccessToken token = fetch_token(client, {registry, server.server.url(path), "", "s", std::nullopt, false});
    return std::chrono::duration_cast<std::chrono::seconds>(token.until - start).count();
  };
  CHECK(life("/short") == 50);
  CHECK(life("/none") == 50);
  CHECK(life("/long") == 590);
}

TEST_CASE("a token that the registry no longer takes is renewed once", "[token]") {
  const CleanEnvironment environment;
  int given = 0;
  TokenRegistry server(
      [&](const ReceivedRequest&) { return reply(200, fmt::format(R"({{"token":"t{}"}})", ++given)); });
  server.good = "t1";
  const auto image = open_image(server.registry.name(), impatient());
  CHECK(given == 1);
  SECTION("and it goes on") {
    server.good = "t2";
    CHECK(read_layer_bytes(*image, 0) == server.registry.image.layers[0]);
    CHECK(read_layer_bytes(*image, 1) == server.registry.image.layers[1]);
    CHECK(given == 2);
  }
  SECTION("or ends") {
    server.good = "none";
    CHECK(error_of([&] { image->open_layer(0); }).kind() == ErrorKind::image_access);
    CHECK(given == 2);
  }
}

TEST_CASE("many threads share one renewal", "[token]") {
  const CleanEnvironment environment;
  std::atomic<int> given = 0;
  std::atomic<int> valid = 1;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token")) {
      valid = ++given;
      return reply(200, fmt::format(R"({{"token":"t{}"}})", int(given)));
    }
    if (request.header("authorization") == fmt::format("Bearer t{}", int(valid))) return std::nullopt;
    return reply(401, "", {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", request.header("host"))});
  });
  const auto image = open_image(registry.name(), impatient());
  valid = 99;  // everything given so far is void
  std::atomic<int> read = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      char buffer[16];
      if (image->open_layer(1)->read(buffer, sizeof buffer) > 0) ++read;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(read == 8);
  CHECK(given == 2);
}

TEST_CASE("a missing scope is asked for once, before our own", "[token]") {
  const CleanEnvironment environment;
  std::string more = R"(,error="insufficient_scope",scope="repository:base/image:pull")";
  int status = GENERATE(401, 403);
  TokenRegistry* self = nullptr;
  TokenRegistry server([](const ReceivedRequest& request) {
    const bool wide = request.target.find("base%2Fimage") != std::string::npos;
    return reply(200, wide ? R"({"token":"wide"})" : R"({"token":"narrow"})");
  });
  self = &server;
  std::string takes = "Bearer wide";
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token")) return self->first(request);
    if (request.header("authorization") == takes) return std::nullopt;
    const int now = request.header("authorization").empty() ? 401 : status;
    return reply(now, "",
                 {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"{}", request.header("host"), more)});
  });
  SECTION("and then it goes") {
    CHECK(open_image(registry.name(), impatient())->layers().size() == 2);
    CHECK(server.token_requests == 2);
    CHECK(registry.server.requests()[3].target ==
          "/token?scope=repository%3Abase%2Fimage%3Apull%20repository%3Ax%2Fworker%3Apull");
  }
  SECTION("or not") {
    takes = "Bearer none";
    CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_access);
    CHECK(server.token_requests == 2);
  }
}

TEST_CASE("hostile: a registry that changes its mind is given up", "[token][hostile]") {
  int turn = 0;
  TokenRegistry* self = nullptr;
  TokenRegistry server(good_token);
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/token")) return self->first(request);
    if (++turn > 50) return std::nullopt;
    return turn % 2 == 0
               ? reply(401, "", {"WWW-Authenticate: Basic realm=\"R\""})
               : reply(401, "",
                       {fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", request.header("host"))});
  });
  self = &server;
  const Login login(registry.server.host());
  CHECK(error_of_opening(registry.name()).kind() == ErrorKind::image_access);
  CHECK(turn < 10);
}

TEST_CASE("hostile: a password goes to no token server inside (GHSA-xf85, ggcr #2243)", "[token][hostile]") {
  HttpServer inside([](const ReceivedRequest& request) { return good_token(request); });
  SECTION("named by the registry") {
    ScriptedRegistry registry([&](const ReceivedRequest&) {
      return std::optional(
          reply(401, "", {fmt::format("WWW-Authenticate: Bearer realm=\"{}\"", inside.url("/token"))}));
    });
    const Login login(registry.server.host());
    const Error error = error_of_opening(registry.name());
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(mentions(error, inside.url("/token")));
  }
  SECTION("by a redirect of the token server") {
    TokenRegistry server([&](const ReceivedRequest&) { return reply(302, "", {"Location: " + inside.url("/token")}); });
    const Login login(server.registry.server.host());
    CHECK(error_of_opening(server.registry.name()).kind() == ErrorKind::image_access);
  }
  CHECK(inside.requests().empty());
}

TEST_CASE("realms", "[token]") {
  const auto allowed = [](const std::string& registry, const std::string& realm) {
    try {
      check_realm(*Url::parse(registry), realm);
      return true;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::image_access);
      return false;
    }
  };
  CHECK(allowed("https://registry-1.docker.io", "https://auth.docker.io/token"));
  CHECK(allowed("https://r.example:5000", "https://r.example:5001/token"));
  CHECK(allowed("https://10.0.0.5:5000", "https://10.0.0.5:5000/token"));
  CHECK(allowed("http://10.0.0.5:5000", "http://10.0.0.5:5000/token"));
  CHECK(allowed("http://10.0.0.5:5000", "https://auth.example/token"));
  CHECK(allowed("http://localhost:5000", "http://localhost:5000/token"));
  CHECK_FALSE(allowed("https://r.example", "http://r.example/token"));
  CHECK_FALSE(allowed("https://10.0.0.5:5000", "http://10.0.0.5:5000/token"));
  CHECK_FALSE(allowed("https://10.0.0.5:5000", "https://10.0.0.5:5001/token"));
  CHECK_FALSE(allowed("https://10.0.0.5:5000", "https://10.0.0.6:5000/token"));
  for (const std::string host : {"127.0.0.1", "localhost", "169.254.169.254", "192.168.1.1", "[::1]", "[fd00::1]",
                                 "0.0.0.0", "metadata.google.internal", "[::ffff:169.254.169.254]", "2130706433"}) {
    INFO(host);
    CHECK_FALSE(allowed("https://r.example", "https://" + host + "/token"));
    CHECK_FALSE(allowed("http://r.example", "http://" + host + "/token"));
  }
  for (const std::string realm :
       {"", "token", "/token", "ftp://r.example/", "https://joe:x@r.example/token", "file:///etc/passwd"}) {
    INFO(realm);
    CHECK_FALSE(allowed("https://r.example", realm));
  }
}

TEST_CASE("redirects of a token server", "[token]") {
  const CleanEnvironment environment;
  int redirects = 0;
  SECTION("within it are followed, and keep the login") {
    TokenRegistry server([&](const ReceivedRequest& request) {
      if (redirects++ < 3) return reply(307, "", {fmt::format("Location: /token{}", redirects)});
      return request.header("authorization") == basic_joe ? good_token(request) : reply(401, "");
    });
    const Login login(server.registry.server.host());
    CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
  }
  SECTION("without end are not") {
    TokenRegistry server([&](const ReceivedRequest&) { return reply(307, "", {"Location: /token"}); });
    CHECK(error_of_opening(server.registry.name()).kind() == ErrorKind::image_network);
    CHECK(server.token_requests == 6);
  }
}

TEST_CASE("a token server that is busy is asked again", "[token]") {
  const CleanEnvironment environment;
  int left = 1;
  TokenRegistry server([&](const ReceivedRequest& request) {
    return left-- > 0 ? reply(503, "", {"Retry-After: 0"}) : good_token(request);
  });
  CHECK(open_image(server.registry.name(), impatient())->layers().size() == 2);
}

TEST_CASE("a redirect's target that gives a token to everybody gets no credentials (ggcr #2360)", "[token]") {
  const TinyImage tiny;
  HttpServer* target = nullptr;
  HttpServer store([&](const ReceivedRequest& request) {
    if (request.target.starts_with("/token?")) return reply(200, R"({"token":"everybody"})");
    if (request.header("authorization") == "Bearer everybody") return reply(200, tiny.layers[1]);
    return reply(
        401, "",
        {fmt::format("WWW-Authenticate: Bearer realm=\"{}\",scope=\"repository:y:pull\"", target->url("/token"))});
  });
  target = &store;
  TokenRegistry server(good_token);
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (request.target.ends_with(Digest::of(tiny.layers[1]).to_string()))
      return reply(307, "", {"Location: " + store.url("/v2/y/blobs/x")});
    return std::nullopt;
  });
  const Login login(store.host());  // there is a login for it, and it is not for redirects
  const auto image = open_image(registry.name(), impatient());
  CHECK(read_layer_bytes(*image, 1) == tiny.layers[1]);
  REQUIRE(store.requests().size() == 3);
  for (const ReceivedRequest& request : store.requests())
    CHECK(request.header("authorization").find("Basic") == std::string::npos);
}

TEST_CASE("a signed address that has expired is signed anew, once", "[token]") {
  const CleanEnvironment environment;
  const TinyImage tiny;
  int served = 0;
  bool ever = GENERATE(true, false);
  HttpServer store(
      [&](const ReceivedRequest&) { return ++served > 1 && ever ? reply(200, tiny.layers[1]) : reply(403, ""); });
  int signed_times = 0;
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (!request.target.ends_with(Digest::of(tiny.layers[1]).to_string())) return std::nullopt;
    return reply(307, "", {fmt::format("Location: {}", store.url(fmt::format("/signed{}", ++signed_times)))});
  });
  const auto image = open_image(registry.name(), impatient());
  if (ever) {
    CHECK(read_layer_bytes(*image, 1) == tiny.layers[1]);
  } else {
    CHECK(error_of([&] { image->open_layer(1); }).kind() == ErrorKind::image_access);
  }
  CHECK(signed_times == 2);
}
