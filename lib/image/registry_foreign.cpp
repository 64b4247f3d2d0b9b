#include "image/registry_foreign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_addresses = 5;  // of one layer that are tried

class ForeignReader final : public ByteReader {
 public:
  ForeignReader(std::unique_ptr<HttpClient> client, HttpResponse response, const Descriptor& descriptor,
                std::string_view what)
      : client_(std::move(client)), response_(std::move(response)), descriptor_(descriptor), what_(what) {}

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t count = 0;
    try {
      count = response_.read(buffer, size);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}, after {} of {} bytes", what_, done_, descriptor_.size));
    }
    done_ += count;
    if (done_ > descriptor_.size || (count == 0 && size != 0 && done_ != descriptor_.size))
      throw_size_mismatch(what_, descriptor_.digest, descriptor_.size, done_);
    return count;
  }

 private:
  std::unique_ptr<HttpClient> client_;
  HttpResponse response_;
  Descriptor descriptor_;
  std::string what_;
  std::uint64_t done_ = 0;
};

std::unique_ptr<ByteReader> open_address(const std::string& address, const Descriptor& descriptor,
                                         std::string_view what, const std::function<Url(std::string_view)>& check) {
  auto client = std::make_unique<HttpClient>();
  Url url = check(address);
  for (std::size_t redirects = 0;;) {
    HttpRequest request;
    request.url = url;
    HttpResponse response = client->get(request);
    if (response.failure())
      throw Error(ErrorKind::image_network,
                  fmt::format("{}: {}", url.to_display_string(), response.failure()->message));
    if (response.status() == 200) {
      const std::optional<std::uint64_t> length = response.content_length();
      if (length && *length != descriptor.size) throw_size_mismatch(what, descriptor.digest, descriptor.size, *length);
      return std::make_unique<ForeignReader>(std::move(client), std::move(response), descriptor, what);
    }
    if (!is_redirect(response.status()) || ++redirects > max_redirects) {
      throw Error(ErrorKind::image_not_found,
                  fmt::format("{} answered {}", url.to_display_string(), response.status()));
    }
    url = check(follow_redirect(url, response.header("location").value_or("")).to_string());
  }
}

}  // namespace

std::unique_ptr<ByteReader> open_foreign_blob(const Descriptor& descriptor, std::string_view what, const Error& missing,
                                              const std::function<Url(std::string_view)>& check) {
  std::string tried;
  for (std::size_t i = 0; i < std::min(max_addresses, descriptor.urls.size()); ++i) {
    try {
      return open_address(descriptor.urls[i], descriptor, what, check);
    } catch (const Error& error) {
      tried += (tried.empty() ? "" : "; ") + error.message();
    }
  }
  throw Error(
      missing.kind(),
      fmt::format("{}; the manifest names other addresses for it, and none of them served: {}", missing.message(),
                  tried),
      "push the image with its foreign layers (docker: allow-nondistributable-artifacts), or build it on a base "
      "without them");
}

}  // namespace imgforge
