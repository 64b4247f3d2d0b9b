#include "read_dockerfile.hpp"

#include <stdexcept>

namespace imgforge::test {

Facts read_dockerfile(std::string_view text, const std::map<std::string, std::string>& files,
                      const BuildOptions& options) {
  static const Knowledge knowledge = Knowledge::embedded();
  const auto parse = dockerfile::parse_dockerfile(text, "Dockerfile");
  if (!parse.dockerfile) {
    throw std::runtime_error(parse.diagnostics.empty() ? "no Dockerfile" : to_string(parse.diagnostics.front()));
  }
  const ContextFile context = [files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  return facts_from_dockerfile(*parse.dockerfile, options, context, knowledge);
}

}  // namespace imgforge::test
