#include "layer/entry_path.hpp"

#include "base/text.hpp"

namespace imgforge {

std::vector<std::string_view> clean_components(std::string_view path) {
  std::vector<std::string_view> components;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!components.empty()) components.pop_back();
      continue;
    }
    components.push_back(part);
  }
  return components;
}

std::string clean_path(std::string_view path) {
  std::string result;
  for (const std::string_view component : clean_components(path)) {
    if (!result.empty()) result += '/';
    result += component;
  }
  return result;
}

namespace {

constexpr std::string_view whiteout_prefix = ".wh.";
constexpr std::string_view opaque_name = ".wh..wh..opq";
constexpr std::string_view reserved_prefix = ".wh..wh.";

bool is_reserved(std::string_view path) {
  for (const std::string_view component : clean_components(path)) {
    if (component.starts_with(reserved_prefix)) return true;
  }
  return false;
}

}  // namespace

EntryName entry_name(std::string_view raw) {
  std::string path = clean_path(raw);
  if (path.find(whiteout_prefix) == std::string::npos) return {EntryName::Kind::plain, std::move(path)};
  const std::size_t slash = path.rfind('/');
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash);
  if (base == opaque_name && !is_reserved(folder)) return {EntryName::Kind::opaque, folder};
  if (is_reserved(path)) return {EntryName::Kind::reserved, std::move(path)};
  if (!base.starts_with(whiteout_prefix)) return {EntryName::Kind::plain, std::move(path)};
  const std::string hidden = base.substr(whiteout_prefix.size());
  if (hidden.empty() || hidden == "." || hidden == "..") return {EntryName::Kind::reserved, std::move(path)};
  return {EntryName::Kind::whiteout, folder.empty() ? hidden : folder + "/" + hidden};
}

}  // namespace imgforge
