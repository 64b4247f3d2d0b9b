#include "layer/root_view.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/text.hpp"
#include "image/source.hpp"
#include "layer/elf_start.hpp"
#include "layer/entry_path.hpp"
#include "layer/layer_loader.hpp"
#include "layer/layer_tree.hpp"
#include "layer/parallel.hpp"

namespace imgforge {

namespace {

constexpr std::string_view every_file = "every file";

std::string to_path(const CanonicalPath& components) {
  if (components.empty()) return "/";
  std::string path;
  for (const std::string& component : components) path += "/" + component;
  return path;
}

/// Components, ".." among them: it counts from where the links before it lead.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> components;
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty() && part != ".") components.emplace_back(part);
  }
  return components;
}

/// Whether something that matches the pattern can lie below a folder. Both absolute.
bool may_hold_match(std::string_view pattern, std::string_view folder) {
  const std::vector<std::string_view> wanted = split(pattern, '/');
  const std::vector<std::string_view> names = split(folder, '/');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == wanted.size()) return false;
    if (wanted[i] == "**") return true;
    if (!glob_match(wanted[i], names[i])) return false;
  }
  return names.size() < wanted.size();
}

/// A program or a library, by its mode and name.
bool may_be_elf(const Node& node) {
  if (node.type != EntryType::file || node.size < elf_start) return false;
  return (node.mode & 0111) != 0 || node.path.find(".so", node.path.rfind('/')) != std::string::npos;
}

}  // namespace

struct RootView::State {
  /// What the merged root has at a canonical path.
  struct Place {
    enum class Kind { nothing, implied_directory, entry } kind = Kind::nothing;
    std::size_t layer = 0;
    std::size_t entry = 0;
  };

  const Image& image;
  LayerLoader loader;
  struct Tree {
    std::unique_ptr<LayerTree> made;
    std::once_flag once;
  };
  std::vector<Tree> trees;  // by layer, where it was needed

  State(const Image& from, RootOptions options) : image(from), loader(from, std::move(options)), trees(loader.size()) {}

  const LayerIndex& index(std::size_t number) { return loader.index(number); }

  /// Where its layer was read, from any thread: a tree needs none but those below it.
  const LayerTree& tree(std::size_t number) {
    Tree& tree = trees[number];
    const LayerIndex& own = index(number);  // which may throw: not within call_once
    std::call_once(tree.once, [&] {
      tree.made =
          std::make_unique<LayerTree>(own, [this, number](const CanonicalPath& path) { return below(path, number); });
    });
    return *tree.made;
  }

  /// Reads all that is missing; then the trees, the largest first.
  void load_all() {
    loader.load_all();
    std::vector<std::size_t> missing;
    for (std::size_t number = 0; number < trees.size(); ++number) {
      if (!trees[number].made) missing.push_back(number);
    }
    std::stable_sort(missing.begin(), missing.end(), [&](std::size_t one, std::size_t other) {
      return index(one).entries.size() > index(other).entries.size();
    });
    in_parallel(missing, [&](std::size_t number) { tree(number); });
  }

  // --- asking ---

  /// What lies at a canonical path in the layers below `top`, the newest first. A folder that a layer only implies has
  /// the attributes of a lower entry: where they do not matter, no further layer is read for them.
  Place find(const CanonicalPath& path, std::size_t top, bool attributes = false) {
    Place implied;
    for (std::size_t number = top; number-- > 0;) {
      const LayerTree& layer = tree(number);
      const LayerTree::TreeNode* node = &layer.root();
      bool cut = node->opaque && !path.empty();
      bool reached = true;
      for (std::size_t i = 0; i < path.size(); ++i) {
        const LayerTree::TreeNode* next = layer.child(*node, path[i]);
        if (next == nullptr) {
          reached = false;
          break;
        }
        node = next;
        cut = cut || node->hides_below;
        if (i + 1 == path.size()) break;
        if (layer.is_leaf(*node)) return implied;  // what was below it is gone
        cut = cut || node->opaque;
      }
      if (reached && node->kind != LayerTree::TreeNode::Kind::nothing) {
        if (node->kind == LayerTree::TreeNode::Kind::implied_directory) {
          if (implied.kind == Place::Kind::nothing) implied = {Place::Kind::implied_directory, number, 0};
          if (!attributes) return implied;
        } else {
          const Place place = settle(*node, layer, number);
          // Below an implied folder only a folder counts: it has the attributes.
          if (implied.kind == Place::Kind::nothing ||
              (place.kind == Place::Kind::entry && entry_of(place).type == EntryType::directory))
            return place;
          return implied;
        }
      }
      if (cut) return implied;
    }
    return implied;
  }

