#include "layer/layer_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer/entry_path.hpp"

namespace imgforge {

namespace {

// Folders that only names of entries imply; with them a hundred megabytes more than an honest layer needs.
constexpr std::size_t most_implied = 1'000'000;
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

LayerTree::LayerTree(const LayerIndex& index, const AskBelow& below)
    : entries_(index.entries),
      most_nodes_(entries_.size() + entries_.size() / 3 + most_implied),
      landings_(entries_.folder_count()) {
  nodes_.reserve(entries_.size() + 1);
  parent_families_.reserve(entries_.size() + 1);
  nodes_.emplace_back();
  nodes_.front().kind = TreeNode::Kind::implied_directory;
  parent_families_.push_back(nowhere);
  for (std::uint32_t number = 0; number < entries_.size(); ++number) apply(number, below);
  numbers_ = {};
  landings_ = {};
  parent_families_ = {};
  sort_children();
}

void LayerTree::sort_children() {
  children_.reserve(nodes_.size());
  const auto by_name = [&](std::uint32_t one, std::uint32_t other) {
    return nodes_[one].name() < nodes_[other].name();
  };
  for (TreeNode& node : nodes_) {
    const auto begin = static_cast<std::ptrdiff_t>(children_.size());
    for (std::uint32_t child = node.children_; child != nowhere; child = nodes_[child].next_)
      children_.push_back(child);
    // They come last first, and most tars are sorted.
    std::reverse(children_.begin() + begin, children_.end());
    if (!std::is_sorted(children_.begin() + begin, children_.end(), by_name))
      std::sort(children_.begin() + begin, children_.end(), by_name);
    node.children_ = static_cast<std::uint32_t>(begin);
  }
  // The list of siblings is read no more.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t end = i + 1 < nodes_.size() ? nodes_[i + 1].children_ : children_.size();
    nodes_[i].next_ = static_cast<std::uint32_t>(end - nodes_[i].children_);
  }
}

const LayerTree::TreeNode* LayerTree::child(const TreeNode& node, std::string_view name) const {
  const std::span<const std::uint32_t> all = children(node);
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [&](std::uint32_t position, std::string_view wanted) { return nodes_[position].name() < wanted; });
  return found != all.end() && nodes_[*found].name() == name ? &nodes_[*found] : nullptr;
}

std::uint64_t LayerTree::hash_of(std::uint32_t position) const {
  return name_hash(nodes_[position].name(), parent_families_[position]);
}

std::uint32_t LayerTree::find_child(std::uint32_t parent, std::string_view name) {
  if (nodes_[parent].family_ == 0) return nowhere;
  number_children(parent);
  const std::uint32_t family = nodes_[parent].family_;
  return find_in_family(name_hash(name, family), family, name);
}

std::uint32_t LayerTree::find_in_family(std::uint64_t hash, std::uint32_t family, std::string_view name) const {
  return numbers_.find(hash, [&](std::uint32_t position) {
    return parent_families_[position] == family && nodes_[position].name() == name;
  });
}

void LayerTree::number_children(std::uint32_t parent) {
  if (nodes_[parent].numbered_) return;
  nodes_[parent].numbered_ = true;
  for (std::uint32_t child = nodes_[parent].children_; child != nowhere; child = nodes_[child].next_)
    numbers_.insert(hash_of(child), child, [&](std::uint32_t other) { return hash_of(other); });
}

std::uint32_t LayerTree::make_child(std::uint32_t parent, std::string_view name, bool kept) {
  if (nodes_[parent].family_ == 0) nodes_[parent].family_ = families_++;
  const std::uint32_t family = nodes_[parent].family_;
  const std::uint32_t last = nodes_[parent].children_;
  std::uint64_t hash = 0;
  // As long as names come in order, a new one is not there yet; and most folders are never looked into.
  if (nodes_[parent].numbered_ || (last != nowhere && nodes_[last].name() >= name)) {
    number_children(parent);
    hash = name_hash(name, family);
    if (const std::uint32_t found = find_in_family(hash, family, name); found != nowhere) return found;
  }
  if (nodes_.size() >= most_nodes_) {
    throw Error(ErrorKind::image_limit, fmt::format("a layer has more than {} files and folders", most_nodes_));
  }
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  if (!kept) name = own_names_.emplace_back(name);
  TreeNode& node = nodes_.emplace_back();
  node.name_ = name.data();
  node.name_size_ = static_cast<std::uint32_t>(name.size());
  node.next_ = last;
  nodes_[parent].children_ = position;
  parent_families_.push_back(family);
  if (nodes_[parent].numbered_) numbers_.insert(hash, position, [&](std::uint32_t other) { return hash_of(other); });
  return position;
}

