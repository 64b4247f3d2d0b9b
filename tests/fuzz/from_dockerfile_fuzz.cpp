#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "facts/from_dockerfile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  static const Knowledge knowledge = Knowledge::embedded();
  if (size > 20'000) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parse = dockerfile::parse_dockerfile(text, "Dockerfile");
  if (!parse.dockerfile) return 0;
  // The text itself is every file of the context, too.
  const ContextFile context = [&](const std::string& path) -> std::optional<std::string> {
    if (path.size() % 2 == 0) return std::nullopt;
    return std::string(text);
  };
  try {
    const Facts facts = facts_from_dockerfile(*parse.dockerfile, {}, context, knowledge);
    if (facts.build == nullptr || facts.build->stages.empty()) std::abort();
    const auto& worker = facts.worker_python();
    if (worker.is_known() && facts.worker_interpreter() == nullptr) std::abort();
  } catch (const Error&) {
    // A Dockerfile without a stage.
  }
  return 0;
}
