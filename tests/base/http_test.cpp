#include "base/http.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "base/error.hpp"
#include "base/http_server.hpp"

using namespace imgforge;
using test::HttpServer;
using test::ReceivedRequest;
using test::Reply;
using test::reply;

namespace {

std::string body_of(HttpResponse& response) {
  std::string body;
  char buffer[1000];
  while (const std::size_t count = response.read(buffer, sizeof buffer)) body.append(buffer, count);
  return body;
}

HttpRequest request_for(const std::string& url) { return {.url = *Url::parse(url)}; }

}  // namespace

TEST_CASE("URLs are taken apart as libcurl reads them", "[http]") {
  const auto url = Url::parse("https://Registry.Example:5000/v2/x?y=1#z");
  REQUIRE(url);
  CHECK(url->scheme == "https");
  CHECK(url->host == "registry.example");
  CHECK(url->port == 5000);
  CHECK(url->target == "/v2/x?y=1");
  CHECK(url->to_string() == "https://registry.example:5000/v2/x?y=1");
  CHECK(url->to_display_string() == "https://registry.example:5000/v2/x");
  CHECK(Url::parse("http://[::1]:5000")->host == "[::1]");
  CHECK(Url::parse("https://x.example")->to_string() == "https://x.example/");
  CHECK_FALSE(Url::parse("ftp://x.example/"));
  CHECK_FALSE(Url::parse("file:///etc/passwd"));
  CHECK_FALSE(Url::parse("https://user:secret@x.example/"));
  CHECK_FALSE(Url::parse("https://user@x.example/"));
  CHECK_FALSE(Url::parse("https://"));
  CHECK_FALSE(Url::parse("https://x.example/a b"));
  CHECK_FALSE(Url::parse("https://x.example/\r\nHost: y"));
  CHECK_FALSE(Url::parse("https://x.example:70000/"));
  CHECK_FALSE(Url::parse(std::string("https://x.example/\0@y", 21)));
  CHECK_FALSE(Url::parse("https://x.example/" + std::string(20'000, 'a')));
}

TEST_CASE("relative locations are resolved", "[http]") {
  const Url from = *Url::parse("https://r.example/v2/a/blobs/x");
  CHECK(from.resolve("/b?c=d")->to_string() == "https://r.example/b?c=d");
  CHECK(from.resolve("y")->to_string() == "https://r.example/v2/a/blobs/y");
  CHECK(from.resolve("//cdn.example/z")->to_string() == "https://cdn.example/z");
  CHECK(from.resolve("http://cdn.example/z")->scheme == "http");
  CHECK_FALSE(from.resolve("javascript:alert(1)"));
  CHECK_FALSE(from.resolve("https://u:p@cdn.example/"));
}

TEST_CASE("an origin is scheme, host and port", "[http]") {
  const Url url = *Url::parse("https://r.example/");
  CHECK(url.same_origin(*Url::parse("https://r.example:443/x")));
  CHECK_FALSE(url.same_origin(*Url::parse("https://r.example:444/")));
  CHECK_FALSE(url.same_origin(*Url::parse("http://r.example:443/")));
  CHECK_FALSE(url.same_origin(*Url::parse("https://r.example.evil/")));
}

TEST_CASE("hosts of this machine and of the link are known in every spelling", "[http]") {
  for (const char* url : {"http://localhost/", "http://127.0.0.1/", "http://127.255.0.9/", "http://[::1]/",
                          "http://[::ffff:127.0.0.1]/", "http://2130706433/"}) {
    INFO(url);
    CHECK(is_loopback_host(Url::parse(url)->host));
  }
  for (const char* url :
       {"http://localhost.example/", "http://128.0.0.1/", "http://[2001:db8::1]/", "http://127.0.0.1.example/"}) {
    INFO(url);
    CHECK_FALSE(is_loopback_host(Url::parse(url)->host));
  }
  CHECK(is_link_local_host("169.254.169.254"));
  CHECK(is_link_local_host("[fe80::1]"));
  CHECK_FALSE(is_link_local_host("169.255.0.1"));
}

TEST_CASE("a response has a status, headers and a body", "[http]") {
  HttpServer server([](const ReceivedRequest&) { return reply(206, "hello", {"X-One: a", "x-one: b", "X-Two:  c "}); });
  HttpClient client;
  HttpRequest request = request_for(server.url("/path?query=1"));
  request.headers.emplace_back("X-Sent", "yes");
  HttpResponse response = client.get(request);
  REQUIRE_FALSE(response.failure());
  CHECK(response.status() == 206);
  CHECK(response.headers("X-ONE") == std::vector<std::string>{"a", "b"});
  CHECK(response.header("x-two") == "c");
  CHECK_FALSE(response.header("x-three"));
  CHECK(response.content_length() == 5);
  CHECK(body_of(response) == "hello");
  const ReceivedRequest received = server.requests().at(0);
  CHECK(received.method == "GET");
  CHECK(received.target == "/path?query=1");
  CHECK(received.header("x-sent") == "yes");
  CHECK(received.header("user-agent").starts_with("imgforge/"));
  CHECK(received.header("accept-encoding").empty());
}

TEST_CASE("a connection serves several requests", "[http]") {
  HttpServer server([](const ReceivedRequest&) { return reply(200, "x"); });
  HttpClient client;
  for (int i = 0; i < 3; ++i) {
    HttpResponse response = client.get(request_for(server.url()));
    CHECK(body_of(response) == "x");
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("two responses may be read at the same time", "[http]") {
  HttpServer server([](const ReceivedRequest& request) { return reply(200, request.target); });
  HttpClient client;
  HttpResponse one = client.get(request_for(server.url("/1")));
  HttpResponse two = client.get(request_for(server.url("/2")));
  CHECK(body_of(two) == "/2");
  CHECK(body_of(one) == "/1");
}

TEST_CASE("redirects are not followed", "[http]") {
  HttpServer server([](const ReceivedRequest&) { return reply(302, "", {"Location: /other"}); });
  HttpClient client;
  CHECK(client.get(request_for(server.url())).status() == 302);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an encoded body arrives as it was sent", "[http]") {
  const std::string bytes = "\x1f\x8b not really gzip";
  HttpServer server([&](const ReceivedRequest&) { return reply(200, bytes, {"Content-Encoding: gzip"}); });
  HttpClient client;
  HttpResponse response = client.get(request_for(server.url()));
  CHECK(body_of(response) == bytes);
}

TEST_CASE("a chunked body is put together", "[http]") {
  HttpServer server([](const ReceivedRequest&) {
    return Reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};
  });
  HttpClient client;
  HttpResponse response = client.get(request_for(server.url()));
  CHECK_FALSE(response.content_length());
  CHECK(body_of(response) == "abcde");
}

TEST_CASE("a large body is pulled, not buffered", "[http]") {
  const std::string body(8 << 20, 'x');
  HttpServer server([&](const ReceivedRequest&) { return reply(200, body); });
  HttpClient client;
  HttpResponse response = client.get(request_for(server.url()));
  std::size_t total = 0;
  char buffer[100'000];
  while (const std::size_t count = response.read(buffer, sizeof buffer)) total += count;
  CHECK(total == body.size());
}

TEST_CASE("a body may be left half read", "[http]") {
  const std::string body(8 << 20, 'x');
  HttpServer server([&](const ReceivedRequest& request) {
    return request.target == "/big" ? reply(200, body) : reply(200, "small");
  });
  HttpClient client;
  {
    HttpResponse response = client.get(request_for(server.url("/big")));
    char buffer[10];
    CHECK(response.read(buffer, sizeof buffer) == 10);
  }
  HttpResponse response = client.get(request_for(server.url("/small")));
  CHECK(body_of(response) == "small");
}

TEST_CASE("a truncated body is an error", "[http]") {
  HttpServer server([](const ReceivedRequest&) {
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", true};
  });
  HttpClient client;
  HttpResponse response = client.get(request_for(server.url()));
  CHECK(response.status() == 200);
  CHECK_THROWS_AS(body_of(response), Error);
  HttpServer chunks([](const ReceivedRequest&) {
    return Reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true};
  });
  HttpResponse cut = client.get(request_for(chunks.url()));
  CHECK_THROWS_AS(body_of(cut), Error);
}

TEST_CASE("endless headers are refused", "[http]") {
  std::string bytes = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 20'000; ++i) bytes += fmt::format("X-Header-{}: value\r\n", i);
  HttpServer server([&](const ReceivedRequest&) { return Reply{bytes + "\r\n", true}; });
  HttpClient client;
  const HttpResponse response = client.get(request_for(server.url()));
  REQUIRE(response.failure());
  CHECK(response.failure()->kind == HttpFailure::Kind::too_large);
  CHECK(response.status() == 0);
}

TEST_CASE("failures are told apart", "[http]") {
  HttpClient client;
  HttpServer closing([](const ReceivedRequest&) { return Reply{"", true}; });
  const HttpResponse closed = client.get(request_for(closing.url()));
  REQUIRE(closed.failure());
  CHECK(closed.failure()->kind == HttpFailure::Kind::interrupted);

  const HttpResponse no_tls = client.get(request_for("https://" + closing.host() + "/"));
  REQUIRE(no_tls.failure());
  CHECK(no_tls.failure()->kind == HttpFailure::Kind::no_tls);

  int port = 0;
  {
    port = HttpServer([](const ReceivedRequest&) { return reply(200, ""); }).port();
  }
  const HttpResponse nobody = client.get(request_for(fmt::format("http://127.0.0.1:{}/", port)));
  REQUIRE(nobody.failure());
  CHECK(nobody.failure()->kind == HttpFailure::Kind::unreachable);

  HttpServer talker([](const ReceivedRequest&) { return Reply{"220 smtp.example ESMTP\r\n", true}; });
  CHECK(client.get(request_for(talker.url())).failure());
}

TEST_CASE("a server that stalls ends the transfer", "[http]") {
  HttpClient client({.stall_timeout = std::chrono::milliseconds(300)});
  HttpServer silent([](const ReceivedRequest&) { return Reply{""}; });
  const HttpResponse none = client.get(request_for(silent.url()));
  REQUIRE(none.failure());
  CHECK(none.failure()->kind == HttpFailure::Kind::timeout);
  HttpServer stalling(
      [](const ReceivedRequest&) { return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"}; });
  HttpResponse half = client.get(request_for(stalling.url()));
  CHECK_THROWS_AS(body_of(half), Error);
}

TEST_CASE("a continue before the response does not count", "[http]") {
  HttpServer server([](const ReceivedRequest&) {
    return Reply{"HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
  });
  HttpClient client;
  const HttpResponse response = client.get(request_for(server.url()));
  CHECK(response.status() == 404);
  CHECK_FALSE(response.header("x-a"));
}

TEST_CASE("dates of headers", "[http]") {
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);  // RFC 9110 section 5.6.7
  CHECK_FALSE(parse_http_date("soon"));
}

TEST_CASE("a form is posted", "[http]") {
  HttpServer server([](const ReceivedRequest& request) {
    return reply(200, request.method + " " + request.header("content-type") + " " + request.body);
  });
  HttpClient client;
  HttpRequest request = request_for(server.url("/token"));
  request.form = "grant_type=refresh_token&scope=a%20b";
  HttpResponse response = client.get(request);
  CHECK(body_of(response) == "POST application/x-www-form-urlencoded grant_type=refresh_token&scope=a%20b");
  // The same connection serves a GET afterwards, without a body.
  HttpResponse second = client.get(request_for(server.url()));
  CHECK(body_of(second) == "GET  ");
}

TEST_CASE("a range is asked for with both ends", "[http]") {
  HttpServer server([](const ReceivedRequest& request) {
    return reply(206, request.header("range"), {"Content-Range: bytes 5-9/20"});
  });
  HttpClient client;
  HttpRequest request = request_for(server.url());
  request.range = {5, 9};
  HttpResponse response = client.get(request);
  CHECK(response.status() == 206);
  CHECK(body_of(response) == "bytes=5-9");
}

TEST_CASE("a Unix socket takes the place of the host", "[http]") {
  HttpServer server([](const ReceivedRequest& request) { return reply(200, request.header("host") + request.target); },
                    HttpServer::unix_socket);
  HttpClient client;
  HttpRequest request = request_for("http://docker/v1.40/images/x/json");
  request.unix_socket = server.socket_path();
  HttpResponse response = client.get(request);
  CHECK_FALSE(response.failure());
  CHECK(body_of(response) == "docker/v1.40/images/x/json");
  request.unix_socket += ".absent";
  CHECK(client.get(request).failure()->kind == HttpFailure::Kind::unreachable);
}
