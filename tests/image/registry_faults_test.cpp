// A layer whose connection breaks, and parts of layers: whatever the server does, the bytes are right or there is an
// error that says what is wrong.
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/http_server.hpp"
#include "image/environment.hpp"
#include "image/registry_blob.hpp"
#include "image/retry.hpp"
#include "image/scripted_registry.hpp"
#include "image/support.hpp"

using namespace imgforge;
using namespace imgforge::test;
using std::chrono::milliseconds;

namespace {

SourceOptions hasty() {
  SourceOptions options;
  options.retry.first_pause = milliseconds(1);
  options.retry.budget = milliseconds(3'000);
  return options;
}

/// What the layer's address answers: to the request without Range, and to each with one.
struct Script {
  std::function<Reply(const std::string& layer)> whole;
  std::function<Reply(const std::string& layer, std::uint64_t first, std::uint64_t last)> part;
  int wholes = 0;  // requests so far
  std::vector<std::string> ranges;
};

/// A reply that announces all of `body` and breaks off after `sent` bytes of it.
Reply cut_after(std::size_t sent, const std::string& body, int status = 200, const std::string& header = "") {
  return {fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n{}\r\n", status, body.size(), header) +
              body.substr(0, sent),
          true};
}

std::string content_range(std::uint64_t first, std::uint64_t last, std::uint64_t size) {
  return fmt::format("Content-Range: bytes {}-{}/{}", first, last, size);
}

Reply right_part(const std::string& layer, std::uint64_t first, std::uint64_t last) {
  return reply(206, layer.substr(first, last - first + 1), {content_range(first, last, layer.size())});
}

std::function<std::optional<Reply>(const ReceivedRequest&)> answers_of(Script& script) {
  return [&script](const ReceivedRequest& request) -> std::optional<Reply> {
    const std::string layer = TinyImage().layers[1];
    if (!request.target.ends_with(Digest::of(layer).to_string())) return std::nullopt;
    const std::string range = request.header("range");
    if (range.empty()) {
      ++script.wholes;
      return script.whole(layer);
    }
    script.ranges.push_back(range);
    const std::size_t dash = range.find('-');
    return script.part(layer, to_number(range.substr(6, dash - 6)).value(), to_number(range.substr(dash + 1)).value());
  };
}

constexpr std::size_t stood = 1000;  // bytes that come before the connection breaks

Script breaks_once() {
  Script script;
  script.whole = [](const std::string& layer) { return cut_after(stood, layer); };
  script.part = right_part;
  return script;
}

std::string read_all(ByteReader& reader) {
  std::string result;
  char buffer[512];
  while (const std::size_t count = reader.read(buffer, sizeof buffer)) result.append(buffer, count);
  return result;
}

}  // namespace

TEST_CASE("a broken layer goes on where it stood", "[faults]") {
  const CleanEnvironment environment;
  const std::string layer = TinyImage().layers[1];
  Script script = breaks_once();
  ScriptedRegistry registry(answers_of(script));
  const auto image = open_image(registry.name(), hasty());
  SECTION("by a Range with both ends") {
    const auto reader = image->open_layer(1);
    CHECK(read_all(*reader) == layer);
    CHECK(script.ranges == std::vector<std::string>{fmt::format("bytes={}-{}", stood, layer.size() - 1)});
    CHECK(reader->bytes_again() == 0);
  }
  SECTION("at each tenth, again and again") {
    const std::size_t tenth = layer.size() / 10 + 1;
    script.whole = [&](const std::string&) { return cut_after(tenth, layer); };
    script.part = [&](const std::string&, std::uint64_t first, std::uint64_t last) {
      const std::string rest = layer.substr(first, last - first + 1);
      return cut_after(std::min(tenth, rest.size()), rest, 206, content_range(first, last, layer.size()) + "\r\n");
    };
    SourceOptions patient = hasty();
    patient.retry.attempts = 20;
    CHECK(read_layer_bytes(*open_image(registry.name(), patient), 1) == layer);
    CHECK(script.ranges.size() == 9);
  }
  SECTION("no more often than the policy says") {
    script.part = [&](const std::string&, std::uint64_t first, std::uint64_t last) {
      return cut_after(1, layer.substr(first), 206, content_range(first, last, layer.size()) + "\r\n");
    };
    const Error error = error_of([&] { read_layer_bytes(*image, 1); });
    CHECK(error.kind() == ErrorKind::image_network);
    CHECK(mentions(error, "layer 2 of 2"));
    CHECK(mentions(error, fmt::format("after {} of {} bytes", stood + 5, layer.size())));
    CHECK(script.ranges.size() == hasty().retry.attempts);
  }
  SECTION("after the server was busy") {
    int busy = 2;
    script.part = [&](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      return busy-- > 0 ? reply(503, "") : right_part(whole, first, last);
    };
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK(script.ranges.size() == 3);
  }
  SECTION("not where it is gone meanwhile") {
    script.part = [](const std::string&, std::uint64_t, std::uint64_t) { return reply(404, ""); };
    CHECK(error_of([&] { read_layer_bytes(*image, 1); }).kind() == ErrorKind::image_not_found);
  }
}

TEST_CASE("a broken layer starts anew where the server knows no Range", "[faults]") {
  const CleanEnvironment environment;
  const std::string layer = TinyImage().layers[1];
  Script script = breaks_once();
  script.whole = [&](const std::string& whole) {
    return script.wholes == 1 ? cut_after(stood, whole) : reply(200, whole);
  };
  const auto other_part = [](std::uint64_t first_off, std::uint64_t last_off, std::uint64_t size_off) {
    return [=](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      return reply(206, whole.substr(first, last - first + 1),
                   {content_range(first - first_off, last - last_off, whole.size() - size_off)});
    };
  };
  const auto status = [](int code) {
    return [code](const std::string&, std::uint64_t, std::uint64_t) { return reply(code, "no"); };
  };
  int wholes = 2;
  SECTION("200 instead") {
    script.part = [](const std::string& whole, std::uint64_t, std::uint64_t) { return reply(200, whole); };
    wholes = 1;
  }
  SECTION("400") { script.part = status(400); }
  SECTION("416") { script.part = status(416); }
  SECTION("501") { script.part = status(501); }
  SECTION("another start") { script.part = other_part(1, 0, 0); }
  SECTION("another end") { script.part = other_part(0, 1, 0); }
  SECTION("another size") { script.part = other_part(0, 0, 1); }
  SECTION("no Content-Range") {
    script.part = [](const std::string& whole, std::uint64_t first, std::uint64_t) {
      return reply(206, whole.substr(first));
    };
  }
  ScriptedRegistry registry(answers_of(script));
  const auto image = open_image(registry.name(), hasty());
  const auto reader = image->open_layer(1);
  CHECK(read_all(*reader) == layer);
  CHECK(script.wholes == wholes);
  CHECK(script.ranges.size() == 1);
  CHECK(reader->bytes_again() == stood);  // it is part of what the layer cost
}

TEST_CASE("hostile: what comes after the break is of another length", "[faults][hostile]") {
  const CleanEnvironment environment;
  Script script = breaks_once();
  SECTION("a 200 of another size") {
    script.part = [](const std::string& whole, std::uint64_t, std::uint64_t) { return reply(200, whole + "more"); };
  }
  SECTION("a 206 that is longer than its range, without a length") {
    script.part = [](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      return Reply{fmt::format("HTTP/1.1 206 Status\r\n{}\r\n\r\n{}more", content_range(first, last, whole.size()),
                               whole.substr(first)),
                   true};
    };
  }
  SECTION("a 206 that is shorter, without a length") {
    script.part = [](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      return Reply{fmt::format("HTTP/1.1 206 Status\r\n{}\r\n\r\n{}", content_range(first, last, whole.size()),
                               whole.substr(first, 10)),
                   true};
    };
  }
  ScriptedRegistry registry(answers_of(script));
  const auto image = open_image(registry.name(), hasty());
  CHECK(error_of([&] { read_layer_bytes(*image, 1); }).kind() == ErrorKind::image_corrupt);
}

TEST_CASE("a server that stalls within a layer is given up in time, and it is said", "[faults]") {
  const CleanEnvironment environment;
  const std::string layer = TinyImage().layers[1];
  Script script = breaks_once();
  const auto stalled = [&](const std::string& whole) {
    Reply answer = cut_after(stood, whole);
    answer.close = false;  // the connection stays open, and nothing comes
    return answer;
  };
  script.whole = stalled;
  ScriptedRegistry registry(answers_of(script));
  SourceOptions options = hasty();
  options.retry.stall_timeout = milliseconds(300);
  options.retry.stall_bytes = 1;
  SECTION("once: it goes on") { CHECK(read_layer_bytes(*open_image(registry.name(), options), 1) == layer); }
  SECTION("always: the time that it took counts as waiting") {
    options.retry.attempts = 50;
    options.retry.budget = milliseconds(1'000);
    script.part = [&](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      Reply answer = cut_after(0, whole.substr(first), 206, content_range(first, last, whole.size()) + "\r\n");
      answer.close = false;
      return answer;
    };
    const auto image = open_image(registry.name(), options);
    const Error error = error_of([&] { read_layer_bytes(*image, 1); });
    CHECK(error.kind() == ErrorKind::image_network);
    CHECK(mentions(error, "sent nothing, or next to nothing, for 0."));
    CHECK(script.ranges.size() >= 1);
    CHECK(script.ranges.size() <= 4);
  }
  SECTION("before it says anything at all") {
    const auto image = open_image(registry.name(), options);
    script.whole = [](const std::string&) { return Reply{"", false}; };
    const Error error = error_of([&] { image->open_layer(1); });
    CHECK(error.kind() == ErrorKind::image_network);
    CHECK(mentions(error, "sent nothing"));
  }
}

TEST_CASE("signed addresses that expire are signed anew", "[faults]") {
  const CleanEnvironment environment;
  const std::string layer = TinyImage().layers[1];
  int redirects = 0;
  int valid = 1;  // which signature the store takes
  int served = 0;
  HttpServer store([&](const ReceivedRequest& request) {
    if (request.target != fmt::format("/signed?{}", valid)) return reply(403, "expired");
    const std::string range = request.header("range");
    if (range.empty()) {
      ++served;
      valid = 2;  // within the layer, the first one expires
      return cut_after(stood, layer);
    }
    return right_part(layer, stood, layer.size() - 1);
  });
  ScriptedRegistry registry([&](const ReceivedRequest& request) -> std::optional<Reply> {
    if (!request.target.ends_with(Digest::of(layer).to_string())) return std::nullopt;
    return reply(307, "", {"Location: " + store.url(fmt::format("/signed?{}", ++redirects))});
  });
  const auto image = open_image(registry.name(), hasty());
  SECTION("within a layer") {
    CHECK(read_layer_bytes(*image, 1) == layer);
    CHECK(redirects == 2);
  }
  SECTION("before the first byte") {
    redirects = -1;  // the first address is too old, the second one holds
    CHECK(read_layer_bytes(*image, 1) == layer);
  }
  SECTION("once more only") {
    redirects = 10;
    const Error error = error_of([&] { image->open_layer(1); });
    CHECK(error.kind() == ErrorKind::image_access);
    CHECK(redirects == 12);
    CHECK_FALSE(mentions(error, "signed?"));  // the query is a secret
  }
}

TEST_CASE("a part of a layer is read by one Range", "[faults][ranges]") {
  const CleanEnvironment environment;
  const std::string layer = TinyImage().layers[1];
  Script script = breaks_once();
  ScriptedRegistry registry(answers_of(script));
  const auto image = open_image(registry.name(), hasty());
  const auto part = [&](std::uint64_t offset, std::uint64_t length) -> std::optional<std::string> {
    const auto reader = image->open_layer_range(1, offset, length);
    return reader ? std::optional(read_all(*reader)) : std::nullopt;
  };
  SECTION("206") {
    CHECK(part(512, 100) == layer.substr(512, 100));
    CHECK(part(layer.size() - 40, 40) == layer.substr(layer.size() - 40));
    CHECK(script.ranges ==
          std::vector<std::string>{"bytes=512-611", fmt::format("bytes={}-{}", layer.size() - 40, layer.size() - 1)});
  }
  SECTION("broken within") {
    bool broken = false;
    script.part = [&](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      if (broken) return right_part(whole, first, last);
      broken = true;
      return cut_after(30, whole.substr(first, last - first + 1), 206,
                       content_range(first, last, whole.size()) + "\r\n");
    };
    CHECK(part(512, 100) == layer.substr(512, 100));
    CHECK(script.ranges == std::vector<std::string>{"bytes=512-611", "bytes=542-611"});
  }
  SECTION("no Range known: not asked again") {
    int status = 0;
    SECTION("200") { status = 200; }
    SECTION("400") { status = 400; }
    SECTION("416") { status = 416; }
    SECTION("501") { status = 501; }
    script.part = [&](const std::string& whole, std::uint64_t, std::uint64_t) { return reply(status, whole); };
    CHECK(part(512, 100) == std::nullopt);
    CHECK(part(512, 100) == std::nullopt);
    CHECK(script.ranges.size() == 1);
  }
  SECTION("200, and the part is the start") {
    script.part = [](const std::string& whole, std::uint64_t, std::uint64_t) { return reply(200, whole); };
    CHECK(part(0, 100) == layer.substr(0, 100));
  }
  SECTION("hostile: another part") {
    script.part = [](const std::string& whole, std::uint64_t first, std::uint64_t last) {
      return right_part(whole, first + 1, last + 1);
    };
    const Error error = error_of([&] { part(512, 100); });
    CHECK(error.kind() == ErrorKind::image_corrupt);
    CHECK(mentions(error, "asked for the bytes 512 to 611"));
  }
  SECTION("beyond the end: nobody is asked") {
    CHECK(part(layer.size(), 1) == std::nullopt);
    CHECK(part(1, layer.size()) == std::nullopt);
    CHECK(part(2, UINT64_MAX) == std::nullopt);
    CHECK(part(0, 0) == std::nullopt);
    CHECK(script.ranges.empty());
  }
}

TEST_CASE("Content-Range", "[faults]") {
  const auto range = parse_content_range("bytes 5-10/200");
  REQUIRE(range);
  CHECK(range->first == 5);
  CHECK(range->last == 10);
  CHECK(range->total == 200);
  const auto unknown = parse_content_range("bytes 0-0/*");
  REQUIRE(unknown);
  CHECK_FALSE(unknown->total);
  for (const char* text : {"", "bytes", "bytes */200", "bytes 10-5/200", "bytes 5-10", "bytes 5-10/", "bytes -10/200",
                           "bytes 5/200-10", "items 5-10/200", "bytes 5-10/2x", "bytes 5-99999999999999999999/*"}) {
    INFO(text);
    CHECK_FALSE(parse_content_range(text));
  }
}

TEST_CASE("Retry-After", "[faults]") {
  const std::time_t now = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
  using std::chrono::seconds;
  CHECK(parse_retry_after("7", now) == seconds(7));
  CHECK(parse_retry_after("0", now) == seconds(0));
  CHECK(parse_retry_after("99999999999999999999", now) == seconds(24 * 3600));
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now) == seconds(10));
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now) == seconds(0));
  CHECK(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now) == seconds(24 * 3600));
  for (const char* text : {"", "-1", "1.5", "soon"}) {
    INFO(text);
    CHECK_FALSE(parse_retry_after(text, now));
  }
}
