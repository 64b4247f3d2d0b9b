// Image references: what parses is spelled so that it parses to the same; what does not has a reason.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/reference.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string why;
  const auto reference = Reference::parse(text, &why);
  if (!reference) {
    if (why.empty()) std::abort();
    return 0;
  }
  for (const std::string& spelling : {reference->to_string(), reference->to_full_string()}) {
    const auto again = Reference::parse(spelling);
    if (!again || again->host() != reference->host() || again->repository() != reference->repository() ||
        again->identifier() != reference->identifier()) {
      std::abort();
    }
  }
  return 0;
}