  /// The entry of a node that is one; a hard link to a lower file is looked up there.
  Place settle(const LayerTree::TreeNode& node, const LayerTree& layer, std::size_t number) {
    if (node.kind == LayerTree::TreeNode::Kind::entry) return {Place::Kind::entry, number, node.reference};
    const Place place = find(layer.lower_link(node.reference), number);
    if (place.kind != Place::Kind::entry || entry_of(place).type == EntryType::directory) return {};
    return place;
  }

  Entry entry_of(const Place& place) { return index(place.layer).entries[place.entry]; }

  Below below(const CanonicalPath& path, std::size_t top) {
    const Place place = find(path, top);
    if (place.kind == Place::Kind::nothing) return {};
    if (place.kind == Place::Kind::implied_directory) return {Below::Kind::directory, ""};
    const Entry entry = entry_of(place);
    if (entry.type == EntryType::directory) return {Below::Kind::directory, ""};
    if (entry.type == EntryType::symlink) return {Below::Kind::symlink, entry.link};
    return {Below::Kind::other, ""};
  }

  Node node_at(std::string path, const Place& place) {
    Node node;
    node.path = std::move(path);
    describe(node, place);
    return node;
  }

  /// All but the path. Nothing is allocated where `node` has been described before: walks see millions of them.
  void describe(Node& node, const Place& place) {
    node.layer = place.layer;
    node.entry = place.entry;
    if (place.kind == Place::Kind::implied_directory) {
      node.type = EntryType::directory;
      node.size = 0;
      node.mode = 0755;
      node.uid = node.gid = 0;
      node.elf_machine = 0;
      node.link.clear();
      return;
    }
    const EntryList& entries = index(place.layer).entries;
    const EntryList::Attributes& attributes = entries.attributes(place.entry);
    node.type = entries.type(place.entry);
    node.size = entries.file_size(place.entry);
    node.mode = attributes.mode;
    node.uid = attributes.uid;
    node.gid = attributes.gid;
    node.elf_machine = static_cast<std::uint16_t>(attributes.elf_machine);
    node.link = entries.link(place.entry);
  }

  Lookup lookup(std::string_view path, bool follow_last) {
    loader.looking_for(path);
    Lookup result;
    std::vector<std::string> components = parts_of(path);
    CanonicalPath here;
    Place place = {Place::Kind::implied_directory, 0, 0};
    std::size_t from_link = 0;  // components before this one were written in a link, not in `path`
    for (std::size_t next = 0; next < components.size();) {
      const std::string name = components[next++];
      if (name == "..") {
        if (!here.empty()) here.pop_back();
        place.kind = Place::Kind::implied_directory;
        continue;
      }
      here.push_back(name);
      place = find(here, trees.size());
      if (place.kind == Place::Kind::nothing) {
        result.status = next <= from_link ? Lookup::Status::dangling : Lookup::Status::absent;
        result.missing = to_path(here);
        return result;
      }
      if (place.kind == Place::Kind::implied_directory) continue;
      const Entry entry = entry_of(place);
      if (entry.type == EntryType::symlink && (follow_last || next < components.size())) {
        if (result.links.size() == most_links) {
          result.status = Lookup::Status::loop;
          return result;
        }
        result.links.push_back(to_path(here));
        std::vector<std::string> expanded;
        for (const std::string_view part : split(entry.link, '/')) {
          if (!part.empty() && part != ".") expanded.emplace_back(part);
        }
        from_link = expanded.size() + (from_link > next ? from_link - next : 0);
        expanded.insert(expanded.end(), components.begin() + static_cast<std::ptrdiff_t>(next), components.end());
        components = std::move(expanded);
        next = 0;
        here.pop_back();
        if (entry.link.starts_with('/')) here.clear();
        place = {Place::Kind::implied_directory, 0, 0};
        continue;
      }
      if (entry.type != EntryType::directory && next < components.size()) {
        result.status = Lookup::Status::not_a_directory;
        result.missing = to_path(here);
        return result;
      }
    }
    if (place.kind == Place::Kind::implied_directory) place = find(here, trees.size(), true);
    result.status = Lookup::Status::found;
    // The root is there even where no layer names it.
    if (place.kind == Place::Kind::nothing) place.kind = Place::Kind::implied_directory;
    result.node = node_at(to_path(here), place);
    if (may_be_elf(*result.node) && loader.index(result.node->layer).proof == Proof::toc) {
      // A table of contents does not say it.
      const auto start =
          loader.content(result.node->layer, result.node->entry, std::min<std::uint64_t>(elf_start, result.node->size));
      if (start) result.node->elf_machine = elf_machine_in(*start);
    }
    return result;
  }

