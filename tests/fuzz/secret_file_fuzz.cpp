// Files that may hold a secret: the first line is the path, the rest the content.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "layer/secret_file.hpp"
#include "layer/secret_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view path = text.substr(0, end), content = text.substr(std::min(end + 1, text.size()));
  (void)secret_candidate(path, content.size());
  for (const SecretKind kind : {secret_in(path, content), secret_in_text(content)}) {
    if (static_cast<std::uint8_t>(kind) > most_secret_kind || name_of(kind).empty()) std::abort();
  }
  return 0;
}
