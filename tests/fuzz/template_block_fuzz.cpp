// Any text as a block: it is refused with places, or it fills in; what it is filled in with is never read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "render/block_syntax.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const BlockShape shape{"block", {"text"}, {"flag"}, {{"list", {"item"}}}};
  const auto faults = check_block(text, shape, "block.mustache");
  for (const Diagnostic& fault : faults) {
    if (fault.place.line == 0 || fault.message.empty()) std::abort();
  }
  if (!faults.empty()) return 0;
  Values values;
  values.set("text", shell_word("{{#flag}}"));
  values.set("flag", size % 2 == 0);
  values.set_list("list", "item", {shell_word("a"), shell_word("{{/list}}")});
  fill_in(text, values);
  return 0;
}