  // --- walking ---

  struct Part {
    std::size_t layer;
    const LayerTree::TreeNode* node;
  };
  /// A name in a merged folder: what it is, and, of a folder, the layers' parts of it, the newest first.
  struct Merged {
    Place place;
    std::vector<Part> parts;
    bool opaque = false;   // no more parts come
    bool settled = false;  // nothing of lower layers matters
  };

  std::vector<Part> root_parts() {
    load_all();
    std::vector<Part> parts;
    for (std::size_t number = trees.size(); number-- > 0;) {
      const LayerTree::TreeNode& node = tree(number).root();
      parts.push_back({number, &node});
      if (node.opaque) break;
    }
    return parts;
  }

  /// Lays a layer's node under what newer layers have at its place.
  void add(Merged& merged, std::size_t number, const LayerTree::TreeNode& node) {
    const LayerTree& layer = tree(number);
    if (layer.is_directory(node)) {
      if (node.kind == LayerTree::TreeNode::Kind::entry) {
        // An implied folder takes its attributes from a lower one.
        if (merged.place.kind != Place::Kind::entry) merged.place = {Place::Kind::entry, number, node.reference};
      } else if (merged.place.kind == Place::Kind::nothing) {
        merged.place = {Place::Kind::implied_directory, number, 0};
      }
      if (!merged.opaque) merged.parts.push_back({number, &node});
      merged.opaque = merged.opaque || node.opaque;
      merged.settled = merged.opaque && merged.place.kind == Place::Kind::entry;
    } else if (layer.is_leaf(node)) {
      if (merged.place.kind == Place::Kind::nothing) merged.place = settle(node, layer, number);
      merged.settled = true;
    }
    merged.settled = merged.settled || node.hides_below;
  }

  /// Calls `each` for every name in a merged folder, sorted.
  void merge(const std::vector<Part>& parts, const std::function<void(std::string_view, Merged&)>& each) {
    if (parts.size() == 1) {  // most folders are of one layer
      const LayerTree& layer = tree(parts.front().layer);
      for (const std::uint32_t position : layer.children(*parts.front().node)) {
        Merged merged;
        const LayerTree::TreeNode& node = layer.at(position);
        add(merged, parts.front().layer, node);
        each(node.name(), merged);
      }
      return;
    }
    std::vector<Part> children;
    for (const Part& part : parts) {
      const LayerTree& layer = tree(part.layer);
      for (const std::uint32_t position : layer.children(*part.node))
        children.push_back({part.layer, &layer.at(position)});
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Part& one, const Part& other) { return one.node->name() < other.node->name(); });
    for (auto child = children.begin(); child != children.end();) {
      const std::string_view name = child->node->name();
      Merged merged;
      for (; child != children.end() && child->node->name() == name; ++child) {
        if (!merged.settled) add(merged, child->layer, *child->node);
      }
      each(name, merged);
    }
  }

  Merged merge_one(const std::vector<Part>& parts, std::string_view name) {
    Merged merged;
    for (const Part& part : parts) {
      const LayerTree::TreeNode* node = tree(part.layer).child(*part.node, name);
      if (node != nullptr && !merged.settled) add(merged, part.layer, *node);
    }
    return merged;
  }

  /// Parents first, below `node`, which is used for all of them. `wanted` prunes: it is asked of a folder's path
  /// whether anything below it matters.
  void walk(Node& node, const std::vector<Part>& parts, const std::function<bool(const std::string&)>& wanted,
            const std::function<void(const Node&)>& visit) {
    const std::size_t length = node.path.size();
    merge(parts, [&](std::string_view name, Merged& merged) {
      if (merged.place.kind == Place::Kind::nothing) return;
      node.path.resize(length);
      node.path.append(1, '/').append(name);
      describe(node, merged.place);
      visit(node);
      if (node.type == EntryType::directory && wanted(node.path)) walk(node, merged.parts, wanted, visit);
    });
  }

  void walk(const std::function<bool(const std::string&)>& wanted, const std::function<void(const Node&)>& visit) {
    Node node;
    walk(node, root_parts(), wanted, visit);
  }
};

