#include "knowledge/compiled.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace imgforge::knowledge {

namespace {

// Ordered, since the order of a row's variables is meant.
using Json = nlohmann::ordered_json;

Json to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return nullptr;
    case YamlNode::Kind::scalar:
      // The reader of values cares for quotes only to refuse bare numbers, and those are refused before this.
      if (node.plain && (node.text == "true" || node.text == "false")) return node.text == "true";
      return node.text;
    case YamlNode::Kind::sequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case YamlNode::Kind::map: {
      Json map = Json::object();
      for (const YamlEntry& entry : node.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
  }
  return nullptr;
}

YamlNode from_json(const Json& json) {
  YamlNode node;
  if (json.is_array()) {
    node.kind = YamlNode::Kind::sequence;
    for (const Json& item : json) node.items.push_back(from_json(item));
  } else if (json.is_object()) {
    node.kind = YamlNode::Kind::map;
    for (const auto& [key, value] : json.items()) node.entries.push_back({key, 0, 0, from_json(value)});
  } else if (json.is_boolean()) {
    node.kind = YamlNode::Kind::scalar;
    node.text = json.get<bool>() ? "true" : "false";
    node.plain = true;
  } else if (json.is_string()) {
    node.kind = YamlNode::Kind::scalar;
    node.text = json.get<std::string>();
  }
  return node;
}

Error damaged(const std::string& why) {
  return Error(ErrorKind::knowledge, "the compiled tables are damaged: " + why, "build imgforge anew");
}

}  // namespace

std::string compile(const std::vector<std::pair<std::string, YamlNode>>& tables) {
  Json all = {{"as_of", Date().to_string()}, {"tables", Json::object()}};
  std::string newest = Date().to_string();
  for (const auto& [name, node] : tables) {
    all["tables"][name] = Json::binary(Json::to_cbor(to_json(node)));
    // YYYY-MM-DD orders as text.
    if (const YamlNode* as_of = node.find("as_of"); as_of != nullptr) newest = std::max(newest, as_of->text);
  }
  all["as_of"] = newest;
  const std::vector<std::uint8_t> bytes = Json::to_cbor(all);
  return std::string(bytes.begin(), bytes.end());
}

YamlNode Compiled::table(std::string_view name) const {
  try {
    const Json all = Json::from_cbor(bytes_.begin(), bytes_.end());
    const Json& tables = all.at("tables");
    if (const auto found = tables.find(std::string(name)); found != tables.end()) {
      return from_json(Json::from_cbor(found->get_binary()));
    }
  } catch (const Json::exception& error) {
    throw damaged(error.what());
  }
  throw Error(ErrorKind::knowledge, "the compiled tables do not hold \"" + std::string(name) + "\"",
              "build imgforge anew");
}

Date Compiled::newest() const {
  if (bytes_.empty()) return Date();
  try {
    const auto date = Date::parse(Json::from_cbor(bytes_.begin(), bytes_.end()).at("as_of").get<std::string>());
    if (date) return *date;
  } catch (const Json::exception& error) {
    throw damaged(error.what());
  }
  throw damaged("no date");
}

}  // namespace imgforge::knowledge
