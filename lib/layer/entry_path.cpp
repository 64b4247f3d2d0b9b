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

}  // namespace imgforge
