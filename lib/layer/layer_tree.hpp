// One layer as a trie of canonical paths: where its entries land once the links below them are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
    bool hides_below = false;     // a whiteout, an opaque marker's own folder aside, or something that replaced what was there
    bool opaque = false;          // a folder whose lower content is hidden
    std::uint32_t entry = 0;      // position in the index
    std::uint32_t lower = 0;      // position in lower_links()
    std::map<std::string, std::uint32_t, std::less<>> children;  // by name; positions in nodes()
  };

  /// Applies the entries in order, as an unpacker would inside of its root. `below` is asked only where an entry's folder
  /// is not itself an entry of this layer. Throws Error(image_limit) on more than four million nodes.
  LayerTree(const LayerIndex& index, const AskBelow& below);

  const TreeNode& root() const { return nodes_.front(); }
  const TreeNode& at(std::uint32_t position) const { return nodes_[position]; }
  const TreeNode* child(const TreeNode& node, std::string_view name) const;
  const CanonicalPath& lower_link(std::uint32_t position) const { return lower_links_[position]; }

  bool is_directory(const TreeNode& node) const;
  /// An entry, or a hard link to a lower one, that is no folder.
  bool is_leaf(const TreeNode& node) const;

 private:
  struct Position {
    std::uint32_t node = 0;
    CanonicalPath path;
  };
  void apply(std::uint32_t number, const AskBelow& below);
  /// The folder of these components, made where it is not there.
  Position folder(std::vector<std::string> components, const AskBelow& below);
  void link(TreeNode& node, const Entry& entry, const AskBelow& below);
  std::uint32_t make_child(std::uint32_t parent, const std::string& name);
  void place(std::uint32_t position, TreeNode::Kind kind, bool directory);

  const LayerIndex& index_;
  std::vector<TreeNode> nodes_;
  std::vector<CanonicalPath> lower_links_;
};

/// Links followed in one lookup at the most, as in Linux (MAXSYMLINKS).
inline constexpr std::size_t most_links = 40;

}  // namespace imgforge
