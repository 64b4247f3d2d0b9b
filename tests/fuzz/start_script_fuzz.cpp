#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/shebang.hpp"
#include "facts/start_script.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace imgforge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ShellContext context;
  context.variables["PATH"] = CommandLine{CommandWord::of("/usr/bin:/bin")};
  context.folder = "/";
  const auto is_boot = [](const CommandLine& line, const ShellContext&) {
    return line.front().text.ends_with("/boot");
  };
  const auto ends = read_start_script(text, "/start.sh", {CommandWord::of("/b/boot"), CommandWord::all_arguments()},
                                      context, is_boot);
  // There is always an answer, and whatever runs something says what.
  if (ends.empty() || ends.size() > 16) std::abort();
  for (const ScriptEnd& end : ends) {
    if (end.kind == ScriptEnd::Kind::runs && end.command.empty()) std::abort();
    if (end.kind == ScriptEnd::Kind::unknown && end.why.empty()) std::abort();
  }
  parse_shebang(text);
  return 0;
}
