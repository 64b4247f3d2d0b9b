// HTTP as a client that trusts nobody needs it: one request, one response, read as far as the reader pulls.
//
// HTTP/1.1, and HTTP/2 where a server offers it over TLS; http and https only. Redirects are not followed, credentials
// are not looked up (no netrc), contents are not decoded: whoever calls decides what travels where. Proxies and CA
// files come from the environment, as with curl (https_proxy, no_proxy, CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR);
// loopback addresses never go through a proxy.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace imgforge {

/// The parts of an absolute http or https URL. RFC 3986.
struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address keeps its brackets
  std::uint16_t port = 0;
  std::string target;  // path and query, starts with "/"

  /// Nothing for other schemes, for userinfo (a password in a URL ends up in logs), and for what is no URL.
  static std::optional<Url> parse(std::string_view text);
  /// What `location` (absolute or relative) means, seen from here.
  std::optional<Url> resolve(std::string_view location) const;

  std::string to_string() const;  // the port only where it is not the scheme's own
  /// Without the query, which in signed URLs is a secret.
  std::string to_display_string() const;
  bool same_origin(const Url& other) const noexcept {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
};

/// Whether a host (as in Url) is this machine: localhost, 127.0.0.0/8, [::1].
bool is_loopback_host(std::string_view host) noexcept;
/// Whether a host is an address of the link (169.254.0.0/16, fe80::/10), where clouds keep their metadata servers.
bool is_link_local_host(std::string_view host) noexcept;
/// Whether a host is a name or an address that leads to this machine, its link, a private network, or nowhere public:
/// the two above, 10/8, 172.16/12, 192.168/16, 100.64/10, 0/8, 192.0.0/24, 198.18/15, multicast and what is reserved
/// above it, fc00::/7, "::", the same inside of IPv6 (mapped, NAT64, 6to4), and the name of Google's metadata server.
/// Other names are public here: what they resolve to is not looked at.
bool is_inner_host(std::string_view host) noexcept;

/// "a=1&b=x%2Fy": names and values as application/x-www-form-urlencoded, and as a query.
std::string form_encode(const std::vector<std::pair<std::string, std::string>>& fields);

/// A date as headers write it (RFC 9110 section 5.6.7, the old forms too).
std::optional<std::time_t> parse_http_date(std::string_view text);

/// Files of a directory as Docker's /etc/docker/certs.d/HOST has them. Empty: not there.
struct TlsFiles {
  std::vector<std::string> authorities;  // *.crt, PEM; beside the system's
  std::string certificate;               // client.cert, PEM
  std::string key;                       // client.key, PEM
  bool operator==(const TlsFiles&) const = default;
};

struct HttpRequest {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  bool verify_tls = true;
  TlsFiles tls;
  std::optional<std::string> form;  // then it is a POST of this application/x-www-form-urlencoded body
  bool direct = false;              // through no proxy, whatever the environment says
  std::string unix_socket;          // a path: the connection goes there, and the URL's host is only a name
  /// Bytes of the body that are wanted, both ends included: "Range: bytes=FIRST-LAST". The answer may be 200 all the
  /// same.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range;
  std::optional<std::chrono::milliseconds> connect_timeout;  // instead of the client's; TLS handshake included
};

struct HttpFailure {
  enum class Kind {
    unreachable,  // no address, no connection
    no_tls,       // the server does not speak TLS (or closed during the handshake)
    certificate,  // it does, but its certificate does not hold
    interrupted,  // the connection broke before the headers were complete
    timeout,
    too_large,  // more headers than anybody needs
    other,
  };
  Kind kind = Kind::other;
  std::string message;  // without URL; safe to show
};

/// A response whose body is pulled. Not thread-safe. Its connection returns to the client at the end of the body.
class HttpResponse {
 public:
  HttpResponse(HttpResponse&&) noexcept;
  HttpResponse& operator=(HttpResponse&&) noexcept;
  ~HttpResponse();

  /// Where no response came; status() is 0 then.
  const std::optional<HttpFailure>& failure() const noexcept;
  int status() const noexcept;
  /// The first header of a name (any case), or nothing.
  std::optional<std::string> header(std::string_view name) const;
  std::vector<std::string> headers(std::string_view name) const;
  std::optional<std::uint64_t> content_length() const;

  /// Fills up to `size` bytes of the body and returns how many; 0 at the end only. Memory stays bounded however slowly
  /// it is called. Throws Error(image_network) where the connection breaks or stalls, also before Content-Length bytes.
  std::size_t read(char* buffer, std::size_t size);

 private:
  friend class HttpClient;
  struct State;
  explicit HttpResponse(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct HttpOptions {
  std::chrono::milliseconds connect_timeout{20'000};
  /// While waiting for the server, fewer than `stall_bytes` in this time end the transfer. Time in which nobody reads
  /// does not count.
  std::chrono::milliseconds stall_timeout{60'000};
  std::uint64_t stall_bytes = 1024;
  std::size_t header_bytes = 64 << 10;
};

/// Keeps connections alive between requests. Thread-safe.
class HttpClient {
 public:
  explicit HttpClient(const HttpOptions& options = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// A GET (a POST where the request has a form), up to the end of the response's headers. Never throws for what a
  /// server or the network does: see failure().
  HttpResponse get(const HttpRequest& request);

 private:
  friend class HttpResponse;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace imgforge
