// One layer as a trie of canonical paths: where its entries land once the links below them are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layer/layer_index.hpp"
#include "layer/name_hash.hpp"

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
  class TreeNode {
   public:
    enum class Kind : std::uint8_t {
      nothing,            // only flags: a whiteout without an entry
      implied_directory,  // named by what lies in it
      entry,              // entries[reference] of the layer
      lower_link,         // a hard link to lower_link(reference) as it was in the layers below
    };
    Kind kind = Kind::nothing;
    bool hides_below = false;  // a whiteout stood here, or something replaced what was there
    bool opaque = false;       // what the layers below have in this folder is hidden

   private:
    bool numbered_ = false;  // its children are in numbers_

   public:
    std::uint32_t reference = 0;

    std::string_view name() const noexcept { return {name_, name_size_}; }

   private:
    friend class LayerTree;
    const char* name_ = nullptr;  // in the index or in own_names_
    std::uint32_t name_size_ = 0;
    std::uint32_t family_ = 0;          // names the children while the tree is made: others once the node was replaced
    std::uint32_t children_ = nowhere;  // the last child that was made; afterwards, where they begin in children_
    std::uint32_t next_ = nowhere;      // the sibling that was made before it; afterwards, how many children there are
  };

  /// Applies the entries in order, as an unpacker would inside of its root. `below` is asked only where an entry's
  /// folder is not itself an entry of this layer; it is not kept, the index is. Throws Error(image_limit) where there
  /// are far more nodes than entries, a path of more than PATH_MAX once its links are followed, or links without end.
  LayerTree(const LayerIndex& index, const AskBelow& below);
  LayerTree(const LayerTree&) = delete;
  LayerTree& operator=(const LayerTree&) = delete;

  const TreeNode& root() const { return nodes_.front(); }
  const TreeNode* child(const TreeNode& node, std::string_view name) const;
  /// Numbers of nodes, by name; arguments of at().
  std::span<const std::uint32_t> children(const TreeNode& node) const {
    return {children_.data() + node.children_, node.next_};
  }
  const TreeNode& at(std::uint32_t position) const { return nodes_[position]; }
  const CanonicalPath& lower_link(std::uint32_t position) const { return lower_links_[position]; }

  bool is_directory(const TreeNode& node) const {
    return node.kind == TreeNode::Kind::implied_directory ||
           (node.kind == TreeNode::Kind::entry && entries_.type(node.reference) == EntryType::directory);
  }
  /// An entry, or a hard link to a lower one, that is no folder.
  bool is_leaf(const TreeNode& node) const { return node.kind != TreeNode::Kind::nothing && !is_directory(node); }

 private:
  static constexpr std::uint32_t nowhere = NumberTable::none;

  /// What a hard link names: an entry of this layer, or a path in the layers below, or nothing.
  struct Target {
    std::uint32_t node = nowhere;
    CanonicalPath lower;
  };
  /// Where the entries of a folder landed last, as long as nothing happened that could change it.
  struct Landing {
    std::uint32_t node = nowhere;
    std::uint32_t generation = 0;
  };

  void apply(std::uint32_t number, const AskBelow& below);
  std::uint32_t folder_of(std::uint32_t number, const AskBelow& below);
  /// The folder of a clean path, where each of its components is a folder of this layer already; or nowhere.
  std::uint32_t known_folder(std::string_view path);
  /// The folder of these components, made where it is not there. `followed`: whether a link led there.
  std::uint32_t folder(std::vector<std::string> components, const AskBelow& below, bool& followed);
  Target target(std::vector<std::string> components, const AskBelow& below);
  /// The target of a node that is a symbolic link, or a hard link to a lower one.
  std::optional<std::string> symlink(const TreeNode& node, const AskBelow& below);
  void count_work(std::size_t steps);
  std::uint64_t hash_of(std::uint32_t position) const;
  std::uint32_t find_child(std::uint32_t parent, std::string_view name);
  /// Puts a node's children into numbers_, and those that are made from here on.
  void number_children(std::uint32_t parent);
  std::uint32_t find_in_family(std::uint64_t hash, std::uint32_t family, std::string_view name) const;
  /// `kept`: the bytes of the name stay where they are.
  std::uint32_t make_child(std::uint32_t parent, std::string_view name, bool kept);
  void place(std::uint32_t position, TreeNode::Kind kind, bool directory);
  void sort_children();

  const EntryList& entries_;
  std::size_t most_nodes_;
  std::vector<TreeNode> nodes_;
  std::vector<std::uint32_t> children_;  // of all nodes, those of one side by side
  std::vector<CanonicalPath> lower_links_;
  std::deque<std::string> own_names_;  // that no entry and no folder of the index has
  std::size_t work_ = 0;

  // While the tree is made.
  std::vector<std::uint32_t> parent_families_;  // by node
  NumberTable numbers_;                         // of nodes, by their parent's family and name
  std::uint32_t families_ = 1;
  std::vector<Landing> landings_;  // by folder of the index
  std::uint32_t generation_ = 1;
};

/// Links followed in one lookup at the most, as in Linux (MAXSYMLINKS).
inline constexpr std::size_t most_links = 40;

}  // namespace imgforge
