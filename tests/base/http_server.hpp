// A small HTTP server on a loopback port, for tests of clients: it answers what the test tells it to, well-formed or
// not.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace imgforge::test {

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // as long as its Content-Length said
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// The bytes that go back, as they are. Afterwards the connection stays open, or not.
struct Reply {
  std::string bytes;
  bool close = false;
};

inline Reply reply(int status, std::string_view body, const std::vector<std::string>& headers = {}) {
  std::string bytes = fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", status, body.size());
  for (const std::string& header : headers) bytes += header + "\r\n";
  return {bytes + "\r\n" + std::string(body), false};
}

class HttpServer {
 public:
  using Handler = std::function<Reply(const ReceivedRequest&)>;

  struct UnixSocket {};
  static constexpr UnixSocket unix_socket{};

  /// On a Unix socket of its own, instead of a port.
  HttpServer(Handler handler, UnixSocket)
      : handler_(std::move(handler)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    char folder[] = "/tmp/imgforge-test-XXXXXX";
    if (::mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
    socket_path_ = std::string(folder) + "/socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(socket_path_.begin(), socket_path_.end(), address.sun_path);
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0)
      throw std::runtime_error("no Unix socket");
    acceptor_ = std::thread([this] { accept_all(); });
  }

  explicit HttpServer(Handler handler)
      : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error("no loopback socket");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& connection : connections_) connection.join();
    ::close(listener_);
    if (!socket_path_.empty()) std::filesystem::remove_all(std::filesystem::path(socket_path_).parent_path());
  }

  const std::string& socket_path() const { return socket_path_; }
  int port() const { return port_; }
  std::string host() const { return fmt::format("127.0.0.1:{}", port_); }
  std::string url(std::string_view target = "/") const { return fmt::format("http://{}{}", host(), target); }
  std::vector<ReceivedRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int connections() const { return accepted_; }

 private:
  bool wait(int socket, short events) const {
    while (!stopping_) {
      pollfd item{socket, events, 0};
      if (::poll(&item, 1, 20) > 0) return true;
    }
    return false;
  }

  void accept_all() {
    while (wait(listener_, POLLIN)) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0) continue;
      ++accepted_;
      connections_.emplace_back([this, socket] {
        serve(socket);
        ::close(socket);
      });
    }
  }

  bool send_all(int socket, std::string_view bytes) const {
    while (!bytes.empty()) {
      if (!wait(socket, POLLOUT)) return false;
      const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) return false;
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  void serve(int socket) {
    std::string pending;
    for (;;) {
      std::size_t end = 0;
      while ((end = pending.find("\r\n\r\n")) == std::string::npos) {
        char buffer[4096];
        if (!wait(socket, POLLIN)) return;
        const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
        if (count <= 0) return;
        pending.append(buffer, static_cast<std::size_t>(count));
        // A TLS handshake: answered as plain servers do, which a client has to understand as "no TLS here".
        if (pending.front() == '\x16') {
          send_all(socket, "HTTP/1.0 400 Bad Request\r\n\r\n");
          return;
        }
      }
      ReceivedRequest request;
      const std::vector<std::string_view> head = lines(std::string_view(pending).substr(0, end));
      const std::vector<std::string_view> first = split(head.at(0), ' ');
      request.method = first.at(0);
      request.target = first.at(1);
      for (std::size_t i = 1; i < head.size(); ++i) {
        const std::size_t colon = head[i].find(':');
        request.headers[lower(head[i].substr(0, colon))] = trim(head[i].substr(colon + 1));
      }
      pending.erase(0, end + 4);
      const std::size_t length = to_number(request.header("content-length")).value_or(0);
      while (pending.size() < length) {
        char buffer[4096];
        if (!wait(socket, POLLIN)) return;
        const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
        if (count <= 0) return;
        pending.append(buffer, static_cast<std::size_t>(count));
      }
      request.body = pending.substr(0, length);
      pending.erase(0, length);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const Reply answer = handler_(request);
      if (!send_all(socket, answer.bytes) || answer.close) return;
    }
  }

  Handler handler_;
  int listener_;
  int port_ = 0;
  std::string socket_path_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;
  mutable std::mutex mutex_;
  std::vector<ReceivedRequest> requests_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace imgforge::test
