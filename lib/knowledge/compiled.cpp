#include "knowledge/compiled.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/error.hpp"

namespace imgforge::knowledge {

namespace {

constexpr std::string_view magic = "imgforge tables 1\n";
constexpr std::size_t date_size = 10;
constexpr std::size_t deepest = 64;  // as YamlLimits has it

enum class Kind : std::uint8_t { null, text, plain, list, map };  // plain: true and false, without quotes

Error damaged(const std::string& why) {
  return Error(ErrorKind::knowledge, "the compiled tables are damaged: " + why, "build imgforge anew");
}

// ------------------------------------------------------------------------------------------------------------ writing

void put_fixed(std::string& out, std::size_t number) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xff));
}

void put_variable(std::string& out, std::size_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

class Writer {
 public:
  std::string write(const YamlNode& node) {
    const std::string body = to_bytes(node);
    std::string out;
    put_fixed(out, strings_.size());
    std::size_t offset = 0;
    for (const std::string& text : strings_) {
      put_fixed(out, offset);
      offset += text.size();
    }
    put_fixed(out, offset);
    for (const std::string& text : strings_) out += text;
    return out + body;
  }

 private:
  std::size_t number_of(const std::string& text) {
    const auto [found, fresh] = numbers_.emplace(text, strings_.size());
    if (fresh) strings_.push_back(text);
    return found->second;
  }

  std::string to_bytes(const YamlNode& node) {
    std::string out;
    const auto put = [&](Kind kind) { out.push_back(static_cast<char>(kind)); };
    std::string body;
    switch (node.kind) {
      case YamlNode::Kind::null: put(Kind::null); return out;
      case YamlNode::Kind::scalar:
        // The reader of values cares for quotes only to refuse bare numbers, and those are refused before this.
        put(node.plain && (node.text == "true" || node.text == "false") ? Kind::plain : Kind::text);
        put_variable(out, number_of(node.text));
        return out;
      case YamlNode::Kind::sequence:
        put(Kind::list);
        for (const YamlNode& item : node.items) body += to_bytes(item);
        break;
      case YamlNode::Kind::map:
        put(Kind::map);
        for (const YamlEntry& entry : node.entries) {
          put_variable(body, number_of(entry.key));
          body += to_bytes(entry.value);
        }
        break;
    }
    put_variable(out, body.size());
    return out + body;
  }

  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

// ------------------------------------------------------------------------------------------------------------ reading

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw damaged("they end too early");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::size_t fixed() {
    const std::string_view part = take(4);
    std::size_t number = 0;
    for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(part[static_cast<std::size_t>(i)]);
    return number;
  }
  std::size_t variable() {
    std::size_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      number |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return number;
    }
    throw damaged("a number is too long");
  }
  Kind kind() {
    const auto byte = static_cast<std::uint8_t>(take(1)[0]);
    if (byte > static_cast<std::uint8_t>(Kind::map)) throw damaged("an unknown kind of node");
    return static_cast<Kind>(byte);
  }
  /// The bytes of the next node, read no further than to know their number.
  std::string_view node() {
    const std::string_view start = bytes_;
    const Kind next = kind();
    if (next == Kind::text || next == Kind::plain) {
      variable();
    } else if (next != Kind::null) {
      take(variable());
    }
    return start.substr(0, start.size() - bytes_.size());
  }

 private:
  std::string_view bytes_;
};

std::string_view string_at(std::string_view strings, std::size_t number) {
  const std::size_t count = Reader(strings).fixed();
  if (number >= count) throw damaged("no such string");
  Reader offsets(strings.substr(4 + 4 * number));
  const std::size_t from = offsets.fixed();
  const std::size_t to = offsets.fixed();
  const std::string_view bytes = strings.substr(4 + 4 * (count + 1));
  if (to < from || to > bytes.size()) throw damaged("a string ends before it begins");
  return bytes.substr(from, to - from);
}

void read_node(std::string_view strings, Reader& reader, YamlNode& node, std::size_t depth) {
  if (depth > deepest) throw damaged("nested too deep");
  const Kind kind = reader.kind();
  switch (kind) {
    case Kind::null: return;
    case Kind::text:
    case Kind::plain:
      node.kind = YamlNode::Kind::scalar;
      node.text = string_at(strings, reader.variable());
      node.plain = kind == Kind::plain;
      return;
    case Kind::list:
    case Kind::map: break;
  }
  const std::string_view bytes = reader.take(reader.variable());
  // Counted first: moving nodes about costs more than that.
  std::size_t count = 0;
  for (Reader counter(bytes); !counter.at_end(); ++count) {
    if (kind == Kind::map) counter.variable();
    counter.node();
  }
  Reader body(bytes);
  if (kind == Kind::list) {
    node.kind = YamlNode::Kind::sequence;
    node.items.resize(count);
    for (YamlNode& item : node.items) read_node(strings, body, item, depth + 1);
    return;
  }
  node.kind = YamlNode::Kind::map;
  node.entries.resize(count);
  for (YamlEntry& entry : node.entries) {
    entry.key = string_at(strings, body.variable());
    read_node(strings, body, entry.value, depth + 1);
  }
}

