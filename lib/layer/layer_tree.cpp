#include "layer/layer_tree.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

constexpr std::size_t most_nodes = 4'000'000;
// Steps from folder to folder, links included, of all entries together: an honest layer takes ten an entry.
constexpr std::size_t most_work = 400'000'000;
constexpr std::size_t asking_work = 8;  // looking into a lower layer, in such steps

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

void LayerTree::count_work(std::size_t steps) {
  work_ += steps;
  if (work_ > most_work) throw Error(ErrorKind::image_limit, "a layer has links that lead through too many folders");
}

std::optional<std::string> LayerTree::symlink(const TreeNode& node, const AskBelow& below) {
  if (node.kind == TreeNode::Kind::entry && index_.entries[node.entry].type == EntryType::symlink) return index_.entries[node.entry].link;
  if (node.kind != TreeNode::Kind::lower_link) return std::nullopt;
  count_work(asking_work * lower_links_[node.lower].size());
  Below what = below(lower_links_[node.lower]);
  return what.kind == Below::Kind::symlink ? std::optional(std::move(what.link)) : std::nullopt;
}

std::uint32_t LayerTree::folder(std::vector<std::string> components, const AskBelow& below) {
  CanonicalPath path;
  std::size_t path_bytes = 0;
  std::vector<std::uint32_t> trail = {0};  // the nodes of the path, from the root on
  std::size_t links = 0;
  for (std::size_t next = 0; next < components.size();) {
    count_work(1);
    const std::string name = components[next++];
    if (name == "..") {
      if (path.empty()) continue;
      path_bytes -= path.back().size() + 1;
      path.pop_back();
      trail.pop_back();
      continue;
    }
    const auto follow = [&](const std::string& link) {
      ++links;
      components = expand(link, components, next);
      count_work(components.size());
      next = 0;
      if (!link.starts_with('/')) return;
      trail = {0};
      path.clear();
      path_bytes = 0;
    };
    const auto descend = [&](std::uint32_t position) {
      path_bytes += name.size() + 1;
      if (path_bytes > longest_path) {
        throw Error(ErrorKind::image_limit, fmt::format("a layer has a path of more than {} bytes behind its links", longest_path));
      }
      path.push_back(name);
      trail.push_back(position);
    };
    if (const auto found = nodes_[trail.back()].children.find(name); found != nodes_[trail.back()].children.end()) {
      const std::uint32_t position = found->second;
      const TreeNode& node = nodes_[position];
      if (node.kind != TreeNode::Kind::nothing) {
        if (const auto link = symlink(node, below); link && links < most_links) {
          follow(*link);
          continue;
        }
        // Something else than a folder, with an entry below it: an unpacker makes the folder.
        if (!is_directory(node)) place(position, TreeNode::Kind::implied_directory, true);
        descend(position);
        continue;
      }
    }
    const std::uint32_t parent = trail.back();
    const TreeNode* flags = child(nodes_[parent], name);
    bool hidden = flags != nullptr && flags->hides_below;
    for (const std::uint32_t position : trail) hidden = hidden || nodes_[position].hides_below || nodes_[position].opaque;
    Below what;
    if (!hidden) {
      path.push_back(name);
      count_work(asking_work * path.size());
      what = below(path);
      path.pop_back();
      if (what.kind == Below::Kind::symlink && links < most_links) {
        follow(what.link);
        continue;
      }
    }
    const std::uint32_t position = make_child(parent, name);
    nodes_[position].kind = TreeNode::Kind::implied_directory;
    if (what.kind == Below::Kind::other || what.kind == Below::Kind::symlink) nodes_[position].hides_below = true;
    descend(position);
  }
  return trail.back();
}

LayerTree::Target LayerTree::target(std::vector<std::string> components, const AskBelow& below) {
  struct Step {
    std::uint32_t node;  // nowhere in this layer: then it is in a lower one
    bool hidden;         // nothing of lower layers is seen from here
  };
  CanonicalPath path;
  std::vector<Step> trail = {{0, nodes_.front().opaque}};
  std::size_t links = 0;
  for (std::size_t next = 0; next < components.size();) {
    count_work(1);
    const std::string name = components[next++];
    if (name == "..") {
      if (path.empty()) continue;
      path.pop_back();
      trail.pop_back();
      continue;
    }
    const bool last = next == components.size();
    const auto follow = [&](const std::string& link) {
      components = expand(link, components, next);
      count_work(components.size());
      next = 0;
      if (!link.starts_with('/')) return;
      trail.resize(1);
      path.clear();
    };
    Step step{nowhere, trail.back().hidden};
    if (trail.back().node != nowhere) {
      const auto& children = nodes_[trail.back().node].children;
      if (const auto found = children.find(name); found != children.end()) {
        const TreeNode& node = nodes_[found->second];
        step.hidden = step.hidden || node.hides_below;
        if (node.kind != TreeNode::Kind::nothing) {
          if (last) return is_directory(node) ? Target{} : Target{found->second, {}};
          if (const auto link = symlink(node, below)) {
            if (++links > most_links) return {};
            follow(*link);
            continue;
          }
          if (!is_directory(node)) return {};
          step.node = found->second;
          step.hidden = step.hidden || node.opaque;
          path.push_back(name);
          trail.push_back(step);
          continue;
        }
      }
    }
    if (step.hidden) return {};
    path.push_back(name);
    if (last) return {nowhere, std::move(path)};
    count_work(asking_work * path.size());
    const Below what = below(path);
    if (what.kind == Below::Kind::symlink) {
      if (++links > most_links) return {};
      path.pop_back();
      follow(what.link);
      continue;
    }
    if (what.kind != Below::Kind::directory) return {};
    trail.push_back(step);
  }
  return {};
}

void LayerTree::apply(std::uint32_t number, const AskBelow& below) {
  const Entry& entry = index_.entries[number];
  std::vector<std::string> components = components_of(entry.path);
  if (entry.type == EntryType::opaque) {
    nodes_[folder(std::move(components), below)].opaque = true;
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
  const std::uint32_t parent = folder(std::move(components), below);
  const std::uint32_t position = make_child(parent, name);
  if (entry.type == EntryType::whiteout) {
    nodes_[position].hides_below = true;
    return;
  }
  const bool directory = entry.type == EntryType::directory;
  if (entry.type == EntryType::hardlink) {
    Target named = target(components_of(entry.link), below);
    if (named.node == position) return;  // a link to itself
    TreeNode::Kind kind = TreeNode::Kind::nothing;  // a link to nothing
    std::uint32_t shared = 0, lower = 0;
    if (named.node != nowhere) {
      kind = nodes_[named.node].kind;
      shared = nodes_[named.node].entry;
      lower = nodes_[named.node].lower;
    } else if (!named.lower.empty()) {
      kind = TreeNode::Kind::lower_link;
      lower = static_cast<std::uint32_t>(lower_links_.size());
      lower_links_.push_back(std::move(named.lower));
    }
    place(position, kind, false);
    nodes_[position].entry = shared;
    nodes_[position].lower = lower;
    return;
  }
  place(position, TreeNode::Kind::entry, directory);
  nodes_[position].entry = number;
}

}  // namespace imgforge
