#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../dockerfile/places.hpp"
#include "dockerfile/dockerfile.hpp"
#include "dockerfile/expand.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge::dockerfile;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto look_up = [](std::string_view name) {
    if (name == "UNKNOWN") return Variable{Variable::State::unknown, {}};
    if (name.starts_with("U")) return Variable{};
    return Variable{Variable::State::set, name == "EMPTY" ? "" : "a/b.c-" + std::string(name)};
  };
  const DockerfileParse parse = parse_dockerfile(text, "f");
  if (!parse.dockerfile && parse.diagnostics.empty()) std::abort();
  if (!place_outside(parse, text).empty()) std::abort();
  looks_like_dockerfile(text);
  for (const char escape : {'\\', '`'}) {
    const Expansion expansion = expand(text, escape, look_up);
    // There is a text, or a reason why there is none.
    const bool reason = !expansion.error.empty() || !expansion.unknown.empty();
    if (expansion.text.has_value() == reason) std::abort();
    unquote(text, escape);
  }
  expand_heredoc(text, look_up);
  return 0;
}
