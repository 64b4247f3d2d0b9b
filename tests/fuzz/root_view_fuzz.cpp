// A small program of layers; its root view has to be what a naive unpacker makes of it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../layer/layer_program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const imgforge::test::LayerProgram program(std::string(reinterpret_cast<const char*>(data), size));
  const std::string disagreement = program.disagreement();
  if (disagreement.empty()) return 0;
  std::fprintf(stderr, "%s\n%s\n", disagreement.c_str(), program.to_string().c_str());
  std::abort();
}
