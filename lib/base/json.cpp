#include "base/json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace imgforge {

namespace {

using nlohmann::json;

/// Builds the value from events, so that depth and count are bounded while reading, and a key that is there twice (which
/// two readers of one document may resolve differently) is refused.
class BoundedBuilder final : public nlohmann::json_sax<json> {
 public:
  BoundedBuilder(std::string_view what, const JsonLimits& limits) : what_(what), limits_(limits) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) {
      throw Error(ErrorKind::image_corrupt, fmt::format("{} has the key \"{}\" twice in one object", what_, escape_for_display(name)));
    }
    key_ = std::move(name);
    count();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw Error(ErrorKind::image_corrupt, fmt::format("{} is no valid JSON: fault at byte {}", what_, position));
  }

 private:
  void count() {
    if (++elements_ > limits_.elements) {
      throw Error(ErrorKind::image_limit, fmt::format("{} has more than {} values", what_, limits_.elements));
    }
  }

  json* place(json value) {
    count();
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json value) {
    if (stack_.size() >= limits_.depth) {
      throw Error(ErrorKind::image_limit, fmt::format("{} is nested deeper than {} levels", what_, limits_.depth));
    }
    // Pointers into the tree stay valid: only the innermost open container grows.
    stack_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view what_;
  const JsonLimits& limits_;
  json root_;
  std::vector<json*> stack_;
  std::string key_;
  std::size_t elements_ = 0;
};

/// The same value with strings that JSON can carry.
json printable(const json& value) {
  if (value.is_string()) return to_utf8(value.get_ref<const std::string&>());
  if (value.is_array()) {
    json result = json::array();
    for (const json& item : value) result.push_back(printable(item));
    return result;
  }
  if (value.is_object()) {
    json result = json::object();
    for (const auto& [name, item] : value.items()) result[to_utf8(name)] = printable(item);
    return result;
  }
  return value;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    throw Error(ErrorKind::image_limit, fmt::format("{} has {} bytes, at most {} are read", what, text.size(), limits.bytes));
  }
  BoundedBuilder builder(what, limits);
  json::sax_parse(text, &builder);
  return builder.take();
}

std::string to_json_line(const nlohmann::json& value) { return printable(value).dump(); }

}  // namespace imgforge