void LayerTree::place(std::uint32_t position, TreeNode::Kind kind, bool directory) {
  TreeNode& node = nodes_[position];
  if (!directory && is_directory(node)) ++generation_;  // what lay below it may land elsewhere from here on
  if (!directory || is_leaf(node)) {
    // What was there is gone, in this layer and, should a folder come in its place, below, too.
    node.family_ = 0;
    node.numbered_ = false;
    node.children_ = nowhere;
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
  if (node.kind == TreeNode::Kind::entry && entries_.type(node.reference) == EntryType::symlink)
    return std::string(entries_.link(node.reference));
  if (node.kind != TreeNode::Kind::lower_link) return std::nullopt;
  count_work(asking_work * lower_links_[node.reference].size());
  Below what = below(lower_links_[node.reference]);
  return what.kind == Below::Kind::symlink ? std::optional(std::move(what.link)) : std::nullopt;
}

std::uint32_t LayerTree::folder_of(std::uint32_t number, const AskBelow& below) {
  Landing& landing = landings_[entries_.folder(number)];
  if (landing.generation == generation_) return landing.node;
  const std::string_view path = entries_.folder_path(entries_.folder(number));
  bool followed = false;
  std::uint32_t node = known_folder(path);
  if (node == nowhere) node = folder(components_of(path), below, followed);
  if (!followed) landing = {node, generation_};
  return node;
}

std::uint32_t LayerTree::known_folder(std::string_view path) {
  std::uint32_t node = 0;
  while (!path.empty()) {
    count_work(1);
    const std::size_t slash = path.find('/');
    node = find_child(node, path.substr(0, slash));
    if (node == nowhere || !is_directory(nodes_[node])) return nowhere;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return node;
}

std::uint32_t LayerTree::folder(std::vector<std::string> components, const AskBelow& below, bool& followed) {
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
      followed = true;
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
        throw Error(ErrorKind::image_limit,
                    fmt::format("a layer has a path of more than {} bytes behind its links", longest_path));
      }
      path.push_back(name);
      trail.push_back(position);
    };
    const std::uint32_t known = find_child(trail.back(), name);
    if (known != nowhere) {
      const std::uint32_t position = known;
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
    bool hidden = known != nowhere && nodes_[known].hides_below;
    for (const std::uint32_t position : trail)
      hidden = hidden || nodes_[position].hides_below || nodes_[position].opaque;
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
    const std::uint32_t position = make_child(parent, name, false);
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
      if (const std::uint32_t found = find_child(trail.back().node, name); found != nowhere) {
        const TreeNode& node = nodes_[found];
        step.hidden = step.hidden || node.hides_below;
        if (node.kind != TreeNode::Kind::nothing) {
          if (last) return is_directory(node) ? Target{} : Target{found, {}};
          if (const auto link = symlink(node, below)) {
            if (++links > most_links) return {};
            follow(*link);
            continue;
          }
          if (!is_directory(node)) return {};
          step.node = found;
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
  const EntryType type = entries_.type(number);
  const std::string_view name = entries_.name(number);
  if (type == EntryType::opaque) {
    bool followed = false;
    nodes_[folder(components_of(entries_[number].path), below, followed)].opaque = true;
    return;
  }
  if (name.empty()) {
    // The root is a folder, whatever a layer says (CVE-2021-29136).
    if (type == EntryType::directory) {
      nodes_.front().kind = TreeNode::Kind::entry;
      nodes_.front().reference = number;
    }
    return;
  }
  const std::uint32_t parent = folder_of(number, below);
  const std::uint32_t position = make_child(parent, name, true);
  if (type == EntryType::whiteout) {
    nodes_[position].hides_below = true;
    return;
  }
  if (type == EntryType::hardlink) {
    Target named = target(components_of(entries_.link(number)), below);
    if (named.node == position) return;             // a link to itself
    TreeNode::Kind kind = TreeNode::Kind::nothing;  // a link to nothing
    std::uint32_t reference = 0;
    if (named.node != nowhere) {
      kind = nodes_[named.node].kind;
      reference = nodes_[named.node].reference;
    } else if (!named.lower.empty()) {
      kind = TreeNode::Kind::lower_link;
      reference = static_cast<std::uint32_t>(lower_links_.size());
      lower_links_.push_back(std::move(named.lower));
    }
    place(position, kind, false);
    nodes_[position].reference = reference;
    return;
  }
  place(position, TreeNode::Kind::entry, type == EntryType::directory);
  nodes_[position].reference = number;
}

}  // namespace imgforge
