#include "base/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <unordered_set>

#include "base/text.hpp"

namespace imgforge {

namespace {

// Ends the parse: what was wrong is in the diagnostics already.
struct Stop {};

// The bytes of the text as a stream, without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // setg wants it so; a buffer that only reads never writes through it
    setg(begin, begin, begin + text.size());
  }
};

// What an anchor stands for, with what it costs to use it once more.
struct Anchor {
  YamlNode node;
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t height = 0;
};

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, const std::string& name, std::vector<Diagnostic>& diagnostics,
          const YamlLimits& limits)
      : lines_(lines(text)), name_(name), diagnostics_(diagnostics), limits_(limits) {}

  YamlNode take() { return std::move(root_); }
  void fault(std::size_t line, std::size_t column, std::string message, std::string hint = {}) {
    Diagnostic diagnostic;
    diagnostic.place = {name_, line, column};
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    // A line of a megabyte with a thousand faults must not become a gigabyte of messages.
    if (line != 0 && line <= lines_.size() && lines_[line - 1].size() <= longest_line)
      diagnostic.line_text = lines_[line - 1];
    diagnostics_.push_back(std::move(diagnostic));
    if (++faults_ == most_faults) {
      diagnostics_.push_back({{name_, line, 0}, "too many faults, reading ends here", {}, {}});
      throw Stop{};
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!seen_document_) {
      seen_document_ = true;
      return;
    }
    stop(mark, "a second document; one file holds one", "remove what follows the line \"---\"");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(mark, 1, 0, 0);
    YamlNode node = make(mark, YamlNode::Kind::null);
    remember(anchor, node, 1, 0, 0);
    if (expects_key()) {
      fault(node.line, node.column, "a key has to be text", "quote it if \"null\" or \"~\" is meant as text");
      key(std::string(), node, false);
      return;
    }
    place(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    count(mark, 1, value.size(), 0);
    YamlNode node = make(mark, YamlNode::Kind::scalar);
    check_tag(mark, tag);
    node.text = value;
    node.plain = tag == "?";
    remember(anchor, node, 1, value.size(), 0);
    if (expects_key()) {
      key(value, node, true);
      return;
    }
    place(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias to something that it is itself a part of");
    const Anchor& known = found->second;
    count(mark, known.nodes, known.bytes, known.height);
    YamlNode node = known.node;
    node.line = line_of(mark);
    node.column = column_of(mark);
    grow(known.height);
    if (expects_key()) {
      if (!node.is_scalar()) stop(mark, "a key has to be text, this is " + std::string(kind_name(node)));
      const std::string text = node.text;
      key(text, node, true);
      return;
    }
    place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is being read.
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // of a map: the next value belongs to the last entry
    bool skip = false;     // ... or to none, its key was at fault
    std::unordered_set<std::string> keys;
    std::size_t nodes = 1;  // of the whole below, itself included
    std::size_t bytes = 0;
    std::size_t height = 0;  // levels of lists and maps, itself included
  };

  static std::size_t line_of(const YAML::Mark& mark) {
    return mark.line < 0 ? 0 : static_cast<std::size_t>(mark.line) + 1;
  }
  static std::size_t column_of(const YAML::Mark& mark) {
    return mark.column < 0 ? 0 : static_cast<std::size_t>(mark.column) + 1;
  }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint = {}) {
    fault(line_of(mark), column_of(mark), std::move(message), std::move(hint));
    throw Stop{};
  }

  static YamlNode make(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    node.column = column_of(mark);
    return node;
  }

  // Books `nodes` and `bytes` of text and a subtree of `height` below the place that we are at.
  void count(const YAML::Mark& mark, std::size_t nodes, std::size_t bytes, std::size_t height) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > limits_.nodes)
      stop(mark, "more than " + std::to_string(limits_.nodes) + " values (an alias counts each time)");
    // Text alone cannot be longer than the file; through aliases it can.
    if (bytes_ > 4 * limits_.bytes)
      stop(mark, "aliases that make more than " + human_size(4 * limits_.bytes) + " of text");
    if (frames_.size() + height > limits_.depth)
      stop(mark, "nested deeper than " + std::to_string(limits_.depth) + " levels");
    for (Frame& frame : frames_) {
      frame.nodes += nodes;
      frame.bytes += bytes;
    }
  }

  // Every list and map that is open now is at least as high as what stands in the innermost, and the levels between.
  void grow(std::size_t height) {
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      frames_[i].height = std::max(frames_[i].height, frames_.size() - i + height);
    }
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fault(line_of(mark), column_of(mark), "a tag (" + escape_for_display(tag) + "); tags are not read",
          "remove it; quotes make a value text");
  }

  bool expects_key() const { return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().has_key; }

  void key(const std::string& text, const YamlNode& node, bool usable) {
    Frame& frame = frames_.back();
    frame.has_key = true;
    frame.skip = !usable;
    if (usable && text == "<<" && node.plain) {
      fault(node.line, node.column, "a merge key (<<); merge keys are not read", "write the keys out");
      frame.skip = true;
    } else if (usable && !frame.keys.insert(text).second) {
      const auto first = std::find_if(frame.node.entries.begin(), frame.node.entries.end(),
                                      [&](const YamlEntry& entry) { return entry.key == text; });
      fault(node.line, node.column,
            "the key \"" + escape_for_display(text) + "\" is there twice, first in line " + std::to_string(first->line),
            "keep one of them");
      frame.skip = true;
    }
    if (!frame.skip) frame.node.entries.push_back({text, node.line, node.column, {}});
  }

  void place(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.is_sequence()) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    if (!frame.skip) frame.node.entries.back().value = std::move(node);
    frame.has_key = false;
    frame.skip = false;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (expects_key())
      stop(mark, "a key has to be text, this is a list or a map", "is a quote or a space after a colon missing?");
    count(mark, 1, 0, 1);
    check_tag(mark, tag);
    Frame frame;
    frame.node = make(mark, kind);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
    grow(0);
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    remember(frame.anchor, frame.node, frame.nodes, frame.bytes, frame.height);
    place(std::move(frame.node));
  }

  void remember(YAML::anchor_t anchor, const YamlNode& node, std::size_t nodes, std::size_t bytes, std::size_t height) {
    if (anchor == 0) return;
    // The copy is work and memory too: nested anchors would otherwise copy the same text once a level.
    nodes_ += nodes;
    bytes_ += bytes;
    anchors_[anchor] = {node, nodes, bytes, height};
  }

  static constexpr std::size_t longest_line = 4096;
  static constexpr std::size_t most_faults = 100;

  std::vector<std::string_view> lines_;
  const std::string& name_;
  std::vector<Diagnostic>& diagnostics_;
  const YamlLimits& limits_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  YamlNode root_;
  bool seen_document_ = false;
  std::size_t faults_ = 0;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

