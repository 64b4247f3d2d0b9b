// RootView against a naive unpacker, on random small stacks of layers.
#include <catch2/catch.hpp>
#include <random>

#include "layer_program.hpp"

using namespace imgforge;
using namespace imgforge::test;

TEST_CASE("the root view is what unpacking layer by layer gives", "[root]") {
  std::mt19937 random(20261201);  // the same programs every time; the fuzz target tries others
  for (int i = 0; i < 6000; ++i) {
    std::string bytes(400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const LayerProgram program(bytes);
    const std::string disagreement = program.disagreement();
    INFO("program " << i << "\n" << program.to_string());
    REQUIRE(disagreement == "");
  }
}
