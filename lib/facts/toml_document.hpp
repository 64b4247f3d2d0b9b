// TOML from outside, read within bounds: TOML 1.0 by toml11.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace imgforge {

/// A value of a document; cheap to copy.
class TomlValue {
 public:
  struct Node;
  explicit TomlValue(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  bool is_table() const noexcept;
  bool is_list() const noexcept;
  std::optional<std::string> text() const;  // of a string
  std::optional<bool> boolean() const;
  std::vector<TomlValue> items() const;  // of a list; empty of anything else
  /// Of a table, by key; empty of anything else.
  std::vector<std::pair<std::string, TomlValue>> entries() const;
  std::optional<TomlValue> find(std::string_view key) const;
  std::size_t line() const noexcept;    // 1-based; 0 where it is not known
  std::size_t column() const noexcept;  // 1-based, in bytes

 private:
  std::shared_ptr<const Node> node_;
};

/// The document's table. Nothing where the text is no TOML, is larger than 4 MiB or is nested deeper than 64; `why`
/// then says so. `file` is how messages call it.
std::optional<TomlValue> parse_toml(std::string_view text, const std::string& file, std::string& why);

}  // namespace imgforge
