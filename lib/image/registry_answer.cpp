#include "image/registry_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "image/store.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

constexpr std::size_t max_error_body = 16 << 10;
constexpr std::size_t max_words = 200;  // bytes of them that are shown

class ResponseReader final : public ByteReader {
 public:
  explicit ResponseReader(HttpResponse& response) : response_(response) {}
  std::size_t read(char* buffer, std::size_t size) override { return response_.read(buffer, size); }

 private:
  HttpResponse& response_;
};

/// Up to `limit` bytes of a body that is only good for a message; a fault while reading it is none.
std::string start_of_body(HttpResponse& response, std::size_t limit) {
  std::string body(limit, '\0');
  std::size_t count = 0;
  try {
    while (count < limit) {
      const std::size_t now = response.read(body.data() + count, limit - count);
      if (now == 0) break;
      count += now;
    }
  } catch (const Error&) {
  }
  body.resize(count);
  return body;
}

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string words_of(const json& document) {
  if (!document.is_object()) return "";
  std::vector<std::string> words;
  const auto add = [&](std::string text) {
    if (!text.empty()) words.push_back(std::move(text));
  };
  if (const auto errors = document.find("errors"); errors != document.end() && errors->is_array() && !errors->empty()) {
    add(text_of(errors->front(), "code"));
    add(text_of(errors->front(), "message"));
  } else if (const auto error = document.find("error"); error != document.end() && error->is_object()) {
    add(text_of(*error, "status"));  // Google's APIs
    add(text_of(*error, "message"));
  } else {
    add(text_of(document, "error"));
    for (const char* key : {"error_description", "message", "details"}) {
      if (words.size() < 2) add(text_of(document, key));
    }
  }
  return join(words, ": ");
}

}  // namespace

std::string read_body(HttpResponse& response, std::size_t limit, std::string_view what) {
  ResponseReader reader(response);
  return read_all(reader, limit, what);
}

std::string said_by_server(HttpResponse& response, const std::vector<std::string>& secrets) {
  std::string words;
  try {
    words = words_of(parse_json(start_of_body(response, max_error_body), "error"));
  } catch (const Error&) {
    return "";  // many registries and all proxies answer in HTML or not at all
  }
  if (words.empty()) return "";
  for (const std::string& secret : secrets) {
    if (words.find(secret) != std::string::npos) return "";
  }
  return fmt::format(" ({})", escape_for_display(words.substr(0, max_words)));
}

bool is_header_word(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace imgforge
