// Url of base/http.hpp, by libcurl's own URL parser, so that what is judged here is what libcurl will connect to.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "base/http.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_url_bytes = 16 << 10;  // signed URLs are long

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, FreeUrl>;

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK || !text) return std::nullopt;
  std::string result = text;
  curl_free(text);
  return result;
}

std::optional<Url> taken_apart(CURLU* handle) {
  for (const CURLUPart forbidden : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_ZONEID}) {
    if (part(handle, forbidden)) return std::nullopt;
  }
  const auto scheme = part(handle, CURLUPART_SCHEME);
  const auto host = part(handle, CURLUPART_HOST);
  const auto port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || !host || host->empty() || !port) return std::nullopt;
  Url url;
  url.scheme = lower(*scheme);
  if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
  url.host = lower(*host);
  const auto number = to_number(*port);
  if (!number || *number == 0 || *number > 65535) return std::nullopt;
  url.port = static_cast<std::uint16_t>(*number);
  url.target = part(handle, CURLUPART_PATH).value_or("/");
  if (const auto query = part(handle, CURLUPART_QUERY)) url.target += "?" + *query;
  return url;
}

/// curl ends its texts at a NUL; anything behind it would be judged by nobody.
bool is_plausible(std::string_view text) {
  return text.size() <= max_url_bytes && text.find('\0') == std::string_view::npos;
}

std::optional<std::uint32_t> ipv4(std::string_view host) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

/// Not on the public Internet. IANA's registry of special-purpose addresses.
bool is_inner_ipv4(std::uint32_t address) {
  const auto within = [&](std::uint32_t network, int bits) {
    return (address >> (32 - bits)) == (network >> (32 - bits));
  };
  return within(0x00000000, 8) || within(0x0A000000, 8) || within(0x64400000, 10) || within(0x7F000000, 8) ||
         within(0xA9FE0000, 16) || within(0xAC100000, 12) || within(0xC0000000, 24) || within(0xC0A80000, 16) ||
         within(0xC6120000, 15) || address >= 0xE0000000;
}

/// The address in brackets; of an IPv4 address mapped into IPv6, that one.
struct Address {
  std::optional<std::uint32_t> v4;
  std::optional<in6_addr> v6;
};

Address address_of(std::string_view host) {
  if (!host.starts_with('[') || !host.ends_with(']')) return {ipv4(host), std::nullopt};
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) != 1) return {};
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return {std::nullopt, address};
  std::uint32_t low = 0;
  std::memcpy(&low, address.s6_addr + 12, sizeof low);
  return {ntohl(low), std::nullopt};
}

}  // namespace

std::optional<Url> Url::parse(std::string_view text) {
  if (!is_plausible(text)) return std::nullopt;
  const CurlUrl handle(curl_url());
  if (!handle || curl_url_set(handle.get(), CURLUPART_URL, std::string(text).c_str(), 0) != CURLUE_OK)
    return std::nullopt;
  return taken_apart(handle.get());
}

std::optional<Url> Url::resolve(std::string_view location) const {
  if (!is_plausible(location)) return std::nullopt;
  const CurlUrl handle(curl_url());
  if (!handle || curl_url_set(handle.get(), CURLUPART_URL, to_string().c_str(), 0) != CURLUE_OK) return std::nullopt;
  if (curl_url_set(handle.get(), CURLUPART_URL, std::string(location).c_str(), 0) != CURLUE_OK) return std::nullopt;
  return taken_apart(handle.get());
}

std::string Url::to_string() const {
  const bool usual = port == (scheme == "https" ? 443 : 80);
  return usual ? fmt::format("{}://{}{}", scheme, host, target)
               : fmt::format("{}://{}:{}{}", scheme, host, port, target);
}

std::string Url::to_display_string() const {
  Url shown = *this;
  if (const std::size_t query = shown.target.find('?'); query != std::string::npos) shown.target.resize(query);
  return escape_for_display(shown.to_string());
}

bool is_loopback_host(std::string_view host) noexcept {
  if (host == "localhost" || host == "localhost." || host.ends_with(".localhost")) return true;
  const Address address = address_of(host);
  if (address.v4) return (*address.v4 >> 24) == 127;
  return address.v6 && IN6_IS_ADDR_LOOPBACK(&*address.v6);
}

bool is_link_local_host(std::string_view host) noexcept {
  const Address address = address_of(host);
  if (address.v4) return (*address.v4 >> 16) == 0xA9FE;
  return address.v6 && IN6_IS_ADDR_LINKLOCAL(&*address.v6);
}

bool is_inner_host(std::string_view host) noexcept {
  while (host.ends_with('.')) host.remove_suffix(1);
  if (host == "metadata.google.internal" || host == "metadata" || is_loopback_host(host) || is_link_local_host(host))
    return true;
  const Address address = address_of(host);
  if (address.v4) return is_inner_ipv4(*address.v4);
  if (!address.v6) return false;
  const in6_addr& v6 = *address.v6;
  const auto low = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, v6.s6_addr + at, sizeof value);
    return ntohl(value);
  };
  if ((v6.s6_addr[0] & 0xFE) == 0xFC || v6.s6_addr[0] == 0xFF) return true;                      // private, multicast
  if ((v6.s6_addr[0] == 0xFE) && (v6.s6_addr[1] & 0xC0) == 0xC0) return true;                    // site-local, of old
  if (low(0) == 0 && low(4) == 0 && low(8) == 0) return low(12) <= 1 || is_inner_ipv4(low(12));  // "::", ::a.b.c.d
  if (low(0) == 0x0064FF9B) return is_inner_ipv4(low(12));                                       // NAT64
  if ((low(0) >> 16) == 0x2002) return is_inner_ipv4((low(0) << 16) | (low(4) >> 16));           // 6to4
  return false;
}

std::string form_encode(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string result;
  const auto append = [&](std::string_view text) {
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                         c == '.' || c == '_' || c == '~';
      if (plain)
        result += c;
      else
        result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  };
  for (const auto& [name, value] : fields) {
    if (!result.empty()) result += '&';
    append(name);
    result += '=';
    append(value);
  }
  return result;
}

std::optional<std::time_t> parse_http_date(std::string_view text) {
  const std::time_t when = curl_getdate(std::string(text).c_str(), nullptr);
  return when < 0 ? std::nullopt : std::optional(when);
}

}  // namespace imgforge
