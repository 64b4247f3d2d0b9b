#include "check/wheel_tags.hpp"

#include <vector>

#include "base/text.hpp"

namespace imgforge {

namespace {

struct WheelTags {
  std::string_view python;  // "cp311", "py2.py3"
  std::string_view abi;     // "cp311", "abi3", "none"
};

std::optional<WheelTags> tags_of(std::string_view name) {
  if (!name.ends_with(".whl") || name.size() > 512) return std::nullopt;
  name.remove_suffix(4);
  // NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM
  const std::vector<std::string_view> parts = split(name, '-');
  if (parts.size() != 5 && parts.size() != 6) return std::nullopt;
  return WheelTags{parts[parts.size() - 3], parts[parts.size() - 2]};
}

struct Tag {
  std::string_view implementation;  // "cp", "py", "pp"
  std::optional<PythonMinor> python;
  bool major_only = false;  // "py3"
};

Tag tag_of(std::string_view text) {
  Tag tag;
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return tag;
  tag.implementation = text.substr(0, digits);
  const std::string_view number = text.substr(digits);
  tag.major_only = number.size() == 1;
  const auto major = to_number(number.substr(0, 1));
  const auto minor = tag.major_only ? std::optional<std::uint64_t>(0) : to_number(number.substr(1));
  if (major && minor && *minor < 1000)
    tag.python = PythonMinor{static_cast<unsigned>(*major), static_cast<unsigned>(*minor)};
  return tag;
}

}  // namespace

std::optional<std::string> wheel_file_name(std::string_view path_or_url) {
  std::string_view name = path_or_url.substr(0, path_or_url.find_first_of("?#"));
  name = name.substr(0, name.find('['));  // extras
  name = name.substr(name.rfind('/') + 1);
  if (!tags_of(name)) return std::nullopt;
  return std::string(name);
}

std::optional<bool> wheel_is_for(std::string_view file_name, const PythonMinor& python) {
  const auto tags = tags_of(file_name);
  if (!tags) return std::nullopt;
  bool open = false;
  for (const std::string_view one : split(tags->python, '.')) {
    const Tag tag = tag_of(one);
    if (!tag.python) {
      open = true;
      continue;
    }
    if (tag.python->major != python.major) continue;
    for (const std::string_view abi : split(tags->abi, '.')) {
      if (tag.implementation == "cp") {
        const bool same = *tag.python == python;
        // cp37m, cp313t: the letters are flags of the build, and a free-threaded one takes none of the others.
        if (abi.starts_with("cp") && abi.ends_with('t')) {
          if (same) open = true;
        } else if (abi.starts_with("cp") || abi == "none") {
          if (same) return true;
        } else if (abi == "abi3") {
          if (*tag.python <= python) return true;
        } else {
          open = true;
        }
      } else if (tag.implementation == "py") {
        if (abi != "none") {
          open = true;
        } else if (tag.major_only || *tag.python <= python) {
          return true;
        }
      }
    }
  }
  if (open) return std::nullopt;
  return false;
}

std::string wheel_python_tags(std::string_view file_name) {
  const auto tags = tags_of(file_name);
  return tags ? std::string(tags->python) + "-" + std::string(tags->abi) : std::string();
}

}  // namespace imgforge