// The 1-based line of a byte.
std::size_t line_at(std::string_view text, std::size_t offset) {
  return 1 +
         static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// yaml-cpp takes 0x04 for the end of the text and guesses UTF-16 from zero bytes: both would read something other than
// what stands there. YAML 1.2 section 5.1 allows none of these characters.
std::optional<std::size_t> unprintable(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) return i;
  }
  return std::nullopt;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const noexcept {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& name, std::vector<Diagnostic>& diagnostics,
                                   const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    diagnostics.push_back(
        {{name, 0, 0}, human_size(text.size()) + ", the limit is " + human_size(limits.bytes), {}, {}});
    return std::nullopt;
  }
  Builder builder(text, name, diagnostics, limits);
  if (const auto offset = unprintable(text)) {
    builder.fault(line_at(text, *offset), 0, "a control character: " + escape_for_display(text.substr(*offset, 1)),
                  "remove it");
    return std::nullopt;
  }
  if (!is_utf8(text)) {
    std::size_t number = 0;
    for (const std::string_view line : lines(text)) {
      ++number;
      if (!is_utf8(line)) break;
    }
    builder.fault(number, 0, "not UTF-8", "save the file as UTF-8");
    return std::nullopt;
  }
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    parser.HandleNextDocument(builder);  // a second document is a fault
    return builder.take();
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    const bool known = !error.mark.is_null();
    builder.fault(known ? static_cast<std::size_t>(error.mark.line) + 1 : 0,
                  known ? static_cast<std::size_t>(error.mark.column) + 1 : 0,
                  "not YAML: " + escape_for_display(error.msg));
    return std::nullopt;
  }
}

bool is_yaml_number(std::string_view plain) noexcept {
  // YAML 1.2.2 section 10.3.2: [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+ |
  // [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? | [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto all = [](std::string_view part, auto matches) {
    return !part.empty() && std::all_of(part.begin(), part.end(), matches);
  };
  if (plain.substr(0, 2) == "0o") return all(plain.substr(2), [](char c) { return c >= '0' && c <= '7'; });
  if (plain.substr(0, 2) == "0x") {
    return all(plain.substr(2), [&](char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
  }
  if (plain == ".nan" || plain == ".NaN" || plain == ".NAN") return true;
  if (!plain.empty() && (plain[0] == '-' || plain[0] == '+')) plain.remove_prefix(1);
  if (plain == ".inf" || plain == ".Inf" || plain == ".INF") return true;
  std::size_t i = 0;
  while (i < plain.size() && digit(plain[i])) ++i;
  std::size_t digits = i;
  if (i < plain.size() && plain[i] == '.') {
    ++i;
    while (i < plain.size() && digit(plain[i])) ++i, ++digits;
  }
  if (digits == 0) return false;
  if (i < plain.size() && (plain[i] == 'e' || plain[i] == 'E')) {
    ++i;
    if (i < plain.size() && (plain[i] == '-' || plain[i] == '+')) ++i;
    return all(plain.substr(i), digit);
  }
  return i == plain.size();
}

std::string_view kind_name(const YamlNode& node) noexcept {
  switch (node.kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return "text";
    case YamlNode::Kind::sequence: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return "text";
}

}  // namespace imgforge
