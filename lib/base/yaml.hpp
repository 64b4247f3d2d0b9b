// YAML from outside, read within bounds: YAML 1.2 without the parts that nobody means to write.
//
// One document; no tags, no merge keys, no key twice, no key that is not text. Aliases are followed (each use counts as
// if it were written out), cycles are refused. Nothing is guessed: a scalar stays the text that was written, together
// with whether it was quoted, and whoever reads the value decides what it has to be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"

namespace imgforge {

struct YamlLimits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 64;
  std::size_t nodes = 100'000;  // values and keys; an alias counts as often as it is used
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::string text;                // of a scalar
  bool plain = false;              // a scalar without quotes (block scalars count as quoted)
  std::size_t line = 0;            // 1-based; 0 where the node was never text
  std::size_t column = 0;          // 1-based, in bytes
  std::vector<YamlNode> items;     // of a sequence
  std::vector<YamlEntry> entries;  // of a map, in the order of the text; keys are unique

  bool is_null() const noexcept { return kind == Kind::null; }
  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_sequence() const noexcept { return kind == Kind::sequence; }
  bool is_map() const noexcept { return kind == Kind::map; }

  /// The value of a key of a map; null where there is none.
  const YamlNode* find(std::string_view key) const noexcept;
};

struct YamlEntry {
  std::string key;
  std::size_t line = 0;  // of the key
  std::size_t column = 0;
  YamlNode value;
};

/// The document, or nothing where the text is no YAML or hits a limit; the fault then is the last of `diagnostics`.
/// Faults that leave a document to read on (a key twice, a tag, a merge key) are added too, and the rest is returned:
/// of a key that is there twice the first counts. An empty text is a null node. `name` is how places call the text.
std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& name, std::vector<Diagnostic>& diagnostics,
                                   const YamlLimits& limits = {});

/// Whether YAML 1.2 (core schema) reads this plain scalar as a number: 3.10, 1e3, 0x1F, .inf.
bool is_yaml_number(std::string_view plain) noexcept;

/// "a list", "a map", "nothing", "text": what messages call it.
std::string_view kind_name(const YamlNode& node) noexcept;

}  // namespace imgforge