RootView::RootView(const Image& image, RootOptions options)
    : state_(std::make_unique<State>(image, std::move(options))) {}

RootView::~RootView() = default;

Lookup RootView::lookup(std::string_view path) { return state_->lookup(path, true); }
Lookup RootView::lookup_link(std::string_view path) { return state_->lookup(path, false); }

std::optional<std::string> RootView::read(std::string_view path, std::uint64_t limit) {
  const Lookup found = lookup(path);
  return found ? read(*found.node, limit) : std::nullopt;
}

std::optional<std::string> RootView::read(const Node& node, std::uint64_t limit) {
  if (node.type != EntryType::file || node.size > limit) return std::nullopt;
  return read_prefix(node, static_cast<std::size_t>(limit));
}

std::optional<std::string> RootView::read_prefix(const Node& node, std::size_t size) {
  if (node.type != EntryType::file) return std::nullopt;
  const std::size_t wanted = std::min<std::uint64_t>(size, node.size);
  if (wanted == 0) return std::string();
  state_->loader.looking_for(node.path);
  return state_->loader.content(node.layer, node.entry, wanted);
}

std::vector<Node> RootView::list(std::string_view path) {
  state_->loader.looking_for(path);
  std::vector<State::Part> parts = state_->root_parts();
  std::vector<Node> nodes;
  const Lookup found = lookup(path);
  if (!found || found.node->type != EntryType::directory) return nodes;
  const std::string folder = found.node->path == "/" ? "" : found.node->path;
  for (const std::string_view name : clean_components(folder)) parts = state_->merge_one(parts, name).parts;
  state_->merge(parts, [&](std::string_view name, State::Merged& merged) {
    if (merged.place.kind != State::Place::Kind::nothing)
      nodes.push_back(state_->node_at(folder + "/" + std::string(name), merged.place));
  });
  return nodes;
}

std::vector<Node> RootView::find(std::string_view pattern) {
  const std::string absolute = pattern.starts_with('/') ? std::string(pattern) : "/" + std::string(pattern);
  state_->loader.looking_for(pattern);
  std::vector<Node> nodes;
  state_->walk([&](const std::string& folder) { return may_hold_match(absolute, folder); },
               [&](const Node& node) {
                 if (glob_match(absolute, node.path)) nodes.push_back(node);
               });
  std::sort(nodes.begin(), nodes.end(), [](const Node& one, const Node& other) { return one.path < other.path; });
  return nodes;
}

void RootView::walk(const std::function<void(const Node&)>& visit) {
  state_->loader.looking_for(every_file);
  state_->walk([](const std::string&) { return true; }, visit);
}

void RootView::read_all() {
  state_->loader.looking_for(every_file);
  state_->loader.load_all();
}

std::optional<Proof> RootView::proof() const { return state_->loader.proof(); }

ReadCost RootView::cost() const { return state_->loader.cost(); }

std::string RootView::layer_name(std::size_t layer) const {
  // The root of an image without layers is in none.
  if (layer >= state_->image.layers().size()) return "";
  const LayerBlob& blob = state_->image.layers()[layer];
  if (blob.digest) return blob.digest->to_string();
  return blob.diff_id ? blob.diff_id->to_string() : std::string();
}

const LayerIndex& RootView::layer(std::size_t layer) { return state_->index(layer); }

}  // namespace imgforge
