#include "base/http.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t buffer_bytes = 256 << 10;  // of a body that nobody has read yet
constexpr std::size_t idle_lanes = 8;
constexpr std::uint64_t largest_bundle = 8 << 20;  // of certificates

void initialise_curl() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
  });
}

/// A multi handle with the connections that it keeps, and the easy handle that uses them. libcurl's connection cache
/// may not be shared between threads, so every response in flight has a lane of its own.
struct Lane {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;

  Lane() {
    multi = curl_multi_init();
    easy = curl_easy_init();
    if (!multi || !easy) {
      if (easy) curl_easy_cleanup(easy);
      if (multi) curl_multi_cleanup(multi);
      throw std::bad_alloc();
    }
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
};

HttpFailure::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return HttpFailure::Kind::unreachable;
    case CURLE_SSL_CONNECT_ERROR: return HttpFailure::Kind::no_tls;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return HttpFailure::Kind::certificate;
    case CURLE_OPERATION_TIMEDOUT: return HttpFailure::Kind::timeout;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE: return HttpFailure::Kind::interrupted;
    default: return HttpFailure::Kind::other;
  }
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

struct HttpClient::Shared {
  HttpOptions options;
  std::mutex mutex;
  std::vector<std::unique_ptr<Lane>> idle;

  std::unique_ptr<Lane> take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Lane>();
    std::unique_ptr<Lane> lane = std::move(idle.back());
    idle.pop_back();
    return lane;
  }

  void give_back(std::unique_ptr<Lane> lane) {
    const std::lock_guard lock(mutex);
    if (idle.size() < idle_lanes) idle.push_back(std::move(lane));
  }
};

struct HttpResponse::State {
  explicit State(std::shared_ptr<HttpClient::Shared> client) : shared(std::move(client)), lane(shared->take()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    // A transfer that was left half-way closes its connection as it is removed; the lane can be used again.
    if (added) curl_multi_remove_handle(lane->multi, lane->easy);
    curl_easy_reset(lane->easy);
    curl_slist_free_all(headers_sent);
    shared->give_back(std::move(lane));
  }

