// What a simple unpacker makes of a stack of layers: bottom up, in memory, every layer whole. Slow and obvious, so that
// RootView can be compared with it.
//
// Within a layer, entries are applied in order to a tree that shows the lower layers through; a whiteout or an opaque
// marker hides what lower layers have, whatever its place in the tar. So each node remembers which layer put it there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layer/layer_index.hpp"
#include "layer/root_view.hpp"

namespace imgforge::test {

class NaiveRoot {
 public:
  struct File {
    Entry entry;
    std::size_t layer = 0;
    std::size_t touched = 0;  // the last layer that put something into this folder
    std::map<std::string, std::shared_ptr<File>> children;
    bool is_folder() const { return entry.type == EntryType::directory; }
  };
  using Pointer = std::shared_ptr<File>;

  NaiveRoot() : root_(new_folder(0)) {}

  void apply(const EntryList& entries) {
    ++layer_;
    for (const Entry entry : entries) apply(entry);
  }

  /// "file 3 <link>" by path, for everything below the root.
  std::map<std::string, std::string> listing() const {
    std::map<std::string, std::string> result;
    list(*root_, "", result);
    return result;
  }

  /// As RootView::lookup sees it: "found PATH", "absent", "dangling", "loop", "not a folder".
  std::string lookup(std::string_view path) const {
    std::vector<std::string> todo = parts(path);
    std::vector<std::pair<std::string, Pointer>> trail;  // below the root
    std::size_t links = 0, outermost = static_cast<std::size_t>(-1);
    const auto here = [&] { return trail.empty() ? root_ : trail.back().second; };
    while (!todo.empty()) {
      const std::string name = todo.front();
      todo.erase(todo.begin());
      if (name == "..") {
        if (!trail.empty()) trail.pop_back();
        continue;
      }
      const auto found = here()->children.find(name);
      if (found == here()->children.end()) return todo.size() >= outermost ? "dangling" : "absent";
      const Pointer file = found->second;
      if (file->entry.type == EntryType::symlink) {
        if (++links > 40) return "loop";
        outermost = std::min(outermost, todo.size());
        std::vector<std::string> target = parts(file->entry.link);
        if (file->entry.link.starts_with('/')) trail.clear();
        todo.insert(todo.begin(), target.begin(), target.end());
        continue;
      }
      if (!file->is_folder() && !todo.empty()) return "not a folder";
      trail.emplace_back(name, file);
    }
    std::string result = "found ";
    for (const auto& step : trail) result += "/" + step.first;
    return trail.empty() ? "found /" : result;
  }

 private:
  static std::vector<std::string> parts(std::string_view path) {
    std::vector<std::string> result;
    std::string part;
    for (const char c : std::string(path) + "/") {
      if (c != '/') {
        part += c;
        continue;
      }
      if (!part.empty() && part != ".") result.push_back(part);
      part.clear();
    }
    return result;
  }

  Pointer new_folder(std::size_t layer) const {
    auto folder = std::make_shared<File>();
    folder->entry.type = EntryType::directory;
    folder->entry.mode = 0755;
    folder->layer = layer;
    return folder;
  }

  /// Walks to a folder as an unpacker inside of its root does; with `make`, what is not there is made.
  Pointer folder(std::vector<std::string> todo, bool make) {
    std::vector<Pointer> trail = {root_};
    std::size_t links = 0;
    while (!todo.empty()) {
      const std::string name = todo.front();
      todo.erase(todo.begin());
      if (name == "..") {
        if (trail.size() > 1) trail.pop_back();
        continue;
      }
      Pointer& file = trail.back()->children[name];
      if (file && file->entry.type == EntryType::symlink && (links < 40 || !make)) {
        if (++links > 40) return nullptr;
        std::vector<std::string> target = parts(file->entry.link);
        if (file->entry.link.starts_with('/')) trail.resize(1);
        todo.insert(todo.begin(), target.begin(), target.end());
        continue;
      }
      if (!file || !file->is_folder()) {
        if (!make) {
          if (!file) trail.back()->children.erase(name);
          return nullptr;
        }
        file = new_folder(layer_);
      }
      trail.push_back(file);
      // A folder that an entry of this layer goes through is this layer's, too: a whiteout leaves it.
      if (make) file->touched = layer_;
    }
    return trail.back();
  }

  bool of_this_layer(const File& file) const { return file.layer == layer_ || file.touched == layer_; }

  /// Takes away what lower layers put there; what this layer put there stays, in folders of its own.
  void remove_lower(Pointer& file) {
    if (!of_this_layer(*file)) {
      file = nullptr;
      return;
    }
    if (!file->is_folder()) return;
    if (file->layer != layer_) {
      // Only gone through: its attributes came from below.
      file->entry = new_folder(layer_)->entry;
      file->layer = layer_;
    }
    remove_lower_children(*file);
  }
  void remove_lower_children(File& folder) {
    for (auto child = folder.children.begin(); child != folder.children.end();) {
      remove_lower(child->second);
      child = child->second ? std::next(child) : folder.children.erase(child);
    }
  }

  void apply(const Entry& entry) {
    std::vector<std::string> path = parts(entry.path);
    if (entry.type == EntryType::opaque) {
      remove_lower_children(*folder(path, true));
      return;
    }
    if (path.empty()) return;
    const std::string name = path.back();
    path.pop_back();
    const Pointer parent = folder(path, true);
    if (entry.type == EntryType::whiteout) {
      const auto found = parent->children.find(name);
      if (found == parent->children.end()) return;
      remove_lower(found->second);
      if (!found->second) parent->children.erase(found);
      return;
    }
    if (entry.type == EntryType::hardlink) {
      std::vector<std::string> target = parts(entry.link);
      Pointer named;
      if (!target.empty()) {
        const std::string last = target.back();
        target.pop_back();
        if (const Pointer from = folder(target, false)) {
          const auto found = from->children.find(last);
          if (found != from->children.end() && !found->second->is_folder()) named = found->second;
        }
      }
      parent->children.erase(name);
      if (named) {
        auto copy = std::make_shared<File>(*named);
        copy->entry = named->entry;
        copy->layer = layer_;  // the name is of this layer
        parent->children[name] = copy;
      }
      return;
    }
    Pointer& file = parent->children[name];
    if (!file || !file->is_folder() || entry.type != EntryType::directory) file = std::make_shared<File>();
    file->entry = entry;
    file->layer = layer_;
  }

  static void list(const File& folder, const std::string& path, std::map<std::string, std::string>& result) {
    for (const auto& [name, file] : folder.children) {
      result[path + "/" + name] = describe(file->entry);
      if (file->is_folder()) list(*file, path + "/" + name, result);
    }
  }

 public:
  static std::string describe(const Entry& entry) {
    return std::to_string(static_cast<int>(entry.type)) + " mode " + std::to_string(entry.mode) + " size " + std::to_string(entry.size) + " " +
           (entry.type == EntryType::symlink ? entry.link : "");
  }

 private:
  Pointer root_;
  std::size_t layer_ = 0;
};

}  // namespace imgforge::test
