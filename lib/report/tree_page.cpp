#include "report/tree_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "report/facts_json.hpp"

namespace imgforge {

namespace {

constexpr std::size_t portion = 64 << 10;

struct Kind {
  char letter;
  std::string_view name;
};

Kind kind_of(EntryType type) {
  switch (type) {
    case EntryType::directory: return {'d', "directory"};
    case EntryType::symlink: return {'l', "symlink"};
    case EntryType::character_device: return {'c', "character device"};
    case EntryType::block_device: return {'b', "block device"};
    case EntryType::fifo: return {'p', "fifo"};
    default: return {'-', "file"};
  }
}

/// "rwxr-sr-t" of 03755, as ls(1) has it.
std::string permissions(std::uint32_t mode) {
  std::string text = "rwxrwxrwx";
  for (unsigned bit = 0; bit < 9; ++bit) {
    if ((mode >> (8 - bit) & 1) == 0) text[bit] = '-';
  }
  const auto special = [&](std::uint32_t bit, std::size_t at, char letter) {
    if ((mode & bit) != 0) text[at] = static_cast<char>(text[at] == '-' ? letter - 'a' + 'A' : letter);
  };
  special(04000, 2, 's');
  special(02000, 5, 's');
  special(01000, 8, 't');
  return text;
}

/// Everything, the root first; `line` appends what is to be printed of a node.
void each(RootView& root, const TextSink& sink, const std::function<void(std::string&, const Node&)>& line) {
  std::string text;
  const auto take = [&](const Node& node) {
    line(text, node);
    if (text.size() < portion) return;
    sink(text);
    text.clear();
  };
  // A layer that is damaged ends it before anything is printed.
  root.read_all();
  const Lookup top = root.lookup("/");
  if (top) take(*top.node);
  root.walk(take);
  sink(text);
}

}  // namespace

void tree_text(RootView& root, const TextSink& sink) {
  const bool layers = root.cost().layers_total != 0;
  each(root, sink, [&](std::string& text, const Node& node) {
    const std::string layer = layers ? std::to_string(node.layer + 1) : "-";
    text += fmt::format("{}{} {:>5}:{:<5} {:>12} {:>3} {}", kind_of(node.type).letter, permissions(node.mode), node.uid,
                        node.gid, node.size, layer, escape_for_display(node.path));
    if (node.type == EntryType::symlink) text += " -> " + escape_for_display(node.link);
    text += '\n';
  });
}

void tree_json(RootView& root, const TextSink& sink) {
  const bool layers = root.cost().layers_total != 0;
  bool first = true;
  sink("[");
  each(root, sink, [&](std::string& text, const Node& node) {
    nlohmann::json item = {{"type", kind_of(node.type).name},
                           {"size", node.size},
                           {"mode", node.mode},
                           {"uid", node.uid},
                           {"gid", node.gid}};
    put_bytes(item, "path", node.path);
    if (node.type == EntryType::symlink) put_bytes(item, "link", node.link);
    if (layers) item["layer"] = node.layer;
    text += std::exchange(first, false) ? "\n" : ",\n";
    text += item.dump();
  });
  sink("\n]\n");
}

}  // namespace imgforge
