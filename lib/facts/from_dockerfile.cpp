#include "facts/from_dockerfile.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "facts/build_reader.hpp"

namespace imgforge {

Facts facts_from_dockerfile(const dockerfile::Dockerfile& dockerfile, const BuildOptions& options,
                            const ContextFile& context, const Knowledge& knowledge) {
  const auto reader = std::make_shared<BuildReader>(dockerfile, options, context, knowledge);
  reader->read();
  return facts_of_build(reader, options, knowledge);
}

ContextFile context_in(const std::string& folder) {
  constexpr std::uint64_t max_file = 1 << 20;
  constexpr std::uint64_t max_all = 16 << 20;
  auto left = std::make_shared<std::uint64_t>(max_all);
  std::error_code error;
  const auto root = std::filesystem::canonical(folder.empty() ? "." : folder, error);
  if (error) return [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  return [root, left](const std::string& path) -> std::optional<std::string> {
    if (path.empty() || path.find('\0') != std::string::npos || path.size() > 4096) return std::nullopt;
    std::error_code wrong;
    const auto real = std::filesystem::canonical(root / std::filesystem::path(path).relative_path(), wrong);
    if (wrong) return std::nullopt;
    const auto inside = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    if (inside.first != root.end()) return std::nullopt;  // it leads out of the context
    if (!std::filesystem::is_regular_file(real, wrong) || wrong) return std::nullopt;
    const std::uint64_t size = std::filesystem::file_size(real, wrong);
    if (wrong || size > max_file || size > *left) return std::nullopt;
    try {
      std::string text = read_file(real.string(), max_file);
      *left -= std::min<std::uint64_t>(*left, text.size());
      return text;
    } catch (const Error&) {
      return std::nullopt;
    }
  };
}

}  // namespace imgforge
