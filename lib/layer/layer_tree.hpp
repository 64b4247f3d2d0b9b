// One layer as a trie of canonical paths: where its entries land once the links below them are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layer/layer_index.hpp"

namespace imgforge {

/// Components of a canonical path: names of folders without links, from the root on.
using CanonicalPath = std::vector<std::string>;

/// What lies at a canonical path in the layers below: enough to see where an entry lands.
struct Below {
  enum class Kind { nothing, directory, symlink, other } kind = Kind::nothing;
  std::string link;  // of a symlink
};
using AskBelow = std::function<Below(const CanonicalPath&)>;

class LayerTree {
 public:
  struct TreeNode {
    enum class Kind : std::uint8_t {
      nothing,            // only flags: a whiteout without an entry
      implied_directory,  // named by what lies in it
      entry,              // entries[entry] of the layer
      lower_link,         // a hard link to `lower` as it was in the layers below
    };
    Kind kind = Kind::nothing;
    bool hides_below = false;     // a whiteout stood here, or something replaced what was there
    bool opaque = false;          // what the layers below have in this folder is hidden
    std::uint32_t entry = 0;      // position in the index
    std::uint32_t lower = 0;      // argument of lower_link()
    std::map<std::string, std::uint32_t, std::less<>> children;  // by name; arguments of at()
  };

  /// Applies the entries in order, as an unpacker would inside of its root. `below` is asked only where an entry's folder
  /// is not itself an entry of this layer; it is not kept, the index is. Throws Error(image_limit) where there are more
  /// than four million nodes, a path of more than PATH_MAX once its links are followed, or links without end.
  LayerTree(const LayerIndex& index, const AskBelow& below);

  const TreeNode& root() const { return nodes_.front(); }
  const TreeNode& at(std::uint32_t position) const { return nodes_[position]; }
  const TreeNode* child(const TreeNode& node, std::string_view name) const;
  const CanonicalPath& lower_link(std::uint32_t position) const { return lower_links_[position]; }

  bool is_directory(const TreeNode& node) const;
  /// An entry, or a hard link to a lower one, that is no folder.
  bool is_leaf(const TreeNode& node) const;

 private:
  /// What a hard link names: an entry of this layer, or a path in the layers below, or nothing.
  struct Target {
    std::uint32_t node = nowhere;
    CanonicalPath lower;
  };
  static constexpr std::uint32_t nowhere = 0xFFFFFFFF;

  void apply(std::uint32_t number, const AskBelow& below);
  /// The folder of these components, made where it is not there.
  std::uint32_t folder(std::vector<std::string> components, const AskBelow& below);
  Target target(std::vector<std::string> components, const AskBelow& below);
  /// The target of a node that is a symbolic link, or a hard link to a lower one.
  std::optional<std::string> symlink(const TreeNode& node, const AskBelow& below);
  void count_work(std::size_t steps);
  std::uint32_t make_child(std::uint32_t parent, const std::string& name);
  void place(std::uint32_t position, TreeNode::Kind kind, bool directory);

  const LayerIndex& index_;
  std::vector<TreeNode> nodes_;
  std::vector<CanonicalPath> lower_links_;
  std::size_t work_ = 0;
};

/// Links followed in one lookup at the most, as in Linux (MAXSYMLINKS).
inline constexpr std::size_t most_links = 40;

}  // namespace imgforge
