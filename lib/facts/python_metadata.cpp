#include "facts/python_metadata.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace imgforge {
namespace {

constexpr std::size_t max_requirements = 4'096;
constexpr std::size_t max_value = 8'192;  // bytes of one field

}  // namespace

std::optional<PythonMetadata> parse_python_metadata(std::string_view text, bool cut) {
  PythonMetadata metadata;
  bool has_name = false, has_version = false, has_python = false;
  std::string field, value;
  const auto close = [&] {
    const std::string_view content = trim(value);
    if (field == "name" && !has_name) {
      metadata.name = content;
      has_name = true;
    } else if (field == "version" && !has_version) {
      metadata.version = content;
      has_version = true;
    } else if (field == "requires-python" && !has_python) {
      metadata.requires_python = content;
      has_python = true;
    } else if (field == "requires-dist" && metadata.requires_dist.size() < max_requirements) {
      metadata.requires_dist.emplace_back(content);
    }
    field.clear();
    value.clear();
  };
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos && cut) {
      // The field above is whole, unless the cut line goes on with it.
      if (text[start] == ' ' || text[start] == '\t') field.clear();
      break;
    }
    std::string_view line = text.substr(start, end == std::string_view::npos ? end : end - start);
    start = end == std::string_view::npos ? text.size() : end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (!field.empty() && value.size() < max_value) value.append(" ").append(trim(line).substr(0, max_value));
      continue;
    }
    close();
    const std::size_t colon = line.find(':');
    // A line that is no header ends the block for Python's parser, too.
    if (colon == std::string_view::npos) break;
    field = lower(trim(line.substr(0, colon)).substr(0, 64));
    value = line.substr(colon + 1, max_value);
  }
  close();
  if (metadata.name.empty() || metadata.version.empty()) return std::nullopt;
  return metadata;
}

std::optional<MetadataName> parse_metadata_name(std::string_view folder) {
  const bool egg = folder.ends_with(".egg-info");
  if (!egg && !folder.ends_with(".dist-info")) return std::nullopt;
  folder.remove_suffix(egg ? 9 : 10);
  if (folder.empty() || folder.front() == '~' || folder.front() == '-' || folder.front() == '.') return std::nullopt;
  MetadataName found;
  const std::size_t dash = folder.find('-');
  found.name = folder.substr(0, dash);
  if (dash != std::string_view::npos) {
    const std::string_view rest = folder.substr(dash + 1);
    found.version = egg ? rest.substr(0, rest.find("-py")) : rest;
  }
  return found;
}

std::vector<std::string> parse_wheel_tags(std::string_view text) {
  constexpr std::size_t max_tags = 256;
  constexpr std::size_t max_tag = 256;  // bytes
  std::vector<std::string> tags;
  for (const std::string_view line : lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || lower(line.substr(0, colon)) != "tag") continue;
    const std::string_view tag = trim(line.substr(colon + 1));
    if (!tag.empty() && tag.size() <= max_tag && tags.size() < max_tags) tags.emplace_back(tag);
  }
  return tags;
}

std::vector<std::string> parse_requires_txt(std::string_view text) {
  std::vector<std::string> requirements;
  std::string marker;
  for (const std::string_view raw : lines(text)) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.size() > max_value) continue;
    if (line.front() == '[' && line.back() == ']') {
      const std::string_view section = line.substr(1, line.size() - 2);
      const std::size_t colon = section.find(':');
      const std::string extra(trim(section.substr(0, colon)));
      const std::string own(colon == std::string_view::npos ? std::string_view() : trim(section.substr(colon + 1)));
      marker = own.empty() || extra.empty() ? own : "(" + own + ")";
      if (!extra.empty()) marker += (marker.empty() ? "extra == \"" : " and extra == \"") + extra + "\"";
      continue;
    }
    if (requirements.size() == max_requirements) break;
    requirements.push_back(marker.empty() ? std::string(line) : std::string(line) + " ; " + marker);
  }
  return requirements;
}

std::optional<DirectUrl> parse_direct_url(std::string_view text) {
  try {
    const nlohmann::json json = parse_json(text, "direct_url.json");
    if (!json.is_object()) return std::nullopt;
    const auto url = json.find("url");
    if (url == json.end() || !url->is_string()) return std::nullopt;
    DirectUrl direct{url->get<std::string>(), false};
    const auto folder = json.find("dir_info");
    if (folder != json.end() && folder->is_object()) {
      const auto editable = folder->find("editable");
      direct.editable = editable != folder->end() && editable->is_boolean() && editable->get<bool>();
    }
    return direct;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void for_each_recorded(std::string_view record, const std::function<void(std::string_view path)>& visit) {
  std::string unquoted;
  std::size_t start = 0;
  while (start < record.size()) {
    const std::size_t end = std::min(record.find('\n', start), record.size());
    const std::string_view line = record.substr(start, end - start);
    start = end + 1;
    if (!line.starts_with('"')) {
      const std::string_view path = line.substr(0, line.find(','));
      if (!trim(path).empty()) visit(path);
      continue;
    }
    // CSV: a quote within quotes is doubled.
    unquoted.clear();
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '"') {
        if (i + 1 >= line.size() || line[i + 1] != '"') break;
        ++i;
      }
      unquoted += line[i];
    }
    if (!unquoted.empty()) visit(unquoted);
  }
}

}  // namespace imgforge
