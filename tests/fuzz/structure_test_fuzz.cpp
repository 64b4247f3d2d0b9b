// Files of container-structure-test: whatever is in one, it is tests or diagnostics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "check/structure_test.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const imgforge::StructureParse parse =
      imgforge::parse_structure_tests({reinterpret_cast<const char*>(data), size}, "tests.yaml");
  if (parse.tests.has_value() == imgforge::has_errors(parse.diagnostics)) std::abort();
  for (const imgforge::Diagnostic& diagnostic : parse.diagnostics) (void)to_string(diagnostic);
  return 0;
}