// The strings of a table, and where its node begins.
std::string_view strings_of(std::string_view table) {
  Reader reader(table);
  const std::size_t count = reader.fixed();
  if (count > table.size()) throw damaged("more strings than bytes");
  reader.take(4 * count);
  const std::size_t size = reader.fixed();
  reader.take(size);
  return table.substr(0, table.size() - reader.rest().size());
}

}  // namespace

std::string compile(const std::vector<std::pair<std::string, YamlNode>>& tables) {
  std::string newest = Date().to_string();
  std::vector<std::string> bodies;
  std::size_t index_size = magic.size() + date_size + 4;
  for (const auto& [name, node] : tables) {
    bodies.push_back(Writer().write(node));
    // YYYY-MM-DD orders as text.
    const YamlNode* as_of = node.find("as_of");
    if (as_of != nullptr && Date::parse(as_of->text)) newest = std::max(newest, as_of->text);
    std::string length;
    put_variable(length, name.size());
    index_size += length.size() + name.size() + 8;
  }
  std::string out(magic);
  out += newest;
  put_fixed(out, tables.size());
  std::size_t offset = index_size;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    put_variable(out, tables[i].first.size());
    out += tables[i].first;
    put_fixed(out, offset);
    put_fixed(out, bodies[i].size());
    offset += bodies[i].size();
  }
  for (const std::string& body : bodies) out += body;
  return out;
}

std::optional<CompiledNode> CompiledNode::find(std::string_view key) const {
  Reader reader(bytes_);
  if (reader.kind() != Kind::map) return std::nullopt;
  Reader body(reader.take(reader.variable()));
  while (!body.at_end()) {
    const std::string_view name = string_at(strings_, body.variable());
    const std::string_view node = body.node();
    if (name == key) return CompiledNode(strings_, node);
  }
  return std::nullopt;
}

std::string_view CompiledNode::text(std::string_view key) const {
  const auto found = find(key);
  if (!found) return {};
  Reader reader(found->bytes_);
  const Kind kind = reader.kind();
  return kind == Kind::text || kind == Kind::plain ? string_at(strings_, reader.variable()) : std::string_view();
}

std::vector<std::string_view> CompiledNode::texts(std::string_view key) const {
  std::vector<std::string_view> found;
  const auto list = find(key);
  if (!list) return found;
  Reader reader(list->bytes_);
  if (reader.kind() != Kind::list) return found;
  Reader items(reader.take(reader.variable()));
  while (!items.at_end()) {
    Reader item(items.node());
    if (item.kind() == Kind::text) found.push_back(string_at(strings_, item.variable()));
  }
  return found;
}

YamlNode CompiledNode::read() const {
  YamlNode node;
  Reader reader(bytes_);
  read_node(strings_, reader, node, 0);
  return node;
}

CompiledTable::CompiledTable(std::string_view bytes)
    : node_(strings_of(bytes), bytes.substr(strings_of(bytes).size())) {}

YamlNode CompiledTable::head() const {
  YamlNode head;
  head.kind = YamlNode::Kind::map;
  Reader reader(node_.bytes_);
  if (reader.kind() != Kind::map) throw damaged("a table is a map");
  Reader body(reader.take(reader.variable()));
  while (!body.at_end()) {
    YamlEntry entry;
    entry.key = string_at(node_.strings_, body.variable());
    const CompiledNode value(node_.strings_, body.node());
    if (entry.key == "rows") {
      entry.value.kind = YamlNode::Kind::sequence;
    } else {
      entry.value = value.read();
    }
    head.entries.push_back(std::move(entry));
  }
  return head;
}

std::vector<CompiledNode> CompiledTable::rows() const {
  std::vector<CompiledNode> rows;
  const auto list = node_.find("rows");
  if (!list) throw damaged("a table without rows");
  Reader reader(list->bytes_);
  if (reader.kind() != Kind::list) throw damaged("rows are a list");
  Reader items(reader.take(reader.variable()));
  while (!items.at_end()) rows.push_back(CompiledNode(node_.strings_, items.node()));
  return rows;
}

CompiledTable Compiled::table(std::string_view name) const {
  Reader reader(bytes_);
  if (reader.take(magic.size()) != magic) throw damaged("they do not begin as they should");
  reader.take(date_size);
  for (std::size_t left = reader.fixed(); left > 0; --left) {
    const std::string_view found = reader.take(reader.variable());
    const std::size_t offset = reader.fixed();
    const std::size_t size = reader.fixed();
    if (found != name) continue;
    if (offset > bytes_.size() || size > bytes_.size() - offset) throw damaged("they end too early");
    return CompiledTable(bytes_.substr(offset, size));
  }
  throw Error(ErrorKind::knowledge, "the compiled tables do not hold \"" + std::string(name) + "\"",
              "build imgforge anew");
}

Date Compiled::newest() const {
  if (bytes_.empty()) return Date();
  Reader reader(bytes_);
  if (reader.take(magic.size()) != magic) throw damaged("they do not begin as they should");
  const auto date = Date::parse(reader.take(date_size));
  if (!date) throw damaged("no date");
  return *date;
}

}  // namespace imgforge::knowledge
