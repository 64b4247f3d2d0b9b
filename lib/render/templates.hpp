// The blocks that a Dockerfile is put together from: mustache (mustache(5)) without partials, lambdas and delimiters.
//
// A block is about one topic. Which blocks stand in a file, and in which order, is decided in render.cpp; a block says
// how its topic is written. docs/rendering.md lists blocks and names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.hpp"

namespace imgforge {

/// What a block may name: {{text}}, {{#flag}}, {{^flag}}, {{#list}} with the texts of an item. Items have the flag
/// "last".
struct BlockShape {
  struct List {
    std::string_view name;
    std::vector<std::string_view> texts;
  };
  std::string_view name;
  std::vector<std::string_view> texts;
  std::vector<std::string_view> flags;
  std::vector<List> lists;
};

/// In the order in which the blocks stand in a Dockerfile.
const std::vector<BlockShape>& block_shapes();

/// The values of one block, or of an item of a list. A text can only be what an escaper made.
class Values {
 public:
  Values& set(std::string name, Escaped text);
  Values& set(std::string name, bool flag);
  /// Each item gets the flag "last".
  Values& set(std::string name, std::vector<Values> items);
  /// A list whose items have one text.
  Values& set_list(const std::string& name, const std::string& item, std::vector<Escaped> texts);

  const std::map<std::string, Escaped, std::less<>>& texts() const noexcept { return texts_; }
  const std::map<std::string, bool, std::less<>>& flags() const noexcept { return flags_; }
  const std::map<std::string, std::vector<Values>, std::less<>>& lists() const noexcept { return lists_; }

 private:
  std::map<std::string, Escaped, std::less<>> texts_;
  std::map<std::string, bool, std::less<>> flags_;
  std::map<std::string, std::vector<Values>, std::less<>> lists_;
};

class Templates {
 public:
  /// The blocks that were compiled in.
  static Templates embedded();

  /// The same, with every BLOCK.mustache of `directory` in place of its block. All are checked before any is used:
  /// Error(templates) with file, line and column of every fault.
  static Templates with_directory(const std::string& directory);

  /// The text of a block, without line breaks at its ends. Throws Error(templates) where `values` are not exactly those
  /// of the block's shape, so that a value can neither be forgotten nor vanish.
  std::string render(std::string_view block, const Values& values) const;

 private:
  std::map<std::string, std::string, std::less<>> blocks_;  // name → text
};

}  // namespace imgforge
