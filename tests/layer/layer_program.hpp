// Small stacks of layers from bytes, and RootView held against the naive unpacker on them: for random programs in a test,
// and for the fuzzer's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layer/layer_reader.hpp"
#include "layer/root_view.hpp"
#include "memory_image.hpp"
#include "naive_root.hpp"

namespace imgforge::test {

class LayerProgram {
 public:
  explicit LayerProgram(std::string bytes) : bytes_(std::move(bytes)) {
    const std::size_t layers = 1 + next() % 4;
    for (std::size_t i = 0; i < layers; ++i) {
      std::vector<std::string> members;
      for (std::size_t count = next() % 12; count > 0; --count) members.push_back(entry());
      image_.tar(members);
      stack_.push_back(std::move(members));
    }
    for (int i = 0; i < 6; ++i) questions_.push_back("/" + path(4, true));
  }

  /// Empty where RootView and the naive root agree, else what they disagree about.
  std::string disagreement() const {
    NaiveRoot naive;
    for (std::size_t i = 0; i < stack_.size(); ++i) naive.apply(read_layer(image_, i, {}).entries);

    RootView pulled(image_, {});
    for (const std::string& question : questions_) {
      const std::string got = answer(pulled.lookup(question)), expected = naive.lookup(question);
      if (got != expected) return question + ": " + got + ", expected " + expected;
    }
    const auto expected = naive.listing();
    RootView view(image_, {});
    std::map<std::string, std::string> walked, listed;
    view.walk([&](const Node& node) { walked.emplace(node.path, described(node)); });
    if (walked != expected) return "walk: " + difference(walked, expected);
    list(view, "/", listed);
    if (listed != expected) return "list: " + difference(listed, expected);
    // The same, asked path by path.
    for (const auto& [path, what] : expected) {
      const Lookup found = pulled.lookup_link(path);
      if (!found || found.node->path != path || described(*found.node) != what) return path + ": not as expected, " + what;
    }
    return "";
  }

  std::string to_string() const {
    std::string text;
    for (const auto& members : stack_) {
      text += "layer:\n";
      for (const std::string& one : members) text += std::string("  ") + one[156] + " " + one.c_str() + " -> " + (one.c_str() + 157) + "\n";
    }
    return text;
  }

 private:
  unsigned next() { return at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_++]) : 0; }

  std::string path(unsigned longest, bool dots) {
    std::string result;
    for (unsigned count = 1 + next() % longest; count > 0; --count) {
      const unsigned choice = next() % (dots ? 6 : 5);
      result += (result.empty() ? "" : "/") + (choice == 5 ? std::string("..") : std::string(1, static_cast<char>('a' + choice % 4)));
    }
    return result;
  }

  std::string entry() {
    const std::string where = path(3, false);
    const unsigned mode = 0700 + next() % 8;
    switch (next() % 10) {
      case 0: case 1: return file(where, std::string(next() % 3, 'x'), mode);
      case 2: case 3: return folder(where, mode);
      case 4: return soft_link(where, path(3, true));
      case 5: return soft_link(where, "/" + path(3, true));
      case 6: return hard_link(where, path(3, false));
      case 7: case 8: return whiteout(where);
      default: return opaque(where);
    }
  }

  static std::string answer(const Lookup& lookup) {
    switch (lookup.status) {
      case Lookup::Status::found: return "found " + lookup.node->path;
      case Lookup::Status::absent: return "absent";
      case Lookup::Status::dangling: return "dangling";
      case Lookup::Status::loop: return "loop";
      case Lookup::Status::not_a_directory: return "not a folder";
    }
    return "";
  }
  static std::string described(const Node& node) {
    Entry entry;
    entry.type = node.type;
    entry.mode = node.mode;
    entry.size = node.size;
    entry.link = node.link;
    return NaiveRoot::describe(entry);
  }
  static void list(RootView& view, const std::string& folder, std::map<std::string, std::string>& result) {
    for (const Node& node : view.list(folder)) {
      result.emplace(node.path, described(node));
      if (node.type == EntryType::directory) list(view, node.path, result);
    }
  }
  static std::string difference(const std::map<std::string, std::string>& got, const std::map<std::string, std::string>& expected) {
    for (const auto& [path, what] : got) {
      const auto found = expected.find(path);
      if (found == expected.end()) return path + " should not be there";
      if (found->second != what) return path + " is " + what + ", expected " + found->second;
    }
    for (const auto& [path, what] : expected) {
      if (!got.contains(path)) return path + " is missing";
    }
    return "";
  }

  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<std::vector<std::string>> stack_;
  std::vector<std::string> questions_;
  MemoryImage image_;
};

}  // namespace imgforge::test