  void start(const HttpRequest& request) {
    CURL* easy = lane->easy;
    curl_easy_reset(easy);
    const auto set = [&](CURLoption option, auto value) {
      if (curl_easy_setopt(easy, option, value) != CURLE_OK)
        throw Error(ErrorKind::image_network, "libcurl refuses a setting that imgforge needs");
    };
    const std::string url = request.url.to_string();
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPGET, 1L);
    if (request.form) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.form->size()));
      set(CURLOPT_COPYPOSTFIELDS, request.form->data());
    }
    // Over TLS, HTTP/2 where it is offered. One stream a connection all the same (a lane has one request at a time):
    // a response that nobody reads would hold back the others.
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's answer is not the response
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(request.connect_timeout.value_or(shared->options.connect_timeout).count()));
    set(CURLOPT_USERAGENT, "imgforge/" IMGFORGE_VERSION);
    set(CURLOPT_SSL_VERIFYPEER, request.verify_tls ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, request.verify_tls ? 2L : 0L);
    set_certificates(request.tls);
    if (request.direct || is_loopback_host(request.url.host)) set(CURLOPT_PROXY, "");
    if (!request.unix_socket.empty()) {
      set(CURLOPT_PROXY, "");
      set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
    }
    for (const auto& [name, value] : request.headers) send_header(name, value);
    if (request.range) send_header("Range", fmt::format("bytes={}-{}", request.range->first, request.range->second));
    set(CURLOPT_HTTPHEADER, headers_sent);
    set(CURLOPT_ERRORBUFFER, error_text);
    set(CURLOPT_HEADERFUNCTION, &State::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &State::on_body);
    set(CURLOPT_WRITEDATA, this);
    if (curl_multi_add_handle(lane->multi, easy) != CURLM_OK) throw std::bad_alloc();
    added = true;
    while (!headers_done && !finished) advance();
  }

  void send_header(std::string_view name, std::string_view value) {
    curl_slist* longer = curl_slist_append(headers_sent, fmt::format("{}: {}", name, value).c_str());
    if (!longer) throw std::bad_alloc();
    headers_sent = longer;
  }

  /// Whom to believe: the system's authorities or those that the environment names, and the registry's own beside them.
  void set_certificates(const TlsFiles& files) {
    CURL* easy = lane->easy;
    const auto set = [&](CURLoption option, const std::string& value) {
      if (curl_easy_setopt(easy, option, value.c_str()) != CURLE_OK)
        throw Error(ErrorKind::image_network, "libcurl refuses a certificate's file");
    };
    const char* bundle = environment("CURL_CA_BUNDLE");
    if (bundle == nullptr) {
      bundle = environment("SSL_CERT_FILE");
      if (const char* folder = environment("SSL_CERT_DIR")) set(CURLOPT_CAPATH, folder);
    }
    std::vector<std::string> believed = files.authorities;
    if (bundle != nullptr) believed.emplace_back(bundle);
    if (believed.size() == 1) {
      set(CURLOPT_CAINFO, believed.front());  // CAPATH stays the system's folder
    } else if (!believed.empty()) {
      // libcurl takes one file: all in one, then. A file that is not there adds nothing, and is told by what fails.
      std::string all;
      for (const std::string& path : believed) {
        try {
          all += read_file(path, largest_bundle) + "\n";
        } catch (const Error&) {
        }
      }
      curl_blob blob{all.data(), all.size(), CURL_BLOB_COPY};
      if (curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob) != CURLE_OK) throw std::bad_alloc();
    }
    if (!files.certificate.empty()) set(CURLOPT_SSLCERT, files.certificate);
    if (!files.key.empty()) set(CURLOPT_SSLKEY, files.key);
  }

  /// Lets libcurl work until something has happened: bytes, headers, the end, or a little time.
  void advance() {
    if (finished) return;
    const std::uint64_t before = received;
    step();
    if (finished || received != before || paused) return;
    const auto start = std::chrono::steady_clock::now();
    curl_multi_poll(lane->multi, nullptr, 0, 200, nullptr);
    waited += std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    if (waited < shared->options.stall_timeout) return;
    if (received - received_at_window < shared->options.stall_bytes) {
      finish(
          HttpFailure{HttpFailure::Kind::timeout,
                      fmt::format("the server sent nothing, or next to nothing, for {} s", waited.count() / 1000.0)});
    }
    waited = {};
    received_at_window = received;
  }

  void step() {
    int running = 0;
    if (curl_multi_perform(lane->multi, &running) != CURLM_OK) {
      finish(HttpFailure{HttpFailure::Kind::other, "libcurl failed"});
      return;
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(lane->multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      if (code == CURLE_OK) {
        headers_done = true;  // a response without a body
        finish(std::nullopt);
      } else if (!refused.empty()) {
        finish(HttpFailure{HttpFailure::Kind::too_large, refused});
      } else {
        finish(HttpFailure{kind_of(code), escape_for_display(error_text[0] ? error_text : curl_easy_strerror(code))});
      }
    }
  }

  void finish(std::optional<HttpFailure> reason) {
    finished = true;
    if (!reason) return;
    // Once there are headers it is the body's fault, and read() tells it.
    if (headers_done)
      body_failure = reason->message;
    else
      failure = std::move(reason);
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<State*>(user);
    const std::string_view line(data, size * count);
    self.received += line.size();
    self.header_bytes += line.size();
    if (self.header_bytes > self.shared->options.header_bytes) {
      self.refused = fmt::format("the response has more than {} bytes of headers", self.shared->options.header_bytes);
      return 0;
    }
    const std::string_view text = trim(line);
    if (line.starts_with("HTTP/")) {
      // After a 1xx comes another status line; the last one counts.
      self.headers_received.clear();
      const std::size_t space = text.find(' ');
      const auto code = space == std::string_view::npos ? std::nullopt : to_number(text.substr(space + 1, 3));
      self.status = code ? static_cast<int>(*code) : 0;
    } else if (text.empty()) {
      self.headers_done = self.status >= 200;
    } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      self.headers_received.emplace_back(lower(trim(text.substr(0, colon))), std::string(trim(text.substr(colon + 1))));
    }
    return line.size();
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<State*>(user);
    self.headers_done = true;
    if (self.buffer.size() - self.buffer_position >= buffer_bytes) {
      self.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    self.received += size * count;
    if (self.buffer_position == self.buffer.size()) {
      self.buffer.clear();
      self.buffer_position = 0;
    }
    self.buffer.append(data, size * count);
    return size * count;
  }

  std::size_t read(char* target, std::size_t wanted) {
    if (wanted == 0) return 0;
    while (buffer_position == buffer.size() && !finished) {
      if (paused) {
        paused = false;
        curl_easy_pause(lane->easy, CURLPAUSE_CONT);  // may deliver at once
        if (buffer_position != buffer.size()) break;
      }
      advance();
    }
    if (buffer_position == buffer.size()) {
      if (!body_failure.empty()) throw Error(ErrorKind::image_network, "the transfer broke off: " + body_failure);
      return 0;
    }
    const std::size_t now = std::min(wanted, buffer.size() - buffer_position);
    std::memcpy(target, buffer.data() + buffer_position, now);
    buffer_position += now;
    return now;
  }

  std::shared_ptr<HttpClient::Shared> shared;
  std::unique_ptr<Lane> lane;
  curl_slist* headers_sent = nullptr;
  bool added = false;
  char error_text[CURL_ERROR_SIZE] = "";

  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers_received;
  std::size_t header_bytes = 0;
  bool headers_done = false;
  bool finished = false;
  bool paused = false;
  std::optional<HttpFailure> failure;
  std::string body_failure;
  std::string refused;

  std::string buffer;
  std::size_t buffer_position = 0;
  std::uint64_t received = 0;
  std::uint64_t received_at_window = 0;
  std::chrono::milliseconds waited{0};
};

HttpResponse::HttpResponse(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpResponse::HttpResponse(HttpResponse&&) noexcept = default;
HttpResponse& HttpResponse::operator=(HttpResponse&&) noexcept = default;
HttpResponse::~HttpResponse() = default;

const std::optional<HttpFailure>& HttpResponse::failure() const noexcept { return state_->failure; }
int HttpResponse::status() const noexcept { return state_->failure ? 0 : state_->status; }

std::vector<std::string> HttpResponse::headers(std::string_view name) const {
  std::vector<std::string> result;
  const std::string wanted = lower(name);
  for (const auto& [key, value] : state_->headers_received) {
    if (key == wanted) result.push_back(value);
  }
  return result;
}

std::optional<std::string> HttpResponse::header(std::string_view name) const {
  const std::vector<std::string> all = headers(name);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::optional<std::uint64_t> HttpResponse::content_length() const {
  const std::optional<std::string> text = header("content-length");
  return text ? to_number(*text) : std::nullopt;
}

std::size_t HttpResponse::read(char* buffer, std::size_t size) { return state_->read(buffer, size); }

HttpClient::HttpClient(const HttpOptions& options) : shared_(std::make_shared<Shared>()) {
  initialise_curl();
  shared_->options = options;
}

HttpClient::~HttpClient() = default;

HttpResponse HttpClient::get(const HttpRequest& request) {
  auto state = std::make_unique<HttpResponse::State>(shared_);
  state->start(request);
  return HttpResponse(std::move(state));
}

}  // namespace imgforge
