#include "layer/layer_tree.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_nodes = 4'000'000;

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  for (const std::string_view part : clean_components(path)) components.emplace_back(part);
  return components;
}

/// A link's target in front of what is still to come, with ".." kept: it counts from where the link leads.
std::vector<std::string> expand(std::string_view target, const std::vector<std::string>& components, std::size_t next) {
  std::vector<std::string> result;
  for (const std::string_view part : split(target, '/')) {
    if (!part.empty() && part != ".") result.emplace_back(part);
  }
  result.insert(result.end(), components.begin() + static_cast<std::ptrdiff_t>(next), components.end());
  return result;
}

}  // namespace

LayerTree::LayerTree(const LayerIndex& index, const AskBelow& below) : index_(index) {
  nodes_.emplace_back();
  nodes_.front().kind = TreeNode::Kind::implied_directory;
  for (std::uint32_t number = 0; number < index.entries.size(); ++number) apply(number, below);
}

const LayerTree::TreeNode* LayerTree::child(const TreeNode& node, std::string_view name) const {
  const auto found = node.children.find(name);
  return found == node.children.end() ? nullptr : &nodes_[found->second];
}

bool LayerTree::is_directory(const TreeNode& node) const {
  return node.kind == TreeNode::Kind::implied_directory || (node.kind == TreeNode::Kind::entry && index_.entries[node.entry].type == EntryType::directory);
}

bool LayerTree::is_leaf(const TreeNode& node) const { return node.kind != TreeNode::Kind::nothing && !is_directory(node); }

std::uint32_t LayerTree::make_child(std::uint32_t parent, const std::string& name) {
  const auto found = nodes_[parent].children.find(name);
  if (found != nodes_[parent].children.end()) return found->second;
  if (nodes_.size() >= most_nodes) throw Error(ErrorKind::image_limit, fmt::format("a layer has more than {} files and folders", most_nodes));
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  nodes_[parent].children.emplace(name, position);
  return position;
}

void LayerTree::place(std::uint32_t position, TreeNode::Kind kind, bool directory) {
  TreeNode& node = nodes_[position];
  const bool was_leaf = is_leaf(node);
  if (!directory || was_leaf) {
    // What was there is gone, in this layer and, should a folder come in its place, below, too.
    node.children.clear();
    node.opaque = false;
    node.hides_below = true;
  }
  node.kind = kind;
}

LayerTree::Position LayerTree::folder(std::vector<std::string> components, const AskBelow& below) {
  Position here;
  std::vector<std::uint32_t> trail = {0};
  std::size_t links = 0;
  for (std::size_t next = 0; next < components.size();) {
    const std::string name = components[next++];
    if (name == "..") {
      if (trail.size() > 1) {
        trail.pop_back();
        here.path.pop_back();
      }
      continue;
    }
    const auto follow = [&](const std::string& target) {
      ++links;
      components = expand(target, components, next);
      next = 0;
      if (target.starts_with('/')) {
        trail = {0};
        here.path.clear();
      }
    };
    const auto descend = [&](std::uint32_t position) {
      trail.push_back(position);
      here.path.push_back(name);
    };
    const TreeNode& parent = nodes_[trail.back()];
    const auto found = parent.children.find(name);
    if (found != parent.children.end() && nodes_[found->second].kind != TreeNode::Kind::nothing) {
      const TreeNode& node = nodes_[found->second];
      const Entry* entry = node.kind == TreeNode::Kind::entry ? &index_.entries[node.entry] : nullptr;
      if (entry != nullptr && entry->type == EntryType::symlink && links < most_links) {
        follow(entry->link);
        continue;
      }
      const std::uint32_t position = found->second;
      // Something else than a folder, with an entry below it: an unpacker makes the folder.
      if (!is_directory(node)) place(position, TreeNode::Kind::implied_directory, true);
      descend(position);
      continue;
    }
    bool hidden = found != nodes_[trail.back()].children.end() && nodes_[found->second].hides_below;
    for (const std::uint32_t position : trail) hidden = hidden || nodes_[position].hides_below || nodes_[position].opaque;
    if (!hidden) {
      CanonicalPath path = here.path;
      path.push_back(name);
      const Below what = below(path);
      if (what.kind == Below::Kind::symlink && links < most_links) {
        follow(what.link);
        continue;
      }
      const std::uint32_t position = make_child(trail.back(), name);
      nodes_[position].kind = TreeNode::Kind::implied_directory;
      if (what.kind == Below::Kind::other || what.kind == Below::Kind::symlink) nodes_[position].hides_below = true;
      descend(position);
      continue;
    }
    const std::uint32_t position = make_child(trail.back(), name);
    nodes_[position].kind = TreeNode::Kind::implied_directory;
    descend(position);
  }
  here.node = trail.back();
  return here;
}

void LayerTree::link(TreeNode& node, const Entry& entry, const AskBelow& below) {
  std::vector<std::string> components = components_of(entry.link);
  if (components.empty()) {
    node.kind = TreeNode::Kind::nothing;
    return;
  }
  const std::string name = components.back();
  components.pop_back();
  // Looking the folder up may make it as an implied one, which changes nothing: it has to be there for the link to be one.
  const auto self = static_cast<std::size_t>(&node - nodes_.data());
  Position parent = folder(components, below);
  TreeNode& link_node = nodes_[self];
  const TreeNode* target = child(nodes_[parent.node], name);
  if (target != nullptr && target != &link_node && is_leaf(*target)) {
    link_node.kind = target->kind;
    link_node.entry = target->entry;
    link_node.lower = target->lower;
    return;
  }
  if (target != nullptr && (target->hides_below || target == &link_node)) {
    link_node.kind = TreeNode::Kind::nothing;  // it names nothing: as if it were not there
    return;
  }
  parent.path.push_back(name);
  link_node.kind = TreeNode::Kind::lower_link;
  link_node.lower = static_cast<std::uint32_t>(lower_links_.size());
  lower_links_.push_back(std::move(parent.path));
}

void LayerTree::apply(std::uint32_t number, const AskBelow& below) {
  const Entry& entry = index_.entries[number];
  std::vector<std::string> components = components_of(entry.path);
  if (entry.type == EntryType::opaque) {
    nodes_[folder(std::move(components), below).node].opaque = true;
    return;
  }
  if (components.empty()) {
    // The root is a folder, whatever a layer says (CVE-2021-29136).
    if (entry.type == EntryType::directory) {
      nodes_.front().kind = TreeNode::Kind::entry;
      nodes_.front().entry = number;
    }
    return;
  }
  const std::string name = components.back();
  components.pop_back();
  const std::uint32_t parent = folder(std::move(components), below).node;
  const std::uint32_t position = make_child(parent, name);
  if (entry.type == EntryType::whiteout) {
    nodes_[position].hides_below = true;
    return;
  }
  const bool directory = entry.type == EntryType::directory;
  if (entry.type == EntryType::hardlink) {
    // A link to itself through other names keeps what is there.
    place(position, TreeNode::Kind::nothing, false);
    link(nodes_[position], entry, below);
    return;
  }
  place(position, TreeNode::Kind::entry, directory);
  nodes_[position].entry = number;
}

}  // namespace imgforge
