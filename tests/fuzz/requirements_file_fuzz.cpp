// Any text as pip's requirements files: the text is split at "\x01" into files 0, 1, 2, ... that may include each
// other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "facts/requirements_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> files;
  for (int i = 0; i < 8; ++i) {
    const std::size_t end = text.find('\x01');
    files[std::to_string(i)] = std::string(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  const auto file = [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  const auto variable = [](std::string_view name) {
    return name == "A" ? std::optional<std::string>("1.2") : std::nullopt;
  };
  const RequirementsFile read = read_requirements_file("0", file, variable);
  if (read.requirements.size() + read.constraints.size() > 20'000 || read.not_known.size() > 100) std::abort();
  for (const auto* list : {&read.requirements, &read.constraints}) {
    for (const RequirementLine& line : *list) {
      if (line.place.line == 0 || !files.contains(line.place.file)) std::abort();
      if (line.requirement && !line.location.empty()) std::abort();
      // What has no meaning is told.
      if (!line.requirement && line.location.empty() && read.not_known.empty()) std::abort();
    }
  }
  return 0;
}
